"""The schedules, as the deployed functions are called."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.routes import jobs
from chalicelib.services import deliveries, outbox, outcomes, payment_sweep
from chalicelib.services.lane_runner import Swept
from tests.support.cards import a_card_body
from tests.support.intercepted_calls import failing
from tests.support.stored import stored_transaction
from tests.support.tills import a_till

pytestmark = pytest.mark.usefixtures("engine")
Capture = pytest.CaptureFixture[str]
EVENT: dict[str, Any] = {
    "version": "0",
    "account": "1",
    "region": "r",
    "detail": {},
    "detail-type": "Scheduled Event",
    "source": "aws.events",
    "time": "2026-03-14T09:26:53Z",
    "id": "1",
    "resources": [],
}


def test_the_scheduled_sweep_finishes_what_is_due(capsys: pytest.CaptureFixture[str]) -> None:
    payment = a_till().pay(a_card_body(12.68))
    jobs.sweep_payments(EVENT, None)

    swept = stored_transaction(payment.id)
    assert swept.phase is Phase.APPROVED
    assert '"event": "sweep"' in capsys.readouterr().out


every_sweep = pytest.mark.parametrize(
    ("job", "service", "name", "counted"),
    [
        (jobs.sweep_payments, payment_sweep, "run", "payments"),
        (jobs.sweep_outbox, outbox, "sweep", "messages"),
        (jobs.sweep_events, deliveries, "sweep", "deliveries"),
    ],
    ids=["payments", "outbox", "events"],
)
Job = Callable[[dict[str, Any], None], Any]


@every_sweep
def test_a_schedule_logs_what_was_done(  # noqa: PLR0913, PLR0917  the columns of a table
    job: Job, service: ModuleType, name: str, counted: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(service, name, lambda _: Swept(2, behind_seconds=7))
    job(EVENT, None)

    assert f'"{counted}": 2, "behind_seconds": 7' in capsys.readouterr().out


@every_sweep
def test_an_outage_ends_a_sweep_and_a_defect_fails_it(  # noqa: PLR0913, PLR0917  the columns of a table
    job: Job, service: ModuleType, name: str, counted: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(service, name, failing(ServiceError(ErrorCode.STORE_UNAVAILABLE)))
    job(EVENT, None)
    line = json.loads(capsys.readouterr().out)
    assert (line["event"], line["outage"]) == ("sweep", ErrorCode.STORE_UNAVAILABLE.code)
    assert counted not in line

    for defect in (ServiceError(ErrorCode.ROLE_MAY_NOT), ZeroDivisionError()):
        monkeypatch.setattr(service, name, failing(defect))
        with pytest.raises(type(defect)):
            job(EVENT, None)


@pytest.mark.parametrize("job", [jobs.deliver_events, jobs.deliver_outbox])
def test_a_record_of_a_deletion_has_nothing_to_deliver(job: Callable[[dict[str, Any], None], Any]) -> None:
    expired = {"eventName": "REMOVE", "dynamodb": {"SequenceNumber": "1", "Keys": {"day": {"S": "7#2026-03-14"}}}}

    assert job({"Records": [expired]}, None) == {"batchItemFailures": []}


@pytest.mark.parametrize(
    ("job", "service"), [(jobs.deliver_events, deliveries), (jobs.deliver_outbox, outbox)], ids=["events", "outbox"]
)
def test_a_record_that_meets_an_outage_comes_again(
    job: Callable[[dict[str, Any], None], Any], service: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda keeps the records from the first number in the answer. Without one the whole batch is done with."""
    given: list[Any] = []

    def deliver(records: list[Any]) -> list[str]:
        given.extend(records)
        return ["2"]

    monkeypatch.setattr(service, "deliver", deliver)
    records = [{"dynamodb": {"SequenceNumber": number, "NewImage": {"id": {"S": number}}}} for number in "12"]

    assert job({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert given == [(number, {"id": {"S": number}}) for number in "12"]


HOUR = timedelta(hours=1)


def test_the_sweep_says_for_how_long_a_payment_has_been_due() -> None:
    payment = a_till().pay(a_card_body(12.68))
    swept = payment_sweep.run(payment.created_at + HOUR, seconds=0)

    assert 3000 < swept.behind_seconds <= 3600


def test_who_has_nothing_to_do_is_not_behind() -> None:
    assert payment_sweep.run(datetime(2000, 1, 1, tzinfo=UTC)) == Swept()
    assert outbox.sweep(datetime(2000, 1, 1, tzinfo=UTC)) == Swept()


def test_a_payment_that_is_open_past_its_deadline_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    payment = stored_transaction(a_till().pay(a_card_body(12.68)).id)
    monkeypatch.setattr(outcomes, "resolve", lambda transaction, *_: transaction)
    payment_sweep.run(payment.deadline + HOUR)

    told = [line for line in capsys.readouterr().out.splitlines() if '"event": "overdue"' in line]
    assert any(payment.id in line for line in told)
