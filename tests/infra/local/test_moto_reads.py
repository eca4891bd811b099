"""Reads of moto: they find and write what moto itself does, without its searches."""

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto.core import serialize
from moto.core.serialize import JSONSerializer, XFormedAttributePicker
from moto.core.utils import get_service_model
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.table import Table

from infra.local.moto_speed import look_at_what_is_asked_alone

_names = st.text(min_size=1, max_size=3)
_values = st.recursive(
    st.one_of(
        st.builds(lambda text: {"S": text}, st.text()),
        st.builds(lambda number: {"N": str(number)}, st.integers()),
        st.builds(lambda data: {"B": data}, st.binary()),
        st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
        st.just({"NULL": True}),
        st.builds(lambda texts: {"SS": texts}, st.lists(st.text(), max_size=3)),
        st.builds(lambda data: {"BS": data}, st.lists(st.binary(), max_size=3)),
    ),
    lambda inner: st.one_of(
        st.builds(lambda items: {"M": items}, st.dictionaries(_names, inner, max_size=3)),
        st.builds(lambda items: {"L": items}, st.lists(inner, max_size=3)),
    ),
    max_leaves=6,
)
_items = st.dictionaries(_names, _values, max_size=3)
RESULTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "GetItem": lambda item: {"Item": item},
    "Query": lambda item: {"Items": [item, item], "Count": 2, "LastEvaluatedKey": item},
    "BatchGetItem": lambda item: {"Responses": {"table": [item]}, "UnprocessedKeys": {"table": {"Keys": [item]}}},
}


def written(operation: str, result: dict[str, Any]) -> Any:
    """Return what moto answers an operation of DynamoDB with."""
    model = get_service_model("dynamodb").operation_model(operation)
    picker = XFormedAttributePicker(response_transformers=None)
    return json.loads(JSONSerializer(model, value_picker=picker).serialize(result)["body"])


@given(_items)
def test_every_item_is_written_as_moto_writes_it(item: dict[str, Any]) -> None:
    for operation, result in RESULTS.items():
        theirs = written(operation, result(item))
        with look_at_what_is_asked_alone():
            assert written(operation, result(item)) == theirs


def test_no_attribute_of_an_item_is_searched_for() -> None:
    item = {"id": {"S": "1"}, "lines": {"L": [{"M": {"n": {"N": "1"}}}]}}
    asked: list[str] = []

    def noting(obj: object, key: str, default: object) -> object:
        asked.append(key)
        return obj.get(key, default) if isinstance(obj, dict) else default

    with look_at_what_is_asked_alone(), patch.object(serialize, "get_value", noting):
        assert written("GetItem", {"Item": item}) == {"Item": item}

    assert not {"S", "N", "L", "M"} & set(asked)


QUEUES = {
    "IndexName": "queues",
    "KeySchema": [{"AttributeName": "queue", "KeyType": "HASH"}, {"AttributeName": "due", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "ALL"},
}
ATTRIBUTES = {"shop": "S", "at": "S", "queue": "N", "due": "S"}


def a_backend(keys: tuple[str, ...]) -> DynamoDBBackend:
    """Return a moto of its own with a table of these keys and an index."""
    backend = DynamoDBBackend("eu-west-1", "123456789012")
    schema = [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)]
    types = [{"AttributeName": name, "AttributeType": kind} for name, kind in ATTRIBUTES.items()]
    make: Any = Table  # of which moto's types say that it is abstract
    backend.tables["table"] = make("table", "1", "eu-west-1", schema, types, global_indexes=[QUEUES])
    return backend


def _pages(backend: DynamoDBBackend, query: dict[str, Any]) -> list[Any]:
    """Return each page of a query; what is broken ends it."""
    found: list[Any] = []
    start: Any = None
    while len(found) < 20:
        try:
            items, looked_at, start = backend.query("table", exclusive_start_key=start, **query)
        except Exception as error:  # noqa: BLE001  whatever moto raises is compared
            return [*found, repr(error)]
        found.append(([item.to_json() for item in items], looked_at, start))
        if not start:
            break
    return found


_few = st.sampled_from(["a", "b", "c"])
_numbers = st.sampled_from(["1", "1.0", "2"])
_stored = st.fixed_dictionaries(
    {"shop": _few.map(lambda text: {"S": text}), "at": _few.map(lambda text: {"S": text})},
    optional={"queue": _numbers.map(lambda number: {"N": number}), "due": _few.map(lambda text: {"S": text})},
)


@st.composite
def queries(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a query of the table or of its index."""
    is_of_index = draw(st.booleans())
    hash_key = {"N": draw(_numbers)} if is_of_index else {"S": draw(_few)}
    ranged = draw(st.sampled_from([None, "GE", "BEGINS_WITH", "EQ"]))
    name, range_name = ("queue", "due") if is_of_index else ("shop", "at")
    value = {"S": draw(_few)}
    return {
        "hash_key_dict": hash_key,
        "range_comparison": ranged,
        "range_value_dicts": [value] if ranged else [],
        "limit": draw(st.sampled_from([1, 2, 100])),
        "scan_index_forward": draw(st.booleans()),
        "projection_expressions": None,
        "index_name": "queues" if is_of_index else None,
        "hash_key_conditions": [(name, hash_key)],
        "range_key_conditions": [(range_name, ranged, [value])] if ranged else [],
    }


@pytest.mark.parametrize("keys", [("shop",), ("shop", "at")])
@given(data=st.data())
def test_every_page_of_every_query_is_what_moto_finds(keys: tuple[str, ...], data: st.DataObject) -> None:
    backend = a_backend(keys)
    for item in data.draw(st.lists(_stored, max_size=8)):
        backend.put_item("table", item)
    for query in data.draw(st.lists(queries(), min_size=1, max_size=3)):
        theirs = _pages(backend, query)
        with look_at_what_is_asked_alone():
            assert _pages(backend, query) == theirs


def test_other_partitions_are_not_looked_at() -> None:
    backend = a_backend(("shop", "at"))
    for shop in ("a", "b"):
        backend.put_item("table", {"shop": {"S": shop}, "at": {"S": "noon"}})
    keys: dict[str, Any] = {"hash_key_dict": {"S": "a"}, "range_comparison": None, "range_value_dicts": []}
    asked: dict[str, Any] = {**keys, "limit": 9, "exclusive_start_key": None, "scan_index_forward": True}

    with look_at_what_is_asked_alone(), patch.object(Table, "all_items", side_effect=AssertionError):
        (found, *_) = backend.query("table", **asked, projection_expressions=None)

    assert [item.to_json()["Attributes"]["shop"] for item in found] == [{"S": "a"}]
