from decimal import Decimal

from chalicelib.domain import outcome
from chalicelib.domain.transaction import Phase
from chalicelib.schemas.transaction_view import StatusAnswer, TransactionView
from tests.support.transactions import NOW, a_payment


def test_what_is_being_returned_counts_as_reversed_until_its_outcome_is_known() -> None:
    payment = a_payment(reversed_minor=500, reserved_minor=300, reversals=2)

    view = TransactionView.of(payment, NOW, payment.gmt)

    assert (view.amount_rvs, view.amount_eff, view.count_rvs) == (Decimal("5.00"), Decimal("7.30"), 2)


def test_what_never_arrived_shows_nobody_a_result_before_its_reversal_is_acknowledged() -> None:
    pending = outcome.never_arrived(a_payment(phase=Phase.UNKNOWN, result_code=None, result_message=None), NOW)
    rejected = outcome.auto_cancelled(pending)

    public, shown = StatusAnswer.of(pending, NOW).transaction, TransactionView.of(pending, NOW, pending.gmt)
    afterwards = StatusAnswer.of(rejected, NOW).transaction

    assert public is not None
    assert afterwards is not None
    assert (public.result_code, public.result_message, shown.result) == (None, None, None)
    assert (afterwards.state, afterwards.result_code) == (200, 91)
