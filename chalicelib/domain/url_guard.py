"""The hosts and IP addresses that partners and webhooks may have. Both use the same guard."""

import re
from collections.abc import Container
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from chalicelib.domain.urls import scheme_of

IPV4_PART = re.compile("[0-9]+|0x[0-9a-f]*")  # a host whose last part matches is an IPv4 address (URL Standard, 3.5)


def is_plain_at(url: str, hosts: Container[str | None]) -> bool:
    """Return whether a URL is http at one of the hosts."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname in hosts


# Global unicast. Hosts have no other addresses. Most addresses that embed IPv4 (mapped, NAT64) are outside.
UNICAST = IPv6Network("2000::/3")

# Global addresses that no host has: 6to4 and its relays lead to any IPv4 address, 3fff:: is for documentation.
NOT_OF_HOSTS = tuple(ip_network(text) for text in ("192.88.99.0/24", "2002::/16", "3fff::/20"))


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to a host on the public internet.

    Addresses of this machine, its network and its metadata service are not public. Multicast addresses are not public
    either, nor IPv6 addresses that embed an IPv4 address, which would bypass this check.
    """
    ip = ip_address(address)
    if not ip.is_global or ip.is_multicast or any(ip in network for network in NOT_OF_HOSTS):
        return False
    return isinstance(ip, IPv4Address) or ip in UNICAST


def is_own(address: str) -> bool:
    """Return whether an IP address is this machine's own."""
    return ip_address(address).is_loopback


def may_be_called(url: str, plain: Container[str | None] = ()) -> bool:
    """Return whether a webhook may have this URL: https at a host that can be public, or http at one of `plain`.

    Each call checks the addresses of a host name.
    """
    scheme = scheme_of(url)
    if scheme != "https":
        return scheme == "http" and is_plain_at(url, plain)
    host = (urlsplit(url).hostname or "").removesuffix(".")
    try:
        return is_public(host)
    except ValueError:  # a host name
        last_label = host.rpartition(".")[2]
        return last_label != "localhost" and not IPV4_PART.fullmatch(last_label)
