"""A deployed stage on this machine: the functions of a template and a zip, and an AWS they reach over HTTP."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from infra import aws_server, engines, ports
from infra.deployed import functions, task, template
from infra.deployed.functions import Function, process_of
from infra.deployed.instance import Process
from infra.deployed.template import Resources

# What the settings of a stage leave to whoever deploys it; the local stage has a value of each.
LEFT_OPEN = ("PRINTERS", "MAIL_FROM", "SMS_SENDER")


@dataclass(frozen=True)
class Stage:
    """The functions by their names in the template, and the resources of the template without references."""

    functions: Mapping[str, Function]
    processes: Mapping[str, Process]
    resources: Resources


@contextlib.contextmanager
def deployed(  # noqa: PLR0913  what a stage is made of
    build: Path,
    folder: Path,
    settings: Mapping[str, str],
    *,
    parameters: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    freezes: bool = False,
) -> Iterator[Stage]:
    """Unpack the package in `build` into `folder`, and yield its stage; its instances end with the block.

    `settings` are added to the environment of the functions: where AWS is. `parameters` are those of the template.
    Raises RuntimeMissingError.
    """
    shutil.rmtree(folder, ignore_errors=True)
    runtime = task.runtime(folder / "runtime")
    unpacked = task.unpacked(build / "deployment.zip", folder / "task")
    sam = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    resources = template.deployed(sam, **(parameters or {}))
    variables = {**template.variables(sam), **settings}
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
            function.close()


def settings_of_this_aws(url: str) -> dict[str, str]:
    """Return the settings with which a process reaches the AWS of this one, served at `url`."""
    tables = os.environ.get(engines.ENDPOINT_VARIABLE)
    found = {name: engines.environment()[name] for name in LEFT_OPEN} | {"AWS_ENDPOINT_URL": url}
    return found | ({engines.ENDPOINT_VARIABLE: tables} if tables else {})


@contextlib.contextmanager
def local_aws(engine: str, port: int = 0) -> Iterator[str]:
    """Start an AWS in this process and serve it on HTTP; yield its URL. Raises EngineMissingError and OSError."""
    with engines.moto_engine(), contextlib.ExitStack() as stack:
        if engine == "dynamodb-local":
            engines.select(stack.enter_context(engines.dynamodb_local()))
        yield stack.enter_context(aws_server.serve(port or ports.free_port()))
