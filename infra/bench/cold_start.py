"""The cost of the functions of the zip: from their start to their first answer, and when they are warm.

Each round also starts a function that imports chalice and boto3 and makes a DynamoDB client, under the same
interpreter and runtime client. Times are compared with that one, so a machine that is busy slows both.

`python -m infra.bench.cold_start` packages the stage `dev` and prints the table.
"""

import base64
import contextlib
import json
import os
import statistics
import sys
import uuid
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from chalice.local import LambdaEventConverter, LocalARNBuilder, RouteMatcher

from infra.bench import functions
from infra.bench.functions import Cost, Function, Outcome, RuntimeMissingError, Stage
from infra.bench.table import Table, show
from infra.demo import data as demo_data
from infra.local import aws_server, engines, ports
from infra.local.engines import EngineMissingError
from infra.stack import package

ROUNDS = 15
WARM_REQUESTS, WARM_UP_REQUESTS = 200, 20
SUBMIT = "/api/v1/payment/submit"
MEASURE = """import boto3
import chalice

client = boto3.client("dynamodb")


def handler(event, context):
    return chalice.__version__
"""
AUTHORIZER, API, BOTH = "Authorizer", "APIHandler", "both"
TITLES = {AUTHORIZER: "authorizer", API: "API", BOTH: "both: the first payment"}
MEASURED = "as a multiple of chalice, boto3 and a client"
COLUMNS = ("cold, wall ms", "cold, processor ms", MEASURED, "warm, processor ms", "peak MB")
FOLDER = package.BUILD / "cold-start"


def cold_start_table() -> Table:
    """Package the stage `dev`, and print and return the cost of its functions.

    Raises RuntimeMissingError and EngineMissingError.
    """
    package.package("dev", package.BUILD)
    with contextlib.ExitStack() as stack:
        stack.enter_context(engines.moto_engine())
        engines.select(stack.enter_context(engines.dynamodb_local()))
        demo_data.seed()
        settings = functions.settings_of_this_aws(stack.enter_context(aws_server.serve(ports.free_port())))
        log = stack.enter_context(Path(os.devnull).open("wb"))
        return show(_measured(stack.enter_context(functions.started(package.BUILD, FOLDER, settings, log=log))))


def _measured(stage: Stage) -> Table:
    """Return the table: medians of cold starts, and of warm requests."""
    measure, measured = _measure(stage), list[Cost]()
    costs: dict[str, list[Cost]] = defaultdict(list)
    for _ in range(ROUNDS):
        measured.append(_cold(measure, {})[1])
        measure.kill()
        _pay_first(costs, stage)
    _send_warm(stage)
    rows = []
    for key, title in TITLES.items():
        wall = statistics.median(cost.wall_ms for cost in costs[key])
        cpu = statistics.median(cost.cpu_ms for cost in costs[key])
        multiple = statistics.median(own.cpu_ms / one.cpu_ms for own, one in zip(costs[key], measured, strict=True))
        warm = ["", ""]
        if function := stage.functions.get(key):
            warm_cpu = statistics.median(outcome.cost.cpu_ms for outcome in function.outcomes)
            warm = [f"{warm_cpu:.2f}", f"{max(instance.peak_mb for instance in function.started):.0f}"]
        rows.append((title, f"{wall:.0f}", f"{cpu:.0f}", f"{multiple:.2f}", *warm))
    return Table("cold-start", ("function", *COLUMNS), rows)


def _measure(stage: Stage) -> Function:
    """Return the function that the others are compared with. It has the botocore of the runtime, which we pack."""
    (FOLDER / "measure.py").write_text(MEASURE, encoding="utf-8")
    api = stage.functions[API]
    own = {name: api.environment[name] for name in ("LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT")}
    environment = {**api.environment, "PYTHONPATH": ":".join([*own.values(), str(FOLDER)])}
    return replace(api, name="measure", handler="measure.handler", environment=environment)


def _pay_first(costs: dict[str, list[Cost]], stage: Stage) -> None:
    """Make the first payment of a stage without instances: it starts both functions, one after the other."""
    authorizer, api = stage.functions[AUTHORIZER], stage.functions[API]
    policy, authorized = _cold(authorizer, authorizer_event())
    _, paid = _cold(api, payment_event(policy))
    for key, cost in ((AUTHORIZER, authorized), (API, paid), (BOTH, authorized + paid)):
        costs[key].append(cost)
    for function in (authorizer, api):
        function.kill()


def _cold(function: Function, event: Any) -> tuple[Outcome, Cost]:
    """Start an instance of the function for this event; return its answer, and the cost up to the answer."""
    outcome = function.invoke(event)
    instance = function.started[-1]
    if outcome.error or instance.init is None:
        message = f"{function.name} answered {outcome.error}: {outcome.payload.decode()}"
        raise SystemExit(message)
    return outcome, instance.init + outcome.cost


def _send_warm(stage: Stage) -> None:
    """Send requests to warm instances; the functions remember the costs."""
    authorizer, api = stage.functions[AUTHORIZER], stage.functions[API]
    for number in range(WARM_UP_REQUESTS + WARM_REQUESTS):
        if number == WARM_UP_REQUESTS:
            authorizer.outcomes.clear()
            api.outcomes.clear()
        api.invoke(payment_event(authorizer.invoke(authorizer_event())))


def payment_event(policy: Outcome) -> dict[str, Any]:
    """Return the event of a cash payment that the authorizer let in."""
    body = {
        "BasicTran": {"ID": str(uuid.uuid4()), "InputType": 10, "CurrencyID": "ZAR", "Amount": "12.30"},
        "AcqTran": {"AcquirerCode": "CASH"},
    }
    event = _event(json.dumps(body))
    event["requestContext"]["authorizer"] = json.loads(policy.payload)["context"]
    return event


def authorizer_event() -> dict[str, Any]:
    """Return the event of an authorizer for a payment of the demo till, with its secret key."""
    return {**_event(""), "type": "REQUEST", "methodArn": LocalARNBuilder().build_arn("POST", SUBMIT)}


def _event(body: str) -> dict[str, Any]:
    login = base64.b64encode(f"{demo_data.TILL[0]}:{demo_data.TILL_KEY}".encode()).decode()
    headers = {"content-type": "application/json", "authorization": f"Basic {login}"}
    event = LambdaEventConverter(RouteMatcher([SUBMIT])).create_lambda_event("POST", SUBMIT, headers)
    return {**event, "body": body}


if __name__ == "__main__":
    try:
        cold_start_table()
    except (RuntimeMissingError, EngineMissingError, package.PackageError) as problem:
        sys.exit(str(problem))
