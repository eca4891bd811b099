"""Lists of all agents: month sums are exact whatever comes late, and save the reads of many tills."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from chalicelib.domain import history_page
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.history_page import Page
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import history as lists
from chalicelib.store import counters, month_sums, transactions
from chalicelib.store import history as history_store
from chalicelib.store.counters import counters_key
from chalicelib.store.table import read_item, set_attributes, update, write_one
from infra.bench.client import measure_capacity
from infra.bench.shop import write_in_bulk
from tests.support.cost import store_calls
from tests.support.intercepted_calls import failing, hooked, told
from tests.support.interleaving import Turns
from tests.support.ledger import Books, a_merchant_with_agents, amount, ids, local, paid
from tests.support.transactions import altered

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
YEAR = {"From": "2027-03-11"}
SEEDS = range(12)


def sent(books: Books, at: datetime) -> Transaction:
    """A card payment without an outcome, recorded."""
    payment = paid(books, books.agents[0], at, phase=Phase.SENT, input_type=3, acquirer="SANDBOX")
    return books.record(payment)


def take_money(books: Books, payment: Transaction, now: datetime) -> None:
    """Store the outcome of a card payment."""
    approved = altered(payment, phase=Phase.APPROVED, rrn="603112345678")
    transactions.store_step(payment, approved, now, *history_store.writes_for_outcome(approved, now))
    books.kept[books.kept.index(payment)] = approved


def check(books: Books, page: Page) -> None:
    """A year's first page, and its counters, are those of the transactions themselves."""
    model = sorted(books.kept, key=lambda one: (local(one), one.id), reverse=True)
    assert (page.total, page.amount) == (len(model), amount(model))
    assert ids(page.transactions) == ids(model[:100])


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of payments makes a day busy, so that pages begin within days."""
    monkeypatch.setattr(history_page, "BUSY_DAY", 3)


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("gmt", [-12, 2, 14])
def test_every_list_is_exact_while_time_passes_and_much_comes_late(exact_engine: str, gmt: int) -> None:
    del exact_engine
    chance = random.Random(gmt)  # noqa: S311  an order, not a secret
    books = a_merchant_with_agents(gmt, count=3)
    now, pending = NOW - 60 * DAY, list[Transaction]()
    for _ in range(90):
        now += chance.choice((timedelta(minutes=1), HOUR, 5 * HOUR, 13 * HOUR, DAY))
        late = now - chance.uniform(0, 40) * DAY
        agent = chance.choice(books.agents)
        action = chance.randrange(4)
        if action == 0:
            books.record(paid(books, agent, now, acquirer=chance.choice(("CASH", "OTHER"))))
        elif action == 1:
            books.record(paid(books, agent, now, date=late))
        elif action == 2:
            pending.append(sent(books, now))
        elif pending:
            take_money(books, pending.pop(chance.randrange(len(pending))), now)
        if chance.random() < 0.5:
            with told("after", len(books.kept), "at", now):
                check(books, books.ask(now, {"From": str((now - 364 * DAY).date())}))
    check(books, books.ask(now, {"From": str((now - 364 * DAY).date())}))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("engine", "busy")
def test_between_any_two_calls_of_a_list_something_else_may_be_written(seed: int) -> None:
    books = a_merchant_with_agents(count=2)
    for number in range(6):
        books.record(paid(books, books.agents[number % 2], NOW - 40 * DAY + number * HOUR))
    pending = [sent(books, NOW - 5 * DAY), sent(books, NOW - HOUR)]
    turns = Turns(seed)
    acknowledged: list[Transaction] = list(books.kept)

    def write(made: Callable[[], Transaction]) -> None:
        for _ in range(2):
            payment = made()
            transactions.record(payment)
            books.kept.append(payment)
            acknowledged.append(payment)

    def decide() -> None:
        for payment in pending:
            take_money(books, payment, NOW)

    def ask() -> None:
        for _ in range(3):
            before = {one.id for one in acknowledged}
            page = books.ask(NOW, YEAR)
            assert page.total >= len(before)
            assert len({one.id for one in page.transactions}) == len(page.transactions)
            assert before <= {one.id for one in page.transactions}

    first, second = books.agents
    works: list[Callable[[], None]] = [
        partial(write, lambda: paid(books, first, NOW, date=NOW - 40 * DAY)),
        partial(write, lambda: paid(books, second, NOW)),
        decide,
        ask,
        ask,
    ]
    with told("seed", seed), hooked(turns.hook):
        turns.run(*works)

    for _ in range(2):
        check(books, books.ask(NOW, YEAR))


def late_payment(books: Books) -> None:
    books.record(paid(books, books.agents[1], NOW, date=NOW - 40 * DAY))


def outcome(books: Books) -> None:
    take_money(books, next(one for one in books.kept if one.phase is Phase.SENT), NOW)


def list_of_another(books: Books) -> None:
    late_payment(books)
    books.ask(NOW, YEAR)


@contextmanager
def happening_at(number: int, work: Callable[[], None]) -> Iterator[list[str]]:
    """Until it ends, `work` is done before the call of this number. The calls."""
    calls: list[str] = []

    def act(when: str, name: str) -> None:
        if when == "before" and not working:
            calls.append(name)
            if len(calls) == number:
                working.append(True)
                work()
                working.clear()

    working: list[bool] = []
    with hooked(act):
        yield calls


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("work", [late_payment, outcome, list_of_another])
@pytest.mark.parametrize("listed_before", [False, True])
def test_what_is_written_before_any_call_of_a_list_is_in_the_next_list(
    exact_engine: str, work: Callable[[Books], None], *, listed_before: bool
) -> None:
    del exact_engine
    for number in count(1):
        books = a_merchant_with_agents(count=2)
        for days in (70, 40, 39, 9, 0):
            books.record(paid(books, books.agents[days % 2], NOW - days * DAY))
        sent(books, NOW - 41 * DAY)
        if listed_before:
            check(books, books.ask(NOW, YEAR))
            late_payment(books)
        before = amount(books.kept)
        with told("call", number), happening_at(number, partial(work, books)) as calls:
            page = books.ask(NOW, YEAR)
            if len(calls) < number:
                break
            assert before <= page.amount <= amount(books.kept)
            for _ in range(2):
                check(books, books.ask(NOW, YEAR))


def costs(tills: int) -> list[tuple[int, float]]:
    """Return the calls and read units of lists of a year of 600 payments, each asked for the second time."""
    books = a_merchant_with_agents(count=tills)
    write_in_bulk(paid(books, books.agents[number % tills], NOW - number * 14 * HOUR) for number in range(600))
    found = []
    for wanted in ({}, {"Page": 4}, {"InputType": 10}, {"Search": "12.30"}):
        books.ask(NOW, {**YEAR, **wanted})
        with measure_capacity() as meter:
            assert books.ask(NOW, {**YEAR, **wanted}).transactions
        found.append((meter.calls, meter.read_units))
    return found


def test_a_list_costs_the_same_at_three_and_at_a_hundred_tills(dynamodb_local: str) -> None:
    del dynamodb_local

    for (calls, units), (calls_of_many, units_of_many) in zip(costs(3), costs(100), strict=True):
        assert calls_of_many == calls <= 20
        assert units_of_many <= units * 1.05


def test_the_first_list_of_a_year_rolls_up_what_the_next_one_reads(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=40)
    write_in_bulk(paid(books, books.agents[number % 40], NOW - number * DAY / 2) for number in range(700))

    with store_calls() as first:
        books.ask(NOW, YEAR)
    with store_calls() as second:
        books.ask(NOW, YEAR)

    assert len(first) <= 21
    assert second == ["BatchGetItem", "Query", "Query", "Query", "Query", "Query", "Query", "BatchGetItem"]


def test_a_list_is_right_if_its_rollup_cannot_be_stored(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=2)
    for number in range(12):
        books.record(paid(books, books.agents[number % 2], NOW - number * 30 * DAY))
    monkeypatch.setattr(month_sums, "store", failing(ServiceError(ErrorCode.STORE_UNAVAILABLE)))

    for _ in range(2):
        check(books, books.ask(NOW, YEAR))


def test_what_comes_late_makes_its_own_month_alone_to_be_counted_again(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=2)
    for number in range(12):
        books.record(paid(books, books.agents[0], NOW - number * 30 * DAY))
    books.ask(NOW, YEAR)
    with store_calls() as undisturbed:
        books.ask(NOW, YEAR)

    books.record(paid(books, books.agents[1], NOW, date=NOW - 200 * DAY))
    with store_calls() as calls:
        page = books.ask(NOW, YEAR)

    check(books, page)
    assert sorted(calls) == sorted([*undisturbed, "Query", "UpdateItem"])


def test_a_page_within_a_busy_day_reads_the_slots_of_that_day_alone(
    exact_engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del exact_engine
    monkeypatch.setattr(history_page, "BUSY_DAY", 100)
    books = a_merchant_with_agents(count=5)
    books.kept = [paid(books, books.agents[n % 5], NOW - 10 * DAY - n * timedelta(minutes=4)) for n in range(300)]
    write_in_bulk(books.kept)
    first = books.ask(NOW, {"Page": 2})

    with store_calls() as calls:
        second = books.ask(NOW, {"Page": 2})

    assert first == second
    assert ids(first.transactions) == ids(books.kept[100:200])
    assert calls == ["BatchGetItem", *["Query"] * 4, "BatchGetItem"]
    books.record(paid(books, books.agents[0], NOW, date=NOW - 10 * DAY + timedelta(seconds=1)))
    assert ids(books.ask(NOW, {"Page": 2}).transactions) == ids(books.kept[99:199])


def sum_of(books: Books, month: str) -> dict[str, Any]:
    """Return the stored sum of a month."""
    key = counters_key(f"{books.merchant.id}#{month[:4]}", f"{month[5:]}#{month_sums.SUM}")
    return read_item(key)


def test_a_month_that_an_earlier_release_summed_up_in_part_is_summed_up_again(exact_engine: str) -> None:
    """That release stored the days `through` the last one that was over, under the version that the month had."""
    del exact_engine
    books = a_merchant_with_agents(count=2)
    for day in range(1, 29):
        books.record(paid(books, books.agents[day % 2], datetime(2028, 2, day, 12, tzinfo=UTC)))
    books.ask(NOW, YEAR)
    whole = sum_of(books, "2028-02")
    kinds = {kind: {"n01": 1, "m01": 1230} for kind in whole["kinds"]["M"]}
    part = {"version": 0, "through": date(2028, 2, 28), "kinds": kinds}
    key = counters_key(f"{books.merchant.id}#2028", f"02#{month_sums.SUM}")
    write_one(update(key, set_attributes(part), part))

    check(books, books.ask(NOW, YEAR))

    assert sum_of(books, "2028-02") == whole


@pytest.mark.parametrize("wrong", [{"kinds": "?"}, {"version": "?"}, {"kinds": {"CASH": {"n01": "?"}}}], ids=str)
def test_an_unreadable_sum_is_logged_and_made_again(
    exact_engine: str, wrong: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    del exact_engine
    books = a_merchant_with_agents()
    books.record(paid(books, books.agents[0], NOW - 60 * DAY))
    books.ask(NOW, YEAR)
    key = counters_key(f"{books.merchant.id}#2028", f"01#{month_sums.SUM}")
    write_one(update(key, set_attributes(wrong), wrong))
    capsys.readouterr()

    check(books, books.ask(NOW, YEAR))
    assert '"event": "unreadable"' in capsys.readouterr().out


def test_a_sum_of_an_earlier_version_never_replaces_a_later_one(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents()
    books.record(paid(books, books.agents[0], NOW - 60 * DAY))
    [stale] = month_sums.of_months(books.merchant.id, ["2028-01"])
    books.record(paid(books, books.agents[0], NOW, date=NOW - 60 * DAY))
    books.ask(NOW, YEAR)
    later = sum_of(books, "2028-01")

    month_sums.store(books.merchant.id, [replace(stale, day_totals=())])

    assert later["version"] == {"N": "1"}
    assert sum_of(books, "2028-01") == later


def test_a_write_to_a_past_day_of_an_open_month_counts_for_an_earlier_release(exact_engine: str) -> None:
    """That release sums up the past days of an open month. It may run next to this one, or come back."""
    del exact_engine
    books = a_merchant_with_agents()
    books.record(paid(books, books.agents[0], NOW - DAY))
    [punctual] = month_sums.of_months(books.merchant.id, ["2028-03"])
    books.record(paid(books, books.agents[0], NOW, date=NOW - 3 * DAY))
    [late] = month_sums.of_months(books.merchant.id, ["2028-03"])

    assert (punctual.version, late.version) == (0, 1)


def test_a_kind_of_few_tills_among_many_is_read_of_those(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=3)
    for number in range(30):
        books.record(paid(books, books.agents[number % 2], NOW - number * HOUR))
    rare = [books.record(paid(books, books.agents[2], NOW - number * DAY, acquirer="RARE")) for number in (0, 1)]
    monkeypatch.setattr(lists, "MAX_CANDIDATES", 20)

    assert ids(books.ask(NOW, {"AcquirerCode": "RARE"}).transactions) == ids(rare)
    monkeypatch.setattr(lists, "MAX_CANDIDATES", 30)
    assert books.ask(NOW, {"AcquirerCode": "CASH"}).total == 30
    monkeypatch.setattr(lists, "MAX_CANDIDATES", 29)
    with pytest.raises(ServiceError) as refused:
        books.ask(NOW, {"AcquirerCode": "CASH"})
    assert refused.value.error is ErrorCode.PERIOD_TOO_LONG


def test_a_total_that_counts_too_much_shows_what_there_is(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=2)
    kept = [books.record(paid(books, books.agents[number % 2], NOW - number * HOUR)) for number in range(4)]
    books.ask(NOW, {})
    write_one(counters.add_to_total(books.merchant.id, entry_of(kept[0])))

    page = books.ask(NOW, {})

    assert (ids(page.transactions), page.total) == (ids(kept), 5)
