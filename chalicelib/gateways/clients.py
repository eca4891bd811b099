"""The clients of AWS: each is created once, and one at a time, because a session of boto3 is not for many threads."""

from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Generic, TypeVar

T = TypeVar("T")

_LOCK = RLock()  # one for all: they are made by the same session


class Once(Generic[T]):
    """A decorator: the function is called once, and every thread gets the same result."""

    def __init__(self, create: Callable[[], T]) -> None:
        self._created = cache(create)
        self.cache_clear = self._created.cache_clear

    def __call__(self) -> T:
        """Return what was created."""
        with _LOCK:
            return self._created()
