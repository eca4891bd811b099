"""The streams on this machine: each record once, and again from the first that a function reports."""

from collections.abc import Mapping
from typing import Any

import pytest

from infra import streams
from tests.events import a_stored_event
from tests.streams import forget


@pytest.mark.usefixtures("engine")
def test_what_was_stored_comes_once_and_as_lambda_passes_it() -> None:
    forget()
    made = [a_stored_event(7).id for _ in range(12)]

    found = [(function, record) for function, records in streams.batches() for record in records]

    assert sorted(record["dynamodb"]["NewImage"]["id"]["S"] for _, record in found) == sorted(made)
    assert {(function, record["eventName"]) for function, record in found} == {("deliver_events", "INSERT")}
    assert all(isinstance(record["dynamodb"]["ApproximateCreationDateTime"], float) for _, record in found)
    assert list(streams.batches()) == []


def test_records_come_again_from_the_first_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PAUSE_SECONDS", 0)
    records = [{"dynamodb": {"SequenceNumber": number}} for number in ("1", "2", "3")]
    seen: list[list[str]] = []

    def invoke(_: str, event: dict[str, Any]) -> Mapping[str, Any]:
        numbers = [one["dynamodb"]["SequenceNumber"] for one in event["Records"]]
        seen.append(numbers)
        return {"batchItemFailures": [{"itemIdentifier": "2"}] if len(seen) == 1 else []}

    streams.deliver(invoke, "deliver_events", records)

    assert seen == [["1", "2", "3"], ["2", "3"]]
