"""Our client beside boto3's on both engines: each operation of the store, and each error an engine gives."""

from typing import Any

import boto3
import pytest

from chalicelib.aws.client import Client
from chalicelib.aws.endpoints import DYNAMODB, KMS, SECRETS_MANAGER
from chalicelib.settings import settings
from chalicelib.store.table import table_name
from infra.local.stage import ENGINES
from tests.aws.clients import LIMITS, boto3s, ours
from tests.support.transactions import a_guid

pytestmark = [
    pytest.mark.usefixtures("engine"),
    pytest.mark.parametrize("engine_name", ENGINES, indirect=True, scope="session"),
]
TABLE = "transactions"
TEXT = "ünï 字 \u2028 \U0001f600"
LARGE = {"S": "x" * 410_000}


def parameters(name: str, **more: Any) -> dict[str, Any]:
    return {"TableName": table_name(TABLE), "Key": {"id": {"S": name}}, **more}


def an_item(name: str) -> dict[str, Any]:
    """An item with a value of each type."""
    parts: dict[str, Any] = {"L": [{"M": {"a": {"NULL": True}}}, {"BOOL": False}, {"SS": ["a", "b"]}]}
    return {"id": {"S": name}, "text": {"S": TEXT}, "number": {"N": "1234567890.0123456789"}, "parts": parts}


def seed(name: str) -> None:
    boto3.client("dynamodb").put_item(TableName=table_name(TABLE), Item=an_item(name))


def check(name: str, condition: str = "attribute_exists(id)") -> dict[str, Any]:
    return {"ConditionCheck": parameters(name, ConditionExpression=condition)}


def put(name: str, **more: Any) -> dict[str, Any]:
    return {"TableName": table_name(TABLE), "Item": {"id": {"S": name}, **more}}


def is_new(name: str) -> dict[str, Any]:
    return {**put(name), "ConditionExpression": "attribute_not_exists(id)"}


CASES: dict[str, Any] = {
    "read": lambda a, _: ("GetItem", parameters(a, ConsistentRead=True)),
    "read nothing": lambda _, b: ("GetItem", parameters(b)),
    "read a part": lambda a, _: (
        "GetItem",
        parameters(a, ProjectionExpression="#t", ExpressionAttributeNames={"#t": "text"}),
    ),
    "read many": lambda a, b: (
        "BatchGetItem",
        {"RequestItems": {table_name(TABLE): {"Keys": [{"id": {"S": a}}, {"id": {"S": b}}], "ConsistentRead": True}}},
    ),
    "read one twice": lambda a, _: (
        "BatchGetItem",
        {"RequestItems": {table_name(TABLE): {"Keys": [{"id": {"S": a}}] * 2}}},
    ),
    "query": lambda a, _: (
        "Query",
        {
            "TableName": table_name(TABLE),
            "KeyConditionExpression": "id = :id",
            "ExpressionAttributeValues": {":id": {"S": a}},
            "ConsistentRead": True,
        },
    ),
    "query wrongly": lambda a, _: ("Query", {"TableName": table_name(TABLE), "KeyConditionExpression": f"id = {a}"}),
    "write": lambda _, b: ("PutItem", put(b)),
    "write over": lambda a, _: ("PutItem", {**put(a, text={"S": TEXT}), "ReturnValues": "ALL_OLD"}),
    "write new": lambda a, _: ("PutItem", is_new(a)),
    "write too much": lambda _, b: ("PutItem", put(b, large=LARGE)),
    "write without a key": lambda *_: ("PutItem", {"TableName": table_name(TABLE), "Item": {"a": {"S": "b"}}}),
    "write elsewhere": lambda _, b: ("PutItem", {**put(b), "TableName": "nowhere"}),
    "add": lambda a, _: (
        "UpdateItem",
        parameters(
            a,
            UpdateExpression="ADD n :one SET #t = :text",
            ExpressionAttributeNames={"#t": "text"},
            ExpressionAttributeValues={":one": {"N": "1"}, ":text": {"S": TEXT}},
            ReturnValues="ALL_NEW",
        ),
    ),
    "add to a text": lambda a, _: (
        "UpdateItem",
        parameters(
            a,
            UpdateExpression="ADD #t :one",
            ExpressionAttributeNames={"#t": "text"},
            ExpressionAttributeValues={":one": {"N": "1"}},
        ),
    ),
    "change what is not there": lambda _, b: (
        "UpdateItem",
        parameters(
            b,
            UpdateExpression="SET a = :b",
            ConditionExpression="attribute_exists(id)",
            ExpressionAttributeValues={":b": {"S": TEXT}},
        ),
    ),
    "delete": lambda a, _: ("DeleteItem", parameters(a)),
    "transact": lambda a, b: ("TransactWriteItems", {"TransactItems": [check(a), {"Put": put(b)}]}),
    "transact what fails first": lambda a, b: (
        "TransactWriteItems",
        {"TransactItems": [{"Put": is_new(a)}, {"Put": put(b)}]},
    ),
    "transact what fails twice": lambda a, b: ("TransactWriteItems", {"TransactItems": [{"Put": is_new(a)}, check(b)]}),
    "transact one twice": lambda a, _: ("TransactWriteItems", {"TransactItems": [{"Put": put(a)}, check(a)]}),
    "transact nothing": lambda *_: ("TransactWriteItems", {"TransactItems": []}),
    "transact elsewhere": lambda a, _: (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {**put(a), "TableName": "nowhere"}}]},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_an_operation_has_the_outcome_it_has_through_boto3(case: str) -> None:
    outcomes = []
    for through in (ours, boto3s):
        there, missing = f"alike-{a_guid()}", f"alike-{a_guid()}"
        seed(there)
        outcome = through(*CASES[case](there, missing))
        stored = boto3.client("dynamodb").get_item(**parameters(missing, ConsistentRead=True)).get("Item")
        outcomes.append(repr((_in_order(outcome), stored)).replace(there, "there").replace(missing, "missing"))

    assert outcomes[0] == outcomes[1]


def _in_order(value: Any) -> Any:
    """Return the value with what has no order of its own in one."""
    if isinstance(value, dict):
        return {name: _in_order(value[name]) for name in sorted(value)}
    return [_in_order(each) for each in value] if isinstance(value, list | tuple) else value


def test_what_one_key_of_kms_encrypts_through_one_client_the_other_decrypts() -> None:
    context = {"agent": "1"}
    client = Client(KMS, LIMITS)
    sealed = client.call("Encrypt", KeyId=settings().key_id, Plaintext="YQ==", EncryptionContext=context)

    opened = client.call("Decrypt", CiphertextBlob=sealed["CiphertextBlob"], EncryptionContext=context)
    refused = ours("Decrypt", {"CiphertextBlob": sealed["CiphertextBlob"]}, service=KMS)

    assert opened["Plaintext"] == "YQ=="
    assert refused[:2] == ("refused", "InvalidCiphertextException")


def test_a_secret_that_is_missing_is_refused_as_through_boto3() -> None:
    outcomes = [through("GetSecretValue", {"SecretId": "no"}, LIMITS, SECRETS_MANAGER) for through in (ours, boto3s)]

    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1] == "ResourceNotFoundException"


def test_a_transaction_that_is_repeated_with_its_token_is_carried_out_once(engine: str) -> None:
    name = f"alike-{a_guid()}"
    seed(name)
    add = parameters(name, UpdateExpression="ADD n :one", ExpressionAttributeValues={":one": {"N": "1"}})
    client = Client(DYNAMODB, LIMITS)

    for _ in range(3):
        client.call("TransactWriteItems", TransactItems=[{"Update": add}], ClientRequestToken=name[-36:])

    counted = client.call("GetItem", **parameters(name, ConsistentRead=True))["Item"]["n"]["N"]
    assert counted == ("1" if engine == "dynamodb-local" else "3")  # moto ignores the token
