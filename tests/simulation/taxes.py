"""The invariants of goods and taxes: each function yields its violations in words."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any

from chalicelib.domain.transaction import Transaction
from tests.simulation import oracle
from tests.simulation.clients import LAST_DAYS, LAST_HOURS
from tests.simulation.goods import COFFEES, coffee
from tests.simulation.payments import GIVEN_BACK, TAKEN, minor
from tests.simulation.scenario import Scenario
from tests.simulation.visibility import transactions

INVALID = 202


def taxes_are_right(scenario: Scenario) -> Iterator[str]:
    """The taxes of a payment are those of its lines. A full return gives back each cent of them."""
    every = list(transactions(scenario).values())
    for one in every:
        if one.original.id is not None:
            continue
        expected = _taxes(one.amount_minor) if one.receipt.purchases else {}
        if _rows(one) != expected:
            yield f"{one.id} of {one.amount_minor} has the taxes {_rows(one)}, by its lines {expected}"
        done = [other for other in every if other.original.id == one.id and other.phase == GIVEN_BACK]
        back: Counter[str] = Counter()
        for other in done:
            for code, (gross, tax) in _rows(other).items():
                back[f"gross {code}"] += gross
                back[f"tax {code}"] += tax
        total = sum(other.amount_minor for other in done)
        for code, (gross, tax) in expected.items():
            found = back[f"gross {code}"], back[f"tax {code}"]
            if total == one.amount_minor and found != (gross, tax):
                yield f"{one.id} gave all back, and {found} of {code}, not {(gross, tax)}"
        for other in done:
            is_coffee = other.receipt.purchases and not other.original.took_rest
            if is_coffee and _rows(other) != {
                "VAT15": (other.amount_minor, _half_up(Fraction(other.amount_minor * 15, 115)))
            }:
                yield f"{other.id} gave a coffee of {other.amount_minor} back, with the taxes {_rows(other)}"


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
            for code, amounts in _rows(one).items():
                sums = recount[f"{at:%Y-%m-%d}", at.hour if by_hour else None, code]
                sums[0] += sign * amounts[0]
                sums[1] += sign * amounts[1]
        shown = {
            (row["Day"], row["Hour"], row["Code"]): [minor(row["Gross"]), minor(row["Tax"])]
            for row in seen.answer["Taxes"]
        }
        expected = {key: sums for key, sums in recount.items() if any(sums)}
        if shown != expected:
            yield f"the report by {seen.act.facts['by']} has the taxes {shown}, a recount {expected}"


def _rows(one: Transaction) -> dict[str, tuple[int, int]]:
    return {row.code: (row.gross_minor, row.tax_minor) for row in one.tax_amounts if row.gross_minor or row.tax_minor}


def _taxes(amount: int) -> dict[str, tuple[int, int]]:
    """Return the taxes of a payment, by another way than the service's: VAT is in all of it, the levy in the cake."""
    coffees = COFFEES * coffee(amount)
    cake = amount - coffees
    vat = Fraction(coffees * 15, 115) + Fraction(cake * 150, 1171)
    return {"VAT15": (amount, _half_up(vat)), "Levy": (cake, _half_up(Fraction(cake * 21, 1171)))}


def _half_up(exact: Fraction) -> int:
    return int(exact + Fraction(1, 2))
