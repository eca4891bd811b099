"""Patches of moto, and a short way to its tables: queries and transactions do not become slower as tables grow.

For each attribute of an item moto adds up the sizes of all others. Patched, it adds them up only near the limit.

For each query moto sorts and compares all items of the table. Patched, it gets only the items of the partition, or for
an index all items unsorted. moto also searches each attribute for fields that a Python object could have; patched, it
writes the item as it is.

For each transaction moto copies every table, in case it fails. Patched, it copies only the named items and restores
them after a failure. The caller holds moto's lock, so no other call sees the tables meanwhile.
"""

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from moto.core.serialize import JSONSerializer
    from moto.dynamodb.models import DynamoDBBackend
    from moto.dynamodb.models.table import Table

NEAR_LIMIT = 200_000  # bytes of an item: half of the limit
VALUE = "AttributeValue"  # the shape's name in botocore's model of DynamoDB


@contextlib.contextmanager
def patched() -> Iterator[None]:
    """Replace the slow parts of moto until the block ends."""
    with add_up_sizes_near_the_limit_alone(), copy_touched_items_alone(), look_at_what_is_asked_alone():
        yield


@contextlib.contextmanager
def add_up_sizes_near_the_limit_alone() -> Iterator[None]:
    """Replace moto's sum of all attributes for each attribute of an item until the block ends."""
    item = import_module("moto.dynamodb.models.dynamo_type").LimitedSizeDict
    with patch.object(item, "__setitem__", _bounded(item.__setitem__)):
        yield


def _bounded(compare: Callable[..., None]) -> Callable[..., None]:
    value_class = import_module("moto.dynamodb.models.dynamo_type").DynamoType

    def size(part: Any) -> int:
        return part.size() if type(part) is value_class else len(str(part).encode())

    def set_item(self: dict[str, Any], name: str, value: Any) -> None:
        known = self.__dict__.get("most")  # an upper bound of the size
        known = sum(map(size, chain(self.keys(), self.values()))) if known is None else known
        self.__dict__["most"] = most = known + size(name) + size(value)
        if most < NEAR_LIMIT:
            dict.__setitem__(self, name, value)
        else:
            compare(self, name, value)

    return set_item


@contextlib.contextmanager
def look_at_what_is_asked_alone() -> Iterator[None]:
    """Replace moto's searches of whole tables and of attribute names until the block ends."""
    table = import_module("moto.dynamodb.models.table").Table
    serializer: Any = import_module("moto.core.serialize").JSONSerializer
    writing = "_serialize_type_structure"
    with (
        patch.object(table, "query", _of_one_partition(table.query)),
        patch.object(serializer, writing, _direct(getattr(serializer, writing))),
    ):
        yield


def _of_one_partition(carry_out: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(carry_out)

    def query(self: "Table", *positional: Any, **named: Any) -> Any:
        asked = signature.bind(self, *positional, **named).arguments
        with patch.object(self, "all_items", lambda: list(_partition(self, asked))):
            return carry_out(self, *positional, **named)

    return query


def _partition(table: "Table", asked: Mapping[str, Any]) -> Iterable[Any]:
    """Return the items of the partition, or for an index all items, in any order. moto selects and sorts them."""
    ranged = bool(table.range_key_attr)
    stored: Any = table.items
    if asked.get("index_name"):
        return chain.from_iterable(found.values() for found in stored.values()) if ranged else stored.values()
    if (found := stored.get(asked["hash_key"])) is None:
        return ()
    return found.values() if ranged else (found,)


def _direct(search: Callable[..., None]) -> Callable[..., None]:
    def write(self: "JSONSerializer", serialized: dict[str, Any], value: Any, shape: Any, key: str) -> None:
        if shape.name == VALUE and self.service_model.service_name == "dynamodb":
            serialized[key] = _written(self, value)
        else:
            search(self, serialized, value, shape, key)

    return write


def _written(serializer: "JSONSerializer", value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value in the form of JSON."""
    ((kind, inner),) = value.items()
    if kind == "M":
        inner = {name: _written(serializer, one) for name, one in inner.items()}
    elif kind == "L":
        inner = [_written(serializer, one) for one in inner]
    elif kind == "B":
        inner = serializer._base64(inner)  # noqa: SLF001  as moto writes it
    elif kind == "BS":
        inner = [serializer._base64(one) for one in inner]  # noqa: SLF001  as above
    return {kind: inner}


Operation = Mapping[str, Any]


@dataclass(frozen=True)
class _Before:
    """An item before a transaction; None if there was none."""

    table: "Table"
    hash_key: Any
    range_key: Any
    item: Any

    def put_back(self) -> None:
        """Restore the item."""
        place: Any = self.table.items if self.range_key is None else self.table.items[self.hash_key]
        name = self.hash_key if self.range_key is None else self.range_key
        if self.item is None:
            place.pop(name, None)
        else:
            place[name] = self.item


@contextlib.contextmanager
def copy_touched_items_alone() -> Iterator[None]:
    """Replace moto's copies of whole tables until the block ends."""
    models = import_module("moto.dynamodb.models")
    backend = models.DynamoDBBackend
    with patch.object(backend, "transact_write_items", _restoring(backend.transact_write_items)):
        yield


def _restoring(
    carry_out: "Callable[[DynamoDBBackend, list[dict[str, Any]]], None]",
) -> "Callable[[DynamoDBBackend, list[dict[str, Any]]], None]":
    table_class = import_module("moto.dynamodb.models.table").Table

    def transact_write_items(self: "DynamoDBBackend", transact_items: list[dict[str, Any]]) -> None:
        before = [copied for item in transact_items if (copied := _copied(self, item))]
        streams = {table.name: _record_count(table) for table in (one.table for one in before)}
        try:
            with patch.object(table_class, "__deepcopy__", _itself, create=True):
                carry_out(self, transact_items)
        except Exception:
            for one in before:
                one.put_back()
                if one.table.stream_shard is not None:
                    del one.table.stream_shard.items[streams[one.table.name] :]
            raise

    return transact_write_items


def _itself(table: "Table", _: dict[int, Any]) -> "Table":
    return table


def _record_count(table: "Table") -> int:
    return len(table.stream_shard.items) if table.stream_shard is not None else 0


def _copied(backend: "DynamoDBBackend", item: dict[str, Operation]) -> _Before | None:
    """Return a copy of the item that an operation names; None if moto refuses the operation without reading."""
    operation = next(iter(item.values()), {})
    table = backend.tables.get(operation.get("TableName", ""))
    if table is None:
        return None
    named = operation.get("Key") or operation.get("Item") or {}
    keys = [named[name] for name in table.table_key_attrs if name in named]
    if len(keys) < len(table.table_key_attrs) or not all(_is_value(key) for key in keys):
        return None
    hash_key, range_key = (*map(_typed, keys), None)[:2]
    return _Before(table, hash_key, range_key, copy.deepcopy(table.get_item(hash_key, range_key)))


def _is_value(key: object) -> bool:
    return isinstance(key, Mapping) and len(key) == 1


def _typed(value: Sequence[Any]) -> Any:
    return import_module("moto.dynamodb.models.dynamo_type").DynamoType(value)
