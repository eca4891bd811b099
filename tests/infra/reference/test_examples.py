"""The examples of the reference and of the collection for Postman are answered by a stage as they are recorded."""

import json
import re
import urllib.parse
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator

from infra.reference import read_json
from infra.reference.document import openapi_document
from infra.reference.examples import (
    Example,
    authorization_header,
    examples,
    fill_placeholders,
    fresh_values,
    mask_volatile,
    run_examples,
    send_example,
)
from infra.reference.postman import postman_collection
from tests.support.http import call

DOCUMENT = openapi_document()

pytestmark = pytest.mark.usefixtures("fresh_tables")


def schema_of(example: Example, status: int) -> dict[str, Any]:
    method, path = example.endpoint.split(" ", 1)
    response = DOCUMENT["paths"][path][method.lower()]["responses"][str(status)]
    if "$ref" in response:
        response = DOCUMENT["components"]["responses"][response["$ref"].rsplit("/", 1)[-1]]
    schema: dict[str, Any] = response["content"]["application/json"]["schema"]
    return schema


def test_the_examples_are_answered_as_the_reference_shows(stage: str) -> None:
    answers = run_examples(stage, fresh_values())

    assert set(read_json("answers.json")) == set(answers), "run `make reference`"
    for example in examples():
        status, answer = answers[example.name]
        schema = {**schema_of(example, status), "components": DOCUMENT["components"]}
        assert [
            error.message for error in OAS31Validator(schema).iter_errors(json.loads(json.dumps(answer, default=float)))
        ] == []
        assert mask_volatile(answer) == mask_volatile(example.answer), f"{example.name}: run `make reference`"


def test_the_requests_of_the_postman_collection_are_answered_alike(stage: str) -> None:
    collection = postman_collection(DOCUMENT)
    values: dict[str, Any] = {one["key"]: one["value"] for one in collection["variable"]}
    values |= {"base_url": stage, "receiver": "http://127.0.0.1:9/events", **fresh_values()}
    by_summary = {item["name"]: item for folder in collection["item"] for item in folder["item"]}

    for example in examples():
        request = by_summary[example.summary]["request"]
        url = urllib.parse.urlsplit(_with(request["url"], values))
        headers = {header["key"]: header["value"] for header in request["header"]}
        if request["auth"]["type"] == "basic":
            headers["Authorization"] = authorization_header(example.login or "", values)
        body = _with(request["body"]["raw"], values) if "body" in request else None
        path = url.path + (f"?{url.query}" if url.query else "")
        reply = call(stage, request["method"], path, body, login=None, headers=headers)

        assert (reply.status, reply.body["ErrorCode"]) == (example.status, example.code), example.name
        if example.name == "webhook":
            assert reply.body["Webhook"]["Url"] == values["receiver"]
        values |= example.captured(reply.body)


def _with(text: str, values: dict[str, Any]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda name: str(values[name[1]]), text)


def test_an_example_that_is_answered_otherwise_is_noticed(stage: str) -> None:
    sign_in = next(one for one in examples() if one.name == "sign_in")
    wrong = Example(
        **{**vars(sign_in), "body": fill_placeholders({"Email": "till@demo.example", "Password": "no"}, {})}
    )

    status, answer = send_example(stage, wrong, {})

    assert (status, answer["ErrorCode"]) == (401, 102)
