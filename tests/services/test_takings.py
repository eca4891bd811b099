"""Takings of what was paid and given back through the store, on both engines: exact, few calls, counted once."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib import exact_json
from chalicelib.domain import steps, takings
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.takings import Taking, Takings, TaxTaking
from chalicelib.domain.taxes import Tax
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.takings import ReportTakings, TakingsAnswer
from chalicelib.services import outcomes
from chalicelib.services.takings import report
from chalicelib.store import receipt_numbers, transactions
from chalicelib.store.history import DAYS, HOURS
from chalicelib.store.history_lists import counters_range
from chalicelib.store.ranges import items_of
from chalicelib.store.table import put_new, write_one
from infra.bench.shop import write_in_bulk
from infra.operator.rebuild import differing_counters
from tests.support.cost import store_calls
from tests.support.intercepted_calls import hooked, told
from tests.support.interleaving import Turns
from tests.support.ledger import PAID, TAXES, Books, a_merchant_with_agents, fill, local, paid, sums_of, taxed
from tests.support.transactions import a_guid, altered

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
YEAR = {"From": "2027-03-11"}
Sums = dict[tuple[Any, ...], tuple[Any, ...]]


def ask(
    books: Books, period: Mapping[str, str], by: str = "day", *, most: Any = None, of: Agent | None = None, **sent: Any
) -> Sums:
    """Return the rows that an agent is answered; the first sees everything."""
    agent = of or books.agents[0]
    body = ReportTakings.model_validate({"Period": period, "By": by, **sent})
    found = report(body, Caller(agent.id, agent.client_id, agent.credential_version), NOW, **(most or {}))
    assert {found.names[row.agent_id] for row in found.takings.rows} <= {one.name for one in books.agents}
    return sums_of(found.takings.rows)


def recount(books: Books, by: str = "day", first: str = "", of: Agent | None = None) -> Sums:
    """Add up the transactions themselves."""
    found: defaultdict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0, Decimal(), 0, Decimal()])
    for one in books.kept:
        took, gave = one.original.id is None and one.phase in PAID, one.phase is Phase.REVERSAL_APPROVED
        at = local(one)
        if not (took or gave) or str(at.date()) < first or (of and one.agent.id != of.id):
            continue
        hour = at.hour if by == "hour" else None
        row = found[at.date(), hour, one.agent.id, int(one.input_type), one.acquirer, one.currency.code]
        row[0 if took else 2] += 1
        row[1 if took else 3] += Decimal(one.amount_minor) / 10**one.currency.digits
    return {key: (row[0], row[1], row[2], row[3]) for key, row in found.items()}


def taxes_in(books: Books, by: str = "day", *, of: Agent | None = None, period: Mapping[str, str] = YEAR) -> Sums:
    """Return the taxes that an agent is answered, by day, hour, currency, code, name and rate."""
    agent = of or books.agents[0]
    body = ReportTakings.model_validate({"Period": period, "By": by, **({"AccountID": of.id} if of else {})})
    found = report(body, Caller(agent.id, agent.client_id, agent.credential_version), NOW).takings.taxes
    assert len({replace(row, gross=Decimal(), tax=Decimal()) for row in found}) == len(found)
    return {(row.day, row.hour, row.currency, row.code, row.name, row.rate): (row.gross, row.tax) for row in found}


def recounted_taxes(books: Books, by: str = "day", first: str = "", of: Agent | None = None) -> Sums:
    """Add up the taxes of the transactions themselves, without rows of nothing."""
    found: defaultdict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [Decimal(), Decimal()])
    for one in books.kept:
        took, gave = one.original.id is None and one.phase in PAID, one.phase is Phase.REVERSAL_APPROVED
        at = local(one)
        if not (took or gave) or str(at.date()) < first or (of and one.agent.id != of.id):
            continue
        untaxed = one.amount_minor - sum(tax.gross_minor for tax in one.tax_amounts)
        rows = [((tax.code, tax.name, tax.rate), tax.gross_minor, tax.tax_minor) for tax in one.tax_amounts]
        for tax, *amounts in (*rows, ((None, None, None), untaxed, 0)):
            row = found[at.date(), at.hour if by == "hour" else None, one.currency.code, *tax]
            for number, minor in enumerate(amounts):
                row[number] += (1 if took else -1) * Decimal(minor) / 10**one.currency.digits
    return {key: tuple(row) for key, row in found.items() if any(row)}


def reversal_of(payment: Transaction, phase: Phase, agent: Agent, at: datetime = NOW) -> Transaction:
    by = replace(payment.agent, id=agent.id, name=agent.name)
    return altered(
        payment,
        id=a_guid(),
        agent=by,
        phase=phase,
        created_at=at,
        date=None,
        original_id=payment.id,
        original_mode=int(ReverseMode.RETURN),
    )


@pytest.fixture
def year(exact_engine: str) -> Books:
    """A merchant with a year of payments and reversals of three tills."""
    del exact_engine
    books = a_merchant_with_agents(count=3)
    fill(books, 150, NOW, seed=16)
    for days in range(6):  # the last week is full
        books.record(paid(books, books.agents[1 + days % 2], NOW - days * DAY))
    return books


def test_takings_of_a_year_are_a_recount_for_all_and_for_each_agent(year: Books) -> None:
    assert any(row[0] for row in recount(year).values())
    assert any(row[2] for row in recount(year).values())

    assert ask(year, YEAR) == recount(year)
    assert taxes_in(year) == recounted_taxes(year)
    for agent in year.agents:
        assert ask(year, YEAR, of=agent, AccountID=agent.id) == recount(year, of=agent)
        assert taxes_in(year, of=agent) == recounted_taxes(year, of=agent)
    month = {"From": "2028-02-08"}
    assert ask(year, month, "hour") == recount(year, "hour", "2028-02-08")
    assert taxes_in(year, "hour", period=month) == recounted_taxes(year, "hour", "2028-02-08")
    for agent in year.agents:
        assert ask(year, month, "hour", AccountID=agent.id) == recount(year, "hour", "2028-02-08", of=agent)
    for agent in year.agents[1:]:
        of_days = recount(year, "hour", "2028-03-03", of=agent)
        assert len({day for day, *_ in of_days}) > 2
        assert ask(year, {"From": "2028-03-03"}, "hour", of=agent) == of_days
    months = sorted({f"{year.merchant.id}#{local(one):%Y-%m}" for one in year.kept})
    assert [differing_counters(month) for month in months] == [[]] * len(months)


@pytest.mark.usefixtures("engine")
def test_what_takes_money_later_stands_where_it_was_made() -> None:
    books = a_merchant_with_agents(count=2)
    card = {"phase": Phase.SENT, "input_type": 3, "acquirer": "SANDBOX"}
    payment = books.record(paid(books, books.agents[0], NOW - 2 * DAY, **card))
    cash = books.record(paid(books, books.agents[0], NOW - HOUR))
    returning = reversal_of(cash, Phase.RETURNING, books.agents[1], NOW - DAY)
    transactions.reserve(cash, returning)
    before = ask(books, {}), ask(books, {}, "hour")

    for pending, phase in ((payment, Phase.APPROVED), (returning, Phase.REVERSAL_APPROVED)):
        outcomes.store(pending, replace(pending, phase=phase), NOW)

    books.kept = [cash]
    assert before == (recount(books), recount(books, "hour"))
    books.kept = [cash, replace(payment, phase=Phase.APPROVED), replace(returning, phase=Phase.REVERSAL_APPROVED)]
    assert (ask(books, {}), ask(books, {}, "hour")) == (recount(books), recount(books, "hour"))
    assert len(ask(books, {})) == 3
    assert differing_counters(f"{books.merchant.id}#2028-03") == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("phase", [Phase.DECLINED, Phase.REJECTED])
def test_a_reversal_that_gave_nothing_back_is_not_counted(phase: Phase) -> None:
    books = a_merchant_with_agents()
    cash = books.record(paid(books, books.agents[0], NOW))
    returning = reversal_of(cash, Phase.RETURNING, books.agents[0])
    transactions.reserve(cash, returning)

    outcomes.store(returning, replace(returning, phase=phase), NOW)

    assert ask(books, {}) == recount(books)
    assert [row[2] for row in ask(books, {}).values()] == [0]


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("seed", range(6))
def test_an_outcome_that_two_find_at_once_is_counted_once(seed: int) -> None:
    books = a_merchant_with_agents()
    cash = books.record(paid(books, books.agents[0], NOW))
    returning = reversal_of(cash, Phase.RETURNING, books.agents[0])
    transactions.reserve(cash, returning)

    def find() -> None:
        outcomes.advance(returning, lambda one: replace(one, phase=Phase.REVERSAL_APPROVED), NOW)

    turns = Turns(seed)
    with told("seed", seed), hooked(turns.hook):
        turns.run(find, find, find)

    [row] = ask(books, {}).values()
    assert row == (1, Decimal("12.30"), 1, Decimal("12.30"))
    [row] = ask(books, {}, "hour").values()
    assert row == (1, Decimal("12.30"), 1, Decimal("12.30"))


def test_an_outcome_of_a_reversal_changes_no_sum_of_a_list(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents()
    cash = books.record(paid(books, books.agents[0], NOW - 60 * DAY))
    returning = reversal_of(cash, Phase.RETURNING, books.agents[0], NOW - 50 * DAY)
    transactions.reserve(cash, returning)
    before = books.ask(NOW, YEAR)

    outcomes.store(returning, replace(returning, phase=Phase.REVERSAL_APPROVED), NOW)

    after = books.ask(NOW, YEAR)
    assert (after.total, after.amount) == (before.total, before.amount)
    assert ask(books, YEAR) == recount(replace(books, kept=[cash, replace(returning, phase=Phase.REVERSAL_APPROVED)]))


TWELVE = tuple(Tax(f"T{number}", f"Tax {number}", Decimal(number)) for number in range(12))


def test_payments_with_any_of_twelve_taxes_count_in_one_counter(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents()
    sets = [TWELVE[:n] for n in range(13)] + [TWELVE[n::3] for n in range(3)]
    books.kept = [paid(books, books.agents[0], NOW, tax_amounts=taxed(1230, *taxes)) for taxes in sets]
    for payment in books.kept:
        transactions.record(payment)

    assert taxes_in(books) == recounted_taxes(books)
    assert taxes_in(books, "hour", period={}) == recounted_taxes(books, "hour")
    assert len(list(items_of(counters_range(books.merchant.id, "2028-03", DAYS)))) == 1
    assert len(list(items_of(counters_range(books.merchant.id, "2028-03", HOURS)))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("by", "days", "calls"), [("day", 364, 16), ("hour", 30, 5), ("hour", 0, 4)])
def test_takings_cost_the_same_calls_for_any_payments(exact_engine: str, by: str, days: int, calls: int) -> None:
    del exact_engine
    books = a_merchant_with_agents(count=5)
    counts = []
    for number in (10, 400):
        interval = max(days, 1) * DAY / number / 2
        taxes = [taxed(1230, *TAXES[n % len(TAXES)]) for n in range(number)]
        write_in_bulk(
            paid(books, books.agents[n % 5], NOW - n * interval, tax_amounts=of) for n, of in enumerate(taxes)
        )
        with store_calls() as made:
            assert ask(books, {"From": str((NOW + 2 * HOUR - days * DAY).date())}, by)
        counts.append(len(made))

    assert counts == [calls, calls]


def test_more_than_a_few_calls_can_read_is_refused(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents()
    for number in range(3):
        books.record(paid(books, books.agents[0], NOW - number * 31 * DAY))

    assert len(ask(books, {"From": "2028-02-01"}, most={"most_pages": 2})) == 2
    with pytest.raises(ServiceError) as long:
        ask(books, {"From": "2028-01-01"}, most={"most_pages": 2})
    with pytest.raises(ServiceError) as many:
        ask(books, {"From": "2028-02-01"}, most={"most_pages": 2, "most_reads": 2})

    assert {long.value.error, many.value.error} == {ErrorCode.PERIOD_TOO_LONG}
    assert {long.value.message, many.value.message} == {takings.too_much().message}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("has_other_days", [False, True])
def test_a_day_of_offline_payments_alone_has_no_last_number(*, has_other_days: bool) -> None:
    books = a_merchant_with_agents()
    agent = books.agents[0]
    books.record(paid(books, agent, NOW, invoice="TILL1-0042"))
    at = local(books.kept[0])
    day, another = f"{at:%Y-%m-%d}", f"{at - DAY:%d}"
    key = receipt_numbers.key(agent.client_id, agent.id, at.date())
    if has_other_days:
        write_one(put_new(receipt_numbers.TABLE, receipt_numbers.MonthNumbers(**key.key, last={another: 9}), "place"))
    body = ReportTakings.model_validate({"Period": {"From": day, "To": day}})
    found = report(body, Caller(agent.id, agent.client_id, agent.credential_version), NOW)

    assert (len(found.takings.rows), str(found.day), found.last_numbers) == (1, day, {})
    assert TakingsAnswer.of(found.takings, found.names, found.day, found.last_numbers).receipt_numbers == []
    assert TakingsAnswer.of(found.takings, found.names, None, {}).receipt_numbers is None  # of several days


def test_a_signature_that_comes_later_counts_nothing_again(exact_engine: str) -> None:
    del exact_engine
    books = a_merchant_with_agents()
    owing = books.record(paid(books, books.agents[0], NOW, phase=Phase.AWAITING_COMPLETION, signature_required=True))
    outcomes.store(owing, steps.completed(owing), NOW)

    assert [row[:2] for row in ask(books, {}).values()] == [(1, Decimal("12.30"))]


@pytest.mark.parametrize("letter", ["日", '"', "\\", "\x00", "é", "😀", "x"])
def test_no_row_is_longer_in_an_answer_than_it_is_taken_for(letter: str) -> None:
    most = 10**9
    row = Taking(
        NOW.date(),
        23,
        10**15,
        10,
        "A" * 32,
        "ZAR",
        most,
        Decimal("12345678901234.56"),
        Decimal("12345678901234.56"),
        Decimal("12345678901234.56"),
        most,
        Decimal("0.01"),
    )
    view = TakingsAnswer.of(Takings([row], ()), {row.agent_id: letter * 256}, None, {}).takings[0]
    in_an_answer = json.dumps(exact_json.text(view.model_dump(by_alias=True)))

    with pytest.raises(ServiceError):
        takings.check_size([view.agent_name] * (takings.MOST_BYTES // len(in_an_answer) + 1))


@pytest.mark.parametrize("letter", ["日", '"', "😀"])
def test_no_row_of_a_tax_is_longer_in_an_answer_than_it_is_taken_for(letter: str) -> None:
    amount = Decimal("-12345678901234.56")
    row = TaxTaking(NOW.date(), 23, "ZAR", "C" * 16, letter * 40, Decimal("99.9999"), amount, amount)
    view = TakingsAnswer.of(Takings((), [row]), {}, None, {}).taxes[0]
    in_an_answer = json.dumps(exact_json.text(view.model_dump(by_alias=True)))

    with pytest.raises(ServiceError):
        takings.check_size([view.name] * (takings.MOST_BYTES // len(in_an_answer) + 1))
