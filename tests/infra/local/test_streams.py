"""The streams on this machine: each record once, and again from the first that a function reports."""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.domain import deliveries
from chalicelib.store import events
from infra.local import streams
from infra.stack.streams import is_wanted
from tests.support.events import a_stored_event, forget


@pytest.mark.usefixtures("engine")
def test_what_was_stored_comes_once_and_as_lambda_passes_it() -> None:
    forget()
    made = [a_stored_event(7).id for _ in range(12)]

    found = [(function, record) for function, records in streams.batches() for record in records]

    assert sorted(record["dynamodb"]["NewImage"]["id"]["S"] for _, record in found) == sorted(made)
    assert {(function, record["eventName"]) for function, record in found} == {("deliver_events", "INSERT")}
    assert all(isinstance(record["dynamodb"]["ApproximateCreationDateTime"], float) for _, record in found)
    assert list(streams.batches()) == []


@pytest.mark.usefixtures("engine")
def test_a_function_is_called_with_what_the_filters_of_the_cloud_let_through() -> None:
    forget()
    made = a_stored_event(7)
    held, waiting = (deliveries.begun(made, number, made.at) for number in (1, 2))
    held = deliveries.held(held, made.at)
    for one in (held, waiting):
        events.begin(one)
    events.end_beginning(made)
    events.claim(waiting.day, waiting.place, made.at)
    events.begin_again(deliveries.again(held, made.at))

    found = [record["dynamodb"]["NewImage"]["place"]["S"] for _, records in streams.batches() for record in records]

    assert found == [made.place, waiting.place, held.place]  # the event, and the deliveries without attempts


@pytest.mark.parametrize(
    ("table", "record", "wanted"),
    [
        ("Events", {"eventName": "INSERT", "dynamodb": {"NewImage": {"kind": {"S": "ping"}}}}, True),
        ("Events", {"eventName": "MODIFY", "dynamodb": {"NewImage": {"kind": {"S": "ping"}}}}, False),
        ("Events", {"eventName": "INSERT", "dynamodb": {"NewImage": {"attempts": {"N": "1"}}}}, False),
        ("Events", {"eventName": "MODIFY", "dynamodb": {"NewImage": {"attempts": {"N": "0"}}}}, True),
        ("Events", {"eventName": "REMOVE", "dynamodb": {}}, False),
        ("Outbox", {"eventName": "INSERT", "dynamodb": {"NewImage": {}}}, True),
        ("Outbox", {"eventName": "MODIFY", "dynamodb": {"NewImage": {}}}, False),
    ],
)
def test_filters_are_read_as_lambda_reads_them(table: str, record: dict[str, Any], wanted: bool) -> None:  # noqa: FBT001  a column
    assert is_wanted(table, record) is wanted


@pytest.mark.parametrize("failed", ["1", "2", "3"])
def test_records_come_again_from_the_first_that_failed(failed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PAUSE_SECONDS", 0)
    records = [{"dynamodb": {"SequenceNumber": number}} for number in ("1", "2", "3")]
    seen: list[list[str]] = []

    def invoke(_: str, event: dict[str, Any]) -> Mapping[str, Any]:
        numbers = [one["dynamodb"]["SequenceNumber"] for one in event["Records"]]
        seen.append(numbers)
        return {"batchItemFailures": [{"itemIdentifier": failed}] if len(seen) == 1 else []}

    streams.deliver(invoke, "deliver_events", records)

    assert seen == [["1", "2", "3"], ["1", "2", "3"][int(failed) - 1 :]]
