"""The tables of the simulation's store: items by key, in the order of their sort keys, and views that follow later.

A strong read sees the table. Any other, and each of an index, sees a view: what was written is in it some time later.
"""

import bisect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.values import MAX_KEY_BYTES, InvalidError, Item, Value, comparable, item_size, number_of

Key = tuple[Any, ...]  # the comparable values of a key
Clock = Callable[[], float]


class Stored(Item):
    """An item as it is stored: nobody changes it, it is replaced."""

    __slots__ = ("_size", "_text")

    @property
    def size(self) -> int:
        """The bytes that DynamoDB counts of it."""
        try:
            return self._size
        except AttributeError:
            self._size: int = item_size(self)
            return self._size

    @property
    def text(self) -> str:
        """Everything in it, to search."""
        try:
            return self._text
        except AttributeError:
            self._text: str = repr(self)
            return self._text


class View:
    """Items by the key of their table, in partitions, each in the order of its sort key."""

    def __init__(self, hash_key: str, range_key: str | None) -> None:
        self.hash_key, self.range_key = hash_key, range_key
        self.items: dict[Key, Stored] = {}
        self._partitions: dict[Any, list[tuple[Any, Key]]] = {}

    def apply(self, key: Key, item: Stored | None) -> None:
        """Put an item in the place of the one with its key, or remove that."""
        before = self.items.pop(key, None)
        if item is not None and (
            self.hash_key not in item or (self.range_key is not None and self.range_key not in item)
        ):
            item = None  # it is not in this index
        if item is not None:
            self.items[key] = item
            if before is not None and self._is_where(before, item):
                return
            place = self._place(item)
            bisect.insort(self._partitions.setdefault(place[0], []), (place[1], key))
        if before is not None:
            place = self._place(before)
            partition = self._partitions[place[0]]
            del partition[bisect.bisect_left(partition, (place[1], key))]

    def after(self, partition: Any, low: Any, start: tuple[Any, Key] | None) -> Iterator[tuple[Any, Stored]]:
        """Yield the items of a partition in their order, from the sort key `low` on, behind `start` if there is one."""
        entries = self._partitions.get(partition, [])
        at = bisect.bisect_right(entries, start) if start else 0
        if low is not None:
            at = max(at, bisect.bisect_left(entries, (low,)))
        for sort, key in entries[at:]:
            yield sort, self.items[key]

    def before(self, partition: Any, high: Any, start: tuple[Any, Key] | None) -> Iterator[tuple[Any, Stored]]:
        """Yield the items of a partition in the opposite order, from the sort key `high` on, before `start`."""
        entries = self._partitions.get(partition, [])
        end = bisect.bisect_left(entries, start) if start else len(entries)
        if high is not None:
            end = min(end, bisect.bisect_right(entries, high, key=_sort_key))
        for sort, key in reversed(entries[:end]):
            yield sort, self.items[key]

    def _is_where(self, one: Stored, other: Stored) -> bool:
        """Return whether two items stand in the same place."""
        return one[self.hash_key] == other[self.hash_key] and (
            self.range_key is None or one[self.range_key] == other[self.range_key]
        )

    def _place(self, item: Stored) -> tuple[Any, Any]:
        return comparable(item[self.hash_key]), comparable(item[self.range_key]) if self.range_key else ()

    def copy(self) -> "View":
        other = View(self.hash_key, self.range_key)
        other.items = dict(self.items)
        other._partitions = {name: list(entries) for name, entries in self._partitions.items()}
        return other


@dataclass
class Follower:
    """A view that sees each write later: an index, or the table for a read that need not be strong."""

    view: View
    projected: frozenset[str] | None = None  # the attributes it has; None: every one
    waiting: deque[tuple[float, Key, Stored | None]] = field(default_factory=deque)

    def follow(self, now: float) -> View:
        """Return it with what has reached it by now."""
        while self.waiting and self.waiting[0][0] <= now:
            _, key, item = self.waiting.popleft()
            self.view.apply(key, self._projection(item))
        return self.view

    def _projection(self, item: Stored | None) -> Stored | None:
        if item is None or self.projected is None:
            return item
        return Stored({name: value for name, value in item.items() if name in self.projected})

    def copy(self) -> "Follower":
        return Follower(self.view.copy(), self.projected, deque(self.waiting))


class Table:
    """A table as `resources.json` defines it, with its indexes."""

    def __init__(self, definition: Mapping[str, Any], ttl: str | None = None) -> None:
        self.name: str = definition["TableName"]
        self.types = {one["AttributeName"]: one["AttributeType"] for one in definition["AttributeDefinitions"]}
        self.ttl = ttl
        self.keys = _keys_of(definition)
        self.items = View(*_pair(self.keys))
        self.replica = Follower(View(*_pair(self.keys)))
        self.replica_delay = 0.0  # seconds that it is behind the indexes
        self.indexes: dict[str, Follower] = {}
        for index in definition.get("GlobalSecondaryIndexes", ()):
            names = _keys_of(index)
            whole = index["Projection"]["ProjectionType"] == "ALL"
            further = index["Projection"].get("NonKeyAttributes", ())
            projected = None if whole else frozenset({*names, *self.keys, *further})
            self.indexes[index["IndexName"]] = Follower(View(*_pair(names)), projected)

    def key_of(self, key: Mapping[str, Value], *, alone: bool = True) -> Key:
        """Return the key in an item, or one that stands `alone`; raise InvalidError for one that is none."""
        if alone and len(key) != len(self.keys):
            raise InvalidError
        found: list[Any] = []
        for name, limit in zip(self.keys, MAX_KEY_BYTES.values(), strict=False):
            value = key.get(name)
            if value is None:
                raise InvalidError
            self._check_key_value(name, value, limit)
            found.append(comparable(value))
        return tuple(found)

    def check(self, item: Mapping[str, Value]) -> None:
        """Refuse an item whose attributes cannot be keys of an index."""
        for follower in self.indexes.values():
            for name, limit in zip(_names(follower.view), MAX_KEY_BYTES.values(), strict=False):
                if name in item and name not in self.keys:
                    self._check_key_value(name, item[name], limit)

    def _check_key_value(self, name: str, value: Value, limit: int) -> None:
        kind = self.types[name]
        content = value.get(kind)
        if content is None or content == "" or len(str(content).encode()) > limit:
            raise InvalidError

    def apply(self, key: Key, item: Stored | None, visible_at: float) -> None:
        """Store an item, or delete it; the followers see it at that time."""
        self.items.apply(key, item)
        self.replica.waiting.append((visible_at + self.replica_delay, key, item))
        for follower in self.indexes.values():
            follower.waiting.append((visible_at, key, item))

    def expire(self, epoch: float, now: float) -> None:
        """Delete what has expired."""
        ttl = self.ttl
        if ttl is None:
            return
        for key, item in list(self.items.items.items()):
            at = item.get(ttl, {}).get("N")
            if at is not None and number_of(at) < epoch:
                self.apply(key, None, now)

    def copy(self) -> "Table":
        other = object.__new__(Table)
        other.name, other.types, other.ttl, other.keys = self.name, self.types, self.ttl, self.keys
        other.items, other.replica, other.replica_delay = self.items.copy(), self.replica.copy(), self.replica_delay
        other.indexes = {name: follower.copy() for name, follower in self.indexes.items()}
        return other


def _sort_key(entry: tuple[Any, Key]) -> Any:
    return entry[0]


def _keys_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    by_kind = {one["KeyType"]: one["AttributeName"] for one in definition["KeySchema"]}
    return tuple(by_kind[kind] for kind in MAX_KEY_BYTES if kind in by_kind)


def _pair(names: Iterable[str]) -> tuple[str, str | None]:
    first, *rest = names
    return first, rest[0] if rest else None


def _names(view: View) -> tuple[str, ...]:
    return (view.hash_key, view.range_key) if view.range_key else (view.hash_key,)
