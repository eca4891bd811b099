"""The list of payments: its days, sums, pages and filters."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.history import (
    PAGE_SIZE,
    DayTotal,
    HistoryEntry,
    HistoryFilter,
    SearchText,
    TimeRange,
    amount_taken,
    days_of,
    entries_of_page,
    entry_of,
    page_count,
    page_of,
    quarters_of,
    ranges_of_page,
)
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import AgentSnapshot, CardDetails, ReceiptAddresses
from tests.support.transactions import NOW, ZAR, a_payment

MIDNIGHT = datetime(2026, 3, 14)  # noqa: DTZ001  the merchant's own


def ranges(counts: list[int]) -> list[TimeRange]:
    begins = [MIDNIGHT + timedelta(days=number) for number in range(len(counts))]
    return [TimeRange(begin, begin + timedelta(days=1), count) for begin, count in zip(begins, counts, strict=True)]


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(0, 200), st.integers(1, 50))
def test_the_stretches_of_a_page_hold_the_page_and_nothing_needless(counts: list[int], skip: int, size: int) -> None:
    everything = [(day.begin, number) for day in ranges(counts) for number in range(day.count)]
    page = everything[skip : skip + size]
    held, left = ranges_of_page(ranges(counts), skip, size)

    assert [(day.begin, number) for day in held for number in range(day.count)][left : left + size] == page
    assert [day.begin for day in held] == sorted({begin for begin, _ in page})


def test_days_come_in_the_order_of_the_list_without_those_that_hold_nothing() -> None:
    counter = entry_of(a_payment()).counter
    day_totals = [
        DayTotal(counter, (MIDNIGHT + timedelta(days=day)).date(), count, 0) for day, count in ((0, 2), (1, 0), (2, 1))
    ]
    day_totals.append(replace(day_totals[0], count=3))

    days = days_of(day_totals, newest_first=True)

    assert [(day.begin.day, day.count) for day in days] == [(16, 1), (14, 5)]
    assert days_of(day_totals, newest_first=False) == days[::-1]


def test_a_busy_day_falls_into_quarters_of_an_hour() -> None:
    day = TimeRange(MIDNIGHT, MIDNIGHT + timedelta(days=1), 6)
    quarters = quarters_of(day, [{"29": 1, "95": 2}, {"29": 3}], newest_first=False)

    assert [(one.begin.hour, one.begin.minute, one.count) for one in quarters] == [(7, 15, 4), (23, 45, 2)]
    assert [one.end - one.begin for one in quarters] == [timedelta(minutes=15)] * 2
    assert quarters[-1].end == day.end


def test_quarters_that_hold_less_than_the_day_are_not_believed() -> None:
    day = TimeRange(MIDNIGHT, MIDNIGHT + timedelta(days=1), 6)

    assert quarters_of(day, [{"29": 5}], newest_first=True) == [day]


def test_an_entry_stands_in_the_merchants_zone() -> None:
    late = a_payment(created_at=datetime(2028, 2, 28, 22, 30, tzinfo=UTC), gmt=2)

    assert entry_of(late).at == datetime(2028, 2, 29, 0, 30)  # noqa: DTZ001  the merchant's own


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
    entry = entry_of(a_payment(original_id="A", reverse_mode=2, phase=phase))

    assert (entry.taken_minor, entry.moved_minor) == (0, -1230 if phase is Phase.REVERSAL_APPROVED else 0)


@pytest.mark.parametrize(
    ("own", "sum_"), [("ZAR", "20.02"), ("JPY", "1001"), ("BHD", "1.001"), ("USD", "0"), (None, "0")]
)
def test_currencies_are_never_added(own: str | None, sum_: str) -> None:
    zar = Currency("ZAR", "710", 2)
    currencies = (zar, zar, Currency("JPY", "392", 0), Currency("BHD", "048", 3))
    entries = [entry_of(a_payment(amount_minor=1001, currency=currency)) for currency in currencies]

    assert amount_taken(entries, own) == Decimal(sum_)


def test_a_merchant_without_a_currency_has_that_of_its_payments() -> None:
    entries = [entry_of(a_payment(amount_minor=part)) for part in (100, 23)]

    assert amount_taken(entries, None) == Decimal("1.23")


def test_a_page_is_cut_from_the_order_of_instants_and_of_ids_within_one() -> None:
    twins = [entry_of(a_payment(id=name)) for name in ("B", "A")]
    older = entry_of(a_payment(id="C", created_at=NOW - timedelta(microseconds=1)))
    newest_first = entries_of_page([*twins, older], 1, newest_first=True)

    assert [entry.id for entry in newest_first] == ["B", "A", "C"]
    assert entries_of_page([*twins, older], 1, newest_first=False) == newest_first[::-1]
    assert entries_of_page([*twins, older], 2, newest_first=True) == []


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


def found(text: str, entry: HistoryEntry) -> bool:
    return HistoryFilter(search=SearchText(text)).matches(entry)


WHOLE = entry_of(
    replace(
        a_payment(
            id="0F8FAD5B-D9CB-469F-A165-70867728950E",
            agent=AgentSnapshot(17, "till@shop.example", "Çiğdem's Till", "+27111111111"),
            terminal_name="Shop-0001",
            reverse_invoice="RET-9",
            receipt=ReceiptAddresses(("Ann@Home.example", "bob@work.example"), ("+27829876543",)),
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


ITEMS = list(range(2 * PAGE_SIZE + 1))


@pytest.mark.parametrize(
    ("number", "first", "size"),
    [(None, 0, PAGE_SIZE), (0, 0, PAGE_SIZE), (1, 0, PAGE_SIZE), (2, PAGE_SIZE, PAGE_SIZE), (3, 2 * PAGE_SIZE, 1)],
)
def test_pages_follow_each_other_from_page_one(number: int | None, first: int, size: int) -> None:
    page = page_of(ITEMS, number)

    assert (page[0], len(page)) == (first, size)


def test_a_page_after_the_last_one_is_empty() -> None:
    assert page_of(ITEMS, 4) == page_of(ITEMS, 10**12) == page_of([], 1) == []


@pytest.mark.parametrize(("total", "pages"), [(0, 0), (1, 1), (PAGE_SIZE, 1), (PAGE_SIZE + 1, 2)])
def test_a_page_that_is_not_full_counts_as_a_page(total: int, pages: int) -> None:
    assert page_count(total) == pages
