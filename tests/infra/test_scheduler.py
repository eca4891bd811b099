import threading

import pytest

from chalicelib.services import outbox, payment_sweep
from chalicelib.services.payment_sweep import Swept
from infra import scheduler


def test_the_jobs_run_until_the_stage_ends_whatever_goes_wrong_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = threading.Semaphore(0)

    def run(_: object, **__: object) -> Swept:
        runs.release()
        raise RuntimeError

    monkeypatch.setattr(payment_sweep, "run", run)
    monkeypatch.setattr(outbox, "deliver_due", lambda _: 0)

    with scheduler.run_jobs_every(0.001):
        assert all(runs.acquire(timeout=5) for _ in range(3))
    assert not [thread for thread in threading.enumerate() if thread.name == scheduler.THREAD_NAME]


def test_a_run_of_the_jobs_returns_how_many_payments_and_messages_it_processed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payment_sweep, "run", lambda _, **__: Swept(3))
    monkeypatch.setattr(outbox, "deliver_due", lambda _: 2)

    assert scheduler.run_jobs() == (Swept(3), 2)
