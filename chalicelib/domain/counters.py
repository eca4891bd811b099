"""Counters that each transaction adds to, by agent and kind: by day of a month, and by hour of a day."""

import json
from base64 import b32encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from hashlib import sha256

from chalicelib.domain.price_list import Tax
from chalicelib.domain.taxes import TaxAmount
from chalicelib.record import Record

# The letter of a number's name. A day or hour follows it, then the key of a tax: n05, g05mzxw6ytb.
COUNT, MOVED, MONEY, GROSS, TAX = "n", "k", "m", "g", "t"

Counters = Mapping[str, int]


class CounterKey(Record):
    """The key of a counter: the transactions of one agent, one kind and one currency."""

    agent_id: int
    input_type: int
    reverse_mode: int  # 0: a payment
    digits: int  # after the decimal point of its amounts
    currency: str
    acquirer: str


class DayCount(Record):
    """A counter's transactions on a day, and the money that its payments took, in minor units."""

    counter: CounterKey
    day: date
    count: int
    taken_minor: int


def added_numbers(when: str, moved_minor: int, taxes: Sequence[TaxAmount], *, is_new: bool) -> Counters:
    """Return the numbers that a transaction adds to its day or hour.

    A new transaction counts once. If it moved money, it counts once more, with the money and the taxes in it. A counter
    has either payments or reversals, so no number is below zero.
    """
    numbers = {f"{COUNT}{when}": 1} if is_new else {}
    if moved_minor:
        numbers |= {f"{MOVED}{when}": 1, f"{MONEY}{when}": abs(moved_minor)}
        for tax in taxes:
            amounts = {GROSS: tax.gross_minor, TAX: tax.tax_minor}
            numbers |= {f"{letter}{when}{tax_key(tax)}": minor for letter, minor in amounts.items() if minor}
    return numbers


def counted_taxes(numbers: Counters, when: str, taxes: Mapping[str, Tax]) -> Iterator[TaxAmount]:
    """Yield the taxes of a day or hour from the numbers of a counter, which names these taxes by their keys."""
    for key, tax in taxes.items():
        amounts = numbers.get(f"{GROSS}{when}{key}", 0), numbers.get(f"{TAX}{when}{key}", 0)
        if any(amounts):
            yield TaxAmount(tax.code, tax.name, tax.rate, *amounts)


def tax_key(tax: Tax | TaxAmount) -> str:
    """Return the key of a tax in the names of numbers: eight characters from its code, name and rate."""
    text = json.dumps([tax.code, tax.name, f"{tax.rate.normalize():f}"])
    return b32encode(sha256(text.encode()).digest()[:5]).decode().lower()
