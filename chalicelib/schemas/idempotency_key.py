"""The header Idempotency-Key."""

from collections.abc import Mapping

from chalicelib.errors import Check, Validation, invalid

MAX_LENGTH = 255


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    """Return the Idempotency-Key of a request, None without one; 202 unless it has 1 to 255 printable characters."""
    key = headers.get("idempotency-key", "").strip()
    if len(key) > MAX_LENGTH or not (key.isascii() and key.isprintable()):
        message = f"1 to {MAX_LENGTH} printable characters (ASCII) are expected."
        raise invalid(Validation("Idempotency-Key", Check.FORMAT, message))
    return key or None
