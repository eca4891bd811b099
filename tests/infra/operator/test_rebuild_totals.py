"""The command rebuild-totals: it corrects wrong counters while payments come in."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from chalicelib.domain.business_days import Period
from chalicelib.domain.counters import Counters
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.phases import Phase
from chalicelib.domain.price_list import Tax
from chalicelib.domain.takings import TaxTaking, takings_of
from chalicelib.domain.transaction import AgentSnapshot
from chalicelib.store import counters, history, transactions
from chalicelib.store import takings as takings_store
from chalicelib.store.table import Key, Write, client, read_item, table_name, update, write_one
from infra.operator import commands as operator
from infra.operator import rebuild_totals
from infra.operator.rebuild_totals import Difference, Outcome, rebuild
from tests.support.intercepted_calls import failing
from tests.support.ledger import NO_VAT, VAT, Books, a_merchant_with_agents, amount, fill, paid, taxed
from tests.support.transactions import a_guid, altered

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
YEAR = {"From": "2027-03-11"}
SEEDS = range(12)


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
    return counters.total_key(books.merchant.id, entry_of(books.kept[0]))


def taxes_in(books: Books) -> Sequence[TaxTaking]:
    """Return the taxes of the month by day and by hour, as the report answers them."""
    period = Period(date(2028, 3, 1), date(2028, 3, 31))
    found = [
        takings_store.by_day(books.merchant.id, period, None),
        takings_store.by_hour(books.merchant.id, period, None),
    ]
    return tuple(tax for pages in found for tax in takings_of(one for page in pages for one in page).taxes)


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


def test_a_payment_with_two_entries_counts_once(books: Books) -> None:
    payment, day_before = books.kept[0], altered(books.kept[0], created_at=NOW - DAY)
    own, strays = (history.keys_of(one, entry_of(one)) for one in (payment, day_before))
    for key, stray in zip(own, strays, strict=True):
        item = read_item(key) | stray.wire()
        client().call("PutItem", TableName=table_name(history.TABLE), Item=item)

    assert rebuild(books.merchant.id, MONTH).mended == ()


def test_what_was_mended_is_listed_if_the_command_ended_there(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    key = total_of(books)
    spoil(key, n09=7)
    month_later = NOW + timedelta(days=24)
    before = books.ask(month_later, {}).total
    monkeypatch.setattr(rebuild_totals, "write_one", failing(KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        rebuild(books.merchant.id, MONTH)

    assert (before, books.ask(month_later, {}).total) == (7, 1)


def test_slots_are_mended_too(books: Books) -> None:
    key = counters.slots_key(books.merchant.id, entry_of(books.kept[0]))
    spoil(key, **{"94": 5})
    outcome = rebuild(books.merchant.id, MONTH)

    assert [(one.name, one.stored, one.counted) for one in outcome.mended] == [("94", 5, 1)]


def test_counters_that_were_lost_are_made_again(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quarters and hours of a till that is busy round the clock are more than one condition of DynamoDB holds."""
    del exact_engine
    monkeypatch.setattr(counters, "SHARDS", 1)
    books = a_merchant_with_agents()
    midnight = datetime(2028, 3, 5, 22, 0, tzinfo=UTC)
    taxes = taxed(1230, VAT, *(replace(VAT, code=f"T{number}") for number in range(19)))
    for quarter in range(96):
        at = midnight + quarter * timedelta(minutes=15)
        books.record(paid(books, books.agents[0], at, tax_amounts=taxes))
    before = taxes_in(books)
    entry = entry_of(books.kept[0])
    for key in (counters.total_key(books.merchant.id, entry), counters.slots_key(books.merchant.id, entry)):
        key_item = {name: {"S": str(value)} for name, value in key.key.items()}
        client().call("DeleteItem", TableName=table_name(counters.TABLE), Key=key_item)

    outcome = rebuild(books.merchant.id, MONTH)

    per_day_or_hour = 2 + 2 * 20
    assert (len(outcome.mended), outcome.moving) == (1 + per_day_or_hour + 1 + 96 + 24 * per_day_or_hour + 1, ())
    assert taxes_in(books) == before
    page = books.ask(NOW, {"Page": 1})
    assert (page.total, page.amount) == (96, amount(books.kept))
    assert rebuild(books.merchant.id, MONTH) == Outcome((), ())


@pytest.mark.parametrize("wrong", [None, [], [replace(VAT, rate=Decimal(14))], "VAT15", [{"code": "VAT15"}], [1]])
def test_taxes_of_a_counter_are_mended(exact_engine: str, wrong: object) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=2)
    books.record(paid(books, books.agents[0], NOW, tax_amounts=taxed(1230, VAT, NO_VAT)))
    before = taxes_in(books)
    for key_of in (counters.total_key, counters.slots_key):
        key = key_of(books.merchant.id, entry_of(books.kept[0]))
        expression = f"SET #{counters.TAXES} = :taxes" if wrong is not None else f"REMOVE #{counters.TAXES}"
        write_one(update(key, expression, {} if wrong is None else {"taxes": wrong}))

    outcome = rebuild(books.merchant.id, MONTH)

    assert [(one.name, one.stored, one.counted) for one in outcome.mended] == [("taxes", 0, 2)] * 2
    assert taxes_in(books) == before != ()
    assert rebuild(books.merchant.id, MONTH) == Outcome((), ())


def test_cash_given_back_for_another_agent_has_its_own_counter_again(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=2)
    cash = books.record(paid(books, books.agents[0], NOW, tax_amounts=taxed(1230, VAT)))
    by = AgentSnapshot(books.agents[1].id, "x@shop.example", "X", "+27829876543")
    facts = {"id": a_guid(), "agent": by, "phase": Phase.REVERSAL_APPROVED, "original_id": cash.id, "reverse_mode": 2}
    back = altered(cash, **facts, original_agent=books.agents[0].id)
    transactions.reserve(cash, back)
    before = dict(counters.read_counters(books.merchant.id, MONTH, counters.TOTAL))
    for at in before:
        key = counters.counters_key(f"{books.merchant.id}#{MONTH}", at)
        client().call("DeleteItem", TableName=table_name(counters.TABLE), Key=key.wire())

    rebuild(books.merchant.id, MONTH)

    after = dict(counters.read_counters(books.merchant.id, MONTH, counters.TOTAL))
    assert any(f"{counters.FOR}{books.agents[0].id}." in at for at in before)
    assert (after, taxes_in(books)) == (before, ())


def test_a_year_is_right_as_it_was_written(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=3)
    fill(books, 200, NOW, seed=5)
    month = f"{books.kept[0].created_at + timedelta(hours=2):%Y-%m}"

    assert [rebuild(books.merchant.id, one).mended for one in (month, "2028-02", MONTH)] == [()] * 3


def test_a_payment_counted_during_mending_is_kept(exact_engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del exact_engine
    monkeypatch.setattr(counters, "SHARDS", 1)
    books = a_merchant_with_agents()
    books.record(paid(books, books.agents[0], NOW))
    spoil(total_of(books), n09=7)
    correction = counters.correction

    def correct_late(key: Key[object], before: Counters, after: Counters, taxes: Sequence[Tax]) -> Write:
        if len(books.kept) == 1:
            books.record(paid(books, books.agents[0], NOW))
        return correction(key, before, after, taxes)

    monkeypatch.setattr(counters, "correction", correct_late)
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


def test_the_operator_is_told_of_all_that_moved(
    books: Books, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = Difference(MONTH, "total", "n09", 7, 1)
    outcomes = [Outcome((moved,), (moved, moved)), Outcome((), (moved,)), Outcome((moved,), ())]
    monkeypatch.setattr(operator, "months_of", lambda *_: ["2026-01", "2026-02", "2026-03"])
    monkeypatch.setattr(operator, "rebuild", lambda *_: outcomes.pop(0))

    with pytest.raises(SystemExit, match=r"^3 more were being written to: run the command again\.$"):
        operator.main(["rebuild-totals", "--merchant", str(books.merchant.id)])
    assert "2 counters corrected." in capsys.readouterr().out


def test_the_operator_counts_each_month(stage_on_dynamodb_local: str, capsys: pytest.CaptureFixture[str]) -> None:
    del stage_on_dynamodb_local
    operator.main(["rebuild-totals"])

    assert capsys.readouterr().out.endswith(" counters corrected.\n")
