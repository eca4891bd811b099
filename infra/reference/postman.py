"""The collection for Postman (format 2.1): the examples as requests, in folders by noun, in the order of the story."""

from typing import Any

import simplejson

from infra.reference import read_json
from infra.reference.examples import Example, examples

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
# Before each request: what the story makes up is made up once. "Start over" is deleting the variables' values.
PREREQUEST_SCRIPT = [
    "const made = {made};",
    "for (const [name, text] of Object.entries(made)) {{",
    "  if (!pm.collectionVariables.get(name)) pm.collectionVariables.set(name, pm.variables.replaceIn(text));",
    "}}",
]
GENERATED_VALUES = {"guid": "{{$guid}}", "text": "order-{{$timestamp}}", "email": "agent-{{$guid}}@example.com"}


def postman_collection(described: dict[str, Any]) -> dict[str, Any]:
    """The whole collection; `base_url` and the logins are its variables."""
    variables = read_json("examples.json")["variables"]
    captured = [name for example in examples() for name in example.capture or ()]
    made = simplejson.dumps({name: GENERATED_VALUES[one["fresh"]] for name, one in variables.items()})
    folders: dict[str, list[Any]] = {}
    for example in examples():
        folders.setdefault(_tag(described, example), []).append(_item(example))
    return {
        "info": {
            "name": described["info"]["title"],
            "description": "The examples of the reference, to be sent in order. They use the demo logins.",
            "schema": SCHEMA,
        },
        "variable": [
            {"key": "base_url", "value": "http://127.0.0.1:8000"},
            *({"key": name, "value": ""} for name in (*variables, *dict.fromkeys(captured))),
        ],
        "event": [{"listen": "prerequest", "script": {"exec": [line.format(made=made) for line in PREREQUEST_SCRIPT]}}],
        "item": [{"name": noun.capitalize(), "item": items} for noun, items in folders.items()],
    }


def _tag(described: dict[str, Any], example: Example) -> str:
    method, path = example.endpoint.split(" ", 1)
    noun: str = described["paths"][path][method.lower()]["tags"][0]
    return noun


def _item(example: Example) -> dict[str, Any]:
    method, path = example.endpoint.split(" ", 1)
    for name, value in (example.path or {}).items():
        path = path.replace(f"{{{name}}}", value)
    query = "&".join(f"{name}={value}" for name, value in (example.query or {}).items())
    request: dict[str, Any] = {
        "method": method,
        "url": "{{base_url}}" + path + (f"?{query}" if query else ""),
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
    """The body with the variables in it; what was captured is a number and stands without quotes."""
    raw: str = simplejson.dumps(body, use_decimal=True, ensure_ascii=False, indent=2)
    for name in {name for example in examples() for name in example.capture or ()}:
        raw = raw.replace(f'"{{{{{name}}}}}"', f"{{{{{name}}}}}")
    return raw


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
