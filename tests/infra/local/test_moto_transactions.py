"""Transactions on moto store, stream and answer as moto itself does, without its copies of whole tables."""

import copy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.table import Table

from infra.local.engines import transactions_without_copies

pytestmark = pytest.mark.slow

PLAIN, ORDERED = "plain", "ordered"
SCHEMAS = {PLAIN: ("id",), ORDERED: ("month", "at")}


def a_backend() -> DynamoDBBackend:
    """Return a moto of its own with a table of one key and one of two, whose changes are streamed."""
    backend = DynamoDBBackend("eu-west-1", "123456789012")
    for name, keys in SCHEMAS.items():
        kinds = ("HASH", "RANGE")
        schema = [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, kinds, strict=False)]
        types = [{"AttributeName": key, "AttributeType": "S"} for key in keys]
        streams = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        make: Any = Table  # of which moto's types say that it is abstract
        backend.tables[name] = make(name, "123456789012", "eu-west-1", schema, types, streams=streams)
    return backend


def contents(backend: DynamoDBBackend) -> dict[str, list[Any]]:
    """Return the items of each table, and the changes that its stream holds."""
    found: dict[str, list[Any]] = {}
    for name, table in backend.tables.items():
        assert table.stream_shard
        items = [item.to_json()["Attributes"] for item in table.all_items()]
        changes = [record.to_json() for record in table.stream_shard.items]
        images = ("SequenceNumber", "Keys", "OldImage", "NewImage")
        streamed = [[one["eventName"], *(one["dynamodb"].get(image) for image in images)] for one in changes]
        found[name] = [sorted(items, key=repr), streamed]
    return found


def outcome(backend: DynamoDBBackend, transaction: list[dict[str, Any]]) -> tuple[str, str]:
    """Carry out a transaction; return what it ends with."""
    try:
        backend.transact_write_items(copy.deepcopy(transaction))
    except Exception as error:  # noqa: BLE001  whatever moto raises is compared
        return type(error).__name__, str(error)
    return "", ""


def _key(table: str, values: tuple[str, str]) -> dict[str, Any]:
    return {name: {"S": value} for name, value in zip(SCHEMAS[table], values, strict=False)}


_names = st.sampled_from("abc")
_keys = st.builds(_key, st.just(PLAIN), st.tuples(_names, _names))
_tables = st.sampled_from([PLAIN, ORDERED])
_conditions = st.sampled_from(["attribute_not_exists(n)", "attribute_exists(n)", "n = :one", "n < :one", None, "n +"])


@st.composite
def operations(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an operation: most are right, some name a missing table, an incomplete key or a wrong expression."""
    table = draw(_tables)
    key = _key(table, (draw(_names), draw(_names)))
    wrong = draw(st.sampled_from(["", "", "", "", "", "", "table", "key", "type"]))
    if wrong == "key":
        key.popitem()
    if wrong == "type":
        key[SCHEMAS[table][0]] = {"N": "1"}
    kind = draw(st.sampled_from(["Put", "Update", "Delete", "ConditionCheck"]))
    operation: dict[str, Any] = {"TableName": "missing" if wrong == "table" else table}
    if kind == "Put":
        operation["Item"] = {**key, "n": {"N": str(draw(st.integers(0, 3)))}}
    else:
        operation["Key"] = key
    condition = draw(_conditions) or ("attribute_exists(n)" if kind == "ConditionCheck" else None)
    values = {}
    if condition:
        operation["ConditionExpression"] = condition
    if kind == "Update":
        operation["UpdateExpression"] = draw(st.sampled_from(["ADD n :one", "SET n = :one", "SET n = m + :one"]))
    if ":one" in f"{condition} {operation.get('UpdateExpression')}":
        values = {":one": {"N": "1"}}
    if values:
        operation["ExpressionAttributeValues"] = values
    return {kind: operation}


A_PUT = {"Put": {"TableName": ORDERED, "Item": {**_key(ORDERED, ("a", "b")), "n": {"N": "1"}}}}
NEVER = {
    "ConditionCheck": {"TableName": PLAIN, "Key": _key(PLAIN, ("c", "")), "ConditionExpression": "attribute_exists(n)"}
}

AN_UPDATE = {
    "Update": {
        "TableName": ORDERED,
        "Key": _key(ORDERED, ("a", "b")),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(operations(), min_size=1, max_size=4), min_size=1, max_size=8))
@example([[A_PUT], [{"Delete": {"TableName": ORDERED, "Key": _key(ORDERED, ("a", "b"))}}, NEVER]])
@example([[A_PUT], [AN_UPDATE, NEVER]])
@example([[A_PUT, A_PUT]])
@example([[A_PUT, NEVER], [{}]])
def test_the_same_transactions_have_the_same_outcome_and_leave_the_same_tables(
    transactions: list[list[dict[str, Any]]],
) -> None:
    theirs, ours = a_backend(), a_backend()
    for transaction in transactions:
        expected = outcome(theirs, transaction)
        with transactions_without_copies():
            assert outcome(ours, transaction) == expected
        assert contents(ours) == contents(theirs)


def test_other_items_are_not_copied() -> None:
    backend = a_backend()
    for name in "abc":
        backend.put_item(PLAIN, _key(PLAIN, (name, "")))
    before = backend.tables[PLAIN].all_items()

    with transactions_without_copies():
        assert outcome(backend, [{"Delete": {"TableName": PLAIN, "Key": _key(PLAIN, ("a", ""))}}, NEVER]) != ("", "")

    assert all(item is one for item, one in zip(backend.tables[PLAIN].all_items(), before, strict=True))
