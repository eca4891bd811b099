"""The JSON Schema of requests and answers, as they are on the wire."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.terminal import ENTRY_CAPS
from chalicelib.domain.transaction import KINDS, InputType
from chalicelib.errors import Check
from chalicelib.schemas.agents import BulkItem
from chalicelib.schemas.base import Request
from chalicelib.schemas.merchants import CLIENT_IMPORTANCES, CLIENT_MODES, CLIENT_TYPES
from chalicelib.schemas.reversal_request import ALIASES
from infra.reference import read_json

SCHEMA_REF = "#/components/schemas/"
NULL = {"type": "null"}
DECIMAL_PATTERN = r"^-?[0-9]{1,20}(\.[0-9]{1,20})?$"
BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}

INPUT_TYPES = {int(kind): KINDS[kind].name for kind in InputType}
# The values of a field and their meanings. These fields are checked by functions, which pydantic cannot describe.
DICTIONARIES: Mapping[str, Mapping[Any, str]] = {
    "CardInputMode": {1: "card data", 2: "linked card"},
    "ClientImportance": CLIENT_IMPORTANCES,
    "ClientMode": CLIENT_MODES,
    "ClientType": CLIENT_TYPES,
    "EntryCaps": ENTRY_CAPS,
    "BasicTran.InputType": INPUT_TYPES | {30: "Payment link: refused with 312", 100: "Recurring: refused with 312"},
    "BasicReverseTran.InputType": INPUT_TYPES,
    "TransactionView.InputType": INPUT_TYPES,
    "ReverseMode": {
        ReverseMode.CANCEL: "Cancel: before the Deadline, in full (/reverse)",
        ReverseMode.RETURN: "Return: any time while something remains (/reverse)",
        ReverseMode.CANCEL_CNP: "Cancel, card not present (/reversecnp)",
        ReverseMode.AUTO_CANCEL: "Automatic cancel: by the service alone",
        ReverseMode.RETURN_CNP: "Return, card not present (/reversecnp)",
        ReverseMode.CREDIT_VOUCHER: "Credit voucher: refused with 312",
    },
    "Finding.Code": {check.value: check.name.replace("_", " ").lower() for check in Check}
    | dict.fromkeys(range(561, 570), "reference to an object that does not exist, as the ErrorCode"),
    "Finding.Type": {1: "error", 2: "warning: the request went on"},
}
# Lists that are validated item by item, so that one wrong item does not stop the others: to pydantic, lists of Any.
ITEMS: Mapping[str, type[Request]] = {"BulkUpdate.PosBulk": BulkItem}
FINDING = {
    "type": "object",
    "required": ["Type", "Property", "Code", "Message"],
    "properties": {
        "Type": {"type": "integer"},
        "Property": {"type": "string"},
        "Code": {"type": "integer"},
        "Message": {"type": "string"},
    },
}


class WireSchema(GenerateJsonSchema):
    """A generator of schemas as on the wire: amounts are exact numbers, and an answer has all its fields."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """Return a number; in a request also a decimal string, unless `function_before_schema` removes it."""
        del schema
        number = {"type": "number"}
        return (
            number
            if self.mode == "serialization"
            else {"anyOf": [number, {"type": "string", "pattern": DECIMAL_PATTERN}]}
        )

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """Return the schema of a type, changed by the validator in front of it."""
        inner: JsonSchemaValue = super().function_before_schema(schema)
        check = getattr(schema["function"]["function"], "__name__", "")
        if check == "_number":
            return dict(inner["anyOf"][0])
        if check == "_alias":
            return {"anyOf": [inner, {"type": "string", "enum": list(ALIASES)}]}
        return inner

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001  the signature is pydantic's
        """Return True for every field of an answer, which is null when there is no value."""
        return self.mode == "serialization" or super().field_is_required(field, total)


def schemas_of(requests: Collection[type[BaseModel]], answers: Collection[type[BaseModel]]) -> dict[str, Any]:
    """Return the schema of each model, and of the models it refers to, by name."""
    requests = [*requests, *ITEMS.values()]
    inputs: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in requests]
    inputs += [(model, "serialization") for model in answers]
    _, definitions = models_json_schema(
        inputs, by_alias=True, ref_template=SCHEMA_REF + "{model}", schema_generator=WireSchema
    )
    schemas = _short_names(definitions["$defs"])
    roots = {model.__name__ for model in (*requests, *answers)}
    used = _referenced(roots, schemas)
    spellings = {model.__name__: model.SPELLINGS for model in _request_models(Request)}
    described = {name: _complete_schema(name, schemas[name], spellings.get(name, {})) for name in sorted(used)}
    return {**described, "Finding": _complete_schema("Finding", FINDING, {})}


def _referenced(names: set[str], schemas: Mapping[str, Any]) -> set[str]:
    """Return the names, and those they refer to: a type that is replaced leaves an unused definition behind."""
    found = {name for top in names for name in re.findall(rf"{SCHEMA_REF}(\w+)", str(schemas[top]))}
    return names if found <= names else _referenced(names | found, schemas)


def _request_models(model: type[Request]) -> list[type[Request]]:
    return [one for child in model.__subclasses__() for one in (child, *_request_models(child))]


def _short_names(definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Rename models to their class; if two classes share a name, put the module in front."""
    last = Counter(name.rsplit("__", 1)[-1] for name in definitions)
    short = {
        name: parts[-1] if last[parts[-1]] == 1 else parts[-2].capitalize() + parts[-1]
        for name in definitions
        for parts in [name.split("__")]
    }

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: SCHEMA_REF + short[item.removeprefix(SCHEMA_REF)] if key == "$ref" else renamed(item)
                for key, item in value.items()
            }
        return [renamed(item) for item in value] if isinstance(value, list) else value

    return {short[name]: renamed(schema) for name, schema in definitions.items()}


def _complete_schema(name: str, schema: Mapping[str, Any], spellings: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of one model with its fields described, their values, and their other spellings."""
    properties: dict[str, Any] = {}
    for field, described in schema.get("properties", {}).items():
        properties[field] = _field_schema(name, field, described)
    for other, field in spellings.items():
        properties[other] = {**properties[field], "deprecated": True, "description": f"Another spelling of {field}."}
    complete = {key: value for key, value in schema.items() if key not in {"title", "properties", "required"}}
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {**complete, "properties": properties, **required}


def _field_schema(model: str, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    field = _plain_schema({key: value for key, value in schema.items() if key not in {"title", "default"}})
    meanings = DICTIONARIES.get(f"{model}.{name}") or DICTIONARIES.get(name)
    if f"{model}.{name}" in ITEMS:
        field["items"] = {"$ref": SCHEMA_REF + ITEMS[f"{model}.{name}"].__name__}
    if name == "Validations":
        field = {"anyOf": [{"type": "array", "items": {"$ref": SCHEMA_REF + "Finding"}}, NULL]}
    elif meanings:
        _add_enum(field, [int(value) if isinstance(value, int) else value for value in meanings])
    return {**field, "description": describe_field(model, name, meanings or {})}


def _plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return standard JSON Schema: bounds on the number, alternatives on one level, portable patterns."""
    plain = {key: value for key, value in schema.items() if key not in {*BOUNDS, "max_digits", "title"}}
    bounds = {BOUNDS[key]: value for key, value in schema.items() if key in BOUNDS}
    if "anyOf" in plain:
        parts = [part | (bounds if part.get("type") == "number" else {}) for part in map(_plain_schema, plain["anyOf"])]
        plain["anyOf"] = [inner for part in parts for inner in (part["anyOf"] if set(part) == {"anyOf"} else [part])]
        return plain
    if "pattern" in plain:
        plain["pattern"] = re.sub(r"\\u\{(\w+)\}", lambda code: chr(int(code[1], 16)), plain["pattern"])
    if "items" in plain:
        plain["items"] = _plain_schema(plain["items"])
    return plain | bounds


def _add_enum(field: dict[str, Any], values: list[Any]) -> None:
    """Add the values to the alternative that has their type."""
    kind = "integer" if isinstance(values[0], int) else "string"
    for part in (field, *field.get("anyOf", [])):
        if part.get("type") == kind and "enum" not in part:
            part["enum"] = values


def describe_field(model: str, name: str, meanings: Mapping[Any, str]) -> str:
    """Return the description of a field. Raises KeyError for a field that is not described."""
    texts = read_json("fields.json")
    for key in (f"{model}.{name}", *(f"{base}.{name}" for base in BASE_MODELS.get(model, ())), name):
        if key in texts:
            values = "; ".join(f"{_value_text(value)} {meaning}" for value, meaning in meanings.items())
            return f"{texts[key]} {values}.".removesuffix(" .") if values else str(texts[key])
    message = f"infra/reference/fields.json does not describe {model}.{name}"
    raise KeyError(message)


BASE_MODELS = {"CreateMerchant": ("_Merchant",), "UpdateMerchant": ("_Merchant",)}


def _value_text(value: Any) -> str:
    return re.sub(r"^.*\.", "", str(int(value))) if isinstance(value, int) else str(value)
