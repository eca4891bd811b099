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
from tests.simulation.goods import CODES_OF_CAKE, CODES_OF_COFFEE, COFFEES, TAXES, coffee, sold
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
        back = sorted((other for other in every if other.original.id == one.id), key=lambda one: scenario.begun[one.id])
        if not any(_returns_are_right(one, back, taxes) for taxes in fitting):
            yield f"{one.id} of {one.amount_minor} gave back {[(other.amount_minor, _rows(other)) for other in back]}"


def _returns_are_right(one: Transaction, back: list[Transaction], taxes: tuple[Tax, ...]) -> bool:
    """Return whether each return has the taxes that another arithmetic finds, as far as it can tell.

    It cannot when one failed, because its time is not known, or when cash was rounded.
    """
    if any(other.phase != GIVEN_BACK for other in back) or not one.receipt.purchases:
        return True
    payment = sold(one.amount_minor, {tax.code.upper(): tax.rate for tax in taxes})
    for other in back:
        if other.receipt.purchases:
            money = payment.by_line(0, Fraction(1))
            payment.lines[0].quantity -= 1
        else:
            money = payment.by_amount(other.amount_minor)
        if sum(money) != other.amount_minor:
            return True
        if payment.give_back(money) != {code.upper(): amounts for (code, _), amounts in _rows(other).items()}:
            return False
    return True


def _in_force(scenario: Scenario, one: Transaction) -> list[tuple[Tax, ...]]:
    """Return the taxes that counted at some moment from a payment's request until it was stored.

    Taxes that the owner took away still count, because a scenario is shorter than a day. Those of an offline sale are
    the ones of its time, which is before the scenario.
    """
    if one.client_id != TOWN.people.by_name[OWNER].merchant_id or one.id not in oracle.entries(scenario):
        return [TAXES]
    asked_at = oracle.entries(scenario)[one.id].earliest + oracle.SKEW - oracle.ZONE - scenario.began
    changes: list[tuple[float, tuple[Tax, ...]]] = [(0.0, TAXES)]
    acts = {act.number: taxes_of(act) for act in scenario.acts if act.kind == "prices"}
    changes += [(at, acts[number]) for at, number in scenario.price_lists]
    if one.date and one.date < scenario.began:
        return [TAXES]
    changes = [
        (at, _still_counted([taxes for _, taxes in changes[: number + 1]])) for number, (at, _) in enumerate(changes)
    ]
    ends = [at for at, _ in changes[1:]] + [scenario.scheduler.now]
    stored_at, began = scenario.begun[one.id], asked_at / timedelta(seconds=1) - MOMENT
    if one.date:
        began = min((one.date - scenario.began) / timedelta(seconds=1) - MOMENT, began)
    return [taxes for (at, taxes), end in zip(changes, ends, strict=True) if at <= stored_at and began <= end]


def _still_counted(lists: list[tuple[Tax, ...]]) -> tuple[Tax, ...]:
    """Return the taxes of the last list, and those that it took away."""
    found: dict[str, Tax] = {}
    for taxes in lists:
        found |= {tax.code.lower(): tax for tax in taxes}
    return tuple(found.values())


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
    """No more coffees are given back than were sold. One is refused only when none was left, or had lost its price."""
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
        others = [other for other in every if other.original.id == seen.payment and not other.receipt.purchases]
        if len(taken) < COFFEES and not any(scenario.begun[other.id] <= until for other in others):
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
            untaxed = _untaxed(one)
            for key, amounts in (*_rows(one).items(), *([((None, None), (untaxed, 0))] if untaxed else ())):
                sums = recount[f"{at:%Y-%m-%d}", at.hour if by_hour else None, *key]
                sums[0] += sign * amounts[0]
                sums[1] += sign * amounts[1]
        shown = {
            (row["Day"], row["Hour"], row["Code"], row["Rate"] if row["Rate"] is None else Decimal(str(row["Rate"]))): [
                minor(row["Gross"]),
                minor(row["Tax"]),
            ]
            for row in seen.answer["Taxes"]
        }
        expected = {key: sums for key, sums in recount.items() if any(sums)}
        if shown != expected:
            yield f"the report by {seen.act.facts['by']} has the taxes {shown}, a recount {expected}"


def _untaxed(one: Transaction) -> int:
    """Return the money without a tax: that of coffees and cakes whose codes are unknown, or all without lines."""
    codes = {row.code.upper() for row in one.tax_amounts}
    of_coffee, of_cake = ({*map(str.upper, all_of)} & codes for all_of in (CODES_OF_COFFEE, CODES_OF_CAKE))
    back = one.original.gives_back or {}
    if not one.tax_amounts or (of_coffee and of_cake):
        return 0 if one.tax_amounts else one.amount_minor
    payment_lines = sold(one.amount_minor, {}).lines
    money = [int(back.get(f"money{n}", 0)) if one.original.id else line.money for n, line in enumerate(payment_lines)]
    return (0 if of_coffee else money[0]) + (0 if of_cake else money[1])


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
