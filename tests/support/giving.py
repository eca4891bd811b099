"""What a test gives the service from outside."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from unittest.mock import patch

from chalicelib import outside


class Give(Protocol):
    """Change the outside until the test ends; see `chalicelib.outside.given`."""

    def __call__(self, **changes: Any) -> None:
        """Change these fields."""


class Instead:
    """A thing in front of another: some of its methods do something else."""

    def __init__(self, real: Any, **methods: Callable[..., Any]) -> None:
        self._real, self._methods = real, methods

    def __getattr__(self, name: str) -> Any:
        return self._methods.get(name) or getattr(self._real, name)


def boto3_client(service: str, **methods: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes boto3's clients: those of this service have these methods instead of their own."""
    make = outside.current.boto3_client

    def made(name: str, **options: Any) -> Any:
        client = make(name, **options)
        return Instead(client, **methods) if name == service else client

    return made


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Let the environment have these variables in the block."""
    with patch.dict(os.environ, variables), outside.given():
        yield
