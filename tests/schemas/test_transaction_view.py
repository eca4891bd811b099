import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain import steps
from chalicelib.domain.kinds import InputType
from chalicelib.domain.paging import Page
from chalicelib.domain.phases import PENDING, SHOWN, Phase, Section
from chalicelib.domain.transaction import Original, Transaction
from chalicelib.schemas.transaction_view import PaidCardView, StatusAnswer, TransactionList, TransactionView
from tests.support.cards import a_card
from tests.support.transactions import NOW, a_guid, a_payment, altered


def test_what_is_being_returned_counts_as_reversed_until_its_outcome_is_known() -> None:
    payment = a_payment(reversals_amount_minor=500, reserved_minor=300, reversals_count=2)
    view = TransactionView.of(payment, NOW, payment.gmt)

    assert (view.amount_rvs, view.amount_eff, view.count_rvs) == (Decimal("5.00"), Decimal("7.30"), 2)


def test_a_linked_card_expires_at_the_merchants_midnight_in_the_zone_of_the_request() -> None:
    payment = a_payment(gmt=2, card=a_card().details, linked_id=7)
    shown = [PaidCardView.of(payment, zone) for zone in (2, 0, -5)]
    times = [one.card_exp for one in shown if one]

    assert [time and time[10:] for time in times] == ["T23:59:59.000", "T21:59:59.000", "T16:59:59.000"]


@pytest.mark.parametrize("phase", [Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLED])
def test_nothing_remains_of_a_transaction_that_moved_no_money(phase: Phase) -> None:
    view = TransactionView.of(replace(a_payment(), phase=phase), NOW, None)

    assert (view.amount, view.amount_eff) == (Decimal("12.30"), Decimal(0))


def test_what_never_arrived_shows_nobody_a_result_before_its_reversal_is_acknowledged() -> None:
    pending = steps.never_arrived(a_payment(phase=Phase.UNKNOWN, result_code=None, result_message=None), NOW)
    rejected = steps.auto_cancelled(pending)

    public, shown = StatusAnswer.of(pending, NOW).transaction, TransactionView.of(pending, NOW, pending.gmt)
    afterwards = StatusAnswer.of(rejected, NOW).transaction

    assert public is not None
    assert afterwards is not None
    assert (public.result_code, public.result_message, shown.result) == (None, None, None)
    assert (afterwards.state, afterwards.result_code) == (200, 91)


# State, Substate, Status, DisplayMode, list: the contract's table, row by row.
CONTRACT = {
    Phase.SENT: (200, 201, "PROCESSING", 100, Section.IN_PROCESS),
    Phase.UNKNOWN: (200, 201, "UNKNOWN", 100, Section.IN_PROCESS),
    Phase.REJECTED: (200, 202, "REJECTED", 0, Section.TRANSACTIONS),
    Phase.AWAITING_COMPLETION: (400, 401, "IN-TRANSFER", 1, Section.NOT_FINISHED),
    Phase.APPROVED: (400, 411, "IN-TRANSFER", 1, Section.TRANSACTIONS),
    Phase.DECLINED: (400, 412, "DECLINED", 0, Section.TRANSACTIONS),
    Phase.AUTO_CANCELLING: (400, 403, "REVERSING", 100, Section.IN_PROCESS),
    Phase.AUTO_CANCELLED: (400, 404, "REVERSED", 0, Section.TRANSACTIONS),
    Phase.CANCELLING: (500, 503, "PROCESSING", 2, Section.IN_PROCESS),
    Phase.RETURNING: (500, 505, "PROCESSING", 2, Section.IN_PROCESS),
    Phase.REVERSAL_APPROVED: (500, 502, "IN-TRANSFER", 2, Section.TRANSACTIONS),
}


@pytest.mark.parametrize("phase", Phase)
def test_a_phase_looks_as_the_contract_says(phase: Phase) -> None:
    transaction = replace(a_payment(), phase=phase)

    assert shown(transaction) == CONTRACT[phase]


def shown(transaction: Transaction) -> tuple[Any, ...]:
    look = transaction.shown
    return look.state, look.substate, look.status, look.display_mode, look.section


def test_a_payment_that_is_reversed_in_full_looks_as_the_contract_says() -> None:
    reversed_in_full = altered(a_payment(), reversals_amount_minor=1230)
    in_progress = altered(reversed_in_full, reserved_minor=1)

    assert shown(reversed_in_full) == (500, 502, "REVERSED", 3, Section.TRANSACTIONS)
    assert reversed_in_full.status_at(reversed_in_full.deadline) == "REVERSED"
    assert shown(in_progress) == CONTRACT[Phase.APPROVED]


def test_what_is_pending_is_listed_as_in_process() -> None:
    assert {phase for phase in Phase if SHOWN[phase].section is Section.IN_PROCESS} == PENDING


def test_a_cash_payment_is_deposited_at_once_and_anything_else_at_the_deadline() -> None:
    cash = a_payment()
    card = replace(cash, input_type=InputType.CHIP)
    reversal = replace(cash, phase=Phase.REVERSAL_APPROVED, original=Original(a_guid(), "1", 2))

    assert cash.status_at(NOW) == "DEPOSITED"
    for one in (card, reversal):
        assert one.status_at(one.deadline - timedelta(microseconds=1)) == "IN-TRANSFER"
        assert one.status_at(one.deadline) == "DEPOSITED"


def test_a_list_leaves_out_and_logs_a_record_that_cannot_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown, other = a_payment(), a_payment(created_at=datetime.max.replace(tzinfo=UTC))
    answer = TransactionList.of(Page([other, shown], 2, Decimal(0)), NOW, 2, lambda _: "")

    assert [one.id for one in answer.transactions] == [shown.id]
    line = json.loads(capsys.readouterr().out)
    assert (line["event"], line["record"], line["reason"]) == ("unreadable", other.id, "OverflowError")
