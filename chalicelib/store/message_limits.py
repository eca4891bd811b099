"""The counters of a day's messages. They never exceed their limits, and the table's TTL deletes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from chalicelib.domain.message_limits import DAY, Limit, ends_at
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, read_all, update

TABLE = "sequences"


class LimitReachedError(ChangedMeanwhileError):
    """A counter would exceed its limit."""


@dataclass(frozen=True)
class Counter:
    """The number of messages that were counted on a day."""

    name: str
    count: int


def key(limit: Limit, day: date) -> Key[Counter]:
    """Return the key of a limit's counter."""
    return Key(TABLE, Counter, {"name": f"messages#{day}#{limit.name}"})


def additions(numbers: Mapping[Limit, int], day: date) -> list[Write]:
    """Return the writes that count messages, for one transaction. It raises LimitReachedError beyond a limit."""
    return [
        update(
            key(limit, day),
            {"expires_at": int((ends_at(day) + DAY).timestamp())},
            add={"count": number},
            condition="attribute_not_exists(#count) OR #count <= :most",
            compared={"most": limit.most - number},
            otherwise=LimitReachedError(),
        )
        for limit, number in numbers.items()
    ]


def subtractions(numbers: Mapping[Limit, int], day: date) -> list[Write]:
    """Return the writes that take back counted messages which are never sent."""
    return [update(key(limit, day), add={"count": -number}) for limit, number in numbers.items()]


def counted(limits: Sequence[Limit], day: date) -> dict[Limit, int]:
    """Read the number of messages that each limit has counted."""
    found: list[Counter | None] = read_all([key(limit, day) for limit in limits])
    return {limit: one.count for limit, one in zip(limits, found, strict=True) if one}
