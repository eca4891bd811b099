"""The streams of the tables in tests: delivered when a test says so, in its own thread."""

from infra import streams


def deliver_all() -> None:
    """Let the functions at the streams process what was stored so far, and what they store by it."""
    while found := list(streams.batches()):
        for function, records in found:
            streams.deliver(streams.call, function, records)


def forget() -> None:
    """Pass over what was stored so far, by other tests."""
    while list(streams.batches()):
        pass
