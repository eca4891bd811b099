"""All calls outside the process, except those of the store. Clients of boto3 are created here."""

from threading import Lock
from typing import Any

_LOCK = Lock()  # one lock for all, because the same session makes them


def create(service: str, *, attempts: int, read_seconds: float, **options: Any) -> Any:
    """Create a client of boto3. `options` go to its Config."""
    import boto3  # noqa: PLC0415  a payment does not need its slow import
    from botocore.config import Config  # noqa: PLC0415

    retries: Any = {"mode": "standard", "total_max_attempts": attempts}
    with _LOCK:
        return boto3.client(  # type: ignore[call-overload]  # callers pass a literal name
            service, config=Config(connect_timeout=1, read_timeout=read_seconds, retries=retries, **options)
        )
