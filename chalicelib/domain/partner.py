"""A partner that fills a product's fields: what it is asked, how that is signed, and where it may live."""

import hashlib
import hmac
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network

from chalicelib.domain.secret import Secret

# Global unicast. Beyond it nothing is a partner's, and most of what embeds an IPv4 address (mapped, NAT64) is there.
UNICAST = IPv6Network("2000::/3")

# Within the global ranges and yet nobody's own address: 6to4 and its relays lead to any IPv4, 3fff:: is documentation.
NOBODYS = tuple(ip_network(text) for text in ("192.88.99.0/24", "2002::/16", "3fff::/20"))


@dataclass(frozen=True)
class PartnerRequest:
    """What a partner is asked: the fields the till filled in, by name, for one product."""

    product: str
    client_product_code: str | None
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PreparedField:
    """One field the partner filled in."""

    code: str
    value: str


@dataclass(frozen=True)
class Problem:
    """What the partner has against the fields; the name is None when it is none of them in particular."""

    name: str | None
    message: str


def sign(secret: Secret, timestamp: str, body: bytes) -> str:
    """HMAC-SHA-256 over timestamp, a full stop and body, in hex: who sent it, when, and that it is whole."""
    return hmac.new(secret.reveal().encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def is_public(address: str) -> bool:
    """Whether an IP address is somebody's on the public internet.

    Not the machine's own, its network's or its metadata service's, not multicast, and no IPv6 address that stands for
    an IPv4 one: those would lead past this check.
    """
    ip = ip_address(address)
    if not ip.is_global or ip.is_multicast or any(ip in network for network in NOBODYS):
        return False
    return isinstance(ip, IPv4Address) or ip in UNICAST
