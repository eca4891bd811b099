"""Lists of all agents: what is rolled up is exact whatever comes late, and costs the same for any number of tills."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from chalicelib.domain.history import Page, entry_of
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import history
from chalicelib.services import history as lists
from chalicelib.store import history as history_store
from chalicelib.store import totals, transactions
from chalicelib.store.table import Key, Write, client, table_name, update, write_one
from infra.bench.client import measure_capacity
from infra.bench.shop import write_in_bulk
from infra.operator import commands as operator
from infra.operator import rebuild_totals
from infra.operator.rebuild_totals import Difference, Outcome, rebuild
from tests.support.cost import store_calls
from tests.support.intercepted_calls import failing, hooked, told
from tests.support.interleaving import Turns
from tests.support.ledger import Books, a_merchant_with_agents, amount, fill, local, paid
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
    monkeypatch.setattr(totals, "store_months", failing(ServiceError(ErrorCode.STORE_UNAVAILABLE)))

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
    assert sorted(calls) == sorted([*undisturbed, "Query", "PutItem"])


def test_slots_of_a_busy_past_day_are_rolled_up_too(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del exact_engine
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


def test_a_kind_of_few_tills_among_many_is_read_of_those(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=3)
    for number in range(30):
        books.record(paid(books, books.agents[number % 2], NOW - number * HOUR))
    rare = [books.record(paid(books, books.agents[2], NOW - number * DAY, acquirer="RARE")) for number in (0, 1)]
    monkeypatch.setattr(history, "MAX_CANDIDATES", 20)

    assert books.ask(NOW, {"AcquirerCode": "RARE"}).transactions == rare


def test_a_total_that_counts_too_much_shows_what_there_is(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=2)
    kept = [books.record(paid(books, books.agents[number % 2], NOW - number * HOUR)) for number in range(4)]
    books.ask(NOW, {})
    write_one(totals.add_to_slots(books.merchant.id, entry_of(kept[0])))

    page = books.ask(NOW, {})

    assert (page.transactions, page.total) == (kept, 5)


MONTH = "2028-03"
MOST_PAYMENTS = 60  # of a till, while totals are mended: a store that is slower than the tills never catches up


@pytest.fixture
def books(exact_engine: str) -> Books:
    """A merchant with a payment at 23:40 of the 9th."""
    del exact_engine
    books = a_merchant_with_agents(count=2)
    books.record(paid(books, books.agents[0], NOW))
    return books


def total_of(books: Books) -> Key[object]:
    return totals.total_key(books.merchant.id, entry_of(books.kept[0]))


def spoil(key: Key[object], **numbers: int) -> None:
    """Write something wrong over counters."""
    write_one(update(key, "SET " + ", ".join(f"#{name} = :{name}" for name in numbers), numbers))


def test_what_is_right_is_left_alone(books: Books) -> None:
    outcome = rebuild(books.merchant.id, MONTH)

    assert (outcome.mended, outcome.moving) == ((), ())


def test_what_differs_is_said_and_mended(books: Books) -> None:
    key = total_of(books)
    spoil(key, n09=7, m09=1, n10=2)

    outcome = rebuild(books.merchant.id, MONTH)

    where = (f"{books.merchant.id}#{MONTH}", str(key.key["at"]))
    assert outcome.mended == (
        Difference(*where, "m09", 1, 1230),
        Difference(*where, "n09", 7, 1),
        Difference(*where, "n10", 2, 0),
    )
    assert books.ask(NOW, {}).total == 1
    assert rebuild(books.merchant.id, MONTH).mended == ()


def test_what_was_mended_is_listed_if_the_command_ended_there(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    key = total_of(books)
    spoil(key, n09=7)
    month_later = NOW + timedelta(days=20)
    before = books.ask(month_later, {}).total
    monkeypatch.setattr(rebuild_totals, "write_one", failing(KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        rebuild(books.merchant.id, MONTH)

    assert (before, books.ask(month_later, {}).total) == (7, 1)


def test_slots_are_mended_too(books: Books) -> None:
    key = totals.slots_key(books.merchant.id, entry_of(books.kept[0]))
    spoil(key, **{"94": 5})
    outcome = rebuild(books.merchant.id, MONTH)

    assert [(one.name, one.stored, one.counted) for one in outcome.mended] == [("94", 5, 1)]


def test_counters_that_were_lost_are_made_again(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quarters and hours of a till that is busy round the clock are more than one condition of DynamoDB holds."""
    del exact_engine
    monkeypatch.setattr(totals, "SHARDS", 1)
    books = a_merchant_with_agents()
    midnight = datetime(2028, 3, 5, 22, 0, tzinfo=UTC)
    for quarter in range(96):
        books.record(paid(books, books.agents[0], midnight + quarter * timedelta(minutes=15)))
    entry = entry_of(books.kept[0])
    for key in (totals.total_key(books.merchant.id, entry), totals.slots_key(books.merchant.id, entry)):
        key_item = {name: {"S": str(value)} for name, value in key.key.items()}
        client().call("DeleteItem", TableName=table_name(totals.TABLE), Key=key_item)

    outcome = rebuild(books.merchant.id, MONTH)

    assert (len(outcome.mended), outcome.moving) == (3 + 96 + 2 * 24, ())
    page = books.ask(NOW, {"Page": 1})
    assert (page.total, page.amount) == (96, amount(books.kept))
    assert rebuild(books.merchant.id, MONTH) == Outcome((), ())


def test_a_year_is_right_as_it_was_written(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=3)
    fill(books, 200, NOW, seed=5)
    month = f"{books.kept[0].created_at + timedelta(hours=2):%Y-%m}"

    assert [rebuild(books.merchant.id, one).mended for one in (month, "2028-02", MONTH)] == [()] * 3


def test_a_payment_counted_during_mending_is_kept(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del exact_engine
    monkeypatch.setattr(totals, "SHARDS", 1)
    books = a_merchant_with_agents()
    books.record(paid(books, books.agents[0], NOW))
    spoil(total_of(books), n09=7)
    correction = totals.correction

    def correct_late(key: Key[object], before: totals.Counters, after: totals.Counters) -> Write:
        if len(books.kept) == 1:
            books.record(paid(books, books.agents[0], NOW))
        return correction(key, before, after)

    monkeypatch.setattr(totals, "correction", correct_late)
    assert [(one.stored, one.counted) for one in rebuild(books.merchant.id, MONTH).mended] == [(8, 2)]
    assert (books.ask(NOW, {}).total, books.ask(NOW, {}).amount) == (2, amount(books.kept))


def test_totals_are_mended_while_payments_come_in(books: Books) -> None:
    stop, submitted = threading.Event(), list[int]()

    def submit(number: int) -> None:
        for tick in range(MOST_PAYMENTS):
            if stop.wait(0.002):
                return
            transactions.record(paid(books, books.agents[number], NOW + timedelta(milliseconds=tick)))
            submitted.append(number)

    with ThreadPoolExecutor(2) as pool:
        tills = [pool.submit(submit, number) for number in range(2)]
        mended = 0
        while mended < 5 or len(submitted) <= 10:
            spoil(total_of(books), n08=3)
            last = rebuild(books.merchant.id, MONTH)
            mended += 1
        stop.set()
    for till in tills:
        till.result()

    rest = rebuild(books.merchant.id, MONTH)
    assert not rest.moving
    assert last.moving or not rest.mended  # what was written to whenever it was counted is said, and mended now
    assert rebuild(books.merchant.id, MONTH) == Outcome((), ())
    assert books.ask(NOW, {}).total == 1 + len(submitted)


def test_the_operator_is_told(books: Books, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(total_of(books), n09=7)
    arguments = ["rebuild-totals", "--merchant", str(books.merchant.id), "--month", MONTH]

    operator.main(arguments)
    first = capsys.readouterr().out
    operator.main(arguments)

    assert "n09: was 7, is 1\n1 counters corrected." in first
    assert capsys.readouterr().out == "0 counters corrected.\n"


def test_the_operator_counts_each_month(stage_on_dynamodb_local: str, capsys: pytest.CaptureFixture[str]) -> None:
    del stage_on_dynamodb_local
    operator.main(["rebuild-totals"])

    assert capsys.readouterr().out.endswith(" counters corrected.\n")
