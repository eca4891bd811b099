"""Counting what is asked of AWS: a cost is asserted, not hoped for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib.store.table import client


@contextmanager
def store_calls() -> Iterator[list[str]]:
    """The names of the operations asked of DynamoDB until it ends, by whatever thread, retries left out."""
    names: list[str] = []

    def note(model: Any, **_: object) -> None:
        names.append(model.name)

    events = client().meta.events
    events.register("before-call.dynamodb", note)
    try:
        yield names
    finally:
        events.unregister("before-call.dynamodb", note)
