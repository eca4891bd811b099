"""Counters of a merchant's transactions, written with each one: by day of a month, by hour of a day."""

from collections.abc import Iterator, Mapping
from datetime import date
from functools import partial
from typing import Any

from chalicelib.domain.counters import COUNT, MONEY, CounterKey, Counters, DayCount, added_numbers, tax_key
from chalicelib.domain.history_entry import HistoryEntry
from chalicelib.domain.kinds import InputType
from chalicelib.domain.price_list import Tax
from chalicelib.record import Record
from chalicelib.store.table import (
    Item,
    Key,
    Range,
    Write,
    decode,
    items_of,
    range_of_prefix,
    readable,
    set_attributes,
    update,
)

TABLE = "history"
DAYS, HOURS = "days#", "hours#"
FOR = "@"  # before the agent for whose payments cash was given back
# The attributes for a list, which shows no taxes.
OF_DAYS = ("at", *(f"{letter}{day:02d}" for letter in (COUNT, MONEY) for day in range(1, 32)))
OF_HOURS = ("at", *(f"{COUNT}{hour:02d}" for hour in range(24)))


class Addition(Record):
    """The numbers that a transaction adds to a counter, and the taxes that they name, by the key of the tax."""

    key: Key[Any]
    numbers: Counters
    taxes: Mapping[str, Tax]


def additions(client_id: int, entry: HistoryEntry, *, is_new: bool = True) -> list[Addition]:
    """Return the additions of a transaction to its two counters: of its month by day, and of its day by hour.

    A new transaction that moved money counts with its money at once. One that moves money later adds only the money
    then: `is_new` is false.
    """
    month, counter = month_of(client_id, entry.at.date()), _counter_text(entry)
    taxes = {tax_key(one): Tax(code=one.code, name=one.name, rate=one.rate) for one in entry.moved_taxes}
    return [
        Addition(
            Key(TABLE, object, {"month": month, "at": at}),
            added_numbers(when, entry.moved_minor, entry.taxes, is_new=is_new),
            taxes,
        )
        for at, when in (
            (f"{DAYS}{counter}", f"{entry.at:%d}"),
            (f"{HOURS}{entry.at:%d}#{counter}", f"{entry.at:%H}"),
        )
    ]


def add(addition: Addition) -> Write:
    """Return the write of an addition."""
    expression = "ADD " + ", ".join(f"#{name} :{name}" for name in addition.numbers)
    if addition.taxes:
        expression += f" {set_attributes(addition.taxes)}"
    return update(addition.key, expression, {**addition.numbers, **addition.taxes})


def month_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant's month: 17#2026-03."""
    return f"{client_id}#{day.isoformat()[:7]}"


def of_month(client_id: int, month: str, agent_id: int | None) -> list[DayCount]:
    """List the counts of the days of a month (2026-03), by counter, of one agent or of each."""
    found = items_of(counters_range(client_id, month, days_prefix(agent_id)), only=OF_DAYS)
    return [one for of_counter in readable(TABLE, found, partial(_day_counts, month)) for one in of_counter]


def _day_counts(month: str, item: Item) -> list[DayCount]:
    (counter, _), numbers = counter_at(item["at"]["S"]), numbers_in(item)
    return [
        DayCount(
            counter,
            date.fromisoformat(f"{month}-{name[1:]}"),
            count,
            0 if counter.reverse_mode else numbers.get(f"{MONEY}{name[1:]}", 0),
        )
        for name, count in numbers.items()
        if name[0] == COUNT
    ]


def of_hours(client_id: int, day: date, agent_id: int | None) -> Iterator[tuple[CounterKey, Mapping[int, int]]]:
    """Yield the counters of a day, of one agent or of each, with the numbers of transactions by hour."""
    found = items_of(counters_range(client_id, day.isoformat()[:7], hours_prefix(day, agent_id)), only=OF_HOURS)
    return readable(TABLE, found, _hour_counts)


def _hour_counts(item: Item) -> tuple[CounterKey, Mapping[int, int]]:
    counter, _ = counter_at(item["at"]["S"])
    return counter, {int(name[1:]): number for name, number in numbers_in(item).items()}


def days_prefix(agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the counters by day, of an agent or of all."""
    return DAYS if agent_id is None else f"{DAYS}{agent_id}#"


def hours_prefix(day: date, agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the counters of a day by hour, of an agent or of all."""
    return f"{HOURS}{day:%d}#" if agent_id is None else f"{HOURS}{day:%d}#{agent_id}#"


def day_of_hours(at: str) -> int:
    """Return the day of the month of the counter by hour with this sort key."""
    return int(at.removeprefix(HOURS)[:2])


def counters_range(client_id: int, month: str, prefix: str) -> Range:
    """Return the range of the counters of a month (2026-03) whose sort key begins with `prefix`."""
    return range_of_prefix(TABLE, ("month", f"{client_id}#{month}"), "at", prefix)


def hours_range(client_id: int, first: date, last: date) -> Range:
    """Return the range of the counters by hour on some days of one month, of all agents."""
    return Range(TABLE, ("month", month_of(client_id, first)), "at", f"{HOURS}{first:%d}", f"{HOURS}{last:%d}#~")


def numbers_in(item: Item) -> Counters:
    """Return the numbers of a counter."""
    return {name: int(value["N"]) for name, value in item.items() if name not in {"month", "at"} and "M" not in value}


def taxes_in(item: Item) -> Mapping[str, Tax]:
    """Return the taxes that the numbers of a counter name, by the key of the tax."""
    return {name: decode(Tax, value["M"]) for name, value in item.items() if "M" in value}


def kind_text(counter: CounterKey) -> str:
    """Return the text of a counter without its agent: 10.0.2ZAR.CASH."""
    return f"{counter.input_type}.{counter.reverse_mode}.{counter.digits}{counter.currency}.{counter.acquirer}"


def counter_of(agent_id: int, kind: str) -> CounterKey:
    """Return the counter of an agent from a text of `kind_text`."""
    input_type, reverse_mode, money, acquirer = kind.split(".", 3)
    return CounterKey(agent_id, int(input_type), int(reverse_mode), int(money[0]), money[1:], acquirer)


def _counter_text(entry: HistoryEntry) -> str:
    """Return the part of a sort key for a counter: 17#10.0.2ZAR.CASH.

    Cash that was given back for another agent's payments counts apart: 17#10.2.2ZAR.CASH@18.
    """
    counter, original_agent = entry.counter, entry.original_agent
    is_for_another = original_agent is not None and counter.input_type == InputType.CASH
    return f"{counter.agent_id}#{kind_text(counter)}{f'{FOR}{original_agent}' if is_for_another else ''}"


def counter_at(at: str) -> tuple[CounterKey, int | None]:
    """Return the counter with this sort key, and the other agent for whose payments it gave cash back, if any."""
    *_, agent_id, text = at.split("#")
    kind, _, original_agent = text.partition(FOR)
    return counter_of(int(agent_id), kind), int(original_agent) if original_agent else None
