"""The log lines that feed the alarms of the sweeps."""

from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.services import outbox, outcomes, payment_sweep
from chalicelib.services.due_work import Swept
from tests.support.cards import a_card_body
from tests.support.tills import a_till, kept

pytestmark = pytest.mark.usefixtures("moto")
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
    payment = kept(a_till().pay(a_card_body(12.68)).id)
    assert payment is not None
    monkeypatch.setattr(outcomes, "resolve", lambda transaction, _: transaction)

    payment_sweep.run(payment.deadline + HOUR)

    told = [line for line in capsys.readouterr().out.splitlines() if '"event": "overdue"' in line]
    assert any(payment.id in line for line in told)
