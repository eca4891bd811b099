"""The processor time of a payment, and of a bare route with the same two store calls, by plain HTTP and by boto3."""

import http.client
import json
import statistics
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import boto3
from chalice.app import Chalice, Response
from moto.core.models import botocore_stubber

from chalicelib import outside
from chalicelib.aws.client import Client, credentials, signed
from chalicelib.aws.endpoints import DYNAMODB, endpoint_of, region
from chalicelib.domain.agent import Caller
from chalicelib.store.table import VERSION
from infra.bench.client import LambdaClient, through, timed_ms
from infra.bench.table import Table

ROUNDS = 300
WARM_UP_ROUNDS = 20
SUBMIT = "/api/v1/payment/submit"
Send = Callable[[str, dict[str, Any]], object]


def processor_table(
    agent: LambdaClient, caller: Caller, payment: Callable[[], dict[str, Any]], taxed: Callable[[], dict[str, Any]]
) -> Table:
    """Return the processor time of a cash payment without and with taxes, and of bare Chalice routes with its calls."""
    reads, writes = _recorded_calls(lambda: agent.call("POST", SUBMIT, payment()))
    plain = LambdaClient(_bare_app(reads, writes, _plain_http()), caller)
    through_boto3 = LambdaClient(_bare_app(reads, writes, _boto3()), caller)
    operations = {
        "a cash payment": lambda: agent.call("POST", SUBMIT, payment()),
        "a cash payment with taxes on its six lines": lambda: agent.call("POST", SUBMIT, taxed()),
        "a bare route with its two calls as plain signed HTTP": lambda: plain.call("POST", SUBMIT, payment()),
        "a bare route with its two calls through boto3": lambda: through_boto3.call("POST", SUBMIT, payment()),
    }
    medians = _medians_ms(*operations.values())
    rows = [(name, f"{median:.2f}") for name, median in zip(operations, medians, strict=True)]
    return Table("payment", ("", "processor ms"), rows)


def _recorded_calls(operation: Callable[[], Any]) -> list[dict[str, Any]]:
    """Return the parameters of the calls that `operation` makes."""
    recorded: list[dict[str, Any]] = []

    def call(client: Client, name: str, **parameters: Any) -> dict[str, Any]:
        recorded.append(parameters)
        return client.call(name, **parameters)

    with outside.given(client=through(call)):
        operation()
    return recorded


def _repeatable(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item of a transaction that can be written again: without the condition on the receipt's number."""
    update = dict(item.get("Update", {}))
    if "name" not in update.get("Key", {}):
        return item
    del update["ConditionExpression"]
    values = update["ExpressionAttributeValues"]
    update["ExpressionAttributeValues"] = {name: values[name] for name in (":last", f":{VERSION}")}
    return {"Update": update}


def _bare_app(reads: dict[str, Any], writes: dict[str, Any], send: Send) -> Chalice:
    app = Chalice(app_name="bare")
    repeatable = [_repeatable(item) for item in writes["TransactItems"]]

    def view() -> Response:
        send("BatchGetItem", reads)
        items = json.loads(json.dumps(repeatable))
        transaction_id = str(uuid.uuid4())
        items[0]["Put"]["Item"]["id"]["S"] = transaction_id
        send("TransactWriteItems", {"TransactItems": items, "ClientRequestToken": str(uuid.uuid4())})
        return Response(json.dumps({"id": transaction_id}))

    app.route(SUBMIT, methods=["POST"], name="bare")(view)
    return app


def _plain_http() -> Send:
    endpoint = endpoint_of(DYNAMODB)
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port)

    def send(operation: str, parameters: dict[str, Any]) -> object:
        body = json.dumps(parameters).encode()
        headers = {
            "host": endpoint.authority,
            "content-type": DYNAMODB.content_type,
            "x-amz-target": f"{DYNAMODB.target}.{operation}",
        }
        now = datetime.now(UTC)
        headers = signed(headers, body, credentials(), (region(), DYNAMODB.name), now)
        connection.request("POST", "/", body, headers)
        return json.loads(connection.getresponse().read())

    return send


def _boto3() -> Send:
    client = boto3.client("dynamodb")
    # The cloud has no moto that inspects each request.
    client.meta.events.unregister("before-send", botocore_stubber)  # type: ignore[arg-type]
    methods: dict[str, Callable[..., object]] = {
        "BatchGetItem": client.batch_get_item,
        "TransactWriteItems": client.transact_write_items,
    }
    return lambda operation, parameters: methods[operation](**parameters)


def _medians_ms(*operations: Callable[[], Any]) -> list[float]:
    """Return the median processor time of each operation. They take turns, so a busy machine slows all of them."""
    times: list[list[float]] = [[] for _ in operations]
    for _ in range(WARM_UP_ROUNDS + ROUNDS):
        for operation, spent in zip(operations, times, strict=True):
            spent.append(timed_ms(operation))
    return [statistics.median(spent[WARM_UP_ROUNDS:]) for spent in times]
