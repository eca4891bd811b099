"""The schedules, as the deployed functions are called."""

from typing import Any

import pytest

from chalicelib.domain.transaction import Phase
from chalicelib.routes import jobs
from chalicelib.services import outbox
from chalicelib.services.due_work import Swept
from tests.support.cards import a_card_body
from tests.support.tills import a_till, kept

pytestmark = pytest.mark.usefixtures("moto")
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

    swept = kept(payment.id)
    assert swept is not None
    assert swept.phase is Phase.APPROVED
    assert '"event": "sweep"' in capsys.readouterr().out


def test_the_scheduled_sending_sends_what_is_due(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outbox, "sweep", lambda _: Swept(2, behind_seconds=7))

    jobs.sweep_outbox(EVENT, None)

    assert '"messages": 2, "behind_seconds": 7' in capsys.readouterr().out
