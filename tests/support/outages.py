"""Stores that fail: one accepts and never answers, one does not listen, one throttles, two answer nonsense."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.store.aws_client import Limits, UnansweredError
from infra.local import ports
from tests.simulation.wire import Client, quotas
from tests.support.giving import Give

SECRETS_VARIABLE = "AWS_ENDPOINT_URL_SECRETS_MANAGER"


@contextlib.contextmanager
def hanging() -> Iterator[str]:
    """The URL of a socket that accepts and never answers."""
    with socket.create_server((ports.HOST, 0), backlog=128) as listener:
        accepted: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    accepted.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://{ports.HOST}:{listener.getsockname()[1]}"
        for connection in accepted:
            connection.close()


@contextlib.contextmanager
def closed() -> Iterator[str]:
    """The URL of a port where nobody listens."""
    yield f"http://{ports.HOST}:{ports.free_port()}"


@contextlib.contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """The URL of a server that always answers with this error."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer((ports.HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://{ports.HOST}:{server.server_address[1]}"
        server.shutdown()


def throttling() -> contextlib.AbstractContextManager[str]:
    """The URL of a server that throttles for ever."""
    return answering(400, json.dumps({"__type": "ThrottlingException", "message": "Slow down"}).encode())


def breaking() -> contextlib.AbstractContextManager[str]:
    """The URL of a server whose answer is not in the form of AWS."""
    return answering(503, b"<html>Service Unavailable</html>")


def damaged() -> contextlib.AbstractContextManager[str]:
    """The URL of a server whose every answer is cut short."""
    return answering(200, b'{"Item": {"id"')


OUTAGES = {"hanging": hanging, "closed": closed, "throttling": throttling, "breaking": breaking, "damaged": damaged}


def lose_an_answer(give: Give, operation: str, table: str) -> list[str]:
    """Let the answer to the next such call about a table be lost after it took effect; return the calls it saw."""
    seen: list[str] = []
    make = outside.current.client

    def client(service: str, limits: Limits) -> Client:
        real = make(service, limits)

        def exchange(name: str, parameters: dict[str, Any], _: Limits) -> dict[str, Any]:
            is_meant = name == operation and f"-{table}'" in str(parameters)
            seen.extend([operation] * is_meant)
            answer = real.call(name, **parameters)
            if is_meant and len(seen) == 1:
                message = "the connection was cut"
                raise UnansweredError(message)
            return answer

        return Client(service, limits, exchange, quotas)

    give(client=client)
    return seen


@contextlib.contextmanager
def without(patch: pytest.MonkeyPatch, url: str, *variables: str) -> Iterator[None]:
    """Until it ends, the services that these variables name are at `url`."""
    with patch.context() as until:
        for variable in variables:
            until.setenv(variable, url)
        with outside.given():
            yield
