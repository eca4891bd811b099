"""What a test gives the service from outside."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from typing import Any, Protocol
from unittest.mock import patch

from chalicelib import outside


class Give(Protocol):
    """Change the outside until the test ends; see `chalicelib.outside.given`."""

    def __call__(self, **changes: Any) -> None:
        """Change these fields."""


class Instead:
    """A thing in front of another: some of its methods do something else."""

    def __init__(self, real: Any, **methods: Any) -> None:
        self._real, self._methods = real, methods

    def __getattr__(self, name: str) -> Any:
        return self._methods[name] if name in self._methods else getattr(self._real, name)


def boto3_client(service: str, **methods: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes boto3's clients: those of this service have these methods instead of their own."""
    make = outside.current.boto3_client

    def made(name: str, **options: Any) -> Any:
        client = make(name, **options)
        return Instead(client, **methods) if name == service else client

    return made


class Terminal(StringIO):
    """A terminal at which this is typed."""

    def isatty(self) -> bool:
        return True


def typing(text: str) -> AbstractContextManager[None]:
    """Let standard input have this text in the block."""
    stream = StringIO(text)
    return outside.given(typed=lambda: stream)


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Let the environment have these variables in the block."""
    with patch.dict(os.environ, variables), outside.given():
        yield
