"""The jobs of `routes/jobs.py` without a schedule of AWS: for the local stage, and for the operator's `sweep`."""

import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

from chalicelib.log import log_defect
from chalicelib.services import outbox, payment_sweep

THREAD_NAME = "scheduler"
INTERVAL_SECONDS = 5  # a deployed stage waits for a minute, which is long for somebody who tries the sandbox


def run_jobs() -> tuple[int, int]:
    """Run every job once; return the numbers of payments and of messages that were processed."""
    now = datetime.now(UTC)
    return payment_sweep.run(now), outbox.deliver_due(now)


@contextlib.contextmanager
def run_jobs_every(seconds: float = INTERVAL_SECONDS) -> Iterator[None]:
    """Run the jobs in a thread, every so many seconds, until the block ends."""
    ended = threading.Event()
    thread = threading.Thread(target=_run_until, args=(ended, seconds), name=THREAD_NAME, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=10)


def _run_until(ended: threading.Event, seconds: float) -> None:
    while not ended.wait(seconds):
        try:
            run_jobs()
        except Exception as defect:  # noqa: BLE001  the next run tries again
            log_defect(defect)
