"""The wire between the service and what it asks: every call to the store and to an acquirer passes here.

A test hangs a hook in it: to stop the process at a call, to let somebody else go first, to break an acquirer.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from chalicelib import outside
from chalicelib.settings import settings
from chalicelib.store.aws_client import DYNAMODB, Client
from infra.bench.client import through
from tests.support.giving import Instead

Hook = Callable[[str, str], None]  # ("before" or "after", what is called)
ASKED = ("authorize", "reverse", "inquire", "link")


class StoppedError(BaseException):
    """The process ends here. Nothing in the service catches it, as nothing catches a power cut."""


@contextmanager
def broken(**methods: Any) -> Iterator[None]:
    """Until it ends, these methods of every acquirer are replaced."""
    real = outside.current.acquirers
    with outside.given(acquirers={code: lambda make=make: Instead(make(), **methods) for code, make in real.items()}):
        yield


def failing(error: BaseException) -> Callable[..., Any]:
    """A method that raises."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@contextmanager
def hooked(hook: Hook) -> Iterator[None]:
    """Until it ends, `hook` is called around each call of this process; what an acquirer does inside is its own."""
    inside = threading.local()
    real = outside.current.acquirers

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if getattr(inside, "acquirer", False) or client.service != DYNAMODB:
            return client.call(operation, **parameters)
        hook("before", operation)
        answer = client.call(operation, **parameters)
        hook("after", operation)
        return answer

    class Hooked:
        def __init__(self, acquirer: Any) -> None:
            self._acquirer = acquirer

        def __getattr__(self, name: str) -> Any:
            method = getattr(self._acquirer, name)
            if name not in ASKED:
                return method

            def ask(*arguments: Any) -> Any:
                hook("before", name)
                inside.acquirer = True
                try:
                    return method(*arguments)
                finally:
                    inside.acquirer = False
                    hook("after", name)

            return ask

    known = {code: lambda make=make: Hooked(make()) for code, make in real.items()}
    with outside.given(client=through(call), acquirers=known):
        yield


def before(operation: str, *acts: Callable[[], Any]) -> Callable[..., Any]:
    """Return what makes clients of AWS: before each of their first calls of this operation, somebody else acts."""
    left = list(acts)

    def call(client: Client, name: str, **parameters: Any) -> dict[str, Any]:
        if name == operation and left:
            left.pop(0)()
        return client.call(name, **parameters)

    return through(call)


def breaking_at(name: str) -> Callable[..., Any]:
    """Return what makes clients of AWS whose updates of the record with this ID meet a defect."""

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if operation == "UpdateItem" and name in str(parameters["Key"]):
            raise RuntimeError
        return client.call(operation, **parameters)

    return through(call)


def refusing(operation: str, error: Exception) -> Callable[..., Any]:
    """Return what makes clients of AWS whose calls of this operation raise."""

    def call(client: Client, name: str, **parameters: Any) -> dict[str, Any]:
        if name == operation:
            raise error
        return client.call(name, **parameters)

    return through(call)


@contextmanager
def counting() -> Iterator[list[str]]:
    """The calls made until it ends."""
    calls: list[str] = []

    def note(when: str, name: str) -> None:
        if when == "before":
            calls.append(name)

    with hooked(note):
        yield calls


@contextmanager
def stopping(number: int, when: str) -> Iterator[list[str]]:
    """Until it ends, the process stops at the call of this number: before it, or after it took effect.

    What it was stopped at, once it was.
    """
    seen = {"before": 0, "after": 0}
    stopped_at: list[str] = []

    def stop(at: str, name: str) -> None:
        seen[at] += 1
        if at == when and seen[at] == number:
            stopped_at.append(name)
            raise StoppedError

    with suppress(StoppedError), hooked(stop):
        yield stopped_at


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Until it ends, the sweep has so many threads; with one it works in the thread of its caller."""
    with outside.given(settings=replace(settings(), sweep_concurrency=number)):
        yield


@contextmanager
def told(*where: object) -> Iterator[None]:
    """Add a note to whatever fails until it ends: where it happened."""
    try:
        yield
    except BaseException as failure:
        failure.add_note(" ".join(map(str, where)))
        raise
