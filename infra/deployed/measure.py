"""The costs of the functions of the zip: from their start to their first answer, and when they are warm.

The measure is a function that imports chalice and boto3 and makes one DynamoDB client: the same interpreter, packages
and runtime client, started in turn with the functions, so that a busy machine slows all of them. Processor time is of
the whole process, from its start to the answer; less that of a function which imports nothing, it is what a function
adds to the runtime.
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

from infra.api_gateway.gateway import Match, Request, authorizer_event, proxy_event
from infra.bench.table import Table
from infra.demo import data as demo_data
from infra.deployed.functions import Cost, Function, Outcome
from infra.deployed.stage import Stage

ROUNDS = 15
WARM_REQUESTS, WARM_UP_REQUESTS = 200, 20
ROUTE = Match("/api/v1/payment/submit", {})
MEASURES = {
    "nothing": "def handler(event, context): return None\n",
    "chalice, boto3, a client": (
        "import boto3\nimport chalice\n\nclient = boto3.client('dynamodb')\n\n"
        "def handler(event, context): return chalice.__version__\n"
    ),
}
NOTHING, MEASURE = MEASURES
AUTHORIZER, API = "Authorizer", "APIHandler"
COLUMNS = ("instances", "init", "first answer", "answers", "warm p50", "peak MB")


def print_costs(stages: Mapping[str, Stage], folder: Path, rounds: int = ROUNDS) -> Table:
    """Print the medians of so many cold starts of each function of each stage, the multiples, and warm requests.

    Return the table of the first stage, as documents show it.
    """
    costs: dict[str, list[Cost]] = defaultdict(list)
    measures = _measures(next(iter(stages.values())), folder)
    for _ in range(rounds):
        for function in measures.values():
            costs[function.name].append(_cold(function, {})[1])
            function.kill()
        for name, stage in stages.items():
            _pay_first(costs, name, stage)
    _print_cold(costs)
    _print_multiples(costs, stages)
    _print_warm(stages)
    return _table(costs, *next(iter(stages.items())))


def _table(costs: Mapping[str, list[Cost]], name: str, stage: Stage) -> Table:
    rows = []
    for title, key in (("authorizer", AUTHORIZER), ("API", API), ("both: the first payment", "first payment")):
        cold = costs[f"{name}{key}"]
        multiples = [own.cpu_ms / measure.cpu_ms for own, measure in zip(cold, costs[MEASURE], strict=True)]
        wall, cpu = (statistics.median(getattr(cost, kind) for cost in cold) for kind in ("wall_ms", "cpu_ms"))
        warm = ["", ""]
        if function := stage.functions.get(key):
            warm_cpu = statistics.median(outcome.cost.cpu_ms for outcome in function.outcomes)
            warm = [f"{warm_cpu:.2f}", f"{max(instance.peak_mb for instance in function.started):.0f}"]
        rows.append((title, f"{wall:.0f}", f"{cpu:.0f}", f"{statistics.median(multiples):.2f}", *warm))
    columns = (
        "cold, wall ms",
        "cold, processor ms",
        "as a multiple of chalice, boto3 and a client",
        "warm, processor ms",
        "peak MB",
    )
    return Table("cold-start", ("function", *columns), rows)


def _measures(stage: Stage, folder: Path) -> dict[str, Function]:
    process = stage.processes[API]
    found = {}
    for number, (name, code) in enumerate(MEASURES.items()):
        (folder / f"measure{number}.py").write_text(code, encoding="utf-8")
        environment = {**process.environment, "PYTHONPATH": f"{process.environment['PYTHONPATH']}:{folder}"}
        own = replace(process, command=[*process.command[:-1], f"measure{number}.handler"], environment=environment)
        found[name] = Function(name, {"Timeout": 29}, own)
    return found


def _pay_first(costs: dict[str, list[Cost]], name: str, stage: Stage) -> None:
    """Make the first payment of a quiet stage: both functions are started for it, one after the other."""
    authorizer, api = stage.functions[AUTHORIZER], stage.functions[API]
    policy, authorized = _cold(authorizer, authorizer_event(_payment(), ROUTE))
    _, paid = _cold(api, proxy_event(_payment(), ROUTE, json.loads(policy.payload)["context"]))
    for function, whole in ((authorizer, authorized), (api, paid)):
        init = function.started[-1].init or whole
        costs[f"{name}{function.name}"].append(whole)
        costs[f"{name}{function.name}, init"].append(init)
        costs[f"{name}{function.name}, first answer"].append(function.outcomes[-1].cost)
        function.kill()
    costs[f"{name}first payment"].append(authorized + paid)


def _cold(function: Function, event: Any) -> tuple[Outcome, Cost]:
    """Start an instance of the function for this event; return the answer, and what it took until then."""
    outcome = function.invoke(event)
    instance = function.started[-1]
    if outcome.error or instance.init is None:
        message = f"{function.name} answered {outcome.error}: {outcome.payload.decode()}"
        raise SystemExit(message)
    return outcome, instance.init + outcome.cost


def _print_cold(costs: dict[str, list[Cost]]) -> None:
    print(f"{'cold, ms, medians':40}{'wall':>8}{'CPU':>8}{'CPU min':>9}{'CPU max':>9}")
    for name, found in costs.items():
        cpu = [cost.cpu_ms for cost in found]
        wall = statistics.median(cost.wall_ms for cost in found)
        print(f"{name:40}{wall:>8.0f}{statistics.median(cpu):>8.0f}{min(cpu):>9.0f}{max(cpu):>9.0f}")


def _print_multiples(costs: dict[str, list[Cost]], stages: Mapping[str, Stage]) -> None:
    """Print, for each function, the median over the rounds of its processor time as a multiple of the measure's."""
    print(f"\n{'cold CPU as a multiple of the measure':40}{'whole':>8}{'less the runtime':>18}")
    for name in (f"{stage}{function}" for stage in stages for function in (AUTHORIZER, API)):
        rounds = list(zip(costs[name], costs[MEASURE], costs[NOTHING], strict=True))
        whole = statistics.median(own.cpu_ms / measure.cpu_ms for own, measure, _ in rounds)
        added = statistics.median(
            (own.cpu_ms - least.cpu_ms) / (measure.cpu_ms - least.cpu_ms) for own, measure, least in rounds
        )
        print(f"{name:40}{whole:>8.2f}{added:>18.2f}")


def _print_warm(stages: Mapping[str, Stage]) -> None:
    """Print what a warm instance of each function takes for a request; the stages take turns."""
    context = {name: _warm_context(stage) for name, stage in stages.items()}
    for stage in stages.values():
        for function in (stage.functions[AUTHORIZER], stage.functions[API]):
            function.outcomes.clear()
    for _ in range(WARM_REQUESTS):
        for name, stage in stages.items():
            stage.functions[AUTHORIZER].invoke(authorizer_event(_payment(), ROUTE))
            stage.functions[API].invoke(proxy_event(_payment(), ROUTE, context[name]))
    print(f"\n{'warm, ms, medians':40}{'wall':>8}{'CPU':>8}{'peak MB':>9}")
    for name, stage in stages.items():
        for function in (stage.functions[AUTHORIZER], stage.functions[API]):
            wall = statistics.median(outcome.cost.wall_ms for outcome in function.outcomes)
            cpu = statistics.median(outcome.cost.cpu_ms for outcome in function.outcomes)
            peak = max(instance.peak_mb for instance in function.started)
            print(f"{name + function.name:40}{wall:>8.1f}{cpu:>8.2f}{peak:>9.0f}")


def _warm_context(stage: Stage) -> dict[str, str]:
    """Start both functions and let them answer some requests; return the context of the authorizer."""
    for _ in range(WARM_UP_REQUESTS):
        policy = stage.functions[AUTHORIZER].invoke(authorizer_event(_payment(), ROUTE))
        context: dict[str, str] = json.loads(policy.payload)["context"]
        stage.functions[API].invoke(proxy_event(_payment(), ROUTE, context))
    return context


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
    print(f"\n{'ms (of processor time)':16}" + "".join(f"{column:>18}" for column in COLUMNS))
    for function in stage.functions.values():
        print(f"{function.name:16}" + "".join(f"{text:>18}" for text in _columns(function)))


def _columns(function: Function) -> tuple[str, ...]:
    instances = [instance for instance in function.started if instance.init]
    firsts = [instance.first for instance in instances if instance.first]
    warm = [outcome.cost for outcome in function.outcomes if outcome.cost not in firsts]
    return (
        str(len(function.started)),
        _medians(instance.init for instance in instances if instance.init),
        _medians(firsts),
        str(len(function.outcomes)),
        _medians(warm),
        f"{max((instance.peak_mb for instance in instances), default=0):.0f} of {function.memory_mb}",
    )


def _medians(costs: Iterable[Cost]) -> str:
    found = list(costs)
    if not found:
        return "-"
    wall = statistics.median(cost.wall_ms for cost in found)
    return f"{wall:.1f} ({statistics.median(cost.cpu_ms for cost in found):.1f})"
