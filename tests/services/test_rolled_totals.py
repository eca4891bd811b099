"""Lists of all agents: what is rolled up is exact whatever comes late, and costs the same for any number of tills."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from chalicelib.domain.history import Page, entry_of
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import history
from chalicelib.services import history as lists
from chalicelib.services.rebuild_totals import rebuild
from chalicelib.store import history as history_store
from chalicelib.store import totals, transactions
from chalicelib.store.table import write_one
from infra.bench.client import measure_capacity
from infra.bench.shop import write_in_bulk
from tests.support.cost import store_calls
from tests.support.intercepted_calls import failing, hooked, told
from tests.support.interleaving import Turns
from tests.support.ledger import Books, a_merchant_with_agents, amount, local, paid
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
    assert page.transactions == model[:100]


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of payments makes a day busy, so that pages begin within days."""
    monkeypatch.setattr(lists, "BUSY_DAY", 3)


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("gmt", [-12, 2, 14])
def test_every_list_is_exact_while_time_passes_and_much_comes_late(dynamodb_local: str, gmt: int) -> None:
    del dynamodb_local
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
    months = sorted({f"{local(one):%Y-%m}" for one in books.kept})
    assert [rebuild(books.merchant.id, month).mended for month in months] == [()] * len(months)
    check(books, books.ask(now, {"From": str((now - 364 * DAY).date())}))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("moto", "busy")
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

    def count_again() -> None:
        rebuild(books.merchant.id, "2028-01")

    first, second = books.agents
    works: list[Callable[[], None]] = [
        partial(write, lambda: paid(books, first, NOW, date=NOW - 40 * DAY)),
        partial(write, lambda: paid(books, second, NOW)),
        decide,
        ask,
        ask,
        count_again,
    ]
    with told("seed", seed), hooked(turns.hook):
        turns.run(*works)

    for _ in range(2):
        check(books, books.ask(NOW, YEAR))


def costs(tills: int) -> list[tuple[int, int]]:
    """Return the calls and read units of lists of a year of 600 payments, each asked for the second time."""
    books = a_merchant_with_agents(count=tills)
    write_in_bulk(paid(books, books.agents[number % tills], NOW - number * 14 * HOUR) for number in range(600))
    found = []
    for wanted in ({}, {"Page": 4}, {"InputType": 10}, {"Search": "12.30"}):
        books.ask(NOW, {**YEAR, **wanted})
        with measure_capacity() as meter:
            assert books.ask(NOW, {**YEAR, **wanted}).transactions
        found.append((meter["calls"], meter["RCU"]))
    return found


def test_a_list_costs_the_same_at_three_and_at_a_hundred_tills(dynamodb_local: str) -> None:
    del dynamodb_local

    for (calls, units), (calls_of_many, units_of_many) in zip(costs(3), costs(100), strict=True):
        assert calls_of_many == calls <= 20
        assert units_of_many <= units * 1.05


def test_the_first_list_of_a_year_rolls_up_what_the_next_one_reads(dynamodb_local: str) -> None:
    del dynamodb_local
    books = a_merchant_with_agents(count=40)
    write_in_bulk(paid(books, books.agents[number % 40], NOW - number * DAY / 2) for number in range(700))

    with store_calls() as first:
        books.ask(NOW, YEAR)
    with store_calls() as second:
        books.ask(NOW, YEAR)

    assert len(first) <= 21
    assert second == ["BatchGetItem", "Query", "Query", "Query", "Query", "Query", "Query", "BatchGetItem"]


def test_a_list_is_right_when_what_it_rolled_up_cannot_be_stored(
    dynamodb_local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dynamodb_local
    books = a_merchant_with_agents(count=2)
    for number in range(12):
        books.record(paid(books, books.agents[number % 2], NOW - number * 30 * DAY))
    monkeypatch.setattr(totals, "store_months", failing(ServiceError(ErrorCode.STORE_UNAVAILABLE)))

    for _ in range(2):
        check(books, books.ask(NOW, YEAR))


def test_what_comes_late_makes_its_own_month_alone_to_be_counted_again(dynamodb_local: str) -> None:
    del dynamodb_local
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
    assert sorted(calls) == sorted([*undisturbed, "Query", "PutItem"])


def test_slots_of_a_busy_day_that_is_over_are_rolled_up_too(
    dynamodb_local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dynamodb_local
    monkeypatch.setattr(lists, "BUSY_DAY", 100)
    books = a_merchant_with_agents(count=5)
    books.kept = [paid(books, books.agents[n % 5], NOW - 10 * DAY - n * timedelta(minutes=4)) for n in range(300)]
    write_in_bulk(books.kept)
    first = books.ask(NOW, {"Page": 2})

    with store_calls() as calls:
        second = books.ask(NOW, {"Page": 2})

    assert first == second
    assert first.transactions == books.kept[100:200]
    assert calls == ["BatchGetItem", *["Query"] * 4, "BatchGetItem"]
    books.record(paid(books, books.agents[0], NOW, date=NOW - 10 * DAY + timedelta(seconds=1)))
    assert books.ask(NOW, {"Page": 2}).transactions == books.kept[99:199]


def test_a_kind_of_few_tills_among_very_many_payments_is_read_of_those_tills(
    dynamodb_local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del dynamodb_local
    books = a_merchant_with_agents(count=3)
    for number in range(30):
        books.record(paid(books, books.agents[number % 2], NOW - number * HOUR))
    rare = [books.record(paid(books, books.agents[2], NOW - number * DAY, acquirer="RARE")) for number in (0, 1)]
    monkeypatch.setattr(history, "MAX_CANDIDATES", 20)

    assert books.ask(NOW, {"AcquirerCode": "RARE"}).transactions == rare


def test_a_total_that_counts_too_much_shows_what_there_is(dynamodb_local: str) -> None:
    del dynamodb_local
    books = a_merchant_with_agents(count=2)
    kept = [books.record(paid(books, books.agents[number % 2], NOW - number * HOUR)) for number in range(4)]
    books.ask(NOW, {})
    write_one(totals.add_to_slots(books.merchant.id, entry_of(kept[0])))

    page = books.ask(NOW, {})

    assert (page.transactions, page.total) == (kept, 5)
