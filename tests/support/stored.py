"""Records as they are in the tables, and the entries of the history compared with their transactions."""

from collections.abc import Iterable
from typing import TypeVar

import boto3

from chalicelib.domain.transaction import Transaction
from chalicelib.store import audit, history, transactions
from chalicelib.store.audit import Audit
from chalicelib.store.history import ENTRY, IN_ORDER
from chalicelib.store.ranges import items_of, range_of_prefix
from chalicelib.store.table import Item, Key, client, read, table_name

Record = TypeVar("Record")


def stored_record(key: Key[Record]) -> Record:
    """Return the record with this key, which must be there."""
    record = read(key)
    assert record is not None
    return record


def stored_transaction(transaction_id: str) -> Transaction:
    """Return the transaction with this ID, which must be there."""
    transaction = transactions.get(transaction_id)
    assert transaction is not None
    return transaction


def changes_of(agent_id: int) -> list[Audit]:
    """Return the entries of the audit about the changes of an agent, without those about its key that was shown."""
    return [entry for entry in audit.of(f"agent#{agent_id}") if entry.kind != "show"]


def delete_due_transactions() -> None:
    """Leave nothing due that another test left behind."""
    name = table_name(transactions.TABLE)
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=name, IndexName="due")
    for item in [item for page in pages for item in page["Items"]]:
        client().call("DeleteItem", TableName=name, Key={"id": item["id"]})


def wrong_entries(client_id: int, month: str, expected: Iterable[Transaction]) -> list[str]:
    """Return the IDs of transactions whose two entries, of their agent and of all, are missing or differ from them.

    So do those whose marks of a reversal are wrong.
    """
    partition = f"{client_id}#{month}"
    spans = [range_of_prefix(history.TABLE, ("month", partition), "at", prefix) for prefix in (ENTRY, IN_ORDER)]
    found = {item["at"]["S"]: item for span in spans for item in items_of(span)}
    return [one.id for one in expected if any(found.get(at) != item for at, item in _entries(one, partition).items())]


def _entries(transaction: Transaction, partition: str) -> dict[str, Item]:
    written = (write.parameters["Item"] for write in history.writes_for_completion(transaction))
    return {item["at"]["S"]: item for item in written if item["month"]["S"] == partition}
