"""The bank on TCP, with TLS or plain: a length header before each message, several connections at once."""

import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from infra.bank.bank import Bank, Reply
from infra.bank.codec import HEADER_BYTES, MAX_BYTES, MIN_BYTES

VALID_FOR = timedelta(days=365)
NAMES = (x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1")))


@dataclass(frozen=True)
class Certificates:
    """PEM files: the service trusts `ca`; `host` and `client` each have a certificate and its key."""

    ca: Path
    host: Path
    client: Path


def certificates_in(folder: Path) -> Certificates:
    """Return the certificates of the folder. Create them if they are missing or expire within a day."""
    found = Certificates(folder / "ca.pem", folder / "host.pem", folder / "client.pem")
    if not all(path.exists() for path in vars(found).values()) or _is_old(found.host):
        _make(folder, found)
    return found


def host_context(certificates: Certificates, *, asks_for_client: bool = False) -> ssl.SSLContext:
    """Return the host's TLS context (1.2 or newer); it may ask for a client certificate of the same CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificates.host)
    if asks_for_client:
        context.load_verify_locations(certificates.ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _is_old(path: Path) -> bool:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return certificate.not_valid_after_utc < datetime.now(UTC) + timedelta(days=1)


def _make(folder: Path, files: Certificates) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = "Local bank CA"
    ca = (
        _builder(ca_name, ca_name, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(of_ca=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    files.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    for path, name, purpose in (
        (files.host, "Local bank", ExtendedKeyUsageOID.SERVER_AUTH),
        (files.client, "Local service", ExtendedKeyUsageOID.CLIENT_AUTH),
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(name, ca_name, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(of_ca=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()),
                critical=False,
            )
        )
        if path == files.host:
            builder = builder.add_extension(x509.SubjectAlternativeName(NAMES), critical=False)
        path.touch(mode=0o600)
        pem, no_password = serialization.Encoding.PEM, serialization.NoEncryption()
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, no_password)
        path.write_bytes(builder.sign(ca_key, hashes.SHA256()).public_bytes(pem) + secret)


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, of_ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not of_ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=of_ca,
        crl_sign=of_ca,
        encipher_only=False,
        decipher_only=False,
    )


HOST = "127.0.0.1"


class _Handler(BaseRequestHandler):
    """One connection: a request, its answer, and the next request."""

    server: "Server"
    request: socket.socket

    def handle(self) -> None:
        """Serve until either side closes, or nothing comes for the idle time."""
        with contextlib.suppress(OSError), self._secured() as connection, self.server.counted(connection):
            while (content := self._receive(connection)) is not None:
                if not self._send(connection, self._reply(content)):
                    return

    def _secured(self) -> socket.socket:
        """Return the connection after the TLS handshake. It runs in the connection's thread and delays no other."""
        connection = self.request
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.server.tls:
            connection.settimeout(self.server.bank.timing.handshake)
            connection = self.server.tls.wrap_socket(connection, server_side=True)
        return connection

    def _receive(self, connection: socket.socket) -> bytes | None:
        """Return the next message, empty when its header is wrong; None at the end of the connection."""
        connection.settimeout(self.server.bank.timing.idle)
        header = _exactly(connection, HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            return None
        size = int.from_bytes(header, "big")
        if not MIN_BYTES <= size <= MAX_BYTES:
            return b""
        content = _exactly(connection, size)
        return content if len(content) == size else None

    def _reply(self, content: bytes) -> Reply:
        bank = self.server.bank
        return bank.reply(content) if content else bank.hang_up("a length header that no message has")

    def _send(self, connection: socket.socket, reply: Reply) -> bool:
        """Send the steps of a reply; return whether the connection goes on."""
        for step in reply.steps:
            if isinstance(step, bytes):
                connection.sendall(step)
            elif self.server.ended.wait(step):
                return False
        return not reply.closes


class Server(ThreadingTCPServer):
    """A listening bank, for `with`. Leaving the block closes every connection, as the end of a process does."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, bank: Bank, host: str = HOST, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        super().__init__((host, port), _Handler)
        self.bank = bank
        self.tls = tls
        self.ended = threading.Event()
        self.host, self.port = str(self.server_address[0]), int(self.server_address[1])
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def counted(self, connection: socket.socket) -> Iterator[None]:
        """Count the connection as open until the block ends."""
        with self._lock:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(connection)

    def start(self) -> Self:
        """Serve in another thread."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening, and close every connection."""
        self.ended.set()
        self.shutdown()
        self.server_close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    __enter__ = start

    def __exit__(self, *_: object) -> None:
        self.stop()


def _exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes, however many segments they come in; fewer at the end of the connection."""
    content = b""
    while len(content) < size and (more := connection.recv(size - len(content))):
        content += more
    return content
