"""The streams of the tables on this machine, and the thread that passes their records to `routes/jobs.py`.

In the cloud, Lambda reads a stream and calls its function. Here a thread does so five times a second. A slow batch
delays no other.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from functools import cache
from importlib import import_module
from typing import Any

import boto3
from botocore.exceptions import ClientError

from chalicelib.log import log_defect
from chalicelib.routes import jobs
from infra.local import engines
from infra.stack import resources
from infra.stack.streams import is_wanted

Record = dict[str, Any]
Invoke = Callable[[str, dict[str, Any]], Mapping[str, Any] | None]  # calls the named function with an event

FUNCTIONS: Mapping[str, str] = {"events": "deliver_events", "outbox": "deliver_outbox"}
BATCH = jobs.BATCH
INTERVAL_SECONDS = 0.2
THREADS = 32  # batches at once
ATTEMPTS = 5  # at a batch with failed records
PAUSE_SECONDS = 1.0
DROPPED_AFTER_SECONDS = 0.5
BEGIN_AGAIN = {"TrimmedDataAccessException", "ExpiredIteratorException"}  # the stored part of the stream is read again


def call(function: str, event: dict[str, Any]) -> Mapping[str, Any] | None:
    """Call a function of this process."""
    answer: Mapping[str, Any] | None = getattr(jobs, function)(event, None)
    return answer


def batches() -> Iterator[tuple[str, list[Record]]]:
    """Yield the new records in batches, each with the name of its function."""
    for table, function in FUNCTIONS.items():
        records = [one for one in _taken(f"{resources.STACK}-{table}") if is_wanted(table.capitalize(), one)]
        for start in range(0, len(records), BATCH):
            yield function, records[start : start + BATCH]


def deliver(invoke: Invoke, function: str, records: Sequence[Record]) -> None:
    """Call a function with records, and again from the first record it reports as failed. The sweep does the rest."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_SECONDS * attempt)
        answer = invoke(function, {"Records": list(records)})
        failed = {item["itemIdentifier"] for item in (answer or {}).get("batchItemFailures", [])}
        first = next((n for n, one in enumerate(records) if one["dynamodb"]["SequenceNumber"] in failed), None)
        if first is None:
            return
        records = records[first:]


class Feed:
    """The way of new records to the functions. One thread at a time reads the streams: the holder of `paused`."""

    def __init__(self, invoke: Invoke, pool: Executor) -> None:
        self.paused = threading.RLock()
        self._invoke, self._pool = invoke, pool
        self._running: set[Future[None]] = set()

    def run(self, ended: threading.Event) -> None:
        """Pass on new records until the end."""
        while not ended.wait(INTERVAL_SECONDS):
            try:
                self._look()
            except Exception as defect:  # noqa: BLE001  the next look tries again
                log_defect(defect)

    def settle(self) -> None:
        """Pass on new records until there are none, and wait for the functions."""
        with self.paused:
            while self._look():
                wait(self._running)

    def drop(self) -> None:
        """Drop new records, and wait a little for the functions: a receiver may not answer."""
        with self.paused:
            list(batches())
            wait(self._running, DROPPED_AFTER_SECONDS)

    def _look(self) -> bool:
        with self.paused:
            self._running = {one for one in self._running if not one.done()}
            for function, records in batches():
                self._running.add(self._pool.submit(_deliver_logged, self._invoke, function, records))
            return bool(self._running)


@contextlib.contextmanager
def fed(invoke: Invoke = call) -> Iterator[Feed]:
    """Pass new records to the functions until the block ends."""
    ended = threading.Event()
    with ThreadPoolExecutor(THREADS, thread_name_prefix="stream") as pool:
        feed = Feed(invoke, pool)
        thread = threading.Thread(target=feed.run, args=(ended,), name="streams", daemon=True)
        thread.start()
        try:
            yield feed
        finally:
            ended.set()
            thread.join(timeout=10)


def _deliver_logged(invoke: Invoke, function: str, records: Sequence[Record]) -> None:
    try:
        deliver(invoke, function, records)
    except Exception as defect:  # noqa: BLE001  the sweep does the rest
        log_defect(defect, function=function)


def _taken(table: str) -> list[Record]:
    url = os.environ.get(engines.ENDPOINT_VARIABLE)
    return [_as_lambda_gets_it(one) for one in (_reader(url, table).take() if url else _of_moto(table))]


def _of_moto(table: str) -> list[Record]:
    """Take the records out of moto, which never deletes them."""
    models = import_module("moto.dynamodb.models")
    with engines.MOTO_LOCK:
        found = models.dynamodb_backends[resources.ACCOUNT_ID][resources.REGION].tables.get(table)
        shard = found.stream_shard if found else None
        if shard is None:
            return []
        taken, shard.items = shard.items, []
        shard.starting_sequence_number += len(taken)
    return [one.to_json() for one in taken]


class _Reader:
    """The shards of the stream of one table of DynamoDB Local, and the positions of the reader by shard."""

    def __init__(self, client: Any, table: str) -> None:
        self._client, self._table = client, table
        self._iterators: dict[str, str | None] = {}  # None for a shard that has ended
        self._read_to: dict[str, int] = {}  # sequence numbers

    def take(self) -> list[Record]:
        """Return the records since the last call."""
        taken = []
        for stream in self._client.list_streams(TableName=self._table)["Streams"]:
            arn = stream["StreamArn"]
            for shard in self._client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
                taken += self._take(arn, shard["ShardId"])
        return taken

    def _take(self, arn: str, shard: str) -> list[Record]:
        iterator = self._iterators[shard] if shard in self._iterators else self._begin(arn, shard)
        if iterator is None:
            return []
        try:
            page = self._client.get_records(ShardIterator=iterator)
        except ClientError as error:
            if error.response["Error"]["Code"] not in BEGIN_AGAIN:
                raise
            page = self._client.get_records(ShardIterator=self._begin(arn, shard))
        self._iterators[shard], before = page.get("NextShardIterator"), self._read_to.get(shard, -1)
        numbered = [(int(one["dynamodb"]["SequenceNumber"]), one) for one in page["Records"]]
        self._read_to[shard] = max([before, *(number for number, _ in numbered)])
        return [one for number, one in numbered if number > before]

    def _begin(self, arn: str, shard: str) -> str:
        began = self._client.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        return str(began["ShardIterator"])


@cache
def _reader(url: str, table: str) -> _Reader:
    return _Reader(boto3.client("dynamodbstreams", endpoint_url=url), table)


def _as_lambda_gets_it(record: Record) -> Record:
    """Return a record in the form of Lambda: its time is a number, and it names its stream."""
    inner = record["dynamodb"]
    created_at = inner["ApproximateCreationDateTime"].timestamp()
    return {**record, "eventSourceARN": "local", "dynamodb": {**inner, "ApproximateCreationDateTime": created_at}}
