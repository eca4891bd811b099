"""The URLs of partners and webhooks: their form."""

import re
from urllib.parse import urlsplit

PATTERN = r"(?P<scheme>https?)://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[!$-~]*)?"  # no user, no fragment
OWN_MACHINE = frozenset({"127.0.0.1", "localhost"})


def scheme_of(url: str) -> str | None:
    """Return the scheme of a callable URL, http or https; None for any other text."""
    found = re.fullmatch(PATTERN, url)
    return found["scheme"] if found and _has_port(url) else None


def _has_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:  # above 65535
        return False
