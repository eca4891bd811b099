"""What earlier versions wrote: lists are right before it is brought over, while it is, and after."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import rebuild_totals
from chalicelib.services.rebuild_totals import rebuild
from chalicelib.store import history, history_renewal, rolled_totals, totals, transactions
from chalicelib.store.history_items import ENTRY, IN_ORDER
from chalicelib.store.query import items_of, range_of_prefix
from chalicelib.store.table import Write, client, table_name
from chalicelib.store.table import commit as table_commit
from infra import operator, operator_totals
from tests.books import Books, a_merchant_with_agents, amount, fill, local, paid
from tests.calls import store_calls
from tests.transactions import altered
from tests.turns import Turns
from tests.wire import hooked, told

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
YEAR = {"From": "2027-03-11"}
TABLE = "history"


def months_of(books: Books) -> list[str]:
    return sorted({f"{local(one):%Y-%m}" for one in books.kept})


def items(partition: str, prefix: str) -> Iterator[Mapping[str, Any]]:
    return items_of(range_of_prefix(TABLE, ("month", partition), "at", prefix))


def make_old(books: Books) -> None:
    """Leave what version 1.0 would have written: no order of all agents, slots without money, nothing rolled up."""
    name = table_name(TABLE)
    for month in months_of(books):
        partition = f"{books.merchant.id}#{month}"
        for item in [*items(partition, IN_ORDER), *items(partition[:-3], "0"), *items(partition[:-3], "1")]:
            client().call("DeleteItem", TableName=name, Key={key: item[key] for key in ("month", "at")})
        for item in items(partition, totals.TOTAL):
            kept = {key: value for key, value in item.items() if key[0] not in {totals.MOVED, totals.GIVEN_BACK}}
            client().call("PutItem", TableName=name, Item=kept)
        for item in items(partition, totals.SLOTS):
            client().call("DeleteItem", TableName=name, Key={key: item[key] for key in ("month", "at")})
            if totals.NOW in item["at"]["S"]:
                at = {"S": item["at"]["S"].replace(totals.NOW, totals.BEFORE, 1)}
                quarters = {_old_quarter(key): value for key, value in item.items() if key.isdecimal()}
                client().call("PutItem", TableName=name, Item={**quarters, "month": item["month"], "at": at})


def _old_quarter(number: str) -> str:
    """Return the name that version 1.0 gave to a quarter of an hour: 0715 for 29."""
    return f"{int(number) // 4:02d}{int(number) % 4 * 15:02d}"


def check(books: Books, **wanted: str) -> None:
    """Check the pages of a year, and a search in it."""
    model = sorted(books.kept, key=lambda one: (local(one), one.id), reverse=True)
    for number in range(0, len(model), 100):
        page = books.ask(NOW, {**YEAR, **wanted, "Page": number // 100 + 1})
        assert (page.total, page.amount) == (len(model), amount(model))
        assert page.transactions == model[number : number + 100]
    coffee = [one for one in model if one.particulars.description == "Coffee"]
    found = books.ask(NOW, {**YEAR, "Search": "coffee"})
    assert (found.total, found.transactions) == (len(coffee), coffee[:100])


def in_order(books: Books, *, some: bool = False) -> None:
    """Check that each entry stands among those of all agents as among those of its own; `some`: if it does already."""
    for month in months_of(books):
        partition = f"{books.merchant.id}#{month}"
        by_agent = {history.order_of(item["at"]["S"]): item for item in items(partition, ENTRY)}
        of_all = {item["at"]["S"]: item for item in items(partition, IN_ORDER)}
        known = {at: {**item, "at": {"S": at}} for at, item in by_agent.items() if at in of_all or not some}
        assert known == of_all


@pytest.fixture
def old(dynamodb_local: str) -> Books:
    """A merchant with a year of payments, some of them today, written by an earlier version."""
    del dynamodb_local
    books = a_merchant_with_agents(count=4)
    fill(books, 130, NOW, seed=3)
    for number in range(4):
        books.record(paid(books, books.agents[number], NOW - number * HOUR, description="Coffee"))
    make_old(books)
    return books


def test_what_an_earlier_version_wrote_is_listed_as_it_was(old: Books) -> None:
    check(old)


def test_what_two_versions_wrote_is_listed_as_one(old: Books) -> None:
    for number in range(5):
        old.record(paid(old, old.agents[number % 4], NOW - number * HOUR, description="Coffee"))
        old.record(paid(old, old.agents[number % 4], NOW, date=NOW - number * 20 * DAY))
    check(old)


def test_what_was_brought_over_is_right_and_read_in_the_order_of_all_agents(old: Books) -> None:
    outcomes = [rebuild(old.merchant.id, month) for month in months_of(old)]
    again = [rebuild(old.merchant.id, month) for month in months_of(old)]

    assert sum(one.brought for one in outcomes) == len(old.kept)
    assert {(one.moving, one.left) for one in outcomes} == {((), 0)}
    assert {one.name[0] for outcome in outcomes for one in outcome.mended} == {totals.MOVED, totals.GIVEN_BACK}
    assert {(one.mended, one.moving, one.left) for one in again} == {((), (), 0)}
    assert {(one.brought, one.made) for one in again} == {(0, 0)}
    assert all(one.made for one in outcomes if one.brought)
    in_order(old)
    check(old)
    with store_calls() as calls:
        old.ask(NOW, YEAR)
    assert len(calls) <= 20


def test_bringing_over_that_was_stopped_goes_on(old: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    renew = history_renewal.renew
    done: list[int] = []

    def renew_two_groups(entries: Any) -> None:
        if len(done) == 2:
            raise KeyboardInterrupt
        renew(entries)
        done.append(len(entries))

    with monkeypatch.context() as until:
        until.setattr(history_renewal, "renew", renew_two_groups)
        until.setattr(history_renewal, "AT_ONCE", 5)
        with pytest.raises(KeyboardInterrupt):
            rebuild(old.merchant.id, "2028-02")
    check(old)

    rest = [rebuild(old.merchant.id, month).brought for month in months_of(old)]

    assert sum(rest) == len(old.kept) - 10
    in_order(old)


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize("seed", range(8))
def test_an_entry_that_changes_while_it_is_brought_over_is_brought_over_as_it_became(seed: int) -> None:
    books = a_merchant_with_agents(count=2)
    facts: dict[str, Any] = {"phase": Phase.SENT, "input_type": 3, "acquirer": "SANDBOX"}
    pending = [books.record(paid(books, books.agents[0], NOW - n * HOUR, **facts)) for n in range(3)]
    cash = [books.record(paid(books, books.agents[1], NOW - n * HOUR)) for n in range(3)]
    make_old(books)

    def decide() -> None:
        for payment in pending:
            known = altered(payment, phase=Phase.APPROVED, rrn="603112345678")
            transactions.store_step(payment, known, NOW, *history.writes_for_outcome(known, NOW))
            books.kept[books.kept.index(payment)] = known

    def give_back() -> None:
        for payment in cash:
            reversal = altered(
                payment,
                id=payment.id[::-1],
                phase=Phase.REVERSAL_APPROVED,
                invoice="RET-1",
                original_id=payment.id,
                reverse_mode=2,
                created_at=NOW,
            )
            transactions.reserve(payment, reversal)
            books.kept.append(reversal)

    def bring_over() -> None:
        rebuild(books.merchant.id, "2028-03")

    turns = Turns(seed)
    with told("seed", seed), hooked(turns.hook):
        turns.run(decide, give_back, bring_over)
        in_order(books, some=True)

    last = rebuild(books.merchant.id, "2028-03")
    assert (last.moving, last.left) == ((), 0)
    in_order(books)
    assert books.ask(NOW, YEAR).total == len(books.kept)
    assert books.ask(NOW, {**YEAR, "Search": "603112345678"}).total == 3
    assert books.ask(NOW, {**YEAR, "Search": "RET-1"}).total == 6


def test_what_a_version_before_wrote_after_a_rollback_is_put_right(
    old: Books, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["rebuild-totals", "--merchant", str(old.merchant.id)]
    monkeypatch.setattr(operator_totals, "_months_of", lambda *_: months_of(old))
    operator.main(arguments)
    check(old)
    late = sent_late(old)

    with monkeypatch.context() as rolled_back:
        rolled_back.setattr(rolled_totals, "count_late", lambda *_: list[Write]())
        rolled_back.setattr(history, "order_of", lambda by_agent: by_agent)
        rolled_back.setattr(transactions, "commit", committed_once)
        for payment in late:
            old.record(payment)
    operator.main(arguments)

    check(old)
    in_order(old)
    assert f"{len(late)} entries" in capsys.readouterr().out


def sent_late(books: Books) -> list[Transaction]:
    return [paid(books, books.agents[number], NOW, date=NOW - number * 40 * DAY) for number in range(1, 4)]


def committed_once(*writes: Write) -> None:
    """Commit the writes as an earlier version did: each entry once, no total in its slots."""
    single = {str(write.parameters.get("Item", write.parameters.get("Key"))): write for write in writes}
    table_commit(*single.values())


@pytest.fixture
def without_currencies(dynamodb_local: str, monkeypatch: pytest.MonkeyPatch) -> Books:
    """A merchant of two tills with payments of two months, counted without a currency, as version 1.0 did."""
    del dynamodb_local
    books = a_merchant_with_agents(count=2)
    with monkeypatch.context() as patch:
        patch.setattr(totals, "_money_text", lambda counter: str(counter.digits))
        for number in range(10):
            at = NOW - (20 * DAY if number < 6 else 0 * DAY) - number * HOUR
            books.record(paid(books, books.agents[number % 2], at, description="Coffee"))
        make_old(books)
    return books


def test_lists_are_right_between_any_two_writes_of_a_rebuild(
    without_currencies: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit(*writes: Write) -> None:
        table_commit(*writes)
        check(without_currencies)

    monkeypatch.setattr(rebuild_totals, "commit", commit)
    outcomes = [rebuild(without_currencies.merchant.id, month) for month in months_of(without_currencies)]

    assert all(one.mended and not one.moving for one in outcomes)
    check(without_currencies)


def test_a_till_that_is_busy_round_the_clock_is_brought_over(
    dynamodb_local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quarters of its day are all in one condition, which DynamoDB limits."""
    del dynamodb_local
    monkeypatch.setattr(totals, "SHARDS", 1)
    books = a_merchant_with_agents(count=1)
    midnight = datetime(2028, 3, 5, 22, 0, tzinfo=UTC)
    for quarter in range(96):
        books.record(paid(books, books.agents[0], midnight + quarter * timedelta(minutes=15)))
    make_old(books)

    outcome = rebuild(books.merchant.id, "2028-03")

    assert (outcome.moving, outcome.left) == ((), 0)
    check(books)


def test_a_list_is_right_when_what_it_rolled_up_cannot_be_stored(old: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(*_: object) -> None:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)

    monkeypatch.setattr(rolled_totals, "store_months", unavailable)

    check(old)
