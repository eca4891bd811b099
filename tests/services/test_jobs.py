"""The schedules, as the deployed functions are called."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

import pytest

from chalicelib.domain.acquirer import AnswerLostError
from chalicelib.domain.phases import Phase
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.routes import jobs
from chalicelib.services import deliveries, outbox, payment_sweep
from chalicelib.services.lane_runner import Swept
from chalicelib.store.aws_client import Client
from chalicelib.store.table import table_name
from infra.bench.client import through
from tests.support.cards import a_card_body
from tests.support.giving import Give
from tests.support.intercepted_calls import broken, failing
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
    jobs.sweep(EVENT, None)

    swept = stored_transaction(payment.id)
    assert swept.phase is Phase.APPROVED
    assert '"event": "sweep"' in capsys.readouterr().out


KINDS = {"payments": (payment_sweep, "run"), "messages": (outbox, "sweep"), "deliveries": (deliveries, "sweep")}


def lines_of_a_run(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, **failing_kinds: BaseException
) -> list[dict[str, Any]]:
    """Run the sweep, in which these kinds fail, and each other kind makes two attempts. Return the lines of the log."""
    for kind, (service, name) in KINDS.items():
        work = failing(failing_kinds[kind]) if kind in failing_kinds else lambda _: Swept(2, behind_seconds=7)
        monkeypatch.setattr(service, name, work)
    jobs.sweep(EVENT, None)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_schedule_logs_what_was_done(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    lines = lines_of_a_run(capsys, monkeypatch)

    assert {line["kind"]: (line["event"], line["done"], line["behind_seconds"]) for line in lines} == dict.fromkeys(
        KINDS, ("sweep", 2, 7)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_outage_or_a_defect_ends_one_kind_and_no_other(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    for failure, event in (
        (ServiceError(ErrorCode.STORE_UNAVAILABLE), "sweep"),  # an outage ends with its line
        (ServiceError(ErrorCode.ROLE_MAY_NOT), "defect"),
        (ZeroDivisionError(), "defect"),
    ):
        lines = lines_of_a_run(capsys, monkeypatch, **{kind: failure})
        (ended,) = [line for line in lines if line["kind"] == kind]

        assert (ended["event"], ended.get("outage")) == (event, 903 if event == "sweep" else None)
        assert "done" not in ended
        assert sorted(line["kind"] for line in lines if line.get("done") == 2) == sorted(KINDS.keys() - {kind})


def test_the_kinds_run_side_by_side(give: Give) -> None:
    together = threading.Barrier(len(KINDS))
    waiting = dict.fromkeys(map(table_name, ("transactions", "outbox", "events")), True)

    def wait(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if operation == "Query" and waiting.pop(parameters["TableName"], False):
            together.wait(20)
        return client.call(operation, **parameters)

    give(client=through(wait))
    jobs.sweep(EVENT, None)

    assert (waiting, together.broken) == ({}, False)


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
RUN = payment_sweep.run


def test_the_sweep_says_for_how_long_a_payment_has_been_due() -> None:
    payment = a_till().pay(a_card_body(12.68))
    swept = payment_sweep.run(payment.created_at + HOUR, seconds=0)

    assert 3000 < swept.behind_seconds <= 3600


def test_who_has_nothing_to_do_is_not_behind() -> None:
    assert payment_sweep.run(datetime(2000, 1, 1, tzinfo=UTC)) == Swept()
    assert outbox.sweep(datetime(2000, 1, 1, tzinfo=UTC)) == Swept()


def test_a_payment_that_is_open_past_its_deadline_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    payment = stored_transaction(a_till().pay(a_card_body(12.68)).id)
    with broken(inquire=failing(AnswerLostError()), reverse=failing(AnswerLostError())):
        payment_sweep.run(payment.deadline + HOUR)

    lines = map(json.loads, capsys.readouterr().out.splitlines())
    told = [line for line in lines if (line["event"], line.get("transaction")) == ("overdue", payment.id)]
    assert [(line["merchant"], line["terminal"]) for line in told] == [(payment.client_id, payment.terminal_name)]


def test_a_sweep_names_the_shop_of_the_oldest_work_that_it_leaves(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    payment = stored_transaction(a_till().pay(a_card_body(12.68)).id)
    monkeypatch.setattr(payment_sweep, "run", lambda now: RUN(now + HOUR, seconds=0))
    jobs.sweep(EVENT, None)

    lines = map(json.loads, capsys.readouterr().out.splitlines())
    assert [
        (line["oldest"], line["merchant"], line["terminal"]) for line in lines if line.get("kind") == "payments"
    ] == [(payment.id, payment.client_id, payment.terminal_name)]
