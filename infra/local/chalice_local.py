"""`chalice local` next to a running local stage: the HTTP server of `make run`, connected to the AWS of that stage.

Chalice overwrites the environment with `.chalice/config.json`, so that file has the usual address under another name.
"""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from typing import NoReturn
from urllib.parse import urlsplit

from chalice import local
from chalice.app import Chalice
from chalice.config import Config

from infra.api_gateway import local_gateway
from infra.api_gateway.http_server import Server
from infra.local import stage_clock

USUAL_ADDRESS = "LOCAL_AWS"  # only the stage `local` of Chalice has this variable
VARIABLE = "AWS_ENDPOINT_URL"


def replace_the_server() -> None:
    """Let `chalice local` start the server of `make run`: Chalice's own refusals are not in the envelope."""
    local.create_local_server = _server  # type: ignore[assignment]


def _server(app: Chalice, config: Config, host: str, port: int) -> Server:
    """Return the server of `chalice local`. End the process with one line if it cannot serve."""
    del config
    if USUAL_ADDRESS not in os.environ:
        _end("Only the stage `local` runs here. Start `make run`, then `chalice local --stage local --port 8100`.")
    connect()
    try:
        server = Server(local_gateway.gateway(app), port, host, during=_at_the_time_of_the_stage)
    except OSError as problem:
        _end(f"Nothing can listen on port {port} of {host} ({problem.strerror}): `--port` takes another.")
    print(f"Serving on {server.url}", flush=True)
    return server


@contextlib.contextmanager
def _at_the_time_of_the_stage() -> Iterator[None]:
    """Run a request at the time of the stage, which may have put its clock forward since the last one."""
    stage_clock.follow(os.environ[VARIABLE])
    yield


def connect() -> None:
    """Set the address of the local stage's AWS for every client, unless the environment has one.

    End the process with one line if nothing listens there.
    """
    url = os.environ.setdefault(VARIABLE, os.environ[USUAL_ADDRESS])
    try:
        address = urlsplit(url)
        socket.create_connection((address.hostname or "", address.port or 80), timeout=5).close()
    except (OSError, ValueError):
        _end(f"No local stage is at {url}: start one with `make run`, or name another in {VARIABLE}.")


def _end(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    os._exit(1)  # Chalice makes the server in a thread, and SystemExit would end only that thread
