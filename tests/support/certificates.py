"""Certificates for tests of TLS: each signs itself, and is for one name or address."""

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass(frozen=True)
class Authority:
    """A certificate that signs itself, in PEM."""

    certificate: bytes
    key: bytes
    encrypted_key: bytes

    def write(self, folder: Path, name: str) -> Path:
        path = folder / name
        path.write_bytes(self.certificate)
        return path

    def serving(self, folder: Path) -> ssl.SSLContext:
        """Return the TLS settings of a server that shows it."""
        path = folder / "server.pem"
        path.write_bytes(self.certificate + self.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def trusting(self) -> ssl.SSLContext:
        """Return the TLS settings of a client that trusts it."""
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=self.certificate.decode())
        return context


def an_authority(name: str) -> Authority:
    """Return a certificate for a name or an IP address."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    try:
        names: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        names = x509.DNSName(name)
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain, locked = serialization.NoEncryption(), serialization.BestAvailableEncryption(b"password")
    form = serialization.PrivateFormat.PKCS8
    return Authority(
        certificate.public_bytes(pem), key.private_bytes(pem, form, plain), key.private_bytes(pem, form, locked)
    )
