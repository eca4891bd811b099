"""All calls outside the process, except those of the store. Clients of boto3 are created here, each once."""

from collections.abc import Callable
from functools import lru_cache
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_LOCK = RLock()  # one lock for all, because the same session makes them


class Once(Generic[P, T]):
    """A decorator: one call per set of arguments, whose result every thread gets."""

    def __init__(self, create: Callable[P, T]) -> None:
        self._created = lru_cache(maxsize=None)(create)
        self.cache_clear = self._created.cache_clear

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the created object."""
        with _LOCK:
            return self._created(*args, **kwargs)  # type: ignore[arg-type]  # unhashable arguments raise TypeError


def create(service: str, *, attempts: int, read_seconds: float, **options: Any) -> Any:
    """Create a client of boto3. `options` go to its Config."""
    import boto3  # noqa: PLC0415  a payment does not need its slow import
    from botocore.config import Config  # noqa: PLC0415

    retries: Any = {"mode": "standard", "total_max_attempts": attempts}
    return boto3.client(  # type: ignore[call-overload]  # callers pass a literal name
        service, config=Config(connect_timeout=1, read_timeout=read_seconds, retries=retries, **options)
    )
