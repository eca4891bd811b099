"""Pages of other origins (CORS): what a browser must be told before it lets them call, and read the answers.

A browser's word is all that this is about: the credential decides who may do what.
https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from chalicelib.settings import settings

REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key"  # that the interface reads
EXPOSED_HEADERS = "Retry-After, Idempotent-Replayed, x-amzn-RequestId"
PREFLIGHT_SECONDS = 7200  # that a browser remembers a preflight: the most Chromium does


def mark(headers: dict[str, str | list[str]], origin: str | None) -> None:
    """Add to the headers of an answer what lets a page of this origin read it; nothing while the stage lists none."""
    allowed = settings().allowed_origins
    if not allowed:
        return
    headers["Vary"] = f"{headers['Vary']}, Origin" if "Vary" in headers else "Origin"
    if origin in allowed:
        headers |= readable_by(origin)


def readable_by(origin: str) -> dict[str, str]:
    """Return the headers of an answer that pages of this origin may read."""
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED_HEADERS}


def permission(methods: str) -> dict[str, str]:
    """Return the headers of the answer to a preflight: these methods, comma-separated, may be called."""
    return {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": REQUEST_HEADERS,
        "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
    }
