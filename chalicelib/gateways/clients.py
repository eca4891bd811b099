"""The clients of AWS: each is created once, and one at a time, because a session of boto3 is not for many threads."""

from collections.abc import Callable
from functools import lru_cache
from threading import RLock
from typing import Generic, ParamSpec, TypeVar

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
