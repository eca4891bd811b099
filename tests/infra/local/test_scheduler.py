import threading
from datetime import UTC, datetime

import pytest

from chalicelib.domain import deliveries
from chalicelib.services.lane_runner import Swept
from chalicelib.store import deliveries as deliveries_store
from infra.local import advance, scheduler
from tests.support.events import a_stored_hook, an_event


def test_the_jobs_run_until_the_stage_ends_whatever_goes_wrong_with_one() -> None:
    runs = threading.Semaphore(0)

    def run(_: object, **__: object) -> Swept:
        runs.release()
        raise RuntimeError

    with scheduler.run_jobs_every(0.001, run, lambda _: Swept()):
        assert all(runs.acquire(timeout=5) for _ in range(3))
    assert not [thread for thread in threading.enumerate() if thread.name == scheduler.THREAD_NAME]


def test_a_long_run_of_one_sweep_does_not_delay_the_others_and_a_pause_waits_for_it() -> None:
    others, begun = threading.Semaphore(0), threading.Event()
    seen: list[str] = []

    def run(_: object, seconds: float) -> Swept:
        assert seconds == 0.001
        begun.set()
        assert all(others.acquire(timeout=5) for _ in range(3))
        seen.append("payments")
        return Swept()

    def sweep(_: object) -> Swept:
        others.release()
        return Swept()

    with scheduler.run_jobs_every(0.001, run, sweep):
        assert begun.wait(5)
        with scheduler.paused():
            assert seen != []


@pytest.mark.usefixtures("engine")
def test_a_delivery_of_any_webhook_is_work_that_waits() -> None:
    for slow_since, year in ((None, 2001), (datetime.now(UTC), 2000)):  # each is before all other work
        hook = a_stored_hook(7, "https://shop.example/events", slow_since=slow_since)
        begun = deliveries.begun(an_event(hook.client_id), hook.id, datetime(year, 1, 1, tzinfo=UTC))
        deliveries_store.begin(begun)

        assert advance.next_due() == begun.due_at
