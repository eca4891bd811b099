from decimal import Decimal

from chalicelib.schemas.transaction_view import TransactionView
from tests.transactions import NOW, a_payment


def test_what_is_being_returned_counts_as_reversed_until_its_outcome_is_known() -> None:
    payment = a_payment(reversed_minor=500, reserved_minor=300, reversals=2)

    view = TransactionView.of(payment, NOW, payment.gmt)

    assert (view.amount_rvs, view.amount_eff, view.count_rvs) == (Decimal("5.00"), Decimal("7.30"), 2)
