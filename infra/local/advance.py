"""`/clock` of the local stage: a developer reads the clock, puts it forward and sets it back.

The clock stops at each time when work becomes due, and the jobs run there, so they run in the order of time. Where no
work is due it does not stop, so 400 days take seconds. Meanwhile the jobs of `infra.local.scheduler` and the streams
pause. Requests of clients are answered.
"""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any

from chalicelib import outside
from chalicelib.domain.deliveries import queue_of
from chalicelib.log import log_defect
from chalicelib.services import deliveries, outbox, payment_sweep
from chalicelib.store import due_index, due_records, events, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store import webhooks as webhooks_store
from infra.local import scheduler
from infra.local.stage_clock import StageClock, duration, shown
from infra.local.streams import Feed

MOST = timedelta(days=400)  # in all
LEAST_STEP = timedelta(seconds=scheduler.INTERVAL_SECONDS)  # no sooner do the stage's own jobs run again
EXACT_SECONDS = 30  # of this machine. After them an advance makes at most STEPS_LEFT steps, of equal length
STEPS_LEFT = 50
NEVER = datetime.max.replace(tzinfo=UTC)
JOBS = (payment_sweep.run, outbox.sweep, partial(deliveries.sweep, waits=False))


class RefusedError(Exception):
    """A request that changes nothing. The message is for the developer."""


class Advances:
    """The advances of a stage, one at a time."""

    def __init__(self, stage_clock: StageClock) -> None:
        self.clock = stage_clock
        self._feed: Feed | None = None
        self._one_at_a_time = threading.Lock()

    @contextlib.contextmanager
    def allowed(self, feed: Feed) -> Iterator[None]:
        """Allow advances in the block. An advance in progress ends at its next step after the block."""
        self._feed = feed
        try:
            yield
        finally:
            self._feed = None
            self._one_at_a_time.acquire(timeout=10)

    def page(self, method: str, body: bytes) -> tuple[HTTPStatus, dict[str, str]]:
        """Answer GET, POST and DELETE."""
        try:
            match method:
                case "GET":
                    pass
                case "POST":
                    self.advance(wanted(body))
                case "DELETE":
                    self.set_back()
                case _:
                    return HTTPStatus.METHOD_NOT_ALLOWED, {"Error": f"{method} is not GET, POST or DELETE."}
        except RefusedError as refusal:
            return HTTPStatus.BAD_REQUEST, {"Error": str(refusal)}
        except Exception as defect:  # noqa: BLE001  the developer learns how far the clock went
            log_defect(defect)
            error = f"The advance ended at {self._shown_now()}, by a defect: see the log."
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"Error": error}
        return HTTPStatus.OK, {"Now": self._shown_now(), "Ahead": shown(self.clock.ahead)}

    def _shown_now(self) -> str:
        now = self.clock.now().astimezone(UTC).replace(tzinfo=None)
        return f"{now.isoformat(timespec='milliseconds')}Z"

    def advance(self, by: timedelta) -> None:
        """Put the clock forward, and run the jobs at each time when work is due. Raises RefusedError."""
        with self.paused() as feed:
            end = self.clock.ahead + by
            if end > MOST:
                left = shown(MOST - self.clock.ahead)
                message = f"The clock goes at most {MOST.days} days ahead: {left} is left. DELETE sets it back."
                raise RefusedError(message)
            self._step_to(end, feed)

    def set_back(self) -> None:
        """Give the stage the machine's time again. What is stored stays as it is. Raises RefusedError."""
        with self.paused():
            self.clock.set_ahead(timedelta())

    @contextlib.contextmanager
    def paused(self) -> Iterator[Feed]:
        """Pause the jobs and the streams in the block. One caller at a time. Raises RefusedError."""
        with self._one_at_a_time:
            if self._feed is None:
                message = "The stage is starting or ending."
                raise RefusedError(message)
            with scheduler.paused(), self._feed.paused:
                yield self._feed

    def _step_to(self, end: timedelta, feed: Feed) -> None:
        exact_until = time.monotonic() + EXACT_SECONDS
        least = LEAST_STEP
        _run_jobs(feed, exact_until)
        while (ahead := self.clock.ahead) < end and self._feed:
            step = max(least, (next_due() or NEVER) - outside.now())
            self.clock.set_ahead(min(end, ahead + step))
            _run_jobs(feed, exact_until)
            if least == LEAST_STEP and time.monotonic() > exact_until:
                least = max(least, (end - self.clock.ahead) / STEPS_LEFT)


def _run_jobs(feed: Feed, until: float) -> None:
    """Run each job, again while one is unfinished before `until`. Before and after, send the new events."""
    feed.settle()
    while any([_is_unfinished(job) for job in JOBS]) and time.monotonic() < until:  # noqa: C419  each job runs
        pass
    feed.settle()


def _is_unfinished(job: Any) -> bool:
    try:
        return bool(job(outside.now()).is_unfinished)
    except Exception as defect:  # noqa: BLE001  as in the scheduler, the next run tries again
        log_defect(defect)
        return False


def wanted(body: bytes) -> timedelta:
    """Return the time by which a request puts the clock forward. Raises RefusedError."""
    try:
        text = json.loads(body)["Advance"]
    except (LookupError, TypeError, ValueError, RecursionError):
        text = None
    if not isinstance(text, str):
        message = 'The body is not {"Advance": "PT30M"}, or another duration.'
        raise RefusedError(message)
    try:
        seconds = duration(text)
    except ValueError as problem:
        raise RefusedError(str(problem)) from None
    if seconds > MOST.total_seconds():
        message = f"{text} is further than {MOST.days} days."
        raise RefusedError(message)
    by = timedelta(microseconds=int(seconds * 1_000_000))
    if not by:
        message = f"{text} is no time: the clock only goes forward."
        raise RefusedError(message)
    return by


def next_due() -> datetime | None:
    """Return the time when the next work of a job is due; it may be past. None if no work waits."""
    return min(filter(None, (due_records.next_due(table, lane) for table, lane in _lanes())), default=None)


def _lanes() -> Iterator[tuple[str, str]]:
    yield from ((transactions.TABLE, lane) for lane in (due_index.NO_ACQUIRER, *outside.current.acquirers))
    yield from ((outbox_store.TABLE, channel) for channel in outbox.CHANNELS)
    yield events.TABLE, events.LANE
    yield from ((events.TABLE, queue_of(hook.client_id, hook.id)) for hook in webhooks_store.every())
