"""The collection for Postman (format 2.1): the examples as requests, in order.

A folder holds consecutive requests of one tag. A tag that occurs again gets a second folder: its requests need objects
of the folders between, and a runner goes from top to bottom.
"""

from itertools import groupby
from typing import Any

import simplejson

from infra.local.stage import URL
from infra.reference import read_json
from infra.reference.examples import Example, examples

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
# Before each request: generate a missing value, once. To start again, delete the values of the variables.
PREREQUEST_SCRIPT = [
    "const generated = {generated};",
    "for (const [name, text] of Object.entries(generated)) {{",
    "  if (!pm.collectionVariables.get(name)) pm.collectionVariables.set(name, pm.variables.replaceIn(text));",
    "}}",
]
# The URL of the example's webhook is a variable: users put their own receiver there.
RECEIVER, RECEIVER_URL = "receiver", "https://shop.example/events"
GENERATED_VALUES = {"guid": "{{$guid}}", "text": "order-{{$timestamp}}", "email": "agent-{{$guid}}@example.com"}


def postman_collection(document: dict[str, Any]) -> dict[str, Any]:
    """Return the collection; its variables are `base_url`, `receiver` and the values of the placeholders."""
    variables = read_json("examples.json")["variables"]
    captured = [name for example in examples() for name in example.capture or ()]
    generated = simplejson.dumps({name: GENERATED_VALUES[one["fresh"]] for name, one in variables.items()})
    script = [line.format(generated=generated) for line in PREREQUEST_SCRIPT]
    folders: list[dict[str, Any]] = []
    for tag, of_tag in groupby(examples(), lambda example: _tag(document, example)):
        again = any(folder["name"] == tag.capitalize() for folder in folders)
        folders.append({"name": tag.capitalize() + ", continued" * again, "item": [_item(one) for one in of_tag]})
    return {
        "info": {
            "name": document["info"]["title"],
            "description": "The examples of the reference, to be sent in order. They use the demo logins.",
            "schema": SCHEMA,
        },
        "variable": [
            {"key": "base_url", "value": URL},
            {"key": RECEIVER, "value": RECEIVER_URL},
            *({"key": name, "value": ""} for name in (*variables, *dict.fromkeys(captured))),
        ],
        "event": [
            {
                "listen": "prerequest",
                "script": {"exec": script},
            }
        ],
        "item": folders,
    }


def _tag(document: dict[str, Any], example: Example) -> str:
    method, path = example.endpoint.split(" ", 1)
    tag: str = document["paths"][path][method.lower()]["tags"][0]
    return tag


def _item(example: Example) -> dict[str, Any]:
    method, path = example.request_line()
    request: dict[str, Any] = {
        "method": method,
        "url": "{{base_url}}" + path,
        "header": [],
        "auth": _auth(example.login),
    }
    if example.body is not None:
        request["header"] = [{"key": "Content-Type", "value": "application/json"}]
        request["body"] = {"mode": "raw", "raw": _body_text(example.body), "options": {"raw": {"language": "json"}}}
    return {
        "name": example.summary,
        "request": request,
        "event": [{"listen": "test", "script": {"exec": _test_script(example)}}],
    }


def _auth(login: str | None) -> dict[str, Any]:
    if login is None:
        return {"type": "noauth"}
    name, secret = read_json("examples.json")["logins"][login]
    return {"type": "basic", "basic": [{"key": "username", "value": name}, {"key": "password", "value": secret}]}


def _body_text(body: Any) -> str:
    """Return the body with its variables; captured values are numbers, so their variables have no quotes."""
    raw: str = simplejson.dumps(body, use_decimal=True, ensure_ascii=False, indent=2)
    for name in {name for example in examples() for name in example.capture or ()}:
        raw = raw.replace(f'"{{{{{name}}}}}"', f"{{{{{name}}}}}")
    return raw.replace(RECEIVER_URL, f"{{{{{RECEIVER}}}}}")


def _test_script(example: Example) -> list[str]:
    lines = [
        "const answer = pm.response.json();",
        f'pm.test("{example.summary}", () => {{',
        f"  pm.response.to.have.status({example.status});",
        f"  pm.expect(answer.ErrorCode).to.eql({example.code});",
        "});",
    ]
    for name, path in (example.capture or {}).items():
        steps = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split("."))
        lines.append(f'pm.collectionVariables.set("{name}", answer{steps});')
    return lines
