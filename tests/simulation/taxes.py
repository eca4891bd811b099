"""The invariants of goods and taxes: each function yields its violations in words."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from chalicelib.domain.taxes import Tax
from chalicelib.domain.transaction import Transaction
from tests.simulation import oracle
from tests.simulation.clients import LAST_DAYS, LAST_HOURS
from tests.simulation.goods import CODES_OF_CAKE, CODES_OF_COFFEE, COFFEES, TAXES, coffee
from tests.simulation.payments import GIVEN_BACK, TAKEN, minor
from tests.simulation.scenario import TOWN, Scenario
from tests.simulation.scenario_script import OWNER
from tests.simulation.shop_acts import taxes_of
from tests.simulation.visibility import transactions

INVALID, MOMENT = 202, 0.001  # seconds: of rounding
Rows = dict[tuple[str, Decimal], tuple[int, int]]  # by code and rate, the gross amount and the tax


def taxes_are_right(scenario: Scenario) -> Iterator[str]:
    """A payment has the taxes of its lines, by the rates when it was stored. Its returns have these rates."""
    every = list(transactions(scenario).values())
    for one in every:
        if one.original.id is not None:
            continue
        possible = _in_force(scenario, one) if one.receipt.purchases else [()]
        fitting = [taxes for taxes in possible if _rows(one) == _taxes(one.amount_minor, taxes)]
        if not fitting:
            right = [_taxes(one.amount_minor, taxes) for taxes in possible]
            yield f"{one.id} of {one.amount_minor} has the taxes {_rows(one)}, by its lines {right}"
            continue
        done = [other for other in every if other.original.id == one.id and other.phase == GIVEN_BACK]
        if sum(other.amount_minor for other in done) == one.amount_minor:
            yield from _all_given_back(one, done)
        for other in done:
            is_coffee = other.receipt.purchases and not other.original.took_rest
            right = [_taxes_of_lines((other.amount_minor, CODES_OF_COFFEE), taxes=taxes) for taxes in fitting]
            if is_coffee and _rows(other) not in right:
                yield f"{other.id} gave a coffee of {other.amount_minor} back, with the taxes {_rows(other)}"
            if strange := _rows(other).keys() - _rows(one).keys():
                yield f"{other.id} has the taxes {strange}, which its payment does not have"


def _in_force(scenario: Scenario, one: Transaction) -> list[tuple[Tax, ...]]:
    """Return the taxes that were in force at some moment from a payment's request until it was stored."""
    if one.client_id != TOWN.people.by_name[OWNER].merchant_id or one.id not in oracle.entries(scenario):
        return [TAXES]
    asked_at = oracle.entries(scenario)[one.id].earliest + oracle.SKEW - oracle.ZONE - scenario.began
    changes: list[tuple[float, tuple[Tax, ...]]] = [(0.0, TAXES)]
    acts = {act.number: taxes_of(act) for act in scenario.acts if act.kind == "prices"}
    changes += [(at, acts[number]) for at, number in scenario.price_lists]
    ends = [at for at, _ in changes[1:]] + [scenario.scheduler.now]
    stored_at, began = scenario.begun[one.id], asked_at / timedelta(seconds=1) - MOMENT
    return [taxes for (at, taxes), end in zip(changes, ends, strict=True) if at <= stored_at and began <= end]


def _all_given_back(one: Transaction, done: list[Transaction]) -> Iterator[str]:
    """Check that the reversals of a payment gave back each cent of its taxes."""
    back: Counter[tuple[str, Decimal, bool]] = Counter()
    for other in done:
        for key, (gross, tax) in _rows(other).items():
            back[*key, True] += gross
            back[*key, False] += tax
    for key, amounts in _rows(one).items():
        found = back[*key, True], back[*key, False]
        if found != amounts:
            yield f"{one.id} gave all back, and {found} of {key}, not {amounts}"


def lines_are_given_back_once(scenario: Scenario) -> Iterator[str]:
    """No more coffees are given back than were sold. A coffee is refused only when none was left."""
    every = list(transactions(scenario).values())
    for one in every:
        of_coffee = [other for other in every if other.original.id == one.id and other.receipt.purchases]
        done = [other for other in of_coffee if other.phase == GIVEN_BACK]
        if len(done) > COFFEES:
            yield f"{one.id} gave {len(done)} coffees back of {COFFEES}"
        stored = (one.reversals.given_back or {}).get("line0", 0)
        if one.original.id is None and stored != len(done):
            yield f"{one.id} says that {stored} coffees came back, its reversals say {len(done)}"
    for seen in scenario.clients.seen:
        if seen.kind != "reverse" or not seen.act.facts.get("coffee") or seen.error != INVALID:
            continue
        until = seen.answered_at or 0
        taken = [
            other
            for other in every
            if other.original.id == seen.payment and other.receipt.purchases and scenario.begun[other.id] <= until
        ]
        if len(taken) < COFFEES:
            yield f"{seen.act.name} may not give a coffee of {seen.payment} back, and {len(taken)} came back"


def taxes_are_reported(scenario: Scenario) -> Iterator[str]:
    """The last reports have the taxes of all the money that moved, less those that were given back."""
    dates, own = oracle.dates(scenario), oracle.entries(scenario)
    every = transactions(scenario)
    for seen in scenario.clients.seen:
        if seen.act.number not in {LAST_DAYS, LAST_HOURS} or seen.status != 200:
            continue
        by_hour = seen.act.facts["by"] == "hour"
        if by_hour and any(one.paid and len({at.hour for at in one.times()}) > 1 for one in own.values()):
            continue  # made as the hour ended, by a clock that nobody knows
        recount: defaultdict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
        for name, date in dates.items():
            one, entry = every[name], own.get(name)
            if entry is None or not entry.moved:
                continue
            at = oracle.counts_at(entry, datetime.fromisoformat(date))
            sign = 1 if one.phase in TAKEN else -1
            for key, amounts in _rows(one).items():
                sums = recount[f"{at:%Y-%m-%d}", at.hour if by_hour else None, *key]
                sums[0] += sign * amounts[0]
                sums[1] += sign * amounts[1]
        shown = {
            (row["Day"], row["Hour"], row["Code"], Decimal(str(row["Rate"]))): [minor(row["Gross"]), minor(row["Tax"])]
            for row in seen.answer["Taxes"]
        }
        expected = {key: sums for key, sums in recount.items() if any(sums)}
        if shown != expected:
            yield f"the report by {seen.act.facts['by']} has the taxes {shown}, a recount {expected}"


def _rows(one: Transaction) -> Rows:
    rows = (row for row in one.tax_amounts if row.gross_minor or row.tax_minor)
    return {(row.code, row.rate): (row.gross_minor, row.tax_minor) for row in rows}


def _taxes(amount: int, taxes: tuple[Tax, ...]) -> Rows:
    """Return the taxes of a payment."""
    coffees = COFFEES * coffee(amount)
    return _taxes_of_lines((coffees, CODES_OF_COFFEE), (amount - coffees, CODES_OF_CAKE), taxes=taxes)


def _taxes_of_lines(*lines: tuple[int, tuple[str, ...]], taxes: tuple[Tax, ...]) -> Rows:
    """Return the taxes of lines, by another way than the service's: tax by tax, with the net amounts of the lines."""
    rates = {one.code.upper(): Fraction(one.rate) for one in taxes}
    found = {}
    for one in taxes:
        own = [(gross, codes) for gross, codes in lines if one.code.upper() in map(str.upper, codes)]
        nets = [gross / (1 + sum(rates.get(code.upper(), Fraction()) for code in codes) / 100) for gross, codes in own]
        if own:
            exact = sum(nets, Fraction()) * Fraction(one.rate) / 100
            found[one.code, one.rate] = sum(gross for gross, _ in own), int(exact + Fraction(1, 2))
    return found
