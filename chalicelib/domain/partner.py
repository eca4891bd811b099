"""A partner that fills in the fields of a product: request, answer, signature and permitted addresses."""

import hashlib
import hmac
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network

from chalicelib.domain.secret import Secret
from chalicelib.record import Record

# Global unicast. No partner has another address, and most addresses that embed IPv4 (mapped, NAT64) are outside.
UNICAST = IPv6Network("2000::/3")

# Global, but no host's own address: 6to4 and its relays lead to any IPv4 address, 3fff:: is for documentation.
NOT_OF_HOSTS = tuple(ip_network(text) for text in ("192.88.99.0/24", "2002::/16", "3fff::/20"))


class PartnerRequest(Record):
    """A request to a partner: a product, and the name and value of each field that the till filled in."""

    product: str
    client_product_code: str | None
    fields: tuple[tuple[str, str], ...]


class PreparedField(Record):
    """A field that the partner filled in."""

    code: str
    value: str


class Problem(Record):
    """A field that the partner refuses; the name is None when the problem concerns no single field."""

    name: str | None
    message: str


def sign(secret: Secret, timestamp: str, body: bytes) -> str:
    """Return the signature of a request: HMAC-SHA-256 over timestamp, a full stop and body, in hex."""
    return hmac.new(secret.reveal().encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to a host on the public internet.

    Addresses of this machine, of its network and of its metadata service are not public, neither are multicast
    addresses and IPv6 addresses that embed an IPv4 address, which would bypass this check.
    """
    ip = ip_address(address)
    if not ip.is_global or ip.is_multicast or any(ip in network for network in NOT_OF_HOSTS):
        return False
    return isinstance(ip, IPv4Address) or ip in UNICAST
