"""The jobs of `routes/jobs.py` without a schedule of AWS: for the local stage, and for the operator's `sweep`."""

import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

from chalicelib.log import log_defect
from chalicelib.services import deliveries, outbox, payment_sweep
from chalicelib.services.due_work import Swept

THREAD_NAME = "scheduler"
EVENT_SECONDS, EVENT_PAUSE = 10, 1.0  # of a run of the sweep of events, and after it: retries wait for seconds
INTERVAL_SECONDS = 5  # a deployed stage waits for a minute, which is long for somebody who tries the sandbox


def run_jobs(sweep_seconds: float = payment_sweep.SECONDS) -> tuple[Swept, Swept]:
    """Run every job once; return what the sweeps of payments and of messages did."""
    now = datetime.now(UTC)
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


def _run_until(ended: threading.Event, seconds: float) -> None:
    """Run the jobs by turns: no sweep of payments takes longer than the pause, and one that is unfinished has none."""
    pause = seconds
    while not ended.wait(pause):
        pause = seconds
        try:
            swept, _ = run_jobs(sweep_seconds=seconds)
            pause = 0 if swept.is_unfinished else seconds
        except Exception as defect:  # noqa: BLE001  the next run tries again
            log_defect(defect)


def _sweep_events_until(ended: threading.Event) -> None:
    """Run the sweep of events beside the other jobs: it waits for receivers."""
    while not ended.wait(EVENT_PAUSE):
        try:
            deliveries.sweep(datetime.now(UTC), EVENT_SECONDS)
        except Exception as defect:  # noqa: BLE001  the next run tries again
            log_defect(defect)
