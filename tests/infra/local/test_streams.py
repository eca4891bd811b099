"""The streams on this machine: each record once, and again from the first that a function reports."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.domain import deliveries
from chalicelib.store import deliveries as deliveries_store
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
        deliveries_store.begin(one)
    events.end_beginning(made)
    deliveries_store.claim(waiting.day, waiting.place, made.at)
    deliveries_store.begin_again(deliveries.again(held, made.at))

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


@pytest.mark.parametrize("store", ["memory", "moto"])
def test_a_function_that_fails_is_logged_and_the_feed_goes_on(
    store: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(store)
    forget()
    given: list[str] = []

    def invoke(_: str, event: dict[str, Any]) -> None:
        time.sleep(0.02)  # `settle` waits for a function that runs
        given.extend(one["dynamodb"]["NewImage"]["id"]["S"] for one in event["Records"])
        if len(given) == 1:
            raise ZeroDivisionError

    with streams.fed(invoke) as feed:
        made = []
        for _ in range(2):
            made.append(a_stored_event(7).id)
            feed.settle()
            assert given == made
    a_stored_event(7)

    assert given == made
    [line] = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert (line["event"], line["error"], line["function"]) == ("defect", "ZeroDivisionError", "deliver_events")


def test_a_feed_that_cannot_read_the_streams_looks_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called, looks = threading.Event(), iter([True])

    def batches() -> Iterator[tuple[str, list[streams.Record]]]:
        if next(looks, False):
            raise ZeroDivisionError
        yield "deliver_events", []

    monkeypatch.setattr(streams, "batches", batches)
    monkeypatch.setattr(streams, "INTERVAL_SECONDS", 0.001)
    with streams.fed(lambda *_: called.set()):
        assert called.wait(10)

    assert "ZeroDivisionError" in capsys.readouterr().out


class Shard:
    """The client of a stream with one shard, whose iterators expire. It numbers them, and goes on where one stands."""

    def __init__(self, *errors: str) -> None:
        self.errors, self.begun = list(errors), 0

    def list_streams(self, **_: str) -> dict[str, Any]:
        return {"Streams": [{"StreamArn": "arn"}]}

    def describe_stream(self, **_: str) -> dict[str, Any]:
        return {"StreamDescription": {"Shards": [{"ShardId": "1"}]}}

    def get_shard_iterator(self, **_: str) -> dict[str, str]:
        self.begun += 1
        return {"ShardIterator": "0"}

    def get_records(self, ShardIterator: str) -> dict[str, Any]:  # noqa: N803  the name of AWS
        begin = int(ShardIterator)
        if begin and self.errors:
            raise ClientError({"Error": {"Code": self.errors.pop()}}, "GetRecords")
        records = [{"dynamodb": {"SequenceNumber": str(number)}} for number in range(begin, begin + 2)]
        return {"Records": records} | ({"NextShardIterator": str(begin + 1)} if begin < 3 else {})


def test_a_shard_is_read_once_though_its_iterator_expires_and_has_an_end() -> None:
    expiring = Shard("ExpiredIteratorException")
    shard = streams._Reader(expiring, "events")  # noqa: SLF001  the engines of tests have no such iterators
    taken = [[int(one["dynamodb"]["SequenceNumber"]) for one in shard.take()] for _ in range(6)]

    assert taken == [[0, 1], [], [2], [3], [4], []]
    assert expiring.begun == 2


def test_another_error_of_a_stream_is_not_hidden() -> None:
    shard = streams._Reader(Shard("AccessDeniedException"), "events")  # noqa: SLF001  as above
    shard.take()

    with pytest.raises(ClientError, match="AccessDenied"):
        shard.take()
