"""The OpenAPI 3.1 document, made from the routes, the schemas and the texts of the JSON files of this folder."""

import re
from collections import defaultdict
from typing import Any

from chalicelib.endpoints import ENDPOINTS
from chalicelib.errors import ErrorCode, envelope
from chalicelib.web import Endpoint
from infra.reference import read_json
from infra.reference.examples import examples
from infra.reference.schemas import SCHEMA_REF, schemas_of


def openapi_document() -> dict[str, Any]:
    """Return the document, made from the registered routes, in the order of operations.json."""
    fixed = read_json("document.json")
    order = list(read_json("operations.json"))
    endpoints = sorted(ENDPOINTS, key=lambda one: order.index(_endpoint_key(one)))
    paths: dict[str, Any] = defaultdict(dict)
    schemas = schemas_of([one.body for one in endpoints if one.body], [one.answer for one in endpoints])
    for endpoint in endpoints:
        paths[endpoint.path][endpoint.method.lower()] = describe_operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": fixed["info"],
        "servers": [{"url": "/"}],
        "tags": [{"name": tag, "description": fixed["tags"][tag]} for tag in dict.fromkeys(map(_tag, endpoints))],
        "paths": dict(paths),
        "components": {
            "schemas": _used(schemas) | {"Refusal": fixed["Refusal"]},
            "responses": {
                f"Refused{status}": _refusal_response(status)
                for status in sorted(_errors_by_status())
                if f"Refused{status}" in str(paths)
            },
            "headers": fixed["headers"],
            "securitySchemes": fixed["securitySchemes"],
        },
    }


def _used(schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas that operations refer to, without those whose fields are query parameters."""
    in_query = {one.body.__name__ for one in ENDPOINTS if one.body and one.method == "GET"}
    in_bodies = {one.body.__name__ for one in ENDPOINTS if one.body and one.method != "GET"}
    return {name: schema for name, schema in schemas.items() if name not in in_query - in_bodies}


def _tag(endpoint: Endpoint) -> str:
    tag: str = read_json("operations.json")[_endpoint_key(endpoint)]["tag"]
    return tag


def _endpoint_key(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def describe_operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the description of one endpoint."""
    texts, fixed = read_json("operations.json")[_endpoint_key(endpoint)], read_json("document.json")
    described: dict[str, Any] = {
        "operationId": texts["id"],
        "tags": [_tag(endpoint)],
        "summary": texts["title"],
        "description": f"{endpoint.sentence} {texts['about']}",
        "parameters": _parameters(endpoint, schemas),
        "responses": {"200": _success_response(endpoint, replays=bool(texts.get("replays")))}
        | _refusal_references(endpoint, replays=bool(texts.get("replays"))),
        "security": [] if endpoint.public else [{name: []} for name in fixed["securitySchemes"]],
    }
    if endpoint.body and endpoint.method != "GET":
        content: dict[str, Any] = {"schema": {"$ref": SCHEMA_REF + endpoint.body.__name__}}
        if endpoint.path in examples():
            content["example"] = examples()[endpoint.path]
        needs_body = any(field.is_required() for field in endpoint.body.model_fields.values())
        described["requestBody"] = {"required": needs_body, "content": {"application/json": content}}
    return described


def _parameters(endpoint: Endpoint, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    texts = read_json("fields.json")
    parameters: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": texts.get(name, f"The ID of the {name.removesuffix('Id')}."),
            "schema": {"type": "string"}
            if name in {"tranId", "eventId"}
            else {"type": "integer", "format": "int64", "minimum": 0},
        }
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]
    if endpoint.body and endpoint.method == "GET":
        for name, schema in schemas[endpoint.body.__name__]["properties"].items():
            bare = {key: value for key, value in schema.items() if key != "description"}
            value = next((part for part in bare.get("anyOf", []) if part.get("type") != "null"), bare)
            parameters.append({"name": name, "in": "query", "description": schema["description"], "schema": value})
    if "headers" in endpoint.arguments:
        parameters.append(read_json("document.json")["Idempotency-Key"])
    return parameters


def _success_response(endpoint: Endpoint, *, replays: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": {"$ref": SCHEMA_REF + endpoint.answer.__name__}}
    response: dict[str, Any] = {"description": "The request was carried out.", "content": {"application/json": content}}
    if replays:
        response["headers"] = {"Idempotent-Replayed": {"$ref": "#/components/headers/Idempotent-Replayed"}}
    return response


def _refusal_references(endpoint: Endpoint, *, replays: bool) -> dict[str, Any]:
    """Return the refusals that a caller of this endpoint may get."""
    statuses = {400, 404, 429, 500, 503}
    if not endpoint.public or endpoint.body:
        statuses |= {401}
    if not endpoint.public:
        statuses |= {403, 409}
    if endpoint.body:
        statuses |= {413, 415}
    if replays or (endpoint.method == "POST" and _tag(endpoint) == "payments"):
        statuses |= {422}
    return {str(status): {"$ref": f"#/components/responses/Refused{status}"} for status in sorted(statuses)}


def _errors_by_status() -> dict[int, list[ErrorCode]]:
    by_status = defaultdict(list)
    for error in ErrorCode:
        by_status[error.status].append(error)
    del by_status[200]
    return by_status


def _refusal_response(status: int) -> dict[str, Any]:
    errors = _errors_by_status()[status]
    header = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}.get(status)
    return {
        "description": "ErrorCode " + "; ".join(f"{error.code}: {error.message}" for error in errors),
        "content": {
            "application/json": {
                "schema": {"$ref": SCHEMA_REF + "Refusal"},
                "examples": {error.name.lower(): {"value": envelope(error.code, error.message)} for error in errors},
            }
        },
        **({"headers": {header: {"$ref": f"#/components/headers/{header}"}}} if header else {}),
    }
