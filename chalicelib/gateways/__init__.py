"""Everything outside the process except the store. The clients of boto3 are created here, each once."""

from collections.abc import Callable
from functools import lru_cache
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_LOCK = RLock()  # one for all: they are made by the same session


class Once(Generic[P, T]):
    """A decorator: the function is called once with the same arguments, and every thread gets the same result."""

    def __init__(self, create: Callable[P, T]) -> None:
        self._created = lru_cache(maxsize=None)(create)
        self.cache_clear = self._created.cache_clear

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what was created."""
        with _LOCK:
            return self._created(*args, **kwargs)  # type: ignore[arg-type]  # what cannot be hashed raises TypeError


def create(service: str, *, attempts: int, read_seconds: float, **options: Any) -> Any:
    """Create a client of boto3; `options` are those of its Config."""
    import boto3  # noqa: PLC0415  see above
    from botocore.config import Config  # noqa: PLC0415

    retries: Any = {"mode": "standard", "total_max_attempts": attempts}
    return boto3.client(  # type: ignore[call-overload]  # the name of the service is a literal where it is called
        service, config=Config(connect_timeout=1, read_timeout=read_seconds, retries=retries, **options)
    )
