"""Transactions of moto in a time that does not grow with what is stored.

moto copies every table that a transaction names, in case the transaction fails. Here the items that it names are copied
instead, and put back if it fails. moto's own code carries it out and decides what it is answered with. The caller holds
the lock of moto, so no other call sees the tables meanwhile.
"""

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from moto.dynamodb.models import DynamoDBBackend
    from moto.dynamodb.models.table import Table

Operation = Mapping[str, Any]


@dataclass(frozen=True)
class _Before:
    """An item as it was before a transaction, or None where there was none."""

    table: "Table"
    hash_key: Any
    range_key: Any
    item: Any

    def put_back(self) -> None:
        """Make the table hold what it held before."""
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
    """Return a copy of the item an operation names; None where moto refuses the operation unread."""
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
