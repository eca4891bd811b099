import threading
from datetime import UTC, datetime

import pytest

from chalicelib.domain import deliveries
from chalicelib.services import outbox, payment_sweep
from chalicelib.services.lane_runner import Swept
from chalicelib.store import events
from infra.local import advance, scheduler
from tests.support.events import a_stored_hook, an_event


def test_the_jobs_run_until_the_stage_ends_whatever_goes_wrong_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = threading.Semaphore(0)

    def run(_: object, **__: object) -> Swept:
        runs.release()
        raise RuntimeError

    monkeypatch.setattr(payment_sweep, "run", run)
    monkeypatch.setattr(outbox, "sweep", lambda _: Swept())

    with scheduler.run_jobs_every(0.001):
        assert all(runs.acquire(timeout=5) for _ in range(3))
    assert not [thread for thread in threading.enumerate() if thread.name == scheduler.THREAD_NAME]


def test_a_sweep_that_is_unfinished_goes_on_at_once_in_slices_with_messages_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    done = threading.Event()

    def run(_: object, seconds: float) -> Swept:
        seen.append(f"payments for {seconds} s")
        return Swept(16, is_unfinished=True)

    def sweep(_: object) -> Swept:
        seen.append("messages")
        if len(seen) == 6:
            done.set()
        return Swept()

    monkeypatch.setattr(payment_sweep, "run", run)
    monkeypatch.setattr(outbox, "sweep", sweep)

    with scheduler.run_jobs_every(0.5):
        assert done.wait(timeout=10)
    assert seen[:6] == ["payments for 0.5 s", "messages"] * 3


def test_a_run_of_the_jobs_returns_how_many_payments_and_messages_it_processed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payment_sweep, "run", lambda _, **__: Swept(3))
    monkeypatch.setattr(outbox, "sweep", lambda _: Swept(2))

    assert scheduler.run_jobs() == (Swept(3), Swept(2))


@pytest.mark.usefixtures("engine")
def test_a_delivery_of_any_webhook_is_work_that_waits() -> None:
    for slow_since, year in ((None, 2001), (datetime.now(UTC), 2000)):  # each is before all other work
        hook = a_stored_hook(7, "https://shop.example/events", slow_since=slow_since)
        begun = deliveries.begun(an_event(hook.client_id), hook.id, datetime(year, 1, 1, tzinfo=UTC))
        events.begin(begun)

        assert advance.next_due() == begun.due_at
