"""A day of the service at the bank: the bank's list and our books are the same, and the operator's commands say so."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.services import payment_sweep
from chalicelib.settings import settings
from chalicelib.settings.iso8583 import Host, usual
from infra.bank import books
from infra.bank.bank import Bank
from infra.bank.faults import Timing
from infra.bank.server import Server
from infra.operator import commands as operator
from tests.support.cards import a_card_body
from tests.support.giving import Give
from tests.support.http import TILL, Reply, post

CODE = "BANKDAY"  # an acquirer of this module's own: the tables hold what others did


@pytest.fixture
def bank() -> Iterator[Bank]:
    """A bank, which is the acquirer of the stage."""
    bank = Bank(timing=Timing())
    with Server(bank) as host:
        at = Host("127.0.0.1", host.port, "123456", tls=False, ca=None, dialect=usual())
        of_stage = replace(settings(), iso8583=at, acquirers=(CODE,), default_acquirer=CODE)
        with outside.given(acquirers={CODE: lambda: Iso8583(at)}, settings=of_stage):
            yield bank


def pay(stage: str, amount: str) -> Reply:
    return post(stage, "/api/v1/payment/submit", a_card_body(amount), TILL)


def give_back(stage: str, payment: Reply, **basic: Any) -> Reply:
    body = {"BasicReverseTran": {"TransactionID": payment.body["TransactionID"], "ReverseMode": 5, **basic}}
    return post(stage, "/api/v1/payment/reversecnp", body, TILL)


def test_a_day_at_the_bank_reconciles(
    stage: str, bank: Bank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    approved = [pay(stage, amount) for amount in ("30.00", "20.00", "100.00")]
    assert {reply.error for reply in approved} == {(200, 0)}
    assert pay(stage, "30.51").error == (200, 1051)
    assert pay(stage, "30.67").error == (200, 310)  # carried out, and its answer lost
    assert give_back(stage, approved[0], ReverseMode=3).error == (200, 0)
    assert give_back(stage, approved[2], Amount="33.40", PartialReverse=True).error == (200, 0)
    assert give_back(stage, approved[2], Amount="20.67", PartialReverse=True).error == (200, 310)
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=1))

    day = date.fromisoformat(approved[0].body["Transaction"]["Date"][:10])
    path = tmp_path / "bank.csv"
    path.write_text(books.list_of(bank, day), encoding="utf-8")
    operator.main(["reconcile", "--acquirer", CODE, "--date", str(day), "--file", str(path)])

    assert "0 differences, 0 open; 3 in our books, 3 in the list." in capsys.readouterr().out
    assert bank.violations == []


def test_the_status_tells_the_operator_that_the_host_is_there(
    bank: Bank, capsys: pytest.CaptureFixture[str], give: Give
) -> None:
    operator.main(["status"])
    there = capsys.readouterr().out
    nobody = Host("127.0.0.1", 9, "123456", tls=False, ca=None, dialect=usual())
    give(settings=replace(settings(), iso8583=nobody))
    operator.main(["status"])

    assert "answers, after" in there
    assert "127.0.0.1:9: NO CONNECTION" in capsys.readouterr().out
    assert bank.violations == []
