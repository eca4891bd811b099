"""Entries of the history, and the filter of a list that finds them."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.history_entry import HistoryEntry, entry_of
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import AgentSnapshot, CardDetails, Purchase, ReceiptAddresses
from tests.support.transactions import NOW, ZAR, a_payment


def test_an_entry_stands_in_the_merchants_zone() -> None:
    late = a_payment(created_at=datetime(2028, 2, 28, 22, 30, tzinfo=UTC), gmt=2)

    assert entry_of(late).at == datetime(2028, 2, 29, 0, 30)  # noqa: DTZ001  the merchant's own


def test_an_entry_says_all_that_its_transaction_says() -> None:
    reversal = replace(
        a_payment(
            phase=Phase.REVERSAL_APPROVED,
            original_id="A",
            original_mode=2,
            ext_id="Order-77",
            original_invoice="INV-4",
            rrn="603112345678",
            approval_code="A1B2C3",
            description="Coffee",
            latest_invoice="RET-9",
            addresses=ReceiptAddresses(("ann@home.example",), ()),
            client_product_code="CAFE-9",
            tax_amounts=(TaxAmount("VAT", "VAT", Decimal(15), 1230, 160),),
            purchases=(Purchase("Coffee", Decimal("12.30"), Decimal(1)),),
            taxed_again_minor=1,
            discounts_minor=1,
        ),
        card=CardDetails("MASTERCARD", "555555", "4444", "1230", "MOKOENA/THANDI"),
    )
    entry, payment = entry_of(reversal), entry_of(a_payment())
    empty = HistoryEntry("", entry.at, entry.counter, 0)
    same = {name for name in vars(empty) if getattr(entry, name) == getattr(empty, name)}

    assert same == {"at", "counter", "taken_minor", "left_minor", "received"}
    deposit = a_payment(purchases=(Purchase("Coffee", Decimal("20.00"), Decimal(1)),))
    assert (entry_of(deposit).left_minor, payment.left_minor) == (770, 0)
    assert (payment.taken_minor, payment.counter.reverse_mode, entry.counter.reverse_mode) == (1230, 0, 2)
    assert (entry.client_product_code, entry.original_id) == ("CAFE-9", "A")


def test_an_offline_payment_stands_where_it_was_taken_and_never_in_the_future() -> None:
    earlier, later = NOW - timedelta(days=3), NOW + timedelta(hours=5)

    assert entry_of(a_payment(date=earlier)).at == (earlier + timedelta(hours=2)).replace(tzinfo=None)
    assert entry_of(a_payment(date=later)).at == (NOW + timedelta(hours=2)).replace(tzinfo=None)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.REVERSAL_APPROVED])
def test_a_payment_adds_to_the_sum_and_moved_money_when_it_took_it(phase: Phase) -> None:
    entry = entry_of(a_payment(phase=phase))
    taken = 1230 if phase in {Phase.APPROVED, Phase.AWAITING_COMPLETION} else 0

    assert (entry.taken_minor, entry.moved_minor) == (taken, taken)


@pytest.mark.parametrize("phase", Phase)
def test_a_reversal_moved_money_when_it_was_approved_and_adds_nothing_to_the_sum(phase: Phase) -> None:
    entry = entry_of(a_payment(original_id="A", original_mode=2, phase=phase))

    assert (entry.taken_minor, entry.moved_minor) == (0, -1230 if phase is Phase.REVERSAL_APPROVED else 0)


PAYMENT = a_payment(
    id="0F8FAD5B-D9CB-469F-A165-70867728950E",
    ext_id="Order-77",
    invoice="INV-5",
    rrn="603112345678",
    approval_code="A1B2C3",
    description="Größe L, 50% off_*?",
    card=CardDetails("VISA", "424242", "4242"),
)
ENTRY = entry_of(PAYMENT)


@pytest.mark.parametrize(
    "text",
    ["order-77", "ORDER", "inv-5", "603112345678", "a1b2c3", "GRÖSSE", "50% off_*?", "******4242", "d9cb-469F", "e l"],
)
def test_a_search_finds_text_in_any_case(text: str) -> None:
    assert HistoryFilter(search=SearchText(text)).matches(ENTRY)


@pytest.mark.parametrize("text", ["order-78", ".*", "%", "_off", "\\", '"', "till 2"])
def test_a_search_takes_every_character_as_itself(text: str) -> None:
    assert HistoryFilter(search=SearchText(text)).matches(ENTRY) is (text == "%")


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (HistoryFilter(), True),
        (HistoryFilter(invoice="inv-5"), True),
        (HistoryFilter(invoice="inv"), False),
        (HistoryFilter(rrn="603112345678"), True),
        (HistoryFilter(rrn="60311234567"), False),
        (HistoryFilter(original_invoice="inv-5"), False),
        (HistoryFilter(input_type=10, acquirer="CASH", agent_id=17), True),
        (HistoryFilter(input_type=7), False),
        (HistoryFilter(acquirer="cash"), False),
        (HistoryFilter(agent_id=18), False),
        (HistoryFilter(invoice="inv-5", search=SearchText("nothing")), False),
    ],
)
def test_references_are_matched_whole_and_all_that_is_asked_must_hold(wanted: HistoryFilter, *, matches: bool) -> None:
    assert wanted.matches(ENTRY) is matches


READ_BY_KEY = {"id", "ext_id", "late"}  # filters whose entries have a place of their own


@pytest.mark.parametrize("name", [one.name for one in fields(HistoryFilter)])
def test_a_filter_by_any_field_alone_counts_no_entry_that_it_leaves_out(name: str) -> None:
    """A list counts by its counters unless it reads the entries: an ID or a text says nothing to a counter."""
    given = replace(HistoryFilter(), **{name: SearchText("x") if name == "search" else "x"})  # type: ignore[arg-type]

    assert given.by_text or not given.takes(ENTRY.counter) or name in READ_BY_KEY
    assert not given.matches(ENTRY) or name in READ_BY_KEY


def found(text: str, entry: HistoryEntry) -> bool:
    return HistoryFilter(search=SearchText(text)).matches(entry)


WHOLE = entry_of(
    replace(
        a_payment(
            id="0F8FAD5B-D9CB-469F-A165-70867728950E",
            agent=AgentSnapshot(17, "till@shop.example", "Çiğdem's Till", "+27111111111"),
            terminal_name="Shop-0001",
            latest_invoice="RET-9",
            addresses=ReceiptAddresses(("Ann@Home.example", "bob@work.example"), ("+27829876543",)),
            client_product_code="CAFE-9",
        ),
        card=CardDetails("MASTERCARD", "555555", "4444", "1230", "MOKOENA/THANDI"),
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "çİĞDEM'S"[:1],
        "TILL",
        "shop-0001",
        "ret-9",
        "ann@home",
        "BOB@work.example",
        "mokoena/Thandi",
        "555555******4444",
    ],
)
def test_a_search_looks_in_names_receipts_and_the_number_of_the_latest_reversal(text: str) -> None:
    assert found(text, WHOLE)


@pytest.mark.parametrize(
    "text", ["till@shop", "+27111111111", "cafe-9", "1230", "5555554444", "5555 5555", "MASTERCARD", "SHOP0001", "17"]
)
def test_a_search_looks_in_nothing_else(text: str) -> None:
    assert not found(text, WHOLE)


@pytest.mark.parametrize(
    "text",
    [
        *("+27829876543", "+27 82 987 6543", "27829876543", "0829876543", "082 987 6543", "(082) 987-6543"),
        *("082.987.6543", "+27 (0)82 987 6543", "0027 82 987 6543", "987 6543", "082 987", "82/987"),
    ],
)
def test_a_telephone_number_is_found_as_people_write_it(text: str) -> None:
    assert found(text, WHOLE)


@pytest.mark.parametrize("text", ["0", "000000", "()", "0 8 2 9", "0829876544", "082 987 6543 x", "98.76543"])
def test_what_is_no_telephone_number_finds_none(text: str) -> None:
    assert not found(text, replace(WHOLE, id="", invoice=None, terminal=None))


@given(st.lists(st.sampled_from(["", " ", "-", "/", " - ", ") "]), min_size=10, max_size=10))
def test_a_telephone_number_is_found_however_it_is_divided(between: list[str]) -> None:
    assert found("".join(map("".join, zip("0829876543", between, strict=True))), WHOLE)


@pytest.mark.parametrize(
    ("text", "digits", "amount_minor"),
    [("12.3", 2, 1230), ("12.30", 2, 1230), ("12.300", 2, 1230), ("12", 2, 1200), ("12", 0, 12), ("12.345", 3, 12345)],
)
def test_a_number_finds_an_equal_amount(text: str, digits: int, amount_minor: int) -> None:
    entry = entry_of(a_payment(id="", invoice="", amount_minor=amount_minor, currency=Currency("XTS", "963", digits)))
    declined = entry_of(a_payment(id="", invoice="", phase=Phase.DECLINED, amount_minor=1230))

    assert found(text, entry)
    assert found(text, declined) is (Decimal(text) == Decimal("12.30"))
    assert amount_minor in SearchText(text).amounts_minor


@pytest.mark.parametrize(
    "text", ["12.31", "1.23", "123", "1230.00", "12,30", "R 12.30", "1.23e1", "-12.3", "12.", "१२.३"]
)
def test_another_number_or_another_way_to_write_one_finds_no_amount(text: str) -> None:
    assert not found(text, entry_of(a_payment(id="", invoice="", amount_minor=1230)))


@given(st.integers(1, 10**12), st.sampled_from([ZAR, Currency("JPY", "392", 0), Currency("CLF", "990", 4)]))
def test_every_amount_is_found_as_it_is_shown(amount_minor: int, currency: Currency) -> None:
    entry = entry_of(a_payment(id="", invoice="", amount_minor=amount_minor, currency=currency))

    assert found(f"{entry.amount:f}", entry)
    assert amount_minor in SearchText(f"{entry.amount:f}").amounts_minor


@pytest.mark.parametrize("code", ["cafe-9", "CAFE", "CAFE-9 ", "CAFE-99"])
def test_a_product_code_is_matched_exactly(code: str) -> None:
    assert HistoryFilter(client_product_code="CAFE-9").matches(WHOLE)
    assert not HistoryFilter(client_product_code=code).matches(WHOLE)
