from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis.strategies import integers, none

from chalicelib.domain import payment
from chalicelib.domain.agent import MobileSettings
from chalicelib.domain.business_days import end_of_day, to_local
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.kinds import Features, InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.payment import PointOfSale
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Particulars, Purchase, Transaction
from chalicelib.errors import Check, ErrorCode, ServiceError
from tests.support.builders import a_merchant, a_terminal, an_agent
from tests.support.cards import STEADY, a_card, a_linked_card
from tests.support.transactions import NOW, an_order

AGENT = an_agent()
MERCHANT = a_merchant()
TERMINAL = a_terminal()


def taken(now: datetime = NOW, **changes: Any) -> Transaction:
    return payment.without_acquirer(an_order(**changes), PointOfSale(AGENT, MERCHANT, TERMINAL), now)


def problems(**changes: Any) -> list[tuple[str, int]]:
    with pytest.raises(ServiceError) as refused:
        taken(**changes)
    return [(item.field, item.code) for item in refused.value.validations]


def test_cash_is_approved_as_soon_as_it_is_kept() -> None:
    transaction = taken()

    assert (transaction.phase, transaction.result.code, transaction.amount_minor) == (Phase.APPROVED, 0, 1230)
    assert transaction.amount_cash_got_minor == 1230
    assert transaction.deadline == datetime(2026, 3, 14, 22, tzinfo=UTC)  # midnight in the merchant's zone


def test_a_payment_may_name_the_group_of_its_terminal() -> None:
    assert taken(terminal_group={"terminal_group_id": 1, "terminal_group_code": "DEFAULT"}).terminal_id == TERMINAL.id


@pytest.mark.parametrize(("received", "minor_units"), [("20", 2000), ("12.30", 1230), ("12", 1230), ("12.0", 1230)])
def test_cash_of_the_amount_or_more_is_received(received: str, minor_units: int) -> None:
    assert taken(amount_cash_got=Decimal(received)).amount_cash_got_minor == minor_units


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"amount": Decimal(0)}, ("amount", Check.OUT_OF_RANGE)),
        ({"amount": Decimal(-1)}, ("amount", Check.OUT_OF_RANGE)),
        ({"amount": Decimal("10000000000.01")}, ("amount", Check.OUT_OF_RANGE)),
        ({"amount": Decimal("1.001")}, ("amount", Check.TOO_MANY_DECIMALS)),
        ({"currency": "USD"}, ("currency", Check.CONTRADICTION)),
        ({"amount_cash_got": Decimal("12.29")}, ("amount_cash_got", Check.CONTRADICTION)),
        ({"amount_cash_got": Decimal(11)}, ("amount_cash_got", Check.CONTRADICTION)),
        ({"amount_cash_got": Decimal(11), "amount": Decimal(12)}, ("amount_cash_got", Check.CONTRADICTION)),
        ({"amount_cash_got": Decimal("20.001")}, ("amount_cash_got", Check.TOO_MANY_DECIMALS)),
        ({"purchases": (Purchase("Coffee", Decimal("12.20"), Decimal(1)),)}, ("amount", Check.CONTRADICTION)),
        ({"acquirer": "PREPAID"}, ("acquirer", Check.CONTRADICTION)),
        ({"terminal_group": {"terminal_group_code": "SOFTPOS"}}, ("terminal_group_code", Check.CONTRADICTION)),
        ({"terminal_group": {"terminal_group_id": 2}}, ("terminal_group_id", Check.CONTRADICTION)),
        ({"offline": True, "offline_paid": "yesterday"}, ("offline_paid", Check.FORMAT)),
        ({"offline": True, "offline_paid": "0001-01-01T00:00:00+14:00"}, ("offline_paid", Check.FORMAT)),
        ({"offline": True, "offline_paid": "2020-01-01"}, ("offline_paid", Check.OUT_OF_RANGE)),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], found: tuple[str, int]) -> None:
    assert problems(**changes) == [found]


@pytest.mark.parametrize(
    ("acquirer", "found"),
    [
        (None, []),
        ("SECOND", []),
        ("FIRST", [("acquirer", Check.CONTRADICTION)]),  # an acquirer knows only the cards that it linked
        ("CASH", [("acquirer", Check.CONTRADICTION)]),
        ("THIRD", [("acquirer", Check.NOT_IN_DICTIONARY)]),
    ],
)
def test_a_linked_card_pays_at_the_acquirer_that_linked_it(acquirer: str | None, found: list[tuple[str, int]]) -> None:
    linked = a_linked_card(acquirer="SECOND", account_id=AGENT.id)
    order = an_order(input_type=InputType.LINKED_CARD, acquirer=acquirer, linked_card_id=linked.id)
    till, acquirers = PointOfSale(AGENT, MERCHANT, TERMINAL), ("FIRST", "SECOND")
    problems: list[tuple[str, int]] = []
    try:
        transaction, request = payment.with_card(
            order, till, NOW, acquirers=acquirers, linked=linked, refuse=lambda *_: ()
        )
    except ServiceError as refused:
        problems = [(item.field, item.code) for item in refused.validations]
    else:
        assert (transaction.acquirer, request.link_id) == ("SECOND", linked.link_id)

    assert problems == found


def test_everything_that_is_wrong_is_named_at_once() -> None:
    assert len(problems(amount=Decimal(0), acquirer="CREDIT", offline=True, offline_paid="?")) == 3


@pytest.mark.parametrize("got", [12, 20])
def test_cash_received_has_no_place_in_another_kind(got: int) -> None:
    found = problems(input_type=InputType.PREPAID, acquirer="PREPAID", amount_cash_got=Decimal(got))

    assert found == [("amount_cash_got", Check.CONTRADICTION)]


CURRENCIES = {"JPY": ("392", 0), "BHD": ("048", 3), "HUF": ("348", 2), "EUR": ("978", 2), "GBP": ("826", 2)}


@pytest.mark.parametrize(
    ("lines", "code", "most", "in_cash"),
    [
        ([("29.99", "0.333")], "ZAR", "9.99", "10.08"),  # 9.98667
        ([("1.005", "1")], "ZAR", "1.01", "1.10"),
        ([("0.014", "1")] * 2, "ZAR", "0.03", "0.12"),  # lines of 0.01, exactly 0.028
        ([("0.005", "1")] * 3, "ZAR", "0.03", "0.12"),  # lines of 0.01, exactly 0.015
        ([("10", "1"), ("-0.125", "1")], "ZAR", "9.88", "9.97"),  # the line is -0.13, the sum exactly 9.875
        ([("10", "1"), ("-2.50", "2")], "ZAR", "5.00", "5.09"),
        ([("21.499", "37.53")], "ZAR", "806.86", "806.95"),
        ([("99.5", "1"), ("50.4", "1")], "JPY", "150", "150"),
        ([("1.3335", "3")], "BHD", "4.001", "4.001"),
        ([("7", "1")], "HUF", "7", "11.99"),
        ([("9.98", "1")], "EUR", "9.98", "9.98"),
        ([("9.98", "1")], "GBP", "9.98", "9.98"),
    ],
)
def test_the_amount_is_at_most_the_rounded_sum_and_in_cash_less_than_a_coin_above(
    lines: list[tuple[str, str]], code: str, most: str, in_cash: str
) -> None:
    currency = Currency(code, *CURRENCIES.get(code, ("710", 2)))
    till = PointOfSale(AGENT, MERCHANT, a_terminal(currency=currency))
    purchases = tuple(Purchase("Line", Decimal(price), Decimal(quantity)) for price, quantity in lines)
    usual: dict[str, Any] = {"purchases": purchases, "currency": None, "acquirer": None}

    def found(amount: Decimal, input_type: InputType) -> list[tuple[str, int]]:
        _, findings = payment.amounts(an_order(**usual, amount=amount, input_type=input_type), till.terminal)
        return [(one.field, one.code) for one in findings]

    for allowed, kind in ((Decimal(most), InputType.PREPAID), (Decimal(in_cash), InputType.CASH)):
        unit = Decimal(1).scaleb(-currency.digits)
        assert found(allowed, kind) == []
        assert found(allowed + unit, kind) == [("amount", Check.CONTRADICTION)]


@pytest.mark.parametrize(("country", "is_rounded"), [("NL", True), ("DE", False)])
def test_euros_are_rounded_where_small_coins_are_gone(country: str, *, is_rounded: bool) -> None:
    terminal = a_terminal(currency=Currency("EUR", "978", 2), country_code=country)
    order = an_order(amount=Decimal(10), currency=None, purchases=(Purchase("Cheese", Decimal("9.98"), Decimal(1)),))

    assert (payment.amounts(order, terminal)[1] == []) == is_rounded


@pytest.mark.parametrize("price", ["0", "-0.01", "-5"])
def test_purchases_that_come_to_nothing_are_not_rounded_up(price: str) -> None:
    assert problems(amount=Decimal("0.01"), purchases=(Purchase("Gift", Decimal(price), Decimal(1)),)) == [
        ("amount", Check.CONTRADICTION)
    ]


def test_less_than_the_purchases_is_a_prepayment() -> None:
    assert taken(purchases=(Purchase("Coffee", Decimal(25), Decimal(4)),)).amount_minor == 1230


@pytest.mark.parametrize(
    ("price", "discount", "is_discount"),
    [("-0.01", None, True), ("0.01", None, False), ("1", "0.01", True), ("1", "0", False)],
)
def test_only_a_discount_or_a_line_below_zero_needs_the_feature_discounts(
    price: str, discount: str | None, *, is_discount: bool
) -> None:
    other = Purchase("Other", Decimal(price), Decimal(1), discount=None if discount is None else Decimal(discount))
    order = an_order(purchases=(Purchase("Coffee", Decimal(20), Decimal(1)), other))
    agent = an_agent(mobile_settings=MobileSettings(Features(discounts=False)))
    payment.check_kind(replace(order, offline=True), agent, a_merchant(), ())
    if not is_discount:
        payment.check_kind(order, agent, a_merchant(), ())
        return

    with pytest.raises(ServiceError) as refused:
        payment.check_kind(order, agent, a_merchant(), ())
    assert refused.value.error is ErrorCode.KIND_NOT_ENABLED


def test_an_offline_payment_keeps_its_time_and_receipt_number() -> None:
    transaction = taken(offline=True, offline_paid="2026-03-13T18:00:00", offline_invoice="OFF-1")

    assert transaction.date == datetime(2026, 3, 13, 16, tzinfo=UTC)
    assert (transaction.invoice, transaction.created_at) == ("OFF-1", NOW)


@pytest.mark.parametrize(
    ("paid", "gmt", "day"),
    [
        ("2026-03-10T23:30:00", None, 10),
        ("2026-03-10T23:30:00", 2, 10),
        ("2026-03-10T23:30:00", 0, 11),
        ("2026-03-10T23:30:00", -12, 11),
        ("2026-03-10T00:30:00", 14, 9),
        ("2026-03-10T00:30:00", 3, 9),
        ("2026-03-10T21:59:59Z", -5, 10),
        ("2026-03-10T22:00:00Z", -5, 11),
        ("2026-03-10T23:30:00-05:00", 2, 11),
    ],
)
def test_an_offline_payment_belongs_to_the_merchants_day_of_its_instant(paid: str, gmt: int | None, day: int) -> None:
    transaction = taken(offline=True, offline_paid=paid, gmt=gmt)

    assert entry_of(transaction).at.date() == date(2026, 3, day)


def test_an_offline_payment_is_never_of_a_day_to_come() -> None:
    transaction = taken(offline=True, offline_paid="2026-03-15T09:00:00")

    assert transaction.date == datetime(2026, 3, 15, 7, tzinfo=UTC)
    assert entry_of(transaction).at.date() == date(2026, 3, 14)


@given(hours=integers(-366 * 24 - 30, 24 + 30), gmt=none() | integers(-12, 14))
@example(hours=-366 * 24 - 1, gmt=None)
@example(hours=-366 * 24, gmt=None)
@example(hours=24, gmt=None)
@example(hours=25, gmt=None)
def test_an_offline_payment_is_at_most_a_year_old_or_a_day_ahead_in_any_zone(hours: int, gmt: int | None) -> None:
    at = NOW + timedelta(hours=hours)
    paid = to_local(at, MERCHANT.gmt if gmt is None else gmt).isoformat()

    if -366 * 24 <= hours <= 24:
        assert taken(offline=True, offline_paid=paid, gmt=gmt).date == at
    else:
        assert problems(offline=True, offline_paid=paid, gmt=gmt) == [("offline_paid", Check.OUT_OF_RANGE)]


def test_the_same_payment_has_the_same_fingerprint_whatever_the_device_says() -> None:
    order = an_order()
    place = replace(order.particulars, latitude=Decimal(1))
    again = replace(order, particulars=place, amount=Decimal("12.3"))

    assert payment.fingerprint(order, 17) == payment.fingerprint(again, 17)


@pytest.mark.parametrize(
    "change",
    [
        {"amount": Decimal("12.31")},
        {"currency": "USD"},
        {"input_type": InputType.PREPAID},
        {"acquirer": None},
        {"particulars": Particulars(ext_id="A-1")},
    ],
)
def test_other_content_has_another_fingerprint(change: dict[str, Any]) -> None:
    order = an_order()

    assert payment.fingerprint(replace(order, **change), 17) != payment.fingerprint(order, 17)


def test_another_agent_has_another_fingerprint() -> None:
    assert payment.fingerprint(an_order(), 17) != payment.fingerprint(an_order(), 18)


def test_the_card_is_content_by_its_masked_number_and_expiry_or_by_its_link() -> None:
    cards = (None, a_card(), a_card(pan=STEADY), a_card(exp="0130"))
    orders = [*(an_order(card=card) for card in cards), *(an_order(linked_card_id=number) for number in (1, 2))]
    prints = [payment.fingerprint(order, 17) for order in orders]

    assert len(set(prints)) == len(prints)
    for same in (a_card(cvv2="999"), a_card(pan="4111110000091111")):
        assert payment.fingerprint(an_order(card=same), 17) == prints[1]


DEFAULTS = [{}, {"currency": None}, {"acquirer": None}, {"currency": None, "acquirer": None}]


@pytest.mark.parametrize("first", DEFAULTS)
@pytest.mark.parametrize("again", DEFAULTS)
def test_an_absent_default_is_the_chosen_value_in_either_request(first: dict[str, Any], again: dict[str, Any]) -> None:
    stored = taken(**first)

    assert an_order(**again).repeats(stored, AGENT.id)
    assert not an_order(**again, amount=Decimal("12.31")).repeats(stored, AGENT.id)
    assert not an_order(**{**again, "currency": "USD"}).repeats(stored, AGENT.id)
    assert not an_order(**{**again, "acquirer": "PREPAID"}).repeats(stored, AGENT.id)


def test_the_fingerprint_of_a_request_never_changes() -> None:
    """Tables hold the fingerprints of every version."""
    assert payment.fingerprint(an_order(), 17) == "90330dad381a05a0eaa046410a2e89f3"


@given(seconds=integers(0, 3 * 366 * 86400), gmt=integers(-12, 14))
def test_the_deadline_is_the_next_midnight_of_the_merchant(seconds: int, gmt: int) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    deadline = end_of_day(at, gmt)
    local = deadline + timedelta(hours=gmt)

    assert timedelta() < deadline - at <= timedelta(days=1)
    assert (local.hour, local.minute, local.second, local.microsecond) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "left_out", "kept"),
    [
        ({"amount_cash_got": Decimal(11)}, [("amount_cash_got", Check.CONTRADICTION)], {"amount_cash_got": None}),
        ({"amount_cash_got": Decimal("20.001")}, [("amount_cash_got", Check.TOO_MANY_DECIMALS)], {}),
        ({"amount_cash_got": Decimal(20)}, [], {"amount_cash_got": Decimal(20)}),
        (
            {"purchases": (Purchase("Coffee", Decimal(12), Decimal(1)),)},
            [(payment.PURCHASES, Check.CONTRADICTION)],
            {"purchases": ()},
        ),
        (
            {"purchases": (Purchase("Coffee", Decimal(20), Decimal(1), discount=Decimal(21)),)},
            [(f"{payment.PURCHASES}[0].discount", Check.OUT_OF_RANGE)],
            {"purchases": ()},
        ),
        ({"terminal_group": {"terminal_group_id": 99}}, [("terminal_group_id", 569)], {"terminal_group": {}}),
        (
            {"particulars": Particulars(description="\x01" * 1024, ext_tran_data=f'"{chr(92) * 8188}"')},
            [("ext_tran_data", Check.TOO_LONG)],
            {"particulars": Particulars(description="\x01" * 1024)},
        ),
    ],
)
def test_an_offline_sale_is_taken_without_what_contradicts_it(
    changes: dict[str, Any], left_out: list[tuple[str, int]], kept: dict[str, Any]
) -> None:
    till = PointOfSale(AGENT, MERCHANT, TERMINAL)
    order, findings = payment.only_its_money(an_order(offline=True, **changes), till)

    assert [(one.field, one.code) for one in findings] == left_out
    assert {name: getattr(order, name) for name in kept} == kept
    assert payment.without_acquirer(order, till, NOW).amount_minor == 1230
