"""Entries of the history that an earlier version wrote, or did not write, made anew from their transactions."""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

from chalicelib.domain.history import entry_of
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record
from chalicelib.store import history, transactions
from chalicelib.store.codec import Value, value_of
from chalicelib.store.history_items import ATTRIBUTES, ENTRY, IN_ORDER, values_of
from chalicelib.store.query import Item, items_of, range_of_prefix
from chalicelib.store.table import BATCH, Write, commit, read_all, table_name

TABLE = history.TABLE
AT_ONCE = BATCH // 3  # entries that are made anew in one transaction: at most three items for each
RECORDS = 10 * BATCH  # in memory


class EntryChangedError(Exception):
    """An entry that is no longer what was read: its transaction has gone on."""


class Outdated(Record):
    """An entry among those of its agent, which it or its copy is behind; and the transaction, read after it."""

    item: Item
    transaction: Transaction


def outdated(client_id: int, month: str) -> Iterator[Outdated]:
    """Yield the entries of a month (2026-03) that are not, here or among all agents, what their transactions say."""
    partition = ("month", f"{client_id}#{month}")
    copies = {item["at"]["S"]: _digest(item) for item in items_of(range_of_prefix(TABLE, partition, "at", IN_ORDER))}
    entries = items_of(range_of_prefix(TABLE, partition, "at", ENTRY))
    while items := list(islice(entries, RECORDS)):
        records = read_all([transactions.key(item["at"]["S"].split("#", 3)[3]) for item in items])
        for item, transaction in zip(items, records, strict=True):
            if transaction is None:
                continue
            known = {_digest(item), copies.get(history.order_of(item["at"]["S"]))}
            if known != {_digest(_attributes(transaction))}:
                yield Outdated(item, transaction)


def renew(entries: Sequence[Outdated]) -> None:
    """Make entries anew, at most `AT_ONCE`, with all their copies: all or none.

    Raise EntryChangedError when one of them is no longer what was read: whoever changed it has written all of them.
    """
    commit(*(write for entry in entries for write in _writes(entry)))


def _writes(entry: Outdated) -> list[Write]:
    attributes = _attributes(entry.transaction)
    keys = history.keys_of(entry.transaction, entry.item["month"]["S"], entry.item["at"]["S"])
    items = [{"month": {"S": partition}, "at": {"S": at}, **attributes} for partition, at in keys]
    first, *copies = [{"TableName": table_name(TABLE), "Item": item} for item in items]
    unchanged = Write("Put", {**first, **_condition(entry.item)}, EntryChangedError())
    return [unchanged, *(Write("Put", parameters) for parameters in copies)]


def _condition(item: Item) -> dict[str, Any]:
    """Return the condition that the entry is what was read."""
    names = [name for name in ATTRIBUTES if name in item]
    parts = [f"#{name} = :{name}" if name in names else f"attribute_not_exists(#{name})" for name in ATTRIBUTES]
    return {
        "ConditionExpression": " AND ".join(parts),
        "ExpressionAttributeNames": {f"#{name}": name for name in ATTRIBUTES},
        "ExpressionAttributeValues": {f":{name}": item[name] for name in names},
    }


def _attributes(transaction: Transaction) -> dict[str, Value]:
    return {name: value_of(value) for name, value in values_of(entry_of(transaction)).items()}


def _digest(item: Item) -> bytes:
    """Return what two entries with the same attributes have in common: a month of them fits in memory."""
    attributes = {name: item[name] for name in ATTRIBUTES if name in item}
    return sha256(json.dumps(attributes, sort_keys=True).encode()).digest()
