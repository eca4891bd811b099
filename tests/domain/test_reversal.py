"""Reversals: the same request again, and the card of a reversal."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.business_days import text_of
from chalicelib.domain.card import CardInput, has_check_digit
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversal import ReversalOrder, begin, content_identity, fingerprint, is_repeated
from chalicelib.domain.reversal_card import SentCard, check_card, sent_card
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.secret import Secret
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import Erasure, Purchase, Reversals, Transaction
from tests.support.builders import an_agent
from tests.support.cards import EXP, PAN, STEADY, TRACK2, a_card, an_input, chip_data
from tests.support.transactions import NOW, a_payment

ORIGINAL = a_payment(gmt=2)
instants = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  hypothesis adds the zone
zones = st.none() | st.integers(-12, 14)


def identity(time: str | None, gmt: int | None = None, **changes: Any) -> tuple[object, ...] | None:
    order = ReversalOrder(ORIGINAL.id, ReverseMode.RETURN, Decimal(5), client_date_time=time, gmt=gmt)
    return content_identity(replace(order, **changes), ORIGINAL, 17)


@given(at=instants, one=zones, other=zones)
def test_one_instant_is_one_identity_in_whatever_zone(at: datetime, one: int | None, other: int | None) -> None:
    written = [(text_of(at, 2 if gmt is None else gmt), gmt) for gmt in (one, other)]
    later = text_of(at + timedelta(seconds=1), 2)

    assert identity(*written[0]) == identity(*written[1])
    assert identity(later) != identity(*written[0])


@pytest.mark.parametrize(
    ("time", "gmt"),
    [
        ("2026-03-14T10:00:00.000", None),
        (" 2026-03-14 10:00 ", None),
        ("2026-03-14T10:00:00", 2),
        ("2026-03-13T20:00:00", -12),
        ("2026-03-14T22:00:00", 14),
        ("2026-03-14T08:00:00Z", None),
        ("2026-03-14T08:00:00Z", -5),
        ("2026-03-14T09:00:00.0+01:00", 7),
    ],
)
def test_equal_times_are_one_identity(time: str, gmt: int | None) -> None:
    assert identity(time, gmt) == identity("2026-03-14T10:00:00")


def test_a_local_time_of_the_merchant_in_whole_seconds_is_its_own_identity() -> None:
    found = identity("2026-03-14T10:00:00")

    assert found is not None
    assert found[-1] == "2026-03-14T10:00:00"


@pytest.mark.parametrize(
    "time", ["half past ten", "14.03.2026 10:00", "1773482400", "9999-12-31T23:59:59-14:00", "\ud800"]
)
def test_a_text_that_is_no_time_is_an_identity_as_it_stands(time: str) -> None:
    found = identity(time)

    assert found is not None
    assert found[-1] == time
    assert found == identity(time, 5) != identity(f"{time}.")


@pytest.mark.parametrize("amount", [None, Decimal("12.30")])
def test_a_reversal_of_the_version_before_is_recognised(amount: Decimal | None) -> None:
    """That version stored the fingerprint of the request as it was sent."""
    order = ReversalOrder("A", ReverseMode.RETURN, amount, "ZAR")
    stored = a_payment(amount_minor=1230, fingerprint=fingerprint(order, 17), original_id="A")

    assert fingerprint(replace(order, amount=Decimal("12.30")), 17) == "5ee1542e8f7f0493f64e46e131d6e86c"
    assert order.repeats(stored, 17)
    assert replace(order, amount=Decimal("12.3"), currency=None).repeats(stored, 17)
    assert not replace(order, amount=Decimal("12.31")).repeats(stored, 17)


LINE = Purchase("Coffee", Decimal("12.30"), Decimal(1))


@pytest.mark.parametrize(
    ("change", "agent_id"),
    [
        ({"original_id": "B"}, 17),
        ({"mode": ReverseMode.CANCEL}, 17),
        ({"amount": Decimal("12.29")}, 17),
        ({"currency": "USD"}, 17),
        ({"purchases": (replace(LINE, title="Tea"),)}, 17),
        ({"purchases": (replace(LINE, price=Decimal("12.29")),)}, 17),
        ({"purchases": (replace(LINE, quantity=Decimal(2)),)}, 17),
        ({"purchases": (LINE, LINE)}, 17),
        ({}, 18),
    ],
    ids=str,
)
def test_a_request_with_other_content_repeats_no_reversal(change: dict[str, Any], agent_id: int) -> None:
    order = ReversalOrder("A", ReverseMode.RETURN, Decimal("12.30"), "ZAR", purchases=(LINE,))
    stored = a_payment(amount_minor=1230, fingerprint=fingerprint(order, 17), original_id="A", purchases=(LINE,))

    assert order.repeats(stored, 17)
    assert replace(order, purchases=()).repeats(stored, 17)
    assert order.repeats(replace(stored, receipt=replace(stored.receipt, purchases=())), 17)
    assert not replace(order, **change).repeats(stored, agent_id)


@pytest.mark.parametrize(
    ("reversed_minor", "amount_minor", "partial", "took_rest"),
    [
        (0, 1, True, False),
        (0, 1229, True, False),
        (0, 1230, False, True),
        (1, 1228, True, False),
        (1, 1229, True, True),
        (1229, 1, True, True),
    ],
)
def test_a_reversal_is_partial_below_the_paid_amount_and_says_when_it_takes_the_rest(
    reversed_minor: int, amount_minor: int, *, partial: bool, took_rest: bool
) -> None:
    order = ReversalOrder("A", ReverseMode.RETURN)
    begun = begin("B", order, a_payment(id="A", reversals_amount_minor=reversed_minor), an_agent(), amount_minor, NOW)

    assert (begun.original.partial, begun.original.took_rest) == (partial, took_rest)


@pytest.mark.parametrize("time", [None, "", "  ", "0001-01-01T00:00:00", "0001-01-01T00:00:00Z"])
def test_without_a_time_there_is_no_identity(time: str | None) -> None:
    assert identity(time) is None


@pytest.mark.parametrize("change", [{"amount": None}, {"amount": Decimal(6)}, {"mode": ReverseMode.CANCEL}])
def test_other_content_at_the_same_time_is_another_identity(change: dict[str, Any]) -> None:
    assert identity("2026-03-14T10:00:00", **change) != identity("2026-03-14T10:00:00")


def paid(**changes: Any) -> Transaction:
    facts = {"input_type": InputType.MANUAL_ENTRY, "card": a_card().details}
    return a_payment(**{**facts, **changes})


def checked(payment: Transaction, sent: SentCard | None) -> list[tuple[str, int]]:
    findings = check_card(sent, payment).findings
    return [(finding.field, int(finding.code)) for finding in findings]


def keyed_in(**changes: str | None) -> SentCard:
    return SentCard(an_input(**changes))


def test_the_payments_card_is_read_for_the_acquirer() -> None:
    checked = check_card(keyed_in(), paid())

    assert checked.findings == ()
    card = checked.card
    assert card is not None
    assert (card.pan.reveal(), card.cvv2 and card.cvv2.reveal()) == (PAN, "123")


def a_number(begin: str, end: str) -> str:
    """Return another card number with these first and last digits than the payment's."""
    numbers = (f"{begin}{middle:06}{end}" for middle in range(10**6))
    return next(number for number in numbers if has_check_digit(number) and number != PAN)


def test_a_card_has_the_first_six_and_the_last_four_digits_of_the_payments() -> None:
    assert checked(paid(), keyed_in(pan=a_number(PAN[:6], PAN[-4:]))) == []
    assert checked(paid(), keyed_in(pan=a_number("411112", PAN[-4:]))) == [("card.pan", 12)]
    assert checked(paid(), keyed_in(pan=a_number(PAN[:6], "1112"))) == [("card.pan", 12)]
    assert checked(paid(), keyed_in(pan=STEADY)) == [("card.pan", 12)]


def test_the_expiry_of_a_card_is_not_judged() -> None:
    assert checked(paid(), keyed_in(exp="0120")) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"pan": f"{PAN[:-1]}2"}, [("card.pan", 8)]),
        ({"pan": "4111"}, [("card.pan", 3)]),
        ({"pan": None}, [("card.pan", 1)]),
        ({"exp": "0120", "pan": STEADY}, [("card.pan", 12)]),
        ({"pan": f"{PAN[:-1]}2", "cvv2": "1"}, [("card.pan", 8), ("card.cvv2", 3)]),
    ],
)
def test_it_is_checked_as_in_a_payment(changes: dict[str, str | None], found: list[tuple[str, int]]) -> None:
    assert checked(paid(), keyed_in(**changes)) == found


@pytest.mark.parametrize(
    ("input_type", "own", "other"),
    [
        (InputType.MAGNETIC_STRIPE, TRACK2, TRACK2.replace(PAN, STEADY)),
        (InputType.CHIP, chip_data(), chip_data(STEADY)),
        (InputType.CONTACTLESS, chip_data(), chip_data(STEADY)),
    ],
)
def test_what_a_reader_read_is_named_as_such(input_type: InputType, own: str, other: str) -> None:
    payment = paid(input_type=input_type)

    assert checked(payment, SentCard(CardInput(reader_data=Secret(own)))) == []
    assert checked(payment, SentCard(CardInput(reader_data=Secret(other)))) == [("card.reader_data", 12)]
    assert checked(payment, keyed_in()) == [("card.reader_data", 1)]


def test_a_payment_without_a_card_takes_none() -> None:
    for sent in (keyed_in(), SentCard(None, linked_card_id=1)):
        assert checked(a_payment(), sent) == [("card", 12)]


def test_a_linked_card_is_named_by_its_id_alone() -> None:
    linked = paid(input_type=InputType.LINKED_CARD, linked_id=17)

    assert checked(linked, SentCard(None, 2, 17)) == []
    assert checked(linked, SentCard(None, None, 17)) == []
    assert checked(linked, SentCard(None, 2, 18)) == [("linked_card_id", 12)]
    assert checked(linked, SentCard(None, 1, 17)) == [("card.input_mode", 12)]
    assert checked(linked, SentCard(an_input(), 1)) == [
        ("card.input_mode", 12), ("linked_card_id", 12), ("card.pan", 12),
    ]  # fmt: skip
    assert checked(linked, SentCard(CardInput(exp=Secret(EXP)), 2, 17)) == [("card.exp", 12)]
    assert checked(linked, SentCard(CardInput(reader_data=Secret(TRACK2)), 2, 17)) == [("card.reader_data", 12)]
    assert checked(paid(), SentCard(an_input(), 1, 17)) == [("linked_card_id", 12)]
    assert checked(paid(), SentCard(an_input(), 2)) == [("card.input_mode", 12)]


@pytest.mark.parametrize(
    "texts", [{}, {"pan": ""}, {"pan": "0", "exp": "0000", "cvv2": "000"}, {"reader_data": "0"}, {"pan": " "}]
)
def test_zeros_are_no_card(texts: dict[str, str]) -> None:
    data = CardInput(**{name: Secret(text) for name, text in texts.items()})

    assert sent_card(data, 1, None) is None
    assert sent_card(data, 2, 5) == SentCard(None, 2, 5)


def test_nothing_prints_the_card() -> None:
    sent = sent_card(an_input(), 1, None)

    assert sent is not None
    assert PAN not in repr(sent)


OWN_OF_A_PAYMENT = {
    *("id", "agent", "phase", "amount_minor", "created_at", "deadline", "fingerprint", "invoice"),
    *("result", "original", "reversals", "amount_cash_got_minor", "date", "pictures", "warnings"),
    *("auto_cancel_id", "erasure", "claimed_at"),
}


def test_a_reversal_has_nothing_of_its_payment_that_belongs_to_the_payment_alone() -> None:
    payment = a_payment(
        id="A",
        input_type=InputType.CHIP,
        card=a_card().details,
        reversals_amount_minor=1,
        amount_cash_got_minor=2000,
        date=NOW,
        signature_key="signature.png",
        warnings=("a warning",),
        auto_cancel_id="C",
        erasure=Erasure.DONE,
        claimed_at=NOW,
        single_step=False,
    )
    begun = begin("B", ReversalOrder("A", ReverseMode.RETURN), payment, an_agent(), 5, NOW + timedelta(days=2))

    same = {name for name, value in vars(begun).items() if value == getattr(payment, name)}
    assert not same & OWN_OF_A_PAYMENT
    assert begun.reversals == Reversals()


VAT = TaxAmount("VAT15", "VAT", Decimal(15), 1000, 130)
SOLD = (Purchase("Tea", Decimal("2.50"), Decimal(4), ("VAT15",)), Purchase("Cup", Decimal("2.30"), Decimal(1)))


def begun(original: Transaction, amount_minor: int, *lines: Purchase, agent_id: int = 17) -> Transaction:
    order = ReversalOrder(original.id, ReverseMode.RETURN, Decimal(amount_minor) / 100, purchases=lines)
    return begin("R", order, original, an_agent(id=agent_id), amount_minor, NOW)


def test_a_reversal_gives_back_the_tax_of_its_lines_and_the_last_one_all_that_remains() -> None:
    payment = replace(a_payment(), tax_amounts=(VAT,), receipt=replace(a_payment().receipt, purchases=SOLD))
    by_line = begun(payment, 250, replace(SOLD[0], quantity=Decimal(1)))
    earlier = Reversals(amount_minor=250, given_back={"line0": Decimal(1), "money0": Decimal(250), "tax0": Decimal(40)})
    rest = begun(replace(payment, reversals=earlier), 980, replace(SOLD[0], quantity=Decimal(3)), SOLD[1])

    assert [(tax.gross_minor, tax.tax_minor) for tax in by_line.tax_amounts] == [(250, 33)]
    assert [(tax.gross_minor, tax.tax_minor) for tax in rest.tax_amounts] == [(750, 90)]  # what remains of 1000 and 130


@pytest.mark.parametrize(
    ("changes", "agent_id", "repeats"),
    [({}, 17, True), ({}, 18, False), ({"phase": Phase.DECLINED}, 17, False)],
)
def test_a_request_without_a_key_repeats_its_agents_latest_reversal_unless_it_failed(
    changes: dict[str, Any], agent_id: int, *, repeats: bool
) -> None:
    latest = replace(begun(ORIGINAL, 500), **changes)
    order = ReversalOrder(ORIGINAL.id, ReverseMode.RETURN, Decimal(5))

    assert is_repeated(order, latest, agent_id, NOW) is repeats


TEA, CUP = (replace(SOLD[0], quantity=Decimal(2)),), (SOLD[1],)
BY_AMOUNT, BY_LINES, ALL = (500, ()), (500, TEA), (1230, ())  # the latest reversal: its amount and lines


@pytest.mark.parametrize(
    ("latest", "again", "repeats"),
    [
        (BY_AMOUNT, {"amount": Decimal(5)}, True),
        (BY_AMOUNT, {"amount": Decimal(6)}, False),
        (BY_AMOUNT, {}, False),
        (BY_AMOUNT, {"amount": Decimal(5), "partial": True}, True),
        (BY_AMOUNT, {"amount": Decimal(5), "partial": False}, False),
        (BY_AMOUNT, {"amount": Decimal(5), "purchases": TEA}, False),
        (BY_LINES, {"amount": Decimal(5), "purchases": TEA}, True),
        (BY_LINES, {"purchases": TEA}, True),
        (BY_LINES, {"purchases": (replace(TEA[0], tax_codes=()),)}, True),  # their taxes are the payment's
        (BY_LINES, {"amount": Decimal(5), "purchases": CUP}, False),
        (BY_LINES, {"amount": Decimal(5)}, False),
        (ALL, {}, True),
        (ALL, {"amount": Decimal("12.30"), "partial": False}, True),
        (ALL, {"amount": Decimal(5)}, False),
    ],
)
def test_a_request_without_a_key_repeats_a_reversal_of_equal_lines_or_of_its_amount(
    latest: tuple[int, tuple[Purchase, ...]], again: dict[str, Any], *, repeats: bool
) -> None:
    amount_minor, lines = latest
    payment = replace(ORIGINAL, receipt=replace(ORIGINAL.receipt, purchases=SOLD))
    order = ReversalOrder(payment.id, ReverseMode.RETURN, **again)

    assert is_repeated(order, begun(payment, amount_minor, *lines), 17, NOW) is repeats
