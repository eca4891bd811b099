"""The sweeps of `routes/jobs.py` without AWS's schedule, for the local stage and the operator's command `sweep`."""

import contextlib
import threading
from collections.abc import Iterator

from chalicelib import clock
from chalicelib.log import log_defect
from chalicelib.services import deliveries, outbox, payment_sweep
from chalicelib.services.lane_runner import Swept

THREAD_NAME = "scheduler"
EVENT_SECONDS, EVENT_PAUSE = 10, 1.0  # of a sweep of events, and the pause after it
RUN_OF_JOBS, RUN_OF_EVENTS = threading.Lock(), threading.Lock()  # held by the threads during a run
INTERVAL_SECONDS = 5  # shorter than the minute of a deployed stage, for people who try the sandbox


def run_jobs(sweep_seconds: float = payment_sweep.SECONDS) -> tuple[Swept, Swept]:
    """Run every job once; return the results of the sweeps of payments and of messages."""
    now = clock.now()
    return payment_sweep.run(now, seconds=sweep_seconds), outbox.sweep(now)


@contextlib.contextmanager
def run_jobs_every(seconds: float = INTERVAL_SECONDS) -> Iterator[None]:
    """Run the jobs in a thread, every so many seconds, until the block ends."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=target, args=(ended, *arguments), name=THREAD_NAME, daemon=True)
        for target, arguments in ((_run_until, (seconds,)), (_sweep_events_until, ()))
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(timeout=10)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Wait for the runs in progress, and begin no other until the block ends."""
    with RUN_OF_JOBS, RUN_OF_EVENTS:
        yield


def _run_until(ended: threading.Event, seconds: float) -> None:
    """Run the jobs in turn. A sweep of payments takes at most the pause; after an unfinished one there is no pause."""
    pause = seconds
    while not ended.wait(pause):
        pause = seconds
        try:
            with RUN_OF_JOBS:
                swept, _ = run_jobs(sweep_seconds=seconds)
            pause = 0 if swept.is_unfinished else seconds
        except Exception as defect:  # noqa: BLE001  the next run tries again
            log_defect(defect)


def _sweep_events_until(ended: threading.Event) -> None:
    """Run the sweep of events in its own thread, because it waits for receivers."""
    while not ended.wait(EVENT_PAUSE):
        try:
            with RUN_OF_EVENTS:
                deliveries.sweep(clock.now(), EVENT_SECONDS)
        except Exception as defect:  # noqa: BLE001  the next run tries again
            log_defect(defect)
