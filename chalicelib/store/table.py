"""The one door to DynamoDB: strong reads, conditional writes, and transactions retried when they only collided."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Generic, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.settings import settings
from chalicelib.store.codec import Value, decode, encode, value_of

R = TypeVar("R")
T = TypeVar("T")

ATTEMPTS = 8  # of a write that collided: with the pauses below five seconds at the most, half of that on average
BATCH = 100  # keys in one BatchGetItem, items in one transaction
COLLISIONS = frozenset({
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ThrottlingError",
    "ThrottlingException",
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
})  # fmt: skip
OUTAGES = frozenset({"InternalServerError", "ServiceUnavailable", "InternalFailure", *COLLISIONS})


@cache
def client() -> Any:
    """The client, made at the first use. Its time limits leave the gateway's 29 s to the acquirer."""
    config = Config(
        connect_timeout=1,
        read_timeout=3,
        retries={"mode": "standard", "total_max_attempts": 3},
        tcp_keepalive=True,
        parameter_validation=False,  # the parameters are ours; checking them costs as much as parsing the answer
    )
    return boto3.client("dynamodb", config=config)


@dataclass(frozen=True)
class Key(Generic[R]):
    """Where one record is kept, and what it reads back as."""

    table: str
    record: type[R]
    key: Mapping[str, Any]

    def wire(self) -> dict[str, Value]:
        """The key as the store takes it."""
        return {name: value_of(value) for name, value in self.key.items()}


class AlreadyExistsError(Exception):
    """A record of this key exists: what a `put` of something new raises unless told otherwise."""


@dataclass(frozen=True)
class Write:
    """One step of a store transaction, and what it means when its condition does not hold."""

    kind: str  # Put, Update, Delete or ConditionCheck
    parameters: Mapping[str, Any]
    otherwise: Exception = field(default_factory=AlreadyExistsError)

    def wire(self) -> dict[str, Any]:
        """The step as TransactWriteItems takes it."""
        return {self.kind: self.parameters}


def table_name(table: str) -> str:
    """The deployed name of one of our tables."""
    return settings().table_prefix + table


def put_new(
    table: str, record: Any, key: str, otherwise: Exception | None = None, *, index: Mapping[str, Any] | None = None
) -> Write:
    """Keep a record nobody kept before; `index` adds attributes only an index needs."""
    parameters = {
        "TableName": table_name(table),
        "Item": {**encode(record), **{name: value_of(value) for name, value in (index or {}).items()}},
        "ConditionExpression": "attribute_not_exists(#key)",
        "ExpressionAttributeNames": {"#key": key},
    }
    return Write("Put", parameters, otherwise or AlreadyExistsError())


def put_item(table: str, item: Mapping[str, Any]) -> Write:
    """Keep an item under a key that is new by construction."""
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
    """Change one item. Every attribute is written `#name` in the expressions, so none can be a reserved word."""
    text = f"{expression} {condition or ''}"
    names = {word: word[1:] for word in _words(text) if word.startswith("#")}
    parameters: dict[str, Any] = {
        "TableName": table_name(key.table),
        "Key": key.wire(),
        "UpdateExpression": expression,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {f":{name}": value_of(value) for name, value in values.items()},
    }
    if condition:
        parameters["ConditionExpression"] = condition
    return Write("Update", parameters, otherwise or AlreadyExistsError())


def replace_record(table: str, record: Any, *, version: int, otherwise: Exception) -> Write:
    """Put a record over the version that was read, or nothing at all."""
    parameters = {
        "TableName": table_name(table),
        "Item": encode(record),
        "ConditionExpression": "#version = :version",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": {":version": value_of(version)},
    }
    return Write("Put", parameters, otherwise)


def commit(*writes: Write) -> None:
    """All of the writes or none. The first whose condition fails raises what it says it means.

    A collision with another transaction is not an outcome: it is tried again with jitter, a bounded number of times.
    """
    wire = [write.wire() for write in writes]

    def attempt() -> None:
        try:
            client().transact_write_items(TransactItems=wire)
        except ClientError as error:
            reasons: Sequence[Any] = error.response.get("CancellationReasons", [])
            for write, reason in zip(writes, reasons, strict=False):
                if reason.get("Code") == "ConditionalCheckFailed":
                    raise write.otherwise from None
            raise

    with_retries(attempt)


def write_one(write: Write) -> dict[str, Value]:
    """Do one Put or Update outside a transaction, at half the price: what an Update left of the item is returned."""

    def attempt() -> dict[str, Value]:
        try:
            if write.kind == "Update":
                answer = client().update_item(**write.parameters, ReturnValues="ALL_NEW")
            else:
                answer = client().put_item(**write.parameters)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                raise write.otherwise from None
            raise
        left: dict[str, Value] = answer.get("Attributes", {})
        return left

    return with_retries(attempt)


def read(key: Key[R]) -> R | None:
    """The record as it is now (a strong read), or None."""
    answer = with_retries(
        lambda: client().get_item(TableName=table_name(key.table), Key=key.wire(), ConsistentRead=True)
    )
    item = answer.get("Item")
    return decode(key.record, item) if item else None


def read_all(keys: Sequence[Key[Any]]) -> list[Any]:
    """The records of the keys, in their order, None where there is none: strong reads in one round trip a hundred."""
    found: dict[tuple[str, str], Any] = {}
    for start in range(0, len(keys), BATCH):
        found |= _read_batch(keys[start : start + BATCH])
    items = (found.get((table_name(key.table), _identity(key.wire(), key))) for key in keys)
    return [decode(key.record, item) if item else None for key, item in zip(keys, items, strict=True)]


def _read_batch(keys: Sequence[Key[Any]]) -> dict[tuple[str, str], Any]:
    by_table = {table_name(key.table): key for key in keys}
    pending: dict[str, Any] = {name: {"Keys": [], "ConsistentRead": True} for name in by_table}
    for key in keys:
        if key.wire() not in pending[table_name(key.table)]["Keys"]:  # the store refuses a key asked for twice
            pending[table_name(key.table)]["Keys"].append(key.wire())

    found: dict[tuple[str, str], Any] = {}
    for _ in range(ATTEMPTS):
        answer = with_retries(partial(client().batch_get_item, RequestItems=pending))
        for name, items in answer["Responses"].items():
            found.update({(name, _identity(item, by_table[name])): item for item in items})
        pending = answer.get("UnprocessedKeys") or {}
        if not pending:
            return found
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY)


def _identity(item: Mapping[str, Value], key: Key[Any]) -> str:
    return repr([item[name] for name in sorted(key.key)])


def _words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() or letter in "#:_" else " " for letter in text).split()


def with_retries(attempt: Callable[[], T]) -> T:
    """Do it; again when it only collided; 903 when the store is out of reach.

    A write whose answer was lost may have happened: whoever calls again with the same ID finds it done.
    """
    for number in range(ATTEMPTS):
        try:
            return attempt()
        except ClientError as error:
            if not _collided(error):
                if error.response["Error"]["Code"] in OUTAGES:
                    raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY) from error
                raise
            time.sleep(random.uniform(0, 0.02 * 2**number))  # noqa: S311  jitter, not a secret
        except BotoCoreError as error:
            raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY) from error
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY)


def _collided(error: ClientError) -> bool:
    reasons: Sequence[Any] = error.response.get("CancellationReasons", [])
    codes = {reason.get("Code") for reason in reasons} | {error.response["Error"]["Code"]}
    return bool(codes & COLLISIONS)
