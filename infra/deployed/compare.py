"""Answers of two stages to the same requests, compared: they may differ in IDs, times and random references alone.

A value that may differ must do so consistently: wherever one stage has the one, the other has the other.
"""

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from chalicelib.settings import LOCAL
from infra import ports
from infra.deployed.traffic import Sending, Traffic
from infra.reference.examples import VOLATILE

TIMES = {"Date", "Deadline", "Created", "Updated", "LastLogon"}
MADE_BESIDE = {"Deliveries"}  # attempts go on beside the requests: a list shows those that were made by then
COMPARED_HEADERS = ("content-type", "allow", "www-authenticate")
GUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
DIGITS = re.compile(r"\d")
COMPARED_SETTINGS = {"AUTH_ACCOUNT_SECONDS": "0"}  # otherwise it would be the clock that decides
UNAVAILABLE = 503
ATTEMPTS = 4
SHOWN = 40


@dataclass
class Side:
    """A stage, its connection, and what was captured from its answers."""

    url: str
    captured: dict[str, Any] = field(default_factory=dict)
    connection: http.client.HTTPConnection | None = None

    def send(self, sending: Sending) -> "Answer":
        """Send a request and return the answer; one that was refused for an outage is sent again, as a till does."""
        method, path, headers, body = sending.filled(self.captured)
        for attempt in range(ATTEMPTS):
            answer = self._sent(method, path, headers, body)
            if answer.status != UNAVAILABLE or attempt == ATTEMPTS - 1:
                break
        if sending.capture and answer.status == http.HTTPStatus.OK:
            self.captured |= sending.capture.captured(answer.body)
        return answer

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self.connection:
            self.connection.close()
        self.connection = None

    def _sent(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> "Answer":
        if self.connection is None:
            self.connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        encoded = {name: value.encode("utf-8") for name, value in headers.items()}
        self.connection.request(method, path, body, encoded)
        response = self.connection.getresponse()
        content = response.read()
        found = {name.lower().removeprefix("x-amzn-remapped-"): value for name, value in response.getheaders()}
        if found.get("connection") == "close":
            self.close()
        return Answer(response.status, {name: found.get(name, "") for name in COMPARED_HEADERS}, _parsed(content))


@dataclass(frozen=True)
class Answer:
    """Status, compared headers and body of an answer; a body that is no JSON is text."""

    status: int
    headers: dict[str, str]
    body: Any


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


class Comparison:
    """The answers of two stages so far: which value of one stands for which of the other."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.differences: list[str] = []
        self._pairs: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})

    def add(self, sending: Sending, one: Answer, other: Answer) -> None:
        """Compare two answers to one request."""
        self.requests[sending.name.split(" ")[0]] += 1
        self.statuses[one.status] += 1
        found = [
            *self._differing((one.status, one.headers), (other.status, other.headers), "answer", ""),
            *self._differing(one.body, other.body, "body", ""),
        ]
        if found:
            self.differences.append(f"{sending.method} {sending.path} ({sending.name}): {'; '.join(found[:5])}")

    def _differing(self, one: Any, other: Any, path: str, name: str) -> Iterator[str]:
        if name in MADE_BESIDE:
            return
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
            for key, value in one.items():
                yield from self._differing(value, other[key], f"{path}.{key}", key)
        elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
            for number, (left, right) in enumerate(zip(one, other, strict=True)):
                yield from self._differing(left, right, f"{path}.{number}", name)
        elif not self._same(one, other, name):
            yield f"{path}: {str(one)[:200]!r} and {str(other)[:200]!r}"

    def _same(self, one: Any, other: Any, name: str) -> bool:
        if one == other and type(one) is type(other):
            return True
        if type(one) is not type(other) or isinstance(one, bool | None):
            return False
        if name in TIMES:
            return DIGITS.sub("0", str(one)) == DIGITS.sub("0", str(other))
        if name in VOLATILE:
            return self._stands_for(one, other)
        if isinstance(one, str):  # a text may quote an ID
            left, right = GUID.finditer(one), GUID.finditer(other)
            paired = all(self._stands_for(a[0], b[0]) for a, b in zip(left, right, strict=False))
            return paired and GUID.sub("-", one) == GUID.sub("-", other)
        return False

    def _stands_for(self, one: Any, other: Any) -> bool:
        ours, theirs = self._pairs
        return bool(ours.setdefault(one, other) == other and theirs.setdefault(other, one) == one)


def compare(comparison: Comparison, urls: tuple[str, str], requests: int, seed: int = 1) -> None:
    """Send so many requests to two stages, each to both at once, and note what they answer differently."""
    traffic = Traffic(seed)
    one, other = (Side(url) for url in urls)
    with contextlib.closing(one), contextlib.closing(other), ThreadPoolExecutor(max_workers=1) as beside:
        for _ in range(requests):
            sending = traffic.next()
            waiting = beside.submit(other.send, sending)
            comparison.add(sending, one.send(sending), waiting.result())


def settings_as_local() -> dict[str, str]:
    """Return the settings with which a deployed stage answers as the local one, while the demo partner is served.

    That partner is reached without TLS, which only the local stage may.
    """
    return {"STAGE": LOCAL, "PARTNERS": os.environ["PARTNERS"]}


@contextlib.contextmanager
def make_run(engine: str) -> Iterator[str]:
    """Run the local stage as `make run` does, in a process with an AWS of its own, and yield its URL."""
    port, aws_port = ports.free_port(), ports.free_port()
    own = {**COMPARED_SETTINGS, "PORT": str(port), "AWS_PORT": str(aws_port), "ENGINE": engine}
    command = [sys.executable, "-m", "infra.local"]
    with subprocess.Popen(  # noqa: S603  every word of the command is ours
        command, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as child:
        try:
            lines = iter(child.stdout or ())
            if not any("A first payment" in line for line in lines):
                message = "The stage of `make run` did not start."
                raise RuntimeError(message)
            reader = threading.Thread(target=deque, args=(lines, 0), daemon=True)  # a full pipe would stop it
            reader.start()
            try:
                yield f"http://{ports.HOST}:{port}"
            finally:
                child.terminate()
                reader.join()  # before its pipe is closed
        finally:
            child.terminate()


def print_comparison(comparison: Comparison) -> None:
    """Print what was sent, and the first differences."""
    print(f"{comparison.requests.total()} requests: {dict(comparison.requests.most_common())}")
    print(f"answers: {dict(sorted(comparison.statuses.items()))}")
    for line in comparison.differences[:SHOWN]:
        print(line)
    print(f"{len(comparison.differences)} answers differ in more than IDs, times and references.", flush=True)
