"""Counting the calls to AWS, so that tests can assert what an operation costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib.store.table import client


@contextmanager
def store_calls() -> Iterator[list[str]]:
    """Collect the names of all calls to DynamoDB in the block, by any thread, without retries."""
    names: list[str] = []

    def note(model: Any, **_: object) -> None:
        names.append(model.name)

    events = client().meta.events
    events.register("before-call.dynamodb", note)
    try:
        yield names
    finally:
        events.unregister("before-call.dynamodb", note)
