"""The sweeps of `routes/jobs.py` without AWS's schedule, for the local stage."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import datetime

from chalicelib import outside
from chalicelib.log import log_defect
from chalicelib.services import deliveries, outbox, payment_sweep

THREAD_NAME = "scheduler"
INTERVAL_SECONDS = 5  # shorter than the minute of a deployed stage, for people who try the sandbox
EVENT_SECONDS, EVENT_PAUSE = 10, 1.0  # of a sweep of events, and the pause after it
RUNS = (threading.Lock(), threading.Lock(), threading.Lock())  # held during a run of payments, messages, events


@contextlib.contextmanager
def run_jobs_every(
    seconds: float = INTERVAL_SECONDS,
    payments: Callable[..., object] = payment_sweep.run,
    messages: Callable[[datetime], object] = outbox.sweep,
) -> Iterator[None]:
    """Run each sweep in a thread of its own, every so many seconds, until the block ends."""
    ended = threading.Event()
    sweeps: tuple[tuple[float, Callable[[datetime], object]], ...] = (
        (seconds, lambda now: payments(now, seconds=seconds)),
        (seconds, messages),
        (EVENT_PAUSE, lambda now: deliveries.sweep(now, EVENT_SECONDS)),
    )
    threads = [
        threading.Thread(target=_run_until, args=(ended, lock, *sweep), name=THREAD_NAME, daemon=True)
        for lock, sweep in zip(RUNS, sweeps, strict=True)
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
    with contextlib.ExitStack() as held:
        for lock in RUNS:
            held.enter_context(lock)
        yield


def _run_until(ended: threading.Event, lock: threading.Lock, pause: float, sweep: Callable[[datetime], object]) -> None:
    while not ended.wait(pause):
        try:
            with lock:
                sweep(outside.now())
        except Exception as defect:  # noqa: BLE001  the next run tries again
            log_defect(defect)
