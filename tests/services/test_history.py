"""History: roles, look-ups by ID and ExtID, and lists while payments come in."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any
from unittest import mock

import pytest

from chalicelib.domain.agent import NO_CLIENT
from chalicelib.domain.history_entry import HistoryEntry, entry_of
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.history_page import MAX_CANDIDATES, MAX_OF_ALL_KINDS
from chalicelib.domain.paging import Page
from chalicelib.domain.periods import Period
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Purchase, ReceiptAddresses
from chalicelib.errors import Check, ErrorCode, ServiceError
from chalicelib.schemas.transaction_view import TransactionView
from chalicelib.services import history as lists
from chalicelib.store import agents, history, history_lists, transactions
from chalicelib.store.ranges import item_pages
from chalicelib.store.table import Item, Write, commit, put_new, update, write_one
from infra.bench.shop import write_in_bulk
from tests.support.builders import an_agent
from tests.support.cost import store_calls, write_units
from tests.support.ledger import ADDRESSES, NO_VAT, VAT, Books, a_merchant_with_agents, ids, local, paid, taxed
from tests.support.stored import stored_transaction
from tests.support.transactions import a_guid, altered

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def books(engine: str) -> Books:
    """A merchant with three agents and a payment of each, an hour apart; the first sees everything."""
    del engine
    books = a_merchant_with_agents(count=3)
    for number, agent in enumerate(books.agents):
        books.record(paid(books, agent, NOW - number * HOUR, ext_id="order-1"))
    return books


def refusal(error: pytest.ExceptionInfo[ServiceError]) -> ErrorCode:
    return error.value.error


def test_an_agent_is_shown_its_own_payments_and_right_201_shows_the_merchants(books: Books) -> None:
    agent, own = books.agents[1], [books.kept[1].id]

    assert ids(books.ask(NOW, {}, by=agent)) == ids(books.ask(NOW, {"AccountID": agent.id}, by=agent)) == own
    assert ids(books.ask(NOW, {})) == [one.id for one in books.kept]
    assert ids(books.ask(NOW, {"AccountID": books.agents[2].id})) == [books.kept[2].id]
    assert ids(books.ask(NOW, {"ID": books.kept[2].id}, by=agent)) == []


def test_an_agent_without_the_right_may_not_name_a_colleague(books: Books) -> None:
    with pytest.raises(ServiceError) as error:
        books.ask(NOW, {"AccountID": books.agents[2].id}, by=books.agents[1])

    assert refusal(error) is ErrorCode.ROLE_MAY_NOT


def test_a_foreign_account_is_answered_as_a_missing_one(books: Books) -> None:
    foreign = a_merchant_with_agents().agents[0]
    answers = []
    for number in (foreign.id, 10**15):
        with pytest.raises(ServiceError) as error:
            books.ask(NOW, {"AccountID": number})
        answers.append((refusal(error), error.value.message, error.value.validations))

    assert answers == [(ErrorCode.AGENT_NOT_FOUND, ErrorCode.AGENT_NOT_FOUND.message, ())] * 2


@pytest.fixture
def system(books: Books) -> Books:
    """The same books, asked about by a system user."""
    user = an_agent(client_id=NO_CLIENT, is_system_user=True)
    commit(put_new("agents", user, "id"))
    return Books(books.merchant, [user, *books.agents], books.kept)


def test_a_system_user_sees_what_the_account_it_names_sees(system: Books) -> None:
    _, sees_all, second, _ = system.agents

    assert ids(system.ask(NOW, {"AccountID": sees_all.id})) == [one.id for one in system.kept]
    assert ids(system.ask(NOW, {"AccountID": second.id})) == [system.kept[1].id]


def test_a_system_user_names_an_account_that_is_not_its_own(system: Books) -> None:
    with pytest.raises(ServiceError) as error:
        system.ask(NOW, {"ExtID": "order-1"})
    assert [(one.field, one.code) for one in error.value.validations] == [("account_id", Check.REQUIRED)]

    without_merchant = an_agent(client_id=10**15)
    commit(put_new("agents", without_merchant, "id"))
    for account in (system.agents[0], without_merchant):
        with pytest.raises(ServiceError) as error:
            system.ask(NOW, {"AccountID": account.id})
        assert refusal(error) is ErrorCode.AGENT_NOT_FOUND


def test_a_system_user_finds_any_id_without_naming_an_account(system: Books) -> None:
    assert ids(system.ask(NOW, {"ID": system.kept[2].id})) == [system.kept[2].id]
    assert ids(system.ask(NOW, {"ID": a_guid()})) == []


def test_an_id_is_found_whenever_it_was_and_in_any_case(books: Books) -> None:
    old = books.record(paid(books, books.agents[1], NOW - timedelta(days=900)))
    page = books.ask(NOW, {"ID": old.id.lower()})

    assert (ids(page.transactions), page.total) == ([old.id], 1)


def test_a_foreign_id_is_not_found(books: Books) -> None:
    others = a_merchant_with_agents()
    foreign = others.record(paid(others, others.agents[0], NOW))

    assert books.ask(NOW, {"ID": foreign.id}) == books.ask(NOW, {"ID": a_guid()})


@pytest.mark.parametrize(
    "also", [{"To": "2028-03-08"}, {"InputType": 7}, {"ExtID": "order-2"}, {"Search": "nothing"}, {"Invoice": "1"}]
)
def test_what_else_is_asked_for_must_hold_for_an_id(books: Books, also: dict[str, object]) -> None:
    assert ids(books.ask(NOW, {"ID": books.kept[0].id, **also})) == []


def test_an_ext_id_alone_finds_whenever_it_was(books: Books) -> None:
    old = books.record(paid(books, books.agents[1], NOW - timedelta(days=900), ext_id="order-1"))
    books.record(paid(books, books.agents[1], NOW, ext_id="order-10"))
    page = books.ask(NOW, {"ExtID": "order-1"})

    assert ids(page.transactions) == ids([*books.kept[:3], old])
    assert page.amount * 100 == 4 * 1230


def test_an_ext_id_is_exact_and_finds_among_what_the_caller_sees(books: Books) -> None:
    others = a_merchant_with_agents()
    others.record(paid(others, others.agents[0], NOW, ext_id="order-1"))

    assert ids(books.ask(NOW, {"ExtID": "order-1"}, by=books.agents[1])) == [books.kept[1].id]
    assert ids(others.ask(NOW, {"ExtID": "order-1"})) == [others.kept[0].id]
    assert ids(books.ask(NOW, {"ExtID": "Order-1"})) == []


def test_an_ext_id_in_a_period_is_found_in_the_period(books: Books) -> None:
    books.record(paid(books, books.agents[1], NOW - timedelta(days=2), ext_id="order-1"))

    assert ids(books.ask(NOW, {"ExtID": "order-1", "To": "2028-03-07"})) == [books.kept[3].id]


def test_an_ext_id_used_often_is_paged(books: Books) -> None:
    books.kept += [paid(books, books.agents[1], NOW + number * HOUR / 100, ext_id="always") for number in range(101)]
    write_in_bulk(books.kept[3:])
    first, second = (books.ask(NOW, {"ExtID": "always", "Page": page}) for page in (1, 2))

    assert (first.total, len(first.transactions), len(second.transactions)) == (101, 100, 1)
    assert [*ids(first), *ids(second)] == [one.id for one in books.kept[:2:-1]]


def test_a_list_by_days_oldest_first_shows_the_same_page_turned_round(books: Books) -> None:
    newest_first = books.ask(NOW, {"Sort": "Date desc"}, days=True)
    assert books.ask(NOW, {"Sort": "Date asc"}, days=True).transactions == newest_first.transactions[::-1]


def test_a_list_by_days_fills_up_from_days_long_past(books: Books) -> None:
    old = books.record(paid(books, books.agents[0], NOW - timedelta(days=300)))

    assert ids(books.ask(NOW, {}, days=True)) == [*(one.id for one in books.kept[:3]), old.id]


def test_a_stretch_over_two_months_is_read_in_either_order(books: Books) -> None:
    books.record(paid(books, books.agents[0], NOW - timedelta(days=30)))
    stretch = history_lists.Stretch(books.merchant.id, None, local(books.kept[-1]), local(books.kept[0]) + HOUR)
    read = [
        [entry.id for entry in history_lists.between(stretch, HistoryFilter(), newest_first=newest_first)]
        for newest_first in (True, False)
    ]

    newest = [one.id for one in books.kept]
    assert read == [newest, newest[::-1]]


def test_too_much_to_look_at_is_refused_before_it_is_looked_at(books: Books) -> None:
    by_day, _ = history.additions(books.merchant.id, entry_of(books.kept[0]))
    commit(update(by_day.key, add={"n09": MAX_CANDIDATES}))

    with store_calls() as calls, pytest.raises(ServiceError) as error:
        books.ask(NOW, {"Search": "coffee"})

    assert refusal(error) is ErrorCode.PERIOD_TOO_LONG
    assert calls == ["BatchGetItem", "Query", "Query"]  # the caller, and the counters of two months


def test_an_ext_id_of_more_payments_than_a_list_reads_is_refused(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MAX_CANDIDATES", 3)
    assert len(ids(books.ask(NOW, {"ExtID": "order-1"}))) == 3

    monkeypatch.setattr(lists, "MAX_CANDIDATES", 2)
    with pytest.raises(ServiceError) as error:
        books.ask(NOW, {"ExtID": "order-1"})
    assert refusal(error) is ErrorCode.PERIOD_TOO_LONG


def test_a_list_reads_the_caller_counters_entries_and_records_and_nothing_for_each_agent(books: Books) -> None:
    with store_calls() as calls:
        books.ask(NOW, {})

    assert calls == ["BatchGetItem", "Query", "Query", "Query", "BatchGetItem"]


def test_a_page_past_the_end_is_empty_and_counts_all_the_same(books: Books) -> None:
    page = books.ask(NOW, {"Page": 10**9})

    assert (page.transactions, page.total) == ([], 3)


def test_a_card_payment_is_found_by_what_the_acquirer_said(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents()
    sent = paid(books, books.agents[0], NOW, phase=Phase.SENT, input_type=3, acquirer="SANDBOX", ext_id="order-9")
    transactions.record(sent)
    known = altered(sent, phase=Phase.APPROVED, rrn="603112345678")
    before = books.ask(NOW, {"RRN": "603112345678"}), books.ask(NOW, {}), books.ask(NOW, {"ExtID": "order-9"})

    transactions.store_step(sent, known, NOW, *history.writes_for_outcome(known))

    after = books.ask(NOW, {"RRN": "603112345678"}), books.ask(NOW, {}), books.ask(NOW, {"ExtID": "order-9"})
    assert [(page.total, str(page.amount)) for page in before] == [(0, "0"), (1, "0"), (1, "0")]
    assert [(page.total, str(page.amount)) for page in after] == [(1, "12.30")] * 3


def units(*writes: Write) -> float:
    """Return the cost of writes in one transaction."""
    with write_units() as charged:
        commit(*writes)
    return sum(cost for _, cost in charged)


def test_a_payment_of_a_kilobyte_costs_what_it_may(dynamodb_local: str) -> None:
    del dynamodb_local
    books = a_merchant_with_agents()
    plain = paid(books, books.agents[0], NOW)
    named = paid(books, books.agents[0], NOW, ext_id="x" * 40)

    assert units(put_new("transactions", plain, "id"), *history.writes_for_new(plain)) == 10
    assert units(put_new("transactions", named, "id"), *history.writes_for_new(named)) == 12


def test_what_a_search_finds_adds_nothing_to_the_cost_of_a_payment(dynamodb_local: str) -> None:
    del dynamodb_local
    books = a_merchant_with_agents()
    named = paid(
        books,
        replace(books.agents[0], name="Corner Store, till at the door"),
        NOW,
        ext_id="x" * 40,
        description="Two coffees and a newspaper",
        terminal_name="SHOP0001",
        addresses=ReceiptAddresses(("ann.mokoena@home.example",), ("+27829876543",)),
        client_product_code="CAFE",
    )

    assert units(put_new("transactions", named, "id"), *history.writes_for_new(named)) == 12


def test_counting_costs_the_same_in_a_month_that_was_busy_to_its_last_minute(dynamodb_local: str) -> None:
    del dynamodb_local
    books = a_merchant_with_agents()
    counted = history.additions(books.merchant.id, entry_of(paid(books, books.agents[0], NOW, amount_minor=10**12)))
    for one, times in zip(counted, (range(1, 32), range(24)), strict=True):
        busiest = {"n": 10**6, "k": 10**6, "m": 10**14 - 1}
        numbers = {f"{letter}{time:02d}": number for letter, number in busiest.items() for time in times}
        write_one(update(one.key, numbers))

    assert units(*map(history.add, counted)) == 4


def test_taxes_add_nothing_to_the_cost_of_the_first_payments_of_a_month(dynamodb_local: str) -> None:
    del dynamodb_local
    books = a_merchant_with_agents()
    sold = paid(books, books.agents[0], NOW, tax_amounts=taxed(1230, VAT, NO_VAT))

    assert units(put_new("transactions", sold, "id"), *history.writes_for_new(sold)) == 10


@pytest.mark.parametrize("tills", [3, 20])
def test_a_list_of_a_year_costs_the_same_calls_for_any_number_of_payments(exact_engine: str, tills: int) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=tills)
    for number in (20, 600):
        interval = timedelta(days=364) / number
        write_in_bulk(paid(books, books.agents[n % tills], NOW - n * interval) for n in range(number))
        with store_calls() as calls:
            assert books.ask(NOW, {"From": "2027-03-11", "Page": 1}).transactions
        assert calls[:14] == ["BatchGetItem", *["Query"] * 13]  # the caller, and the counters of thirteen months
        assert calls[14:-1] == ["Query"] * {20: 13, 600: 3}[number]  # the entries: 100 are of fewer months
        assert calls[-1] == "BatchGetItem"


def test_a_page_within_a_busy_day_reads_the_hours_of_that_day_alone(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=5)
    last_week = NOW - timedelta(days=7)
    books.kept = [paid(books, books.agents[n % 5], last_week - n * timedelta(minutes=4)) for n in range(300)]
    write_in_bulk(books.kept)

    with store_calls() as calls:
        second = books.ask(NOW, {"Page": 2})

    assert ids(second.transactions) == ids(books.kept[100:200])
    assert calls == ["BatchGetItem", *["Query"] * 4, "BatchGetItem"]  # the counters of two months, hours, entries
    books.record(paid(books, books.agents[0], NOW, date=last_week + timedelta(seconds=1)))
    assert ids(books.ask(NOW, {"Page": 2}).transactions) == ids(books.kept[99:199])


def test_a_kind_of_few_tills_among_many_is_read_of_those(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=3)
    for number in range(30):
        books.record(paid(books, books.agents[number % 2], NOW - number * HOUR / 2))
    rare = [
        books.record(paid(books, books.agents[2], NOW - timedelta(days=number), acquirer="RARE")) for number in (0, 1)
    ]
    by_day, _ = history.additions(books.merchant.id, entry_of(books.kept[0]))
    commit(update(by_day.key, add={"n09": MAX_OF_ALL_KINDS - 30}))

    assert ids(books.ask(NOW, {"AcquirerCode": "RARE"}).transactions) == ids(rare)
    assert books.ask(NOW, {"AcquirerCode": "CASH"}).total == MAX_OF_ALL_KINDS
    commit(update(by_day.key, add={"n09": 1}))
    with pytest.raises(ServiceError) as refused:
        books.ask(NOW, {"AcquirerCode": "CASH"})
    assert refusal(refused) is ErrorCode.PERIOD_TOO_LONG


def test_a_page_of_a_busy_hour_reads_no_entry_after_the_page(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del engine
    books = a_merchant_with_agents(count=1)
    write_in_bulk([paid(books, books.agents[0], NOW - timedelta(seconds=number)) for number in range(300)])
    read, between = list[str](), history_lists.between

    def noted(*arguments: Any, **options: Any) -> Iterator[HistoryEntry]:
        for entry in between(*arguments, **options):
            read.append(entry.id)
            yield entry

    monkeypatch.setattr(history_lists, "between", noted)
    for model in ({}, {"Sort": "Date asc"}, {"AcquirerCode": "CASH"}):
        read.clear()
        page = books.ask(NOW, model)
        assert (page.total, read) == (300, ids(page.transactions))


def test_a_total_that_counts_too_much_shows_what_there_is(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=2)
    kept = [books.record(paid(books, books.agents[number % 2], NOW - number * HOUR)) for number in range(4)]
    by_day, _ = history.additions(books.merchant.id, entry_of(kept[0]))
    write_one(history.add(by_day))

    page = books.ask(NOW, {})

    assert (ids(page.transactions), page.total) == (ids(kept), 5)


def walk(books: Books) -> Iterator[Page]:
    """The pages of the usual period, one asked for after the other."""
    for number in count(1):
        page = books.ask(NOW, {"Page": number})
        if not page.transactions:
            return
        yield page


def test_while_payments_come_in_no_page_shows_one_twice_and_none_is_missed(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=3)
    for number in range(320):
        books.record(paid(books, books.agents[number % 3], NOW - number * HOUR / 20))
    stop = threading.Event()
    lock = threading.Lock()

    def submit(number: int) -> None:
        for tick in count():
            if stop.wait(0.02):
                return
            payment = paid(books, books.agents[number], NOW + timedelta(milliseconds=tick, microseconds=number))
            transactions.record(payment)
            with lock:
                books.kept.append(payment)

    with ThreadPoolExecutor(3) as pool:
        tills = [pool.submit(submit, number) for number in range(3)]
        try:
            for _ in range(4):
                with lock:
                    acknowledged = {one.id for one in books.kept}
                pages = list(walk(books))

                assert all(len(set(ids(page))) == len(page.transactions) for page in pages)
                assert acknowledged <= {name for page in pages for name in ids(page)}
                shown = [local(one) for page in pages for one in page.transactions]
                assert all(page.total >= len(acknowledged) for page in pages)
                assert min(shown) == min(local(one) for one in books.kept[:320])
        finally:
            stop.set()
        for till in tills:
            till.result()

    assert books.ask(NOW, {}).total == len(books.kept)


def test_rights_that_were_taken_back_count_at_once(books: Books) -> None:
    key = agents.key(books.agents[0].id)
    commit(update(key, {"state": 1}, remove=("branches_actions",)))

    assert ids(books.ask(NOW, {})) == [books.kept[0].id]


def test_a_list_shows_all_of_a_transaction_without_reading_its_purchases(books: Books) -> None:
    lines = (Purchase("Tea", Decimal(1), Decimal(1)),)
    sold = paid(books, books.agents[1], NOW, purchases=lines, addresses=ADDRESSES, receipt_email="a@b.example")
    books.record(sold)
    (listed,) = books.ask(NOW, {"ID": sold.id}).transactions

    assert listed.receipt.purchases == ()
    whole = stored_transaction(sold.id)
    assert whole.receipt.purchases == lines
    assert TransactionView.of(listed, NOW, 2) == TransactionView.of(whole, NOW, 2)


@pytest.mark.parametrize("sort", ["Date asc", "Date desc"])
def test_a_reversed_payment_is_one_entry_with_its_mark(books: Books, sort: str) -> None:
    first, second, third = books.kept
    for payment in (first, third):
        reversal = altered(payment, id=a_guid(), phase=Phase.REVERSAL_APPROVED, original_id=payment.id, original_mode=2)
        transactions.reserve(payment, altered(reversal, invoice=f"RET-{payment.id}", ext_id=None, description="Spilt"))

    payments = [one.id for one in (books.kept if sort == "Date desc" else reversed(books.kept))]
    listed = ids(books.ask(NOW, {"Sort": sort}))
    assert [one for one in listed if one in payments] == payments
    assert len(listed) == 5
    found = ids(books.ask(NOW, {"Search": f"ret-{third.id}", "Sort": sort}))
    assert [one in {first.id, second.id} for one in found] == [False, False]
    assert third.id in found
    assert second.id in ids(books.ask(NOW, {"Search": "till no. 1"}))
    assert set(ids(books.ask(NOW, {"ExtID": "order-1"}))) == set(payments)


def test_the_mark_of_a_late_sale_belongs_to_its_entry_on_the_page_before(books: Books) -> None:
    late = [
        books.record(paid(books, books.agents[0], NOW, date=NOW - number * 48 * HOUR, amount_minor=100 * number))
        for number in (1, 2)
    ]
    for one in late:
        reversal = altered(one, id=a_guid(), phase=Phase.REVERSAL_APPROVED, original_id=one.id, original_mode=2)
        transactions.reserve(one, altered(reversal, invoice="RET-1", date=None))
    today = Period(NOW.date(), NOW.date() + 24 * HOUR)

    def one_by_one(*arguments: Any, **options: Any) -> Iterator[Sequence[Item]]:
        return ([item] for page in item_pages(*arguments, **options) for item in page)

    with mock.patch.object(history_lists, "item_pages", one_by_one):
        pages = list(history_lists.late_pages(books.merchant.id, today))

    found = [(entry.amount_minor, entry.reverse_invoice) for page in pages for entry in page]
    assert sorted(found) == [(100, "ret-1"), (200, "ret-1")]
