"""The JSON Schema of requests and answers on the wire."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from chalicelib.domain.kinds import FEATURES, OWN_ACQUIRERS
from chalicelib.schemas.agents import BulkItem
from chalicelib.schemas.base import Request, fields_of, wire_name
from chalicelib.schemas.payments import MAX_ADDRESSES
from infra.reference import by_model, read_json
from infra.reference.dictionaries import CHECKED, dictionary_of, name_of_value

SCHEMA_REF = "#/components/schemas/"
NULL = {"type": "null"}
INT32 = 2**31 - 1
BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}

# Lists that are validated item by item, so that one wrong item does not stop the others. Pydantic sees lists of Any.
ITEMS: Mapping[str, type[Request]] = {"BulkUpdate.PosBulk": BulkItem}


# A field that refers to it has the bounds of the number and a pattern of the text.
DECIMAL = r"-?[0-9]{1,20}(\.[0-9]{1,20})?"
AMOUNT = {
    "title": "Amount",
    "description": "An exact decimal, as a JSON number or a text: an amount in the currency's own unit, a price, a "
    "quantity or a rate.",
    "anyOf": [{"type": "number", "format": "double"}, {"type": "string", "pattern": f"^{DECIMAL}$"}],
}
FROM_ZERO = {"pattern": "^([0-9]|$)"}  # no sign; the empty text, where it stands for an absent amount
AMOUNTS: Mapping[str, Mapping[str, Any]] = {
    "BasicTran.Amount": {"exclusiveMinimum": 0, **FROM_ZERO},
    "BasicReverseTran.Amount": {"exclusiveMinimum": 0, **FROM_ZERO},
    "BasicTran.AmountCashGot": {"minimum": 0, "exclusiveMaximum": 10**15, "pattern": r"^([0-9]|$|-0+(\.0+)?$)"},
    "Purchase.Price": {"exclusiveMinimum": -(10**15), "exclusiveMaximum": 10**15},
    "Purchase.Discount": {"minimum": 0, "exclusiveMaximum": 10**15, **FROM_ZERO},
    "TaxIn.Rate": {"minimum": 0, "maximum": 100, **FROM_ZERO},
    "ItemIn.Price": {"minimum": 0, "maximum": 10**12, **FROM_ZERO},
    "ReportDrawer.Float": {"minimum": 0, "maximum": 10**12, **FROM_ZERO},
    "ReportDrawer.Amount": {"exclusiveMinimum": 0, "maximum": 10**12, **FROM_ZERO},
    "ReportDrawer.Counted": {"minimum": 0, "maximum": 10**12, **FROM_ZERO},
    "Purchase.Quantity": {"exclusiveMinimum": 0, "exclusiveMaximum": 10**15, **FROM_ZERO},
}
MAY_BE_EMPTY = ("BasicTran.AmountCashGot", "Purchase.Discount")
EMPTY = {"const": ""}  # not a type of its own: a generator makes an object of a choice between two types
PLACES = ("Location",)  # tills send one with empty numbers where it is optional

SPECIFIED_SPELLINGS = frozenset({"SelfSevice", "ExtTranData", "LinkedCardID", "CurrencyId"})


class WireSchema(GenerateJsonSchema):
    """A generator of schemas as on the wire: amounts are exact numbers, and an answer has all its fields."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """Return a number. `AMOUNTS` replaces those that may be texts."""
        del schema
        return {"type": "number"}

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001  the signature is pydantic's
        """Return True for every field of an answer, which is null when there is no value."""
        return self.mode == "serialization" or super().field_is_required(field, total)


def schemas_of(requests: Collection[type[BaseModel]], answers: Collection[type[BaseModel]]) -> dict[str, Any]:
    """Return the schema of each model, of the models it refers to, and of Amount, Finding and Refusal, by name."""
    requests = [*requests, *ITEMS.values()]
    inputs: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in requests]
    inputs += [(model, "serialization") for model in answers]
    _, definitions = models_json_schema(
        inputs, by_alias=True, ref_template=SCHEMA_REF + "{model}", schema_generator=WireSchema
    )
    schemas = _short_names(definitions["$defs"])
    roots = {model.__name__ for model in (*requests, *answers)}
    used = _referenced(roots, schemas)
    fixed = {name: read_json("document.json")[name] for name in ("Finding", "Refusal")}
    described = {name: _complete_schema(name, schemas[name]) for name in sorted(used)}
    return {**described, "Amount": AMOUNT, **{name: _complete_schema(name, schema) for name, schema in fixed.items()}}


@cache
def _models() -> Mapping[str, type[BaseModel]]:
    return {model.__name__: model for model in _below(BaseModel) if model.__module__.startswith("chalicelib.schemas")}


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for child in model.__subclasses__():
        yield child
        yield from _below(child)


def line_of(name: str) -> list[str]:
    """Return the name of a model, and of those it inherits from, the nearest first."""
    return [one.__name__ for one in _models()[name].__mro__] if name in _models() else [name]


def _request(name: str) -> type[Request] | None:
    """Return the model of a request; None for an answer."""
    model = _models().get(name)
    return model if model and issubclass(model, Request) else None


def _referenced(names: set[str], schemas: Mapping[str, Any]) -> set[str]:
    """Return the names, and those they refer to. A replaced type leaves an unused definition behind."""
    found = {name for top in names for name in re.findall(rf"{SCHEMA_REF}(\w+)", str(schemas[top]))}
    return names if found <= names else _referenced(names | found, schemas)


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


def _complete_schema(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of one model with its fields described, and their values.

    Another spelling of a field is a property if the specification shows it, and otherwise only in the description.
    Optional fields of a request may be null.
    """
    request = _request(name)
    required = [] if name in PLACES else schema.get("required", [])
    properties: dict[str, Any] = {}
    spellings = request.SPELLINGS if request else {}
    for field, described in schema.get("properties", {}).items():
        complete = _field_schema(name, field, described)
        if request and field in fields_of(request).trimmed:
            complete = _with_blanks(complete)
        if f"{name}.{field}" in MAY_BE_EMPTY or name in PLACES:
            complete = _or_null(complete)
            complete["anyOf"].insert(1, EMPTY)
        elif request and field not in required and complete.keys() != {"description"}:  # null is of any type
            complete = _or_null(complete)
            complete["anyOf"] = [_or_empty(part) for part in complete["anyOf"]]
        for other in (other for other, meant in spellings.items() if meant == field):
            if other in SPECIFIED_SPELLINGS:
                properties[other] = _spelling_of(field, complete)
            complete["description"] += f" Also read as `{other}`."
        properties[field] = complete
    others = {key: value for key, value in schema.items() if key not in {"title", "properties", "required"}}
    return {
        "title": name,
        **others,
        "properties": properties,
        **({"required": required} if required else {}),
    }


def _spelling_of(field: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the property of another spelling, marked with `x-spelling-of`.

    Where the names of two spellings are equal in a generated client, the later property is the usual spelling. A
    pattern would make two checks of one name.
    """
    parts = [{key: value for key, value in part.items() if key != "pattern"} for part in schema["anyOf"]]
    description = f"Another spelling of `{field}`, from the specification. Send one of the two."
    return {"anyOf": parts, "description": description, "x-spelling-of": field}


def _or_null(field: dict[str, Any]) -> dict[str, Any]:
    described = {"description": field["description"]}
    if "anyOf" in field:
        parts = [part for part in field["anyOf"] if part != NULL]
    elif "$ref" in field:
        parts, described = [{"$ref": field["$ref"]}], {key: value for key, value in field.items() if key != "$ref"}
    else:
        parts = [{key: value for key, value in field.items() if key != "description"}]
    return {"anyOf": [*parts, NULL], **described}


def _with_blanks(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a text that is read without outer blanks."""
    if "anyOf" in field:
        return {**field, "anyOf": [_with_blanks(part) for part in field["anyOf"]]}
    if field.get("type") == "array":
        return {**field, "items": _with_blanks(field["items"])}
    if "pattern" in field:
        return {**field, "pattern": rf"^\s*{field['pattern'].removeprefix('^').removesuffix('$')}\s*$"}
    if (most := field.get("maxLength", SHORT + 1)) <= SHORT:
        others = {key: value for key, value in field.items() if key != "maxLength"}
        return {**others, "pattern": rf"^\s*\S{{0,{most}}}\s*$"}
    return field


SHORT = 3  # characters of a code, which outer blanks easily exceed


def _or_empty(part: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional text that may also be empty, because tills send empty texts for absent ones."""
    if part.get("maxItems") == MAX_ADDRESSES and part["items"].get("type") == "string":  # addresses of a receipt
        return {**part, "items": {"anyOf": [_or_empty(part["items"]), NULL]}}
    if part.get("type") != "string":
        return part
    empty = {key: value for key, value in part.items() if key not in {"minLength", "format"}}
    shortest = part.get("minLength", 0)
    pattern = part.get("pattern") or (DAY if part.get("format") == "date" else None)
    if pattern is None and shortest > 1:
        pattern = rf"^[\s\S]{{{shortest},}}$"
    if pattern:
        empty["pattern"] = rf"^\s*$|{pattern}" if pattern.startswith(r"^\s*") else f"^$|{pattern}"
    if part.get("format") == "password":
        empty["format"] = "password"
    if "enum" in part:
        empty["enum"] = [*part["enum"], ""]
    return empty


DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _field_schema(model: str, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    field = _plain_schema({key: value for key, value in schema.items() if key not in {"title", "default"}})
    if amount := AMOUNTS.get(f"{model}.{name}"):
        field = {"$ref": SCHEMA_REF + "Amount", **amount}
    meanings = dictionary_of(line_of(model), name)
    if f"{model}.{name}" in ITEMS:
        field["items"] = {"$ref": SCHEMA_REF + ITEMS[f"{model}.{name}"].__name__}
    if name == "Validations":
        field = {"anyOf": [{"type": "array", "items": {"$ref": SCHEMA_REF + "Finding"}}, NULL]}
    elif meanings:
        _add_values(field, meanings, is_open=_request(model) is None)
    for part in (field, *field.get("anyOf", [])):
        if part.get("type") in {"string", "number"}:
            part.update(CHECKED.get(f"{model}.{name}", {}))
        if part.get("type") == "integer" and name.endswith(("ID", "Id")):
            part["format"] = "int64"
    return {**field, "description": describe_field(model, name, meanings)}


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
    if plain.get("type") == "number":  # without a format, clients in Go have 32 bits: seven digits of an amount
        plain["format"] = "double"
    plain |= bounds
    if plain.get("type") == "integer" and plain.get("maximum", 0) > INT32:
        plain["format"] = "int64"
    return plain


def _add_values(field: dict[str, Any], meanings: Mapping[Any, str], *, is_open: bool) -> None:
    """Add the values of a dictionary. An answer may get new ones, which no generated client may refuse."""
    values = [int(value) if isinstance(value, int) else value for value in meanings]
    kind = "integer" if isinstance(values[0], int) else "string"
    for part in (field, *field.get("anyOf", [])):
        if part.get("type") == "array":
            _add_values(part["items"], meanings, is_open=is_open)
        elif part.get("type") == kind and "enum" not in part:
            for bound in {"minimum", "maximum", "maxLength"} & part.keys():  # the values say it
                del part[bound]
            names = [name_of_value(meaning or str(value)) for value, meaning in meanings.items()]
            part.update({"x-extensible-enum": values} if is_open else {"enum": values, "x-enum-varnames": names})


@cache
def texts_of_fields() -> Mapping[tuple[str, str], str]:
    """Return the texts of fields.json by model and field. A part of a path has no model."""
    features = {f"FeaturesIn|FeaturesView.{wire_name(name)}": one["about"] for name, one in FEATURES.items()}
    return by_model(read_json("fields.json") | features)


def describe_field(model: str, name: str, meanings: Mapping[Any, str]) -> str:
    """Return the description of a field: that of its model, or of the nearest one it inherits from, but of no other.

    Raises KeyError for a field that is not described.
    """
    texts = texts_of_fields()
    text = next((texts[one, name] for one in line_of(model) if (one, name) in texts), None)
    if text is None:
        message = f"infra/reference/fields.json does not describe {model}.{name}"
        raise KeyError(message)
    values = "; ".join(f"{_value_text(value)} {meaning}".rstrip() for value, meaning in meanings.items())
    more = "" if _request(model) else " More values may come."
    text = text.replace("{acquirers}", ", ".join(OWN_ACQUIRERS))
    return f"{text} {values}.{more}" if values else text


def _value_text(value: Any) -> str:
    return re.sub(r"^.*\.", "", str(int(value))) if isinstance(value, int) else str(value)
