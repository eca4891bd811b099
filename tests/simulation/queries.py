"""The reading of requests to the simulation's store: what a text means is found once, however often it is sent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from tests.simulation import expressions
from tests.simulation.expressions import Condition, Names, Update, Values, check_operands
from tests.simulation.tables import Stored
from tests.simulation.values import InvalidError, comparable

PAGE_BYTES = 1024 * 1024
NOTHING: frozenset[str] = frozenset()
LIMITS = {
    "=": (0, 0),
    "between": (0, 1),
    "<=": (None, 0),
    ">=": (0, None),
    ">": (0, None),
}  # which operand is the low one and the high

Only = tuple[str, ...] | None  # the attributes of a projection
Given = tuple[str, ...] | None  # the names of the values that came with a request


@dataclass(frozen=True, eq=False)
class Asked:
    """What a query asks for, whatever its values are."""

    sought: Condition
    matching: Condition | None
    only: Only

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that an index must have for it."""
        return (self.matching.attributes if self.matching else NOTHING).union(self.only or ())

    def check(self, values: Values) -> None:
        """Refuse values of types that its operators do not take."""
        check_operands(self.sought, values)
        if self.matching:
            check_operands(self.matching, values)


@dataclass(frozen=True, eq=False)
class Span:
    """The part of a table or an index that a key condition means, whatever its values are."""

    typed: tuple[tuple[str, str], ...]  # each key and the values it is compared with
    partition: str
    low: str | None
    high: str | None
    is_open: bool  # whether others than the one with a certain key fit
    is_above: bool  # whether the lowest sort key is out

    def bounds(self, values: Values, types: Mapping[str, str]) -> tuple[Any, Any, Any]:
        """Return the partition, and the first and last sort key (None: no limit)."""
        for name, placeholder in self.typed:
            if types[name] not in values[placeholder]:
                raise InvalidError
        low, high = (None if name is None else comparable(values[name]) for name in (self.low, self.high))
        return comparable(values[self.partition]), low, high


@lru_cache(maxsize=4096)
def asked(text: str, filtered: str | None, projection: str | None, names: Names | None, given: Given) -> Asked:
    """Read a query."""
    sought = expressions.condition(text, names or ())
    matching = expressions.condition(filtered, names or ()) if filtered is not None else None
    return Asked(
        sought, matching, projected(projection, names, given, sought.used.union(matching.used if matching else ()))
    )


@lru_cache(maxsize=4096)
def written(
    conditional: str | None, change: str | None, names: Names | None, given: Given
) -> tuple[Condition | None, Update | None]:
    """Read the condition and the update of a write."""
    condition = expressions.condition(conditional, names or ()) if conditional is not None else None
    update = expressions.update(change, names or ()) if change is not None else None
    used = (condition.used if condition else NOTHING) | (update.used if update else NOTHING)
    projected(None, names, given, used)
    return condition, update


@lru_cache(maxsize=4096)
def projected(projection: str | None, names: Names | None, given: Given = None, used: frozenset[str] = NOTHING) -> Only:
    """Return the attributes of a projection; refuse names and values that nothing mentions."""
    only = None
    if projection is not None:
        only, mentioned = expressions.projection(projection, names or ())
        used |= mentioned
    if used != {*(name for name, _ in names or ()), *(given or ())} or names == () or given == ():
        raise InvalidError
    return only


@lru_cache(maxsize=4096)
def span(query: Asked, hash_key: str, range_key: str | None) -> Span:
    """Return what a query means in a table or an index with these keys."""
    parts = query.sought.parts
    bounds: dict[str, tuple[str, str | None, str | None]] = {}
    typed: list[tuple[str, str]] = []
    for sign, subject, *operands in parts[1:] if parts[0] == "and" else (parts,):
        kind, name = subject if len(subject) == 2 else ("", "")
        is_key = kind == "name" and name in (hash_key, range_key) and name not in bounds
        if not is_key or any(one[0] != "value" for one in operands):
            raise InvalidError
        if sign not in LIMITS:
            message = f"{sign} is not modelled in a key condition"
            raise AssertionError(message)
        typed += [(name, placeholder) for _, placeholder in operands]
        low, high = (None if each is None else operands[each][1] for each in LIMITS[sign])
        bounds[name] = sign, low, high
    if bounds.get(hash_key, ("",))[0] != "=" or {hash_key, range_key} & (
        query.matching.attributes if query.matching else NOTHING
    ):
        raise InvalidError
    sign, low, high = bounds.get(range_key or "", ("", None, None))
    is_open = any(sign != "=" for sign, _, _ in bounds.values())
    return Span(tuple(typed), str(bounds[hash_key][1]), low, high, is_open, sign == ">")


def page(
    items: Iterable[tuple[Any, Stored]], bounds: tuple[Any, Any], limit: int | None, *, is_open: bool, forward: bool
) -> tuple[list[Stored], Stored | None]:
    """Return the items of a page, and the last one if others may follow."""
    low, high = bounds
    end = high if forward else low
    if limit is not None and limit < 1:
        raise InvalidError
    read: list[Stored] = []
    total = 0
    for sort, item in items:
        if end is not None and (sort > end if forward else sort < end):
            return read, None
        read.append(item)
        total += item.size
        if total > PAGE_BYTES or len(read) == limit:
            return read, None if is_open and sort == end else item
    return read, None
