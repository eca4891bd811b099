"""Compressed answers, as API Gateway sends them: from a size on, to a client that says what it takes."""

import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

CONFIG = Path(__file__).parents[1] / ".chalice" / "config.json"
HEADERS = {"Content-Encoding": "gzip"}
REFUSED = re.compile(r"\s*q=0(\.0*)?\s*", re.IGNORECASE)


def applies(headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether an answer with this body is compressed for a request with these headers."""
    return len(body) >= _from_bytes() and any(
        _is_gzip(coding)
        for name, value in headers.items()
        if name.lower() == "accept-encoding"
        for coding in value.split(",")
    )


def compressed(body: bytes) -> bytes:
    """Return the body under gzip."""
    return gzip.compress(body, mtime=0)


def _is_gzip(coding: str) -> bool:
    """Return whether a member of Accept-Encoding takes gzip; for API Gateway `*` does not."""
    name, _, weight = coding.partition(";")
    return name.strip().lower() == "gzip" and not REFUSED.fullmatch(weight)


@cache
def _from_bytes() -> int:
    """Return the size from which the stages compress."""
    size: int = json.loads(CONFIG.read_text(encoding="utf-8"))["minimum_compression_size"]
    return size
