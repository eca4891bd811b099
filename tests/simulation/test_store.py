"""The store of the simulation answers as DynamoDB Local does, error by error; and what has a time of its own."""

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chalicelib.store.aws_client import RefusedError
from infra.stack import resources
from infra.stack.resources import STACK
from tests.simulation.operations import DEFINITIONS, NUMBERED, ORDERED, PLAIN, Operations
from tests.simulation.store import Store
from tests.simulation.store_comparison import DifferenceError, Pair
from tests.simulation.tables import Table

SHARD = {"due_lane": {"S": "0"}, "due_at": {"S": "5"}}
OF_SHARD = {
    "TableName": PLAIN,
    "IndexName": "due",
    "KeyConditionExpression": "#shard = :shard",
    "ExpressionAttributeNames": {"#shard": "due_lane"},
    "ExpressionAttributeValues": {":shard": {"S": "0"}},
}


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Store:
    return Store(map(Table, DEFINITIONS), clock, lambda: 2.0)


@pytest.fixture
def pair(dynamodb_local: str) -> Iterator[Pair]:
    with Pair(dynamodb_local) as both:
        yield both


def an_item(name: str, **more: Any) -> dict[str, Any]:
    return {"TableName": PLAIN, "Item": {"id": {"S": name}, **more}}


def the_item(name: str, **more: Any) -> dict[str, Any]:
    return {"TableName": PLAIN, "Key": {"id": {"S": name}}, **more}


@settings(max_examples=40, suppress_health_check=list(HealthCheck), phases=(Phase.generate, Phase.shrink))
@given(chance=st.randoms(use_true_random=False))
def test_operations_of_any_kind_end_as_on_dynamodb_local(pair: Pair, chance: random.Random) -> None:
    pair.run(Operations(chance, f"{os.urandom(3).hex()}."), 30)


def test_a_store_that_answers_otherwise_is_found_out(pair: Pair) -> None:
    pair.store.call("PutItem", an_item("only here"))

    with pytest.raises(DifferenceError):
        pair.compare("GetItem", the_item("only here", ConsistentRead=True))


def test_a_batch_of_writes_puts_and_deletes(pair: Pair) -> None:
    one, other = an_item("one", text={"S": "1"})["Item"], an_item("other")["Item"]
    pair.compare("PutItem", an_item("one"))

    batches: list[dict[str, Any]] = [
        {PLAIN: [{"PutRequest": {"Item": one}}, {"PutRequest": {"Item": other}}]},
        {PLAIN: [{"DeleteRequest": {"Key": {"id": one["id"]}}}]},
        {PLAIN: [{"PutRequest": {"Item": one}}, {"DeleteRequest": {"Key": {"id": one["id"]}}}]},
        {PLAIN: [{"PutRequest": {"Item": one}}] * 26},
        {PLAIN: []},
    ]
    for batch in batches:
        pair.compare("BatchWriteItem", {"RequestItems": batch})
        pair.compare("Scan", {"TableName": PLAIN})


def test_a_scan_finds_what_is_stored(pair: Pair) -> None:
    for operation in ("Scan", "PutItem", "Scan"):
        pair.compare(operation, an_item("one") if operation == "PutItem" else {"TableName": PLAIN})


@pytest.mark.parametrize("size", [409_590, 409_599, 409_600, 409_601, 500_000])
def test_an_item_may_be_as_large_as_on_dynamodb_local(pair: Pair, size: int) -> None:
    names = len("id") + len("a") + len("text")

    pair.compare("PutItem", an_item("a", text={"S": "x" * (size - names)}))


def test_a_page_is_as_long_as_on_dynamodb_local(pair: Pair) -> None:
    for number in range(12):
        item = {"month": {"S": "large"}, "at": {"S": f"{number:02d}"}, "text": {"S": "x" * 150_000}}
        pair.compare("PutItem", {"TableName": ORDERED, "Item": item})
    query = {
        "TableName": ORDERED,
        "ConsistentRead": True,
        "KeyConditionExpression": "#month = :month",
        "ExpressionAttributeNames": {"#month": "month"},
        "ExpressionAttributeValues": {":month": {"S": "large"}},
    }
    page = pair.store.call("Query", query)

    pair.compare("Query", query)
    pair.compare("Query", {**query, "ExclusiveStartKey": page["LastEvaluatedKey"]})
    assert 0 < page["Count"] < 12


def test_the_tables_of_the_stage_are_all_there() -> None:
    definitions = resources.create_table_arguments(STACK)
    store = Store(map(Table, definitions), Clock())

    assert set(store.tables) == {definition["TableName"] for definition in definitions}


def test_a_strong_read_sees_a_write_at_once_and_any_other_later(store: Store, clock: Clock) -> None:
    store.call("PutItem", an_item("a", **SHARD))

    assert "Item" in store.call("GetItem", the_item("a", ConsistentRead=True))
    assert store.call("GetItem", the_item("a")) == {}
    assert store.call("Query", OF_SHARD)["Items"] == []
    assert not store.shows_any(PLAIN, "due")
    clock.now += 2
    assert store.shows_any(PLAIN, "due")
    assert "Item" in store.call("GetItem", the_item("a"))
    assert store.call("Query", OF_SHARD)["Items"] == [{"id": {"S": "a"}, **SHARD}]


def test_an_index_shows_what_was_deleted_until_it_sees_the_deletion(store: Store, clock: Clock) -> None:
    store.call("PutItem", an_item("a", **SHARD))
    clock.now += 2
    store.call("DeleteItem", the_item("a"))

    assert store.call("Query", OF_SHARD)["Count"] == 1
    clock.now += 2
    assert store.call("Query", OF_SHARD)["Count"] == 0


def test_a_transaction_is_the_same_one_under_its_token_for_ten_minutes(store: Store, clock: Clock) -> None:
    one = {"ExpressionAttributeNames": {"#n": "n"}, "ExpressionAttributeValues": {":one": {"N": "1"}}}
    add = {"TransactItems": [{"Update": the_item("a", UpdateExpression="ADD #n :one", **one)}]}
    for seconds in (0, 599, 1):
        clock.now += seconds
        store.call("TransactWriteItems", {**add, "ClientRequestToken": "the same"})

    assert store.call("GetItem", the_item("a", ConsistentRead=True))["Item"]["n"] == {"N": "2"}
    with pytest.raises(RefusedError, match="IdempotentParameterMismatch"):
        store.call(
            "TransactWriteItems",
            {"TransactItems": [{"Delete": the_item("a")}], "ClientRequestToken": "the same"},
        )


def test_what_has_expired_is_deleted_and_nothing_else(clock: Clock) -> None:
    store = Store([Table(definition, ttl="expires_at") for definition in DEFINITIONS], clock)
    store.call("PutItem", an_item("over", expires_at={"N": "999"}))
    store.call("PutItem", an_item("not yet", expires_at={"N": "1000"}))
    store.call("PutItem", an_item("never"))
    store.call("PutItem", an_item("in another form", expires_at={"S": "1"}))

    store.expire(1000)

    assert {item["id"]["S"] for item in store.items(PLAIN)} == {"not yet", "never", "in another form"}


def test_a_copy_and_its_original_change_apart(store: Store, clock: Clock) -> None:
    store.call("PutItem", an_item("a", **SHARD))
    copy = store.copy(clock, float)

    store.call("DeleteItem", the_item("a"))
    copy.call("PutItem", {"TableName": NUMBERED, "Item": {"id": {"N": "1"}}})

    assert [item["id"] for item in copy.items(PLAIN)] == [{"S": "a"}]
    assert store.items(PLAIN) == store.items(NUMBERED) == []


def test_what_is_not_modelled_is_refused_loudly(store: Store) -> None:
    with pytest.raises(AssertionError, match="not modelled"):
        store.call("GetItem", the_item("a", AttributesToGet=["id"]))
