"""What the schedules of `routes/jobs.py` do in a deployed stage, done here: for the local stage, and by hand."""

import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

from chalicelib.log import log_defect
from chalicelib.services import outbox, payment_sweep

NAME = "clock"
SECONDS = 5  # a deployed stage sweeps once a minute; whoever tries the sandbox does not want to wait for that


def tick() -> tuple[int, int]:
    """One run of every job: how many payments and how many messages were looked after."""
    now = datetime.now(UTC)
    return payment_sweep.run(now), outbox.deliver_due(now)


@contextlib.contextmanager
def ticking(seconds: float = SECONDS) -> Iterator[None]:
    """Until it ends, the jobs run every so often."""
    ended = threading.Event()
    thread = threading.Thread(target=_run, args=(ended, seconds), name=NAME, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=10)


def _run(ended: threading.Event, seconds: float) -> None:
    while not ended.wait(seconds):
        try:
            tick()
        except Exception as defect:  # noqa: BLE001  the next run tries again
            log_defect(defect)
