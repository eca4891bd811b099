"""The OpenAPI document is one that people can read, and that generators make clients of."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from chalicelib.domain.events import PING, Kind, event_of, ping
from chalicelib.domain.phases import Phase
from chalicelib.endpoints import ENDPOINTS
from chalicelib.errors import Check, ErrorCode
from chalicelib.gateways import webhooks
from chalicelib.schemas.base import Answer, Request, View, fields_of, models_of
from chalicelib.schemas.reversals import ALIASES
from chalicelib.schemas.webhooks import body_of
from infra.reference import ROOT
from infra.reference.dictionaries import REFERENCES
from infra.reference.document import openapi_document
from infra.reference.schemas import EMPTY, NULL, SCHEMA_REF, line_of, texts_of_fields
from tests.support.events import SECRET
from tests.support.receivers import a_receiver
from tests.support.transactions import a_payment

DOCUMENT = openapi_document()
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: operation for methods in DOCUMENT["paths"].values() for operation in methods.values()
}
SPECIFIED = {"SelfSevice", "ExtTranData", "LinkedCardID", "CurrencyId"}
PROPERTIES = {
    f"{schema}.{name}": described
    for schema, model in SCHEMAS.items()
    for name, described in model.get("properties", {}).items()
}
REQUESTS = {model.__name__ for model in models_of(Request)} & set(SCHEMAS)
AMOUNT = SCHEMA_REF + "Amount"


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema in a schema, itself first."""
    yield schema
    for key, inner in schema.items():
        if key in {"anyOf", "oneOf"}:
            for one in inner:
                yield from parts(one)
        elif key in {"items", "additionalProperties"} and isinstance(inner, dict):
            yield from parts(inner)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_has_a_short_title_and_a_sentence_about_its_effect_before_the_details(operation: str) -> None:
    described = OPERATIONS[operation]
    effect, _, details = described["description"].partition(". ")

    assert 2 <= len(described["summary"].split()) <= 4
    assert len(described["summary"]) <= 25  # one line of the list at the side
    assert 3 <= len(effect.split()) <= 25
    assert len(details.split()) >= 6
    assert all(len(one["description"].split()) >= 3 for one in described["parameters"])


def test_every_object_and_every_field_is_described_in_more_than_its_name() -> None:
    assert [name for name, schema in SCHEMAS.items() if len(schema["description"].split()) < 3] == []
    titles = [schema["title"].lower() for schema in SCHEMAS.values()]  # names of classes, and of files
    assert len(set(titles)) == len(titles)
    poor = {
        path
        for path, described in PROPERTIES.items()
        if len(described["description"].split()) < 2
        or described["description"].rstrip(".").replace(" ", "").lower() == path.partition(".")[2].lower()
    }
    assert poor == set()


def test_no_field_has_null_as_its_only_type() -> None:
    """A generator makes a type "Null" of it, which no language has."""
    assert [path for path, described in PROPERTIES.items() if described.get("type") == "null"] == []
    assert [path for path, described in PROPERTIES.items() if described.get("anyOf") == [NULL]] == []


def test_a_field_has_one_type_beside_null() -> None:
    """Clients in several languages make an object without fields of a choice between a number and a text."""
    choices = {
        path: [one for one in each.get("anyOf", []) if one not in (NULL, EMPTY)] for path, each in PROPERTIES.items()
    }

    assert [path for path, choice in choices.items() if len(choice) > 1] == []


def may_be_null(described: dict[str, Any]) -> bool:
    return described.keys() == {"description"} or NULL in described.get("anyOf", [])


def test_what_a_request_need_not_have_may_be_null_and_what_it_must_have_may_not() -> None:
    wrong = {
        f"{name}.{field}"
        for name in REQUESTS
        for field, described in SCHEMAS[name]["properties"].items()
        if may_be_null(described) == (field in SCHEMAS[name].get("required", []))
    }

    assert len(REQUESTS) > 30
    assert wrong == set()


def test_another_spelling_is_in_the_description_and_a_property_if_the_specification_shows_it() -> None:
    spellings = {
        (model.__name__, other, field)
        for model in models_of(Request)
        for other, field in model.SPELLINGS.items()
        if model.__name__ in SCHEMAS
    }

    assert len(spellings) >= 8
    for model, other, field in spellings:
        assert f"`{other}`" in PROPERTIES[f"{model}.{field}"]["description"]
        assert PROPERTIES.get(f"{model}.{other}", {}).get("x-spelling-of") == (field if other in SPECIFIED else None)
    assert {path for path, described in PROPERTIES.items() if "x-spelling-of" in described} == {
        *("BasicTran.CurrencyId", "BasicTran.ExtTranData", "BasicReverseTran.CurrencyId"),
        *("Card.LinkedCardID", "CreateTerminal.SelfSevice", "UpdateTerminal.SelfSevice"),
    }
    assert all(text in PROPERTIES["BasicReverseTran.ReverseMode"]["description"] for text in ALIASES)


def is_valid(schema: str, value: Any) -> bool:
    document = {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]}
    return bool(jsonschema.Draft202012Validator(document).is_valid(value))


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ("BasicTran.Amount", (12.3, 5, "12.30"), (0, -1, "-1", "twelve", "", True, [], None)),
        ("BasicReverseTran.Amount", (12.3, "12.30", None), (0, "-1", "", True, {})),
        ("Location.Latitude", (-33.9, 0, "", None), ("1", " ", 91, True, {})),
        ("BasicTran.AmountCashGot", (20, "20.00", 0, "0.00", "-0", "", None), (-1, "-1", True)),
        ("Purchase.Price", (6.15, "6.15", -1, "-1.00", 0), ("", None, "1e3", True)),
        ("Purchase.Quantity", (2, "0.5"), (0, -1, "-1", None)),
        ("ItemIn.Price", (6.15, "6.15", 0, None), (-1, "1e3", True)),
    ],
)
def test_an_amount_takes_what_the_service_takes(field: str, right: tuple[Any, ...], wrong: tuple[Any, ...]) -> None:
    schema, name = field.split(".")
    model = SCHEMAS[schema] | {"required": [name]}
    validator = jsonschema.Draft202012Validator(model | {"components": DOCUMENT["components"]})

    assert [value for value in right if not validator.is_valid({name: value})] == []
    assert [value for value in wrong if validator.is_valid({name: value})] == []


def test_an_amount_is_a_number_or_a_text_in_requests_and_a_number_in_answers() -> None:
    amounts = {path for path, each in PROPERTIES.items() for part in parts(each) if part.get("$ref") == AMOUNT}
    numbers = {path for path, each in PROPERTIES.items() for part in parts(each) if part.get("type") == "number"}

    assert len(amounts) > 10
    assert {path.partition(".")[0] for path in amounts} <= REQUESTS
    assert {path.partition(".")[2] for path in numbers if path.partition(".")[0] in REQUESTS} == {
        "Latitude",
        "Longitude",
    }
    assert SCHEMAS["Amount"]["anyOf"][0] == {"type": "number", "format": "double"}
    assert is_valid("Amount", "1234567.89")
    assert not is_valid("Amount", "1e3")


def test_an_answer_has_no_closed_list_of_values() -> None:
    """A generated client refuses a value that is not in an enum, but an answer may get new ones."""
    closed = {path for path, each in PROPERTIES.items() for part in parts(each) if "enum" in part or "const" in part}

    assert {path for path in closed if path.partition(".")[0] not in REQUESTS} == set()


def test_a_finding_has_every_code_that_occurs() -> None:
    """The codes of checks, and those of errors that a finding names for a reference or a name."""
    named = {error.name for model in models_of(Request) for error in model.REFERENCES}
    for source in (ROOT / "chalicelib").rglob("*.py"):
        named |= set(
            re.findall(r"\b(?:missing|Finding|Validation)\([^()]*?ErrorCode\.(\w+)", source.read_text("utf-8"))
        )
    codes = PROPERTIES["Finding.Code"]["x-extensible-enum"]

    assert len(named) > 10
    assert named <= {error.name for error in REFERENCES}
    assert codes == [*Check, *(error.code for error in REFERENCES)]
    assert all(f"{code} " in PROPERTIES["Finding.Code"]["description"] for code in codes)


def test_every_error_is_a_value_of_the_error_code() -> None:
    values = {
        value for name in ("Refusal", "PaymentAnswer") for value in PROPERTIES[f"{name}.ErrorCode"]["x-extensible-enum"]
    }

    assert {error.code for error in ErrorCode} <= values


def kinds_of(described: dict[str, Any]) -> set[str]:
    """Return the types of a field beside null: "number" for an amount, "object" for any other model."""
    leaves = (part for part in parts(described) if "anyOf" not in part)
    kinds = {
        "number" if one.get("$ref") == AMOUNT else "object" if "$ref" in one else one.get("type") for one in leaves
    }
    return {kind for kind in kinds if kind and kind != "null"}


def test_a_text_about_a_field_names_its_models() -> None:
    """Found by the field's name alone, the text about the type of a terminal was that of a finding, too."""
    of_paths = {name for path in DOCUMENT["paths"] for name in re.findall(r"\{(\w+)\}", path)}
    roots = {one.__name__ for one in (Request, View, Answer)}
    used = {(one, path.partition(".")[2]) for path in PROPERTIES for one in line_of(path.partition(".")[0])}
    used |= {
        (one, str(field.alias))
        for endpoint in ENDPOINTS
        if endpoint.body
        for field in endpoint.body.model_fields.values()
        for one in line_of(endpoint.body.__name__)
    }

    assert {name for model, name in texts_of_fields() if not model} <= of_paths
    assert {key for key in texts_of_fields() if key[0]} - used == set()
    assert {model for model, _ in texts_of_fields()} & roots <= {"Answer"}


def test_a_text_that_models_share_is_about_fields_of_one_type() -> None:
    shared: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for path, described in PROPERTIES.items():
        model, _, name = path.partition(".")
        if keys := [(one, name) for one in line_of(model) if (one, name) in texts_of_fields()]:
            shared[f"{name}: {texts_of_fields()[keys[0]]}"][path] = kinds_of(described)

    assert {text: paths for text, paths in shared.items() if len({frozenset(one) for one in paths.values()}) > 1} == {}


def test_a_text_about_an_answer_says_nothing_about_the_request() -> None:
    """An answer has all its fields, and only a request is read."""
    answers = {path: each["description"] for path, each in PROPERTIES.items() if path.partition(".")[0] not in REQUESTS}

    words = re.compile(
        r"\babsent\b|\bis (also )?(read|accepted)\b|\bAlso read\b|decimal string|\bmust be\b", re.IGNORECASE
    )
    assert {path: text for path, text in answers.items() if words.search(text)} == {}


@pytest.mark.parametrize("model", list(models_of(Request)), ids=str)
def test_a_placeholder_that_the_service_takes_is_valid(model: type[Request]) -> None:
    name = model.__name__
    if name not in SCHEMAS:
        return
    fields = fields_of(model)
    objects = {one for one in fields.texts if '"object"' in json.dumps(SCHEMAS[name]["properties"][one])}
    sent: dict[str, list[Any]] = {one: [""] for one in fields.texts - objects} | {one: [0] for one in fields.zeros}
    sent |= {one: [{"Latitude": None, "Longitude": None}, {}] for one in fields.positions}

    partial = SCHEMAS[name] | {"required": [], "components": DOCUMENT["components"]}
    validator = jsonschema.Draft202012Validator(partial)

    refused = [(one, value) for one, values in sent.items() for value in values if not validator.is_valid({one: value})]
    assert refused == []


def test_every_request_of_an_example_is_valid() -> None:
    bodies = {
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]: operation
        for operation in OPERATIONS.values()
        if "requestBody" in operation
    }
    contents = {name: one["requestBody"]["content"]["application/json"] for name, one in bodies.items()}
    examples = {name: content["example"] for name, content in contents.items() if "example" in content}

    assert len(examples) > 10
    assert [name for name, value in examples.items() if not is_valid(name, value)] == []


def test_numbers_are_as_wide_as_the_service_has_them() -> None:
    """Without a format a client in Go has 32 bits: seven digits of an amount, IDs up to 2^31."""
    found = [(path, part) for path, described in PROPERTIES.items() for part in parts(described)]

    assert {part["format"] for _, part in found if part.get("type") == "number"} == {"double"}
    assert [
        path
        for path, part in found
        if part.get("type") == "integer" and path.endswith(("ID", "Id")) and part.get("format") != "int64"
    ] == []
    narrow = [
        path for path, part in found if part.get("maximum", 0) >= 2**31 and "format" not in part and "type" in part
    ]
    assert narrow == []


def test_the_values_of_a_dictionary_have_names() -> None:
    enums = {
        path: part
        for path, described in PROPERTIES.items()
        for part in parts(described)
        if isinstance(next(iter(part.get("enum", [])), None), int)
    }

    assert len(enums) >= 10
    for path, part in enums.items():
        names = part["x-enum-varnames"]
        assert len(set(names)) == len(names) == len(part["enum"]), path
        assert all(re.fullmatch("[A-Z][A-Z0-9_]*[A-Z0-9]", name) for name in names), path


def test_a_filter_has_the_input_types_of_payments() -> None:
    filtered, paid = (
        [value for part in parts(PROPERTIES[f"{schema}.InputType"]) for value in part.get("enum", [])]
        for schema in ("ListBasicModel", "BasicTran")
    )

    assert filtered == [0, *paid]  # tills send 0 for no filter


WEBHOOKS = {kind: item["post"] for kind, item in DOCUMENT["webhooks"].items()}


@pytest.mark.parametrize("ext_id", [None, "order 17"])
def test_what_a_webhook_receives_is_valid(ext_id: str | None) -> None:
    now = datetime.now(UTC)
    payment = a_payment(makes_events=True, ext_id=ext_id)
    reversal = a_payment(phase=Phase.REVERSAL_APPROVED, original_id=payment.id, makes_events=True)

    for event in (event_of(payment, now), event_of(reversal, now), ping("token", 7, 1, now)):
        assert event is not None
        sent = json.loads(body_of(event))
        schema = WEBHOOKS[event.kind]["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert is_valid(schema, sent)
        assert not is_valid(schema, sent | {"data": {}})
        assert set(sent["data"]) == set(SCHEMAS[PROPERTIES[f"{schema}.data"]["$ref"].rpartition("/")[2]]["properties"])


def test_a_webhook_is_described_for_each_kind_of_event_with_the_headers_that_it_receives() -> None:
    with a_receiver() as receiver:
        webhooks.call(receiver.url, "evt_1", b"{}", [SECRET], datetime.now(UTC))
    sent = {name for name in receiver.calls[0].headers if name.startswith("webhook-")}

    assert set(WEBHOOKS) == {*Kind, PING}
    assert [one for one in WEBHOOKS.values() if {each["name"] for each in one["parameters"]} != sent] == []


def test_every_component_is_used() -> None:
    text = str([DOCUMENT["paths"], DOCUMENT["webhooks"], DOCUMENT["components"]])
    names = {(kind, name) for kind in ("schemas", "responses", "headers") for name in DOCUMENT["components"][kind]}

    assert [name for kind, name in names if f"#/components/{kind}/{name}'" not in text] == []


def test_the_words_people_look_for_are_in_the_document() -> None:
    text = str(DOCUMENT).lower()

    words = ("refund", "void", "idempotency", "4000000000000002", "rate limit", "decline")
    assert [word for word in words if word not in text] == []


def test_the_parameters_of_a_query_are_the_fields_of_its_model() -> None:
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" and endpoint.body:
            described = DOCUMENT["paths"][endpoint.path]["get"]["parameters"]
            names = {one["name"] for one in described if one["in"] == "query"}
            assert names == {field.alias for field in endpoint.body.model_fields.values()}
