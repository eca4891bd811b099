"""The reference describes the whole service, as it is now."""

import json
import re
from collections.abc import Iterator
from typing import Any

import openapi_spec_validator
import pytest
from pydantic import BaseModel, ValidationError

from chalicelib.domain.acquirer import MESSAGES
from chalicelib.endpoints import ENDPOINTS
from chalicelib.errors import Check, ErrorCode
from chalicelib.schemas.base import Request, models_of
from infra.reference import ROOT, read_json
from infra.reference.__main__ import generated_files
from infra.reference.dictionaries import dictionary_of
from infra.reference.document import openapi_document

pytestmark = pytest.mark.slow

DOCUMENT = openapi_document()
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_what_is_committed_is_what_make_reference_writes() -> None:
    assert [name for name, content in generated_files().items() if read(name) != content] == [], "run `make reference`"


def test_the_document_is_valid_openapi() -> None:
    openapi_spec_validator.validate(json.loads(read("chalicelib/reference/openapi.json")))


def test_every_endpoint_is_described() -> None:
    registered = {f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS}

    assert set(OPERATIONS) == registered
    assert set(read_json("operations.json")) == registered


def test_every_operation_has_a_name_of_its_own_that_a_client_can_use_as_a_method() -> None:
    names = [operation["operationId"] for operation in OPERATIONS.values()]

    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z]+([A-Z][a-z]+)+", name)] == []


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the model, and the models of its fields."""
    yield model
    for field in model.model_fields.values():
        for found in re.findall(r"chalicelib\.schemas\.(\w+)\.(\w+)", str(field.annotation)):
            inner = getattr(__import__(f"chalicelib.schemas.{found[0]}", fromlist=["_"]), found[1])
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from models(inner)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_every_field_of_an_endpoint_is_in_its_schema(endpoint: Any) -> None:
    described = {name for schema in SCHEMAS.values() for name in schema.get("properties", ())}
    if endpoint.method == "GET":
        described |= {one["name"] for one in OPERATIONS[f"{endpoint.method} {endpoint.path}"]["parameters"]}

    for root in filter(None, (endpoint.body, endpoint.answer)):
        for model in models(root):
            names = {field.alias for field in model.model_fields.values() if not field.exclude}
            assert names <= described, model


def validator(schema: str, name: str) -> Any:
    """Return a function that validates a value of one field and returns the codes of the findings."""
    model = next(one for one in models_of(Request) if one.__name__ == schema)

    def codes(value: Any) -> set[str]:
        try:
            model.model_validate({name: value})
        except ValidationError as error:
            return {detail["type"] for detail in error.errors() if detail["loc"][:1] == (name,)}
        return set()

    return codes


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (schema, name)
        for schema, described in SCHEMAS.items()
        for name in described.get("properties", ())
        if dictionary_of([schema], name) and '"enum"' in json.dumps(described["properties"][name])
    ],
)
def test_a_dictionary_holds_the_values_the_field_takes(schema: str, name: str) -> None:
    values = dictionary_of([schema], name)
    codes = validator(schema, name)
    is_list = name == "Types"

    assert [one for one in values if codes([one] if is_list else int(one) if isinstance(one, int) else one)] == []
    if f"{schema}.{name}" != "BasicReverseTran.InputType":  # compared with the payment, not with a dictionary
        wrong = max(values) + 1 if isinstance(next(iter(values)), int) else "11"
        assert codes([wrong] if is_list else wrong)


@pytest.mark.parametrize("error", ErrorCode, ids=lambda error: error.name)
def test_every_error_is_in_the_document_and_in_the_guide(error: ErrorCode) -> None:
    if error is ErrorCode.METHOD_NOT_ALLOWED:  # an answer of no operation
        assert f"{error.code}: {error.message}" in DOCUMENT["info"]["description"]
    elif error.status != 200:
        assert (
            f"{error.code}: {error.message}"
            in DOCUMENT["components"]["responses"][f"Refused{error.status}"]["description"]
        )
    assert f"| {error.code} | {error.status} | {error.message} |" in read("docs/errors.md")


def test_the_guide_to_errors_knows_every_decline_and_every_check() -> None:
    guide = read("docs/errors.md")

    assert all(f"| {1000 + code} | {message} |" in guide for code, message in MESSAGES.items() if code)
    assert all(f"| {check.value} | {check.name.replace('_', ' ').lower()} |" in guide for check in Check)
