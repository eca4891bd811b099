import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import DrawFn, composite, integers, lists, permutations, sampled_from

from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import Transaction
from infra.operator.reconciliation import (
    REFUND,
    Booking,
    Difference,
    Field,
    Row,
    Standing,
    booking_of,
    cancels_of,
    compare,
)
from tests.support.reconciliations import DAY, NO_CANCELS, a_booking, a_purchase, a_reversal, booked, row_of
from tests.support.transactions import a_guid

RETURN, CANCEL = ReverseMode.RETURN, ReverseMode.CANCEL
Planted = tuple[list[Row], set[tuple[str, str, Field]]]  # the rows of one transaction, what is to be found in them


def found(books: list[Booking], rows: list[Row]) -> list[tuple[str, str, Field]]:
    return [(one.rrn, one.id, one.field) for one in compare(books, rows, DAY)]


def standing(transaction: Transaction, *cancels: Transaction) -> Standing:
    return booking_of(booked(transaction), cancels_of(map(booked, cancels))).standing


MADE = {Phase.APPROVED, Phase.AWAITING_COMPLETION}
PENDING = {Phase.SENT, Phase.UNKNOWN, Phase.AUTO_CANCELLING}


@pytest.mark.parametrize("phase", sorted(set(Phase) - {Phase.CANCELLING, Phase.RETURNING, Phase.REVERSAL_APPROVED}))
def test_a_purchase_is_made_open_or_not_made(phase: Phase) -> None:
    expected = Standing.MADE if phase in MADE else Standing.OPEN if phase in PENDING else Standing.NOT_MADE

    assert standing(a_purchase(phase=phase)) is expected


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (Phase.REVERSAL_APPROVED, Standing.MADE),
        (Phase.RETURNING, Standing.OPEN),
        (Phase.AUTO_CANCELLING, Standing.OPEN),
        (Phase.DECLINED, Standing.NOT_MADE),
        (Phase.REJECTED, Standing.NOT_MADE),
    ],
)
def test_a_refund_is_made_when_it_was_approved(phase: Phase, expected: Standing) -> None:
    assert standing(a_reversal(a_purchase(), RETURN, phase=phase)) is expected


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (Phase.REVERSAL_APPROVED, Standing.NOT_MADE),
        (Phase.CANCELLING, Standing.OPEN),
        (Phase.DECLINED, Standing.MADE),
        (Phase.REJECTED, Standing.MADE),
    ],
)
def test_a_cancel_decides_over_its_purchase(phase: Phase, expected: Standing) -> None:
    purchase = a_purchase()

    assert standing(purchase, a_reversal(purchase, CANCEL, phase=phase)) is expected


def test_a_cancel_that_was_done_counts_whatever_became_of_one_before_it() -> None:
    purchase = a_purchase()
    declined, done = (a_reversal(purchase, CANCEL, phase=phase) for phase in (Phase.DECLINED, Phase.REVERSAL_APPROVED))

    assert standing(purchase, declined, done) is Standing.NOT_MADE
    assert standing(a_purchase(), done) is Standing.MADE


def test_books_and_list_that_agree_have_no_difference() -> None:
    books = [a_booking(), a_booking(type=REFUND), a_booking(amount=Decimal("0.01"), currency="BHD")]

    assert compare(books, [row_of(one) for one in books], DAY) == []


def test_equal_amounts_are_equal_however_they_are_written() -> None:
    booking = a_booking()

    assert compare([booking], [row_of(booking, amount=Decimal("12.3"))], DAY) == []


def test_an_amount_that_differs_in_its_last_digit_is_found_in_any_size() -> None:
    amount = Decimal("999999999999999.99")
    booking = a_booking(amount=amount)

    assert found([booking], [row_of(booking, amount=amount + Decimal("0.01"))]) == [
        (booking.rrn, booking.id, Field.AMOUNT)
    ]


def test_a_refund_may_have_no_approval_code_in_the_list_and_a_purchase_may_not() -> None:
    refund, purchase = a_booking(type=REFUND), a_booking()

    assert found([refund, purchase], [row_of(refund, approval_code=""), row_of(purchase, approval_code="")]) == [
        (purchase.rrn, purchase.id, Field.APPROVAL_CODE)
    ]
    assert found([refund], [row_of(refund, approval_code="OTHER1")]) == [(refund.rrn, refund.id, Field.APPROVAL_CODE)]


def test_a_transaction_with_several_differences_has_a_line_for_each() -> None:
    booking = a_booking()
    row = row_of(booking, amount=Decimal(12), stan=42, tid="SHOP0002")

    assert found([booking], [row]) == [(booking.rrn, booking.id, one) for one in (Field.AMOUNT, Field.TID, Field.STAN)]


def test_a_line_names_the_transaction_the_field_and_both_sides() -> None:
    booking = a_booking(id=a_guid(), stan=7)
    lines = [str(one) for one in compare([booking], [row_of(booking, stan=42, approval_code="")], DAY)]

    assert lines == [
        f"{booking.id}  {booking.rrn}  approval code  ours 333380, theirs -; {booking.shop}",
        f"{booking.id}  {booking.rrn}  STAN           ours 000007, theirs 000042; {booking.shop}",
    ]


def test_a_purchase_that_has_no_rrn_is_missing_there_and_one_that_was_not_made_is_nothing() -> None:
    made, declined = a_booking(rrn=""), a_booking(rrn="", standing=Standing.NOT_MADE)

    assert found([made, declined], []) == [("-", made.id, Field.MISSING_THERE)]


def test_two_transactions_of_ours_with_one_rrn_are_named_beside_what_is_missing() -> None:
    first, second = sorted((a_booking(), a_booking()), key=lambda one: one.id)
    second = replace(second, rrn=first.rrn)

    assert found([second, first], [row_of(first)]) == [
        (first.rrn, second.id, Field.MISSING_THERE),
        (first.rrn, second.id, Field.RRN),
    ]


def test_the_one_that_was_made_is_compared_with_the_row_when_two_have_one_rrn() -> None:
    made, declined = a_booking(), a_booking(standing=Standing.NOT_MADE, id="0", amount=Decimal(1))
    declined = replace(declined, rrn=made.rrn)

    assert found([declined, made], [row_of(made)]) == [(made.rrn, "0", Field.RRN)]


def test_a_row_of_another_day_is_no_transaction_that_is_missing_here() -> None:
    row = row_of(a_booking(), day=DAY + timedelta(days=1))

    assert compare([], [row], DAY) == [Difference(row.rrn, "-", Field.DATE, "2026-03-14", "2026-03-15", row.shop)]


# A kind of difference makes the host's rows of one transaction, and says what is to be found in them.
def _changed(field: Field, **changes: Any) -> Callable[[Booking, int], Planted]:
    return lambda booking, _: ([row_of(booking, **changes)], {(booking.rrn, booking.id, field)})


def _twice(booking: Booking, _: int) -> Planted:
    return [row_of(booking), row_of(booking, line=3)], {(booking.rrn, booking.id, Field.DUPLICATE)}


def _unlisted(booking: Booking, _: int) -> Planted:
    return [], {(booking.rrn, booking.id, Field.MISSING_THERE)}


def _other_rrn(booking: Booking, number: int) -> Planted:
    rrn = f"HOST{number:08d}"
    return [row_of(booking, rrn=rrn)], {(booking.rrn, booking.id, Field.MISSING_THERE), (rrn, "-", Field.MISSING_HERE)}


def _foreign(booking: Booking, number: int) -> Planted:
    rrn = f"HOST{number:08d}"
    return [row_of(booking), row_of(booking, rrn=rrn)], {(rrn, "-", Field.MISSING_HERE)}


def _foreign_twice(booking: Booking, number: int) -> Planted:
    rows, expected = _foreign(booking, number)
    return [*rows, rows[-1]], {*expected, (rows[-1].rrn, "-", Field.DUPLICATE)}


def _of_another_day(booking: Booking, number: int) -> Planted:
    foreign = row_of(booking, rrn=f"HOST{number:08d}", day=DAY - timedelta(days=1))
    return [row_of(booking), foreign], {(foreign.rrn, "-", Field.DATE)}


PLANTS: list[Callable[[Booking, int], Planted]] = [
    _twice,
    _unlisted,
    _other_rrn,
    _foreign,
    _foreign_twice,
    _of_another_day,
    _changed(Field.AMOUNT, amount=Decimal("12.31")),
    _changed(Field.AMOUNT, amount=Decimal(1230)),
    _changed(Field.TYPE, type="other"),
    _changed(Field.CURRENCY, currency="USD"),
    _changed(Field.APPROVAL_CODE, approval_code="A1B2C3"),
    _changed(Field.TID, tid="OTHER001"),
    _changed(Field.STAN, stan=999_999),
    _changed(Field.DATE, day=DAY - timedelta(days=1)),
]


@composite
def a_day(draw: DrawFn) -> tuple[list[Booking], list[Row], list[tuple[str, str, Field]]]:
    """Books, a list, and every difference that was planted between the two."""
    books: list[Booking] = []
    rows: list[Row] = []
    expected: set[tuple[str, str, Field]] = set()
    kinds: list[Any] = [None, None, None, *PLANTS, Standing.OPEN, Standing.NOT_MADE]
    for number, kind in enumerate(draw(lists(sampled_from(kinds), max_size=25))):
        booking = a_booking(type=draw(sampled_from(["purchase", REFUND])))
        if isinstance(kind, Standing):
            booking = replace(booking, standing=kind, state="in words")
            its_rows = [row_of(booking)] if draw(sampled_from([True, False])) else []
            its_field = Field.STATE if its_rows else Field.OPEN
            planted = {(booking.rrn, booking.id, its_field)} if its_rows or kind is Standing.OPEN else set()
        else:
            its_rows, planted = kind(booking, number) if kind else ([row_of(booking)], set())
        books.append(booking)
        rows += its_rows
        expected |= planted
    return draw(permutations(books)), draw(permutations(rows)), sorted(expected)


@given(day=a_day())
def test_every_planted_difference_is_found_and_none_is_invented(
    day: tuple[list[Booking], list[Row], list[tuple[str, str, Field]]],
) -> None:
    books, rows, expected = day

    assert sorted(found(books, rows)) == expected


@given(seed=integers(min_value=0, max_value=2**32))
def test_the_order_of_books_and_list_changes_nothing(seed: int) -> None:
    books = [a_booking(), a_booking(), a_booking()]
    rows = [row_of(books[0], stan=99, tid="OTHER001"), row_of(books[2]), row_of(a_booking())]
    before = compare(books, rows, DAY)
    chance = random.Random(seed)  # noqa: S311  no secret

    chance.shuffle(books)
    chance.shuffle(rows)

    assert compare(books, rows, DAY) == before


def test_a_booking_has_the_amount_in_its_currency() -> None:
    yen = a_purchase(currency=Currency("JPY", "392", 0), amount_minor=1230)

    assert booking_of(booked(yen), NO_CANCELS).amount == Decimal(1230)
