"""`chalice local`: the local stage behind Chalice's command, which starts the API again after each change of a file.

The Makefile writes `.venv/bin/chalice`, which calls `main`. Chalice's own server would have no AWS, and its refusals
would not be in the envelope. Next to a running `make run` the API uses the AWS of that stage. Otherwise this process
starts one. Chalice then serves the API in a child process, so the data outlives each start.
"""

import contextlib
import functools
import os
import socket
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from chalice import cli, local
from chalice.app import Chalice
from chalice.config import Config

from infra.api_gateway import in_process
from infra.api_gateway.http_server import During, Server
from infra.local import stage_clock
from infra.local.ports import HOST

STAGE = "local"
VARIABLE = "AWS_ENDPOINT_URL"


def main() -> None:
    """Run a command of Chalice. The stage of `chalice local` is `local` unless another is named."""
    command: Any = cli.local
    command.callback = functools.partial(_local, command.callback)
    next(option for option in command.params if option.name == "stage").default = STAGE
    cli.main()


def _local(command: Callable[..., None], **options: Any) -> None:
    """Run `chalice local`. Exit with one line if it cannot serve."""
    if options["stage"] != STAGE:
        sys.exit(
            "Only the stage `local` runs here: `chalice local` without `--stage`. `make deployed` runs the package."
        )
    host, port = options["host"], options["port"]
    try:
        socket.create_server((host, port)).close()
    except OSError:
        sys.exit(f"Nothing can listen on port {port} of {host}: `--port` takes another.")
    with contextlib.ExitStack() as stack:
        during = _of_the_running_stage() or _own_stage(stack, f"http://{host}:{port}")
        local.create_local_server = functools.partial(_server, during)  # type: ignore[assignment]
        command(**options)


def _server(during: During, app: Chalice, _: Config, host: str, port: int) -> Server:
    """Return the server of `make run` for Chalice."""
    server = Server(in_process.gateway(app), port, host, during=during)
    print(f"Serving on {server.url}", flush=True)
    return server


def _of_the_running_stage() -> During | None:
    """Send all calls of AWS to the stage that runs, and return the context of a request; None if no stage runs.

    Exit with one line if the environment names a stage that does not run.
    """
    named = os.environ.get(VARIABLE)
    url = named or f"http://{HOST}:{os.environ.get('AWS_PORT') or 8001}"
    try:
        address = urlsplit(url)
        socket.create_connection((address.hostname or "", address.port or 80), timeout=5).close()
    except (OSError, ValueError):
        if named:
            sys.exit(f"No local stage is at {url}: start one with `make run`, or name another in {VARIABLE}.")
        return None
    os.environ[VARIABLE] = url
    return functools.partial(stage_clock.followed, url)  # it may have put its clock forward since the last request


def _own_stage(stack: contextlib.ExitStack, url: str) -> During:
    """Start a stage in this process, and return the context of a request."""
    from infra.local import stage  # noqa: PLC0415  the child that serves next to a stage loads no moto

    started = stage.start(stack)
    stage.run(stack, started, url, with_month=stage.demo_setting())
    return started.advances.clock.request
