"""Notes on requests to acquirers: whether each was answered. The sweep takes them, for its circuit breakers."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_notes: ContextVar[list[bool] | None] = ContextVar("notes", default=None)  # of the thread that collects them


@contextmanager
def collected() -> Iterator[list[bool]]:
    """Collect the notes of this thread until the block ends: for each request, whether it was answered."""
    notes: list[bool] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def note(*, answered: bool) -> None:
    """Note one request, if somebody collects."""
    notes = _notes.get()
    if notes is not None:
        notes.append(answered)
