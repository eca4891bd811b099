"""A deployed stage on this machine: functions of the zip, gateway, schedules, streams, and an AWS over HTTP."""

import contextlib
import json
import os
import re
import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from infra.api_gateway.gateway import Gateway
from infra.deployed import functions
from infra.deployed.functions import Function, Process, process_of
from infra.local import aws_server, engines, ports, streams
from infra.stack import cloudformation
from infra.stack.cloudformation import Resources
from infra.stack.resources import ACCOUNT_ID, REGION
from infra.stack.template import logical_id

# Settings that each deployment chooses. The functions get those of the local stage.
LEFT_OPEN = ("PRINTERS", "MAIL_FROM", "SMS_SENDER")
RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
SECONDS = {"minute": 60, "hour": 3600, "day": 86400}


@dataclass(frozen=True)
class Stage:
    """A running stage: functions and processes by their names in the template, and its resolved resources."""

    functions: Mapping[str, Function]
    processes: Mapping[str, Process]
    resources: Resources

    @cached_property
    def gateway(self) -> Gateway:
        """The gateway in front of the functions."""
        functions = {name: function.answer for name, function in self.functions.items()}
        return Gateway(self.resources["RestAPI"], functions)


@contextlib.contextmanager
def deployed(  # noqa: PLR0913  the parts of a stage
    build: Path,
    folder: Path,
    settings: Mapping[str, str],
    *,
    parameters: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    freezes: bool = False,
) -> Iterator[Stage]:
    """Unpack the package in `build` into `folder`, and yield its stage until the block ends.

    `settings` go into the environment of the functions, such as the address of AWS. `parameters` are the template's.
    Raises RuntimeMissingError.
    """
    shutil.rmtree(folder, ignore_errors=True)
    runtime = functions.runtime(folder / "runtime")
    unpacked = functions.unpacked(build / "deployment.zip", folder / "task")
    sam = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    resources = cloudformation.deployed(sam, **(parameters or {}))
    variables = {"PUBLIC_ADDRESS": "", **cloudformation.variables(sam), **settings}
    found = {name: item["Properties"] for name, item in resources.items() if item["Type"] == functions.TYPE}
    processes = {
        name: process_of(name, properties, variables, folder=unpacked, runtime=runtime, log=log, freezes=freezes)
        for name, properties in found.items()
    }
    running = {name: Function(name, properties, processes[name]) for name, properties in found.items()}
    try:
        yield Stage(running, processes, resources)
    finally:
        for function in running.values():
            function.kill()


def settings_of_this_aws(url: str) -> dict[str, str]:
    """Return the settings of a process that uses this process's AWS at `url`."""
    tables = os.environ.get(engines.ENDPOINT_VARIABLE)
    found = {name: engines.environment()[name] for name in LEFT_OPEN} | {"AWS_ENDPOINT_URL": url}
    return found | ({engines.ENDPOINT_VARIABLE: tables} if tables else {})


@contextlib.contextmanager
def local_aws(engine: str, port: int = 0) -> Iterator[str]:
    """Start an AWS in this process and serve it on HTTP; yield its URL. Raises EngineMissingError and OSError."""
    with engines.moto_engine(), contextlib.ExitStack() as stack:
        if engine == "dynamodb-local":
            engines.warn_if_open_to_the_network()
            engines.select(stack.enter_context(engines.dynamodb_local()))
        yield stack.enter_context(aws_server.serve(port or ports.free_port()))


@contextlib.contextmanager
def scheduled(stage: Stage) -> Iterator[None]:
    """Invoke every function that has a schedule, until the block ends."""
    ended = threading.Event()
    for name, function in stage.functions.items():
        for seconds in intervals(stage.resources[name]["Properties"]):
            threading.Thread(target=_run, args=(function, seconds, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def intervals(properties: dict[str, Any]) -> list[int]:
    """Return the seconds between two runs, for each schedule of a function."""
    expressions = [
        event["Properties"]["Schedule"]
        for event in properties.get("Events", {}).values()
        if event["Type"] == "Schedule"
    ]
    return [int(found[1]) * SECONDS[found[2]] for text in expressions if (found := RATE.fullmatch(text))]


def scheduled_event() -> dict[str, Any]:
    """Return the event that EventBridge sends for a schedule."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT_ID,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [],
        "detail": {},
    }


def _run(function: Function, seconds: int, ended: threading.Event) -> None:
    while not ended.wait(seconds):
        function.invoke(scheduled_event())


@contextlib.contextmanager
def fed(stage: Stage) -> Iterator[None]:
    """Invoke the functions with the records of the streams, until the block ends."""

    def invoke(function: str, event: dict[str, Any]) -> Mapping[str, Any] | None:
        outcome = stage.functions[logical_id(function)].invoke(event)
        if outcome.error:  # a function that fails gets all records again
            return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["dynamodb"]["SequenceNumber"]}]}
        answer: Mapping[str, Any] | None = json.loads(outcome.payload)
        return answer

    with streams.fed(invoke):
        yield
