"""The URLs that other programs give us to call: those of partners and of webhooks."""

import re
from urllib.parse import urlsplit

PATTERN = r"(?P<scheme>https?)://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[!$-~]*)?"  # no user, no fragment
OWN_MACHINE = frozenset({"127.0.0.1", "localhost"})


def scheme_of(url: str) -> str | None:
    """Return the scheme of a URL that can be called, http or https; None for any other text."""
    found = re.fullmatch(PATTERN, url)
    return found["scheme"] if found and _has_port(url) else None


def is_on_own_machine(url: str) -> bool:
    """Return whether a URL is http on this machine: all that the local stage may call beside public hosts."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname in OWN_MACHINE


def _has_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:  # above 65535
        return False
