"""The examples of the reference: requests in order, with recorded answers that tests compare."""

import base64
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import simplejson

from infra.reference import read_json

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Example:
    """One request, and the status and code of its answer."""

    name: str
    endpoint: str
    summary: str
    login: str | None
    status: int
    code: int
    body: Any = None
    path: Mapping[str, str] | None = None
    query: Mapping[str, str] | None = None
    capture: Mapping[str, str] | None = None

    @property
    def shown(self) -> Any:
        """Return the body as the reference prints it."""
        return fill_placeholders(self.body, documented_values())

    @property
    def answer(self) -> Any:
        """Return the recorded answer."""
        return read_json("answers.json").get(self.name)

    def request_line(self, values: Mapping[str, Any] | None = None) -> tuple[str, str]:
        """Return the method, and the path with the query. Without values the placeholders stay."""
        method, path = self.endpoint.split(" ", 1)
        parameters = dict(self.path or {})
        for name, value in (parameters if values is None else fill_placeholders(parameters, values)).items():
            path = path.replace(f"{{{name}}}", str(value))
        return method, path + (f"?{urllib.parse.urlencode(self.query)}" if self.query else "")

    def captured(self, answer: Any) -> dict[str, Any]:
        """Return the values of the answer that later examples need."""
        return {name: _value_at(answer, where) for name, where in (self.capture or {}).items()}


def examples() -> list[Example]:
    """Return all examples, in order."""
    return [Example(**one) for one in read_json("examples.json")["examples"]]


def examples_of(endpoint: str) -> list[Example]:
    """Return the examples of one endpoint, such as "POST /api/v1/payment/submit"."""
    return [one for one in examples() if one.endpoint == endpoint]


def documented_values() -> dict[str, Any]:
    """Return the values of the placeholders that the reference prints."""
    values = {name: one["shown"] for name, one in read_json("examples.json")["variables"].items()}
    for example in examples():
        values |= example.captured(example.answer) if example.answer else dict.fromkeys(example.capture or {}, 0)
    return values


def fresh_values() -> dict[str, Any]:
    """Return new values of the placeholders, so that the examples can be sent again."""
    token = uuid.uuid4().hex[:12]
    kinds = {"text": f"order-{token}", "email": f"agent-{token}@example.com"}
    return {
        name: str(uuid.uuid4()).upper() if one["fresh"] == "guid" else kinds[one["fresh"]]
        for name, one in read_json("examples.json")["variables"].items()
    }


def fill_placeholders(value: Any, values: Mapping[str, Any]) -> Any:
    """Replace every `{{name}}`. A text that is one placeholder becomes the value itself, with its type."""
    if isinstance(value, dict):
        return {name: fill_placeholders(item, values) for name, item in value.items()}
    if isinstance(value, list):
        return [fill_placeholders(item, values) for item in value]
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        return values[whole[1]] if whole else PLACEHOLDER.sub(lambda found: str(values[found[1]]), value)
    return value


def _value_at(answer: Any, path: str) -> Any:
    for part in path.split("."):
        answer = answer[int(part)] if part.isdigit() else answer[part]
    return answer


def send_example(url: str, example: Example, values: Mapping[str, Any]) -> tuple[int, Any]:
    """Send the example to the stage at `url`; return status and body of the answer."""
    method, path = example.request_line(values)
    headers = {"Content-Type": "application/json"}
    if example.login:
        headers["Authorization"] = authorization_header(example.login, values)
    body = (
        None
        if example.body is None
        else simplejson.dumps(fill_placeholders(example.body, values), use_decimal=True).encode()
    )
    request = urllib.request.Request(url + path, body, headers, method=method)  # noqa: S310  the stage's own address
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            return response.status, json.load(response, parse_float=Decimal)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal, parse_float=Decimal)


def authorization_header(login: str, values: Mapping[str, Any]) -> str:
    """Return the Authorization header of one of the logins of the examples."""
    pair = ":".join(fill_placeholders(read_json("examples.json")["logins"][login], values))
    return "Basic " + base64.b64encode(pair.encode()).decode()


def run_examples(url: str, values: dict[str, Any]) -> dict[str, tuple[int, Any]]:
    """Send all examples to a stage with its demo data; return status and body of each answer."""
    answers: dict[str, tuple[int, Any]] = {}
    for example in examples():
        status, answer = send_example(url, example, values)
        answers[example.name] = (status, answer)
        if (status, answer["ErrorCode"]) != (example.status, example.code):
            message = f"{example.name}: {status} {answer}"
            raise AssertionError(message)
        values |= example.captured(answer)
    return answers


def keep_recorded_values(value: Any, recorded: Any = None, name: str = "") -> Any:
    """Return an answer to be recorded. Fields that differ from run to run keep their earlier value."""
    if isinstance(value, dict):
        old = recorded if isinstance(recorded, dict) else {}
        return {key: keep_recorded_values(item, old.get(key), key) for key, item in value.items()}
    if isinstance(value, list):
        olds = recorded if isinstance(recorded, list) and len(recorded) == len(value) else [None] * len(value)
        return [keep_recorded_values(item, old, name) for item, old in zip(value, olds, strict=True)]
    return recorded if name in read_json("examples.json")["volatile"] and type(recorded) is type(value) else value


def mask_volatile(value: Any, name: str = "") -> Any:
    """Return an answer to be compared. Types replace the values that differ from run to run."""
    if isinstance(value, dict):
        return {key: mask_volatile(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [mask_volatile(item, name) for item in value]
    return type(value).__name__ if name in read_json("examples.json")["volatile"] else value
