"""The access to DynamoDB: strong reads, conditional writes, and transactions that are retried after a collision."""

import random
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache, partial
from typing import Any, Generic, TypeVar

from chalicelib.aws.client import Client, Limits
from chalicelib.aws.endpoints import DYNAMODB
from chalicelib.aws.errors import RefusedError
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record
from chalicelib.settings import settings
from chalicelib.store import lost_time
from chalicelib.store.codec import Value, decode, encode, value_of
from chalicelib.store.expressions import attribute_names
from chalicelib.store.retries import ATTEMPTS, with_retries

R = TypeVar("R")

BATCH = 100  # keys in one BatchGetItem, items in one transaction


def client() -> Client:
    """Return the client with the time limits of this request; raise 903 when it has lost too much time."""
    return _client(lost_time.limits())


@cache
def _client(limits: Limits) -> Client:
    return Client(DYNAMODB, limits)


class Key(Record, Generic[R]):
    """The key of one record, and the class the record is read as."""

    table: str
    record: type[R]
    key: Mapping[str, Any]

    def wire(self) -> dict[str, Value]:
        """Return the key in the form DynamoDB takes."""
        return {name: value_of(value) for name, value in self.key.items()}


class AlreadyExistsError(Exception):
    """A condition that does not hold, as a rule because a record with this key exists already."""


class Write(Record):
    """One conditional write, and the exception to raise when its condition does not hold."""

    kind: str  # Put, Update, Delete or ConditionCheck
    parameters: Mapping[str, Any]
    otherwise: Exception = field(default_factory=AlreadyExistsError)

    def wire(self) -> dict[str, Any]:
        """Return the write in the form TransactWriteItems takes."""
        return {self.kind: self.parameters}


def table_name(table: str) -> str:
    """Return the deployed name of a table."""
    return settings().table_prefix + table


def put_new(
    table: str, record: Any, key: str, otherwise: Exception | None = None, *, index: Mapping[str, Any] | None = None
) -> Write:
    """Store a record under a key that does not exist yet; `index` adds attributes that only an index needs."""
    parameters = {
        "TableName": table_name(table),
        "Item": {**encode(record), **{name: value_of(value) for name, value in (index or {}).items()}},
        "ConditionExpression": "attribute_not_exists(#key)",
        "ExpressionAttributeNames": {"#key": key},
    }
    return Write("Put", parameters, otherwise or AlreadyExistsError())


def put_item(table: str, item: Mapping[str, Any]) -> Write:
    """Store an item without a condition: nobody else writes to its key."""
    return Write(
        "Put", {"TableName": table_name(table), "Item": {name: value_of(value) for name, value in item.items()}}
    )


def update(
    key: Key[Any],
    expression: str,
    values: Mapping[str, Any],
    *,
    condition: str | None = None,
    otherwise: Exception | None = None,
) -> Write:
    """Change one item; the expressions name attributes as `#name` and values as `:name`."""
    parameters: dict[str, Any] = {
        "TableName": table_name(key.table),
        "Key": key.wire(),
        "UpdateExpression": expression,
        "ExpressionAttributeNames": attribute_names(f"{expression} {condition or ''}"),
    }
    if values:
        parameters["ExpressionAttributeValues"] = {f":{name}": value_of(value) for name, value in values.items()}
    if condition:
        parameters["ConditionExpression"] = condition
    return Write("Update", parameters, otherwise or AlreadyExistsError())


def replace_record(table: str, record: Any, *, version: int, otherwise: Exception) -> Write:
    """Store the next version of a record, if the stored one is still the version that was read."""
    parameters = {
        "TableName": table_name(table),
        "Item": encode(record),
        "ConditionExpression": "#version = :version",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": {":version": value_of(version)},
    }
    return Write("Put", parameters, otherwise)


def commit(*writes: Write) -> None:
    """Carry out all of the writes or none; raise the exception of the first one whose condition does not hold.

    A collision with another transaction decides nothing: the call is repeated with jitter, a bounded number of times.
    """
    wire = [write.wire() for write in writes]
    token = str(uuid.uuid4())

    def attempt() -> None:
        nonlocal token
        try:
            client().call("TransactWriteItems", TransactItems=wire, ClientRequestToken=token)
        except RefusedError as error:
            if error.reasons:  # cancelled, so it did not happen; after any other error it may have, under this token
                token = str(uuid.uuid4())
            for write, reason in zip(writes, error.reasons, strict=False):
                if reason == "ConditionalCheckFailed":
                    raise write.otherwise from None
            raise

    with_retries(attempt)


def write_one(write: Write, returned: str = "ALL_NEW") -> dict[str, Value]:
    """Carry out one Put or Update outside a transaction, at half the price.

    Return the item as an Update left it; `returned` may say otherwise, as ReturnValues of UpdateItem.
    """

    def attempt() -> dict[str, Value]:
        try:
            if write.kind == "Update":
                response = client().call("UpdateItem", **write.parameters, ReturnValues=returned)
            else:
                response = client().call("PutItem", **write.parameters)
        except RefusedError as error:
            if error.code == "ConditionalCheckFailedException":
                raise write.otherwise from None
            raise
        item: dict[str, Value] = response.get("Attributes", {})
        return item

    return with_retries(attempt)


def read(key: Key[R]) -> R | None:
    """Read a record as it is now (a strong read); None when there is none."""
    item = read_item(key)
    return decode(key.record, item) if item else None


def read_item(key: Key[Any]) -> dict[str, Value]:
    """Read the item of a record, with what only an index needs (a strong read); empty when there is none."""
    response = with_retries(
        lambda: client().call("GetItem", TableName=table_name(key.table), Key=key.wire(), ConsistentRead=True)
    )
    return response.get("Item") or {}


def read_all(keys: Sequence[Key[Any]], only: Sequence[str] = ()) -> list[Any]:
    """Read the records of the keys in their order, None for a missing one: strong reads, a hundred per call.

    With `only`, these attributes of each, the key among them, for records that have no others.
    """
    found: dict[tuple[str, str], Any] = {}
    for start in range(0, len(keys), BATCH):
        found |= _read_batch(keys[start : start + BATCH], only)
    items = (found.get((table_name(key.table), _identity(key.wire(), key))) for key in keys)
    return [decode(key.record, item) if item else None for key, item in zip(keys, items, strict=True)]


def _read_batch(keys: Sequence[Key[Any]], only: Sequence[str]) -> dict[tuple[str, str], Any]:
    by_table = {table_name(key.table): key for key in keys}
    projection = ", ".join(f"#{attribute}" for attribute in only)
    options: dict[str, Any] = {
        "ConsistentRead": True,
        **(
            {"ProjectionExpression": projection, "ExpressionAttributeNames": attribute_names(projection)}
            if only
            else {}
        ),
    }
    pending: dict[str, Any] = {name: {"Keys": [], **options} for name in by_table}
    for key in keys:
        if key.wire() not in pending[table_name(key.table)]["Keys"]:  # DynamoDB refuses a key that is listed twice
            pending[table_name(key.table)]["Keys"].append(key.wire())

    found: dict[tuple[str, str], Any] = {}
    for number in range(ATTEMPTS):
        response = with_retries(partial(client().call, "BatchGetItem", RequestItems=pending))
        for name, items in response["Responses"].items():
            found.update({(name, _identity(item, by_table[name])): item for item in items})
        pending = response.get("UnprocessedKeys") or {}
        if not pending:
            return found
        time.sleep(random.uniform(0, 0.02 * 2**number))  # noqa: S311  jitter, not a secret
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE)


def _identity(item: Mapping[str, Value], key: Key[Any]) -> str:
    return repr([item[name] for name in sorted(key.key)])
