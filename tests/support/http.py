"""The API as a till drives it: HTTP, JSON, exact numbers."""

import base64
import contextlib
import http.client
import json
import select
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

SYSTEM = ("system@demo.example", "system-demo-password")
OWNER = ("owner@demo.example", "owner-demo-password")
TILL = ("till@demo.example", "till-demo-password")
TILL_BY_KEY = ("till@demo.example", "till-demo-secret-key-0001")
OTHER_OWNER = ("owner@other.example", "owner-other-password")
OTHER_TILL = ("till@other.example", "till-other-password")

_open: dict[str, http.client.HTTPConnection] = {}  # the connection of the main thread, by its stage


@dataclass(frozen=True)
class Reply:
    """The answer of the service."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text, parse_float=Decimal)

    @property
    def error(self) -> tuple[int, int]:
        return self.status, self.body["ErrorCode"]

    @property
    def findings(self) -> list[tuple[str, int]]:
        return [(item["Property"], item["Code"]) for item in self.body["Validations"] or []]


def basic(login: tuple[str, str]) -> str:
    return "Basic " + base64.b64encode(":".join(login).encode()).decode()


def call(  # noqa: PLR0913, PLR0917  what a request is made of
    stage: str,
    method: str,
    path: str,
    body: Any = None,
    login: tuple[str, str] | None = TILL_BY_KEY,
    headers: dict[str, str] | None = None,
) -> Reply:
    """One request. `body` is JSON-encoded unless it is text or bytes already; `login` None sends no credential."""
    sent = {"Content-Type": "application/json"} if body is not None else {}
    if login:
        sent["Authorization"] = basic(login)
    payload = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
    is_main = threading.current_thread() is threading.main_thread()
    with _kept(stage) if is_main else contextlib.closing(_new(stage)) as connection:
        connection.request(method, path, payload, {**sent, **(headers or {})})
        response = connection.getresponse()
        return Reply(response.status, dict(response.headers), response.read().decode())


def _new(stage: str) -> http.client.HTTPConnection:
    url = urlsplit(stage)
    return http.client.HTTPConnection(url.hostname or "", url.port, timeout=30)


@contextlib.contextmanager
def _kept(stage: str) -> Iterator[http.client.HTTPConnection]:
    """Yield the main thread's connection, which stays open after an answer, as a till's does."""
    if stage not in _open:
        close()
        _open[stage] = _new(stage)
    connection = _open[stage]
    if connection.sock and select.select([connection.sock], [], [], 0)[0]:
        connection.close()  # as the stage did: the request opens it again
    try:
        yield connection
    except BaseException:
        close()
        raise


def close() -> None:
    """Close the connection that is open."""
    for connection in _open.values():
        connection.close()
    _open.clear()


def post(stage: str, path: str, body: Any, login: tuple[str, str] | None = TILL_BY_KEY, **headers: str) -> Reply:
    return call(stage, "POST", path, body, login, {name.replace("_", "-"): value for name, value in headers.items()})


def get(stage: str, path: str, login: tuple[str, str] | None = TILL_BY_KEY) -> Reply:
    return call(stage, "GET", path, None, login)
