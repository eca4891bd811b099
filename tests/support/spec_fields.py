"""The fields of every request and of every answer, as the committed OpenAPI document has them.

tests/infra/reference/test_specification.py compares it with the specification. A request's table is name: (kind,
required), an answer's object is name: kind. A kind is a word of the specification's tables, a table of its own, a list
of one of them, in an answer also the name of an object, and None for any value.
"""

import json
from pathlib import Path
from typing import Any

from tests.support.specification import A, B, D, I, N, O, S

DOCUMENT = json.loads((Path(__file__).parents[2] / "chalicelib/reference/openapi.json").read_text(encoding="utf-8"))
SCHEMAS = DOCUMENT["components"]["schemas"]
WORDS = {"integer": I, "number": N, "string": S, "boolean": B, "array": A, "object": O}
JSON = "application/json"


def kind_of(schema: dict[str, Any]) -> Any:
    """Return the kind of values that a schema allows, an object by its name."""
    schema = next(one for one in schema.get("anyOf", [schema]) if one.get("type") != "null")
    if "$ref" in schema:
        return D if name_of(schema) == "Amount" else name_of(schema)
    if schema.get("type") == "array":
        return [kind_of(schema["items"])]
    return WORDS.get(schema.get("type", ""))


def name_of(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def request_of(name: str) -> dict[str, Any]:
    """Return the table of a request with the tables of its objects in it."""
    schema = SCHEMAS[name]
    return {
        field: (nested(kind_of(described)), field in schema.get("required", ()))
        for field, described in schema["properties"].items()
        if "x-spelling-of" not in described
    }


def nested(kind: Any) -> Any:
    if isinstance(kind, list):
        return [nested(kind[0])]
    return request_of(kind) if kind in SCHEMAS else kind


def _requests() -> dict[str, dict[str, Any]]:
    found = {}
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            if "requestBody" in operation:
                found[path] = request_of(name_of(operation["requestBody"]["content"][JSON]["schema"]))
    account = "/api/v1/payment/AuthAccount"  # its fields may stand in the query
    queried = DOCUMENT["paths"][account]["get"]["parameters"]
    return found | {account: {one["name"]: (kind_of(one["schema"]), False) for one in queried if one["in"] == "query"}}


def _answers() -> dict[str, str]:
    found: dict[str, str] = {}
    for path, operations in DOCUMENT["paths"].items():
        for operation in operations.values():
            content = operation["responses"]["200"]["content"]
            if JSON in content:
                found.setdefault(path, name_of(content[JSON]["schema"]))
    return found


def reachable(*names: str) -> set[str]:
    """Return these objects and all objects in them."""
    found: set[str] = set()
    left = set(names)
    while left:
        found |= left
        kinds = [kind_of(described) for name in left for described in SCHEMAS[name]["properties"].values()]
        left = {
            name for kind in kinds for name in (kind if isinstance(kind, list) else [kind]) if name in SCHEMAS
        } - found
    return found


ENVELOPE = set(SCHEMAS["Answer"]["properties"])
REQUESTS = _requests()
ANSWERS = _answers()  # by path; a POST of a receipt answers the envelope only
OBJECTS: dict[str, dict[str, Any]] = {
    name: {
        field: kind_of(described)
        for field, described in SCHEMAS[name]["properties"].items()
        if name == "Answer" or field not in ENVELOPE
    }
    for name in sorted(reachable("Answer", *ANSWERS.values()))
}
# The fields that are null in every answer; the reference says of each why. Every other has a value in some answer.
ALWAYS_NULL = {
    f"{name}.{field}"
    for name in OBJECTS
    for field in OBJECTS[name]
    if SCHEMAS[name]["properties"][field].get("description", "").startswith("Always null: ")
}
