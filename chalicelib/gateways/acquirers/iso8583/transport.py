"""One exchange with the host on its own connection: TCP, TLS, and messages with a length in front.

A failure before the first byte of the message is sent means that nothing happened. After it, the outcome is unknown.
"""

import socket
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache

from chalicelib import network
from chalicelib.domain.acquirer import AnswerLostError, UnreachableError, UnusableAnswerError
from chalicelib.domain.iso8583_dialect import LengthHeader
from chalicelib.domain.secret import Secret
from chalicelib.gateways import secrets
from chalicelib.gateways.acquirers.iso8583.codec import LEAST_BYTES, MOST_BYTES
from chalicelib.log import log, log_defect
from chalicelib.network import Deadline
from chalicelib.settings import ISO8583
from chalicelib.settings.iso8583 import Host

CONNECT_SECONDS = 5.0
MOST_ADDRESSES = 3  # of a name, at most, are tried


class Line:
    """A connection to the host, for one request."""

    def __init__(self, sock: socket.socket, header: LengthHeader, deadline: Deadline) -> None:
        self._sock, self._header, self._deadline = sock, header, deadline

    def send(self, message: bytes) -> None:
        """Send a message. UnreachableError: nothing was sent. AnswerLostError: perhaps all of it was sent."""
        view = memoryview(_length_of(message, self._header) + message)
        try:
            self._sock.settimeout(self._deadline.left())
        except TimeoutError:
            raise UnreachableError from None
        try:
            while view:
                view = view[self._sock.send(view) :]
                self._sock.settimeout(self._deadline.left())
        except OSError:
            raise AnswerLostError from None

    def receive(self) -> bytes:
        """Return the next message. AnswerLostError: none came. UnusableAnswerError: it is cut or its length invalid."""
        header = self._read(self._header.bytes)
        return self._read(_length_in(header, self._header), has_begun=True)

    def _read(self, size: int, *, has_begun: bool = False) -> bytes:
        found = bytearray()
        try:
            while len(found) < size:
                self._sock.settimeout(self._deadline.left())
                part = self._sock.recv(size - len(found))
                if not part:
                    raise ConnectionError
                found += part
        except OSError:  # a time-out or a broken connection
            raise (UnusableAnswerError if has_begun or found else AnswerLostError) from None
        return bytes(found)


@contextmanager
def connected(host: Host, within_s: float) -> Iterator[Line]:
    """Connect to the host, with TLS unless it is off. Close the connection at the end.

    The connection and the exchange take at most `within_s` seconds. Raise UnreachableError without a connection.
    """
    deadline = Deadline(within_s)
    sock = _connected(host, deadline)
    if sock is None:
        raise UnreachableError
    try:
        yield Line(sock, host.dialect.length_header, deadline)
    finally:
        with suppress(OSError):
            sock.close()


def _connected(host: Host, deadline: Deadline) -> socket.socket | None:
    """Return a connection to the host. On failure log the reason and return None."""
    try:
        context = _tls(host.ca, secrets.client_certificate()) if host.tls else None
    except Exception as defect:  # noqa: BLE001  the secret is unreadable or unusable; nothing was sent
        log_defect(defect, acquirer=ISO8583)
        return None
    try:
        return _connect(host, context, Deadline(min(CONNECT_SECONDS, deadline.left())))
    except OSError as error:  # its text may come from the host
        log("iso8583_unreachable", error=type(error).__name__)
    return None


def _connect(host: Host, context: ssl.SSLContext | None, deadline: Deadline) -> socket.socket:
    addresses = network.look_up(host.host, host.port, deadline)[:MOST_ADDRESSES]
    return network.connect(addresses, host.host, deadline, context)


@lru_cache(maxsize=2)
def _tls(ca: str | None, certificate: Secret | None) -> ssl.SSLContext:
    """Return the TLS settings: they check the host's certificate and name, and hold our certificate."""
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is not None:
        with tempfile.NamedTemporaryFile() as file:  # ssl reads only files; only this user can read this one
            file.write(certificate.reveal().encode())
            file.flush()
            context.load_cert_chain(file.name, password=_no_password)
    return context


def _no_password() -> str:
    """Return no password. Otherwise ssl would ask at the terminal for the password of an encrypted key."""
    return ""


def _length_of(message: bytes, header: LengthHeader) -> bytes:
    length = len(message) + (header.bytes if header.counts_itself else 0)
    return length.to_bytes(header.bytes) if header.encoding == "binary" else b"%0*d" % (header.bytes, length)


def _length_in(header: bytes, form: LengthHeader) -> int:
    """Return the length of the next message; raise UnusableAnswerError for an impossible length."""
    if form.encoding == "ascii" and not header.isdigit():
        raise UnusableAnswerError
    length = int.from_bytes(header) if form.encoding == "binary" else int(header)
    length -= form.bytes if form.counts_itself else 0
    if not LEAST_BYTES <= length <= MOST_BYTES:
        raise UnusableAnswerError
    return length
