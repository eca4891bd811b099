"""The streams of a scenario: each stored record reaches its function at least once, in batches, as on Lambda."""

from collections import deque
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from infra.local import streams
from infra.stack.resources import REGION, STACK
from infra.stack.streams import BATCHES_AT_ONCE, is_wanted
from tests.simulation.faults import Faults
from tests.simulation.gateway import Gateway
from tests.simulation.scheduler import Scheduler
from tests.simulation.store import Change

TABLES = {f"{STACK}-{table}": table for table in streams.FUNCTIONS}
FUNCTION_SECONDS = 60.0  # that a call may last
DELAYS = (0.02, 0.25)  # seconds until a batch is read
Lane = tuple[str, int]  # a table and a number: its records come one batch after the other


class Streams:
    """The streams of one scenario."""

    def __init__(self, scheduler: Scheduler, gateway: Gateway, faults: Faults) -> None:
        self._scheduler, self._gateway, self._faults = scheduler, gateway, faults
        self._lanes: dict[Lane, deque[dict[str, Any]]] = {}
        self._number = self._calls = 0

    def note(self, change: Change) -> None:
        """Take what was stored, if a function wants it."""
        table = TABLES.get(change.table.name)
        if table is None or change.after is None:
            return
        self._number += 1
        record = {
            "eventName": "MODIFY" if change.before else "INSERT",
            "eventID": str(self._number),
            "eventSourceARN": "simulated",
            "awsRegion": REGION,
            "dynamodb": {
                "SequenceNumber": str(self._number),
                "ApproximateCreationDateTime": self._scheduler.now,
                "StreamViewType": "NEW_IMAGE",
                "SizeBytes": 0,
                "NewImage": change.after,
            },
        }
        if not is_wanted(table.capitalize(), record):
            return
        lane = table, crc32(repr(change.key[0]).encode()) % BATCHES_AT_ONCE
        if lane in self._lanes:
            self._lanes[lane].append(record)
        else:
            self._lanes[lane] = deque([record])
            self._scheduler.spawn(f"stream of {table} {self._number}", lambda: self._drain(lane))

    def _drain(self, lane: Lane) -> None:
        """Deliver what waits in a lane, and what comes meanwhile."""
        waiting, task = self._lanes[lane], self._scheduler.current
        assert task is not None
        function = streams.FUNCTIONS[lane[0]]
        while waiting:
            self._scheduler.pause(task.chance.uniform(*DELAYS))
            batch = [waiting.popleft() for _ in range(min(len(waiting), streams.BATCH))]
            streams.deliver(self._invoke, function, batch)
        del self._lanes[lane]

    def _invoke(self, function: str, event: dict[str, Any]) -> Mapping[str, Any]:
        """Return what a function answers, or that everything is to come again: it died, or took longer than it may."""
        scheduler, task = self._scheduler, self._scheduler.current
        assert task is not None
        first = event["Records"][0]["dynamodb"]["SequenceNumber"]
        answers: list[Mapping[str, Any] | None] = []

        def call() -> None:
            answers.append(self._gateway.run_job(function, lambda: self._called(function, event)))
            scheduler.wake(task) if waits else None

        waits = [True]
        self._calls += 1
        scheduler.spawn(f"{task.name}, call {self._calls}", call)
        scheduler.park(scheduler.now + FUNCTION_SECONDS)
        waits.clear()
        answer = answers[0] if answers else None
        return answer or {"batchItemFailures": [{"itemIdentifier": first}]}

    def _called(self, function: str, event: dict[str, Any]) -> Mapping[str, Any] | None:
        """Return what a function answers; None when the answer is lost: all records come again."""
        if self._faults.draw("stream", {"unreachable": 1}, more=4):  # until Lambda gives up: the sweep has to find it
            return {"batchItemFailures": []}
        answer = streams.call(function, event)
        return None if self._faults.draw("stream", {"lost": 1}, more=8) else answer
