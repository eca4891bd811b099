"""The cost of the functions of the zip: from their start to their first answer, and when they are warm.

Each round also starts a function that imports chalice and boto3 and makes a DynamoDB client, under the same
interpreter and runtime client. Times are compared with that one, so a machine that is busy slows both.
"""

import base64
import json
import statistics
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chalicelib.domain.request_time import GATEWAY_SECONDS
from infra.api_gateway.gateway import Match, Request, authorizer_event, proxy_event
from infra.bench.table import Table
from infra.demo import data as demo_data
from infra.deployed.functions import Cost, Function, Outcome
from infra.deployed.stage import Stage

ROUNDS = 15
WARM_REQUESTS, WARM_UP_REQUESTS = 200, 20
ROUTE = Match("/api/v1/payment/submit", {})
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
REPORTED = ("instances", "init", "first answer", "answers", "warm p50", "peak MB")


def measure_stages(stages: Mapping[str, Stage], folder: Path, rounds: int = ROUNDS) -> list[Table]:
    """Return a table for each stage: medians of so many cold starts, and of warm requests. The stages take turns."""
    measure = _measure(next(iter(stages.values())), folder)
    measured: list[Cost] = []
    costs: dict[str, dict[str, list[Cost]]] = {name: defaultdict(list) for name in stages}
    for _ in range(rounds):
        measured.append(_cold(measure, {})[1])
        measure.kill()
        for name, stage in stages.items():
            _pay_first(costs[name], stage)
    _send_warm(stages)
    return [_table(name, stage, costs[name], measured) for name, stage in stages.items()]


def _table(name: str, stage: Stage, costs: Mapping[str, list[Cost]], measured: list[Cost]) -> Table:
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
    return Table("cold-start", (f"function{name and f' of {name}'}", *COLUMNS), rows)


def _measure(stage: Stage, folder: Path) -> Function:
    """Return the function that the others are compared with."""
    (folder / "measure.py").write_text(MEASURE, encoding="utf-8")
    process = stage.processes[API]
    environment = {**process.environment, "PYTHONPATH": f"{process.environment['PYTHONPATH']}:{folder}"}
    own = replace(process, command=[*process.command[:-1], "measure.handler"], environment=environment)
    return Function("measure", {"Timeout": GATEWAY_SECONDS}, own)


def _pay_first(costs: dict[str, list[Cost]], stage: Stage) -> None:
    """Make the first payment of a stage without instances: it starts both functions, one after the other."""
    authorizer, api = stage.functions[AUTHORIZER], stage.functions[API]
    policy, authorized = _cold(authorizer, authorizer_event(_payment(), ROUTE))
    _, paid = _cold(api, proxy_event(_payment(), ROUTE, json.loads(policy.payload)["context"]))
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


def _send_warm(stages: Mapping[str, Stage]) -> None:
    """Send requests to warm instances; the functions remember the costs."""
    for number in range(WARM_UP_REQUESTS + WARM_REQUESTS):
        for stage in stages.values():
            authorizer, api = stage.functions[AUTHORIZER], stage.functions[API]
            if number == WARM_UP_REQUESTS:
                authorizer.outcomes.clear()
                api.outcomes.clear()
            policy = authorizer.invoke(authorizer_event(_payment(), ROUTE))
            api.invoke(proxy_event(_payment(), ROUTE, json.loads(policy.payload)["context"]))


def _payment() -> Request:
    """Return a cash payment of the demo till, with its secret key."""
    login = base64.b64encode(f"{demo_data.TILL[0]}:{demo_data.TILL_KEY}".encode()).decode()
    body = {
        "BasicTran": {"ID": str(uuid.uuid4()), "InputType": 10, "CurrencyID": "ZAR", "Amount": "12.30"},
        "AcqTran": {"AcquirerCode": "CASH"},
    }
    headers = (("Content-Type", "application/json"), ("Authorization", f"Basic {login}"))
    return Request("POST", ROUTE.resource, headers, json.dumps(body).encode(), "127.0.0.1")


def print_report(stage: Stage) -> None:
    """Print a line for each function: medians of milliseconds on the clock, and of processor time in brackets."""
    print(f"\n{'ms (of processor time)':16}" + "".join(f"{column:>18}" for column in REPORTED))
    for function in stage.functions.values():
        instances = [instance for instance in function.started if instance.init]
        firsts = [instance.first for instance in instances if instance.first]
        columns = (
            str(len(function.started)),
            _medians(instance.init for instance in instances if instance.init),
            _medians(firsts),
            str(len(function.outcomes)),
            _medians(outcome.cost for outcome in function.outcomes if outcome.cost not in firsts),
            f"{max((instance.peak_mb for instance in instances), default=0):.0f} of {function.memory_mb}",
        )
        print(f"{function.name:16}" + "".join(f"{text:>18}" for text in columns))


def _medians(costs: Iterable[Cost]) -> str:
    found = list(costs)
    if not found:
        return "-"
    wall = statistics.median(cost.wall_ms for cost in found)
    return f"{wall:.1f} ({statistics.median(cost.cpu_ms for cost in found):.1f})"
