"""The short way to moto's tables: its answers are those of moto's long way."""

import itertools
import json
from base64 import b64encode
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.store.aws_client import RefusedError
from chalicelib.store.table import client
from infra.local import moto_speed

_numbers = itertools.count()
_texts = st.sampled_from(["a", "b", "c"])
_values = st.one_of(
    _texts.map(lambda text: {"S": text}),
    st.integers(-9, 9).map(lambda number: {"N": str(number)}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.binary(max_size=3).map(lambda data: {"B": b64encode(data).decode()}),
    st.lists(_texts, min_size=1, max_size=2, unique=True).map(lambda texts: {"SS": texts}),
    _texts.map(lambda text: {"L": [{"M": {"deep": {"S": text}}}, {"N": "1"}]}),
    st.just({"S": ""}),
)
_keys = st.fixed_dictionaries({"id": _texts.map(lambda text: {"S": text}), "at": _texts.map(lambda text: {"S": text})})
_items = st.builds(
    lambda key, value, count: {**key, "value": value, **count},
    _keys,
    _values,
    st.sampled_from([{}, {"count": {"N": "1"}}]),
)
_exists = st.sampled_from([{}, {"ConditionExpression": "attribute_exists(id)"}])
_update = {
    "UpdateExpression": "ADD #count :one",
    "ExpressionAttributeNames": {"#count": "count"},
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}
_query = {
    "KeyConditionExpression": "id = :id",
    "ExpressionAttributeValues": {":id": {"S": "a"}},
}


def _named(table: str, *operations: dict[str, Any]) -> list[dict[str, Any]]:
    """Return operations of a transaction with the name of the table."""
    return [{kind: {"TableName": table, **rest}} for one in operations for kind, rest in one.items()]


_single = st.one_of(
    st.builds(lambda item, exists: ("PutItem", {"Item": item, **exists}), _items, _exists),
    st.builds(lambda item: ("PutItem", {"Item": item, "ReturnValues": "ALL_OLD"}), _items),
    st.builds(lambda key: ("GetItem", {"Key": key, "ConsistentRead": True}), _keys),
    st.builds(
        lambda key, exists, returned: ("UpdateItem", {"Key": key, **_update, **exists, "ReturnValues": returned}),
        _keys,
        _exists,
        st.sampled_from(["NONE", "ALL_NEW", "UPDATED_NEW"]),
    ),
    st.builds(lambda key: ("DeleteItem", {"Key": key, "ReturnValues": "ALL_OLD"}), _keys),
    st.builds(lambda limit: ("Query", {**_query, "Limit": limit}), st.integers(1, 3)),
    st.just(("Query", {**_query, "ReturnConsumedCapacity": "TOTAL"})),
    st.just(("Query", {"KeyConditionExpression": "nothing = :id"})),
)
_parts = st.one_of(
    st.builds(lambda item, exists: {"Put": {"Item": item, **exists}}, _items, _exists),
    st.builds(lambda key, exists: {"Update": {"Key": key, **_update, **exists}}, _keys, _exists),
    st.builds(lambda key: {"Delete": {"Key": key}}, _keys),
)


@st.composite
def requests(draw: st.DrawFn) -> Any:
    """Draw a request, as a function of the table's name."""
    kind = draw(st.sampled_from(["single", "batch", "read", "transaction"]))
    if kind == "single":
        operation, parameters = draw(_single)
        return lambda table: (operation, {"TableName": table, **parameters})
    if kind == "batch":
        puts = [{"PutRequest": {"Item": item}} for item in draw(st.lists(_items, min_size=1, max_size=3))]
        return lambda table: ("BatchWriteItem", {"RequestItems": {table: puts}})
    if kind == "read":
        keys = draw(st.lists(_keys, min_size=1, max_size=3))
        return lambda table: ("BatchGetItem", {"RequestItems": {table: {"Keys": keys, "ConsistentRead": True}}})
    parts = draw(st.lists(_parts, min_size=1, max_size=3))
    return lambda table: ("TransactWriteItems", {"TransactItems": _named(table, *parts)})


def _table() -> str:
    name = f"table-{next(_numbers)}"
    boto3.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("id", "at")],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


def _answers(drawn: list[Any]) -> list[Any]:
    """Return the answer to each request on a new table, or its error."""
    table = _table()
    try:
        return [_answer(request(table), table) for request in drawn]
    finally:
        boto3.client("dynamodb").delete_table(TableName=table)


def _answer(request: tuple[str, dict[str, Any]], table: str) -> Any:
    operation, parameters = request
    try:
        answer: Any = client().call(operation, **parameters)
    except RefusedError as error:
        answer = (error.code, error.status, str(error), error.reasons)
    return json.loads(json.dumps(answer).replace(table, "table"))


@pytest.mark.usefixtures("moto")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(requests(), min_size=1, max_size=6))
def test_the_short_way_answers_as_the_long_one(drawn: list[Any]) -> None:
    with patch.object(moto_speed, "OPERATIONS", {}):
        long_way = _answers(drawn)

    assert _answers(drawn) == long_way
