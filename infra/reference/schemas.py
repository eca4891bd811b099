"""The JSON Schema of requests and answers on the wire."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from chalicelib.domain.kinds import FEATURES, OWN_ACQUIRERS
from chalicelib.schemas.agents import BulkItem
from chalicelib.schemas.base import Request, fields_of, models_of, wire_name
from chalicelib.schemas.payments import MAX_ADDRESSES
from infra.reference import read_json
from infra.reference.dictionaries import CHECKED, dictionary_of, name_of_value

SCHEMA_REF = "#/components/schemas/"
NULL = {"type": "null"}
INT32 = 2**31 - 1
BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}

# Lists that are validated item by item, so that one wrong item does not stop the others. Pydantic sees lists of Any.
ITEMS: Mapping[str, type[Request]] = {"BulkUpdate.PosBulk": BulkItem}


# Amounts of requests, as a JSON number or a decimal text: the bounds of the number, and the pattern of the text. They
# have no type: clients in several languages make an object without fields of a choice between two types.
DECIMAL = r"[0-9]{1,20}(\.[0-9]{1,20})?"
AMOUNTS: Mapping[str, Mapping[str, Any]] = {
    "BasicTran.Amount": {"exclusiveMinimum": 0, "pattern": f"^{DECIMAL}$"},
    "BasicReverseTran.Amount": {"exclusiveMinimum": 0, "pattern": f"^{DECIMAL}$"},
    "Location.Latitude": {"minimum": -90, "maximum": 90, "pattern": "^$"},
    "Location.Longitude": {"minimum": -180, "maximum": 180, "pattern": "^$"},
    "BasicTran.AmountCashGot": {
        "minimum": 0,
        "exclusiveMaximum": 10**15,
        "pattern": rf"^(-?0+(\.0+)?|{DECIMAL})?$",
    },
    "Purchase.Price": {"exclusiveMinimum": -(10**15), "exclusiveMaximum": 10**15, "pattern": f"^-?{DECIMAL}$"},
    "Purchase.Discount": {"minimum": 0, "exclusiveMaximum": 10**15, "pattern": f"^({DECIMAL})?$"},
    "TaxIn.Rate": {"minimum": 0, "maximum": 100, "pattern": f"^{DECIMAL}$"},
    "ItemIn.Price": {"minimum": 0, "maximum": 10**12, "pattern": f"^{DECIMAL}$"},
    "ReportDrawer.Float": {"minimum": 0, "maximum": 10**12, "pattern": f"^{DECIMAL}$"},
    "ReportDrawer.Amount": {"exclusiveMinimum": 0, "maximum": 10**12, "pattern": f"^{DECIMAL}$"},
    "ReportDrawer.Counted": {"minimum": 0, "maximum": 10**12, "pattern": f"^{DECIMAL}$"},
    "Purchase.Quantity": {"exclusiveMinimum": 0, "exclusiveMaximum": 10**15, "pattern": f"^{DECIMAL}$"},
}
NOT_AMOUNTS = ["boolean", "object", "array"]  # and null, unless the amount or the place is optional
PLACES = ("Location",)  # tills send one with empty numbers where it is optional

SPECIFIED_SPELLINGS = frozenset({"SelfSevice", "ExtTranData", "LinkedCardID", "CurrencyId"})


class WireSchema(GenerateJsonSchema):
    """A generator of schemas as on the wire: amounts are exact numbers, and an answer has all its fields."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """Return a number. In requests, `AMOUNTS` replaces those that may be texts."""
        del schema
        return {"type": "number"}

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
    of_requests = {model.__name__: model for model in models_of(Request)}
    described = {name: _complete_schema(name, schemas[name], of_requests.get(name)) for name in sorted(used)}
    return {**described, "Finding": _complete_schema("Finding", read_json("document.json")["Finding"], None)}


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


def _complete_schema(name: str, schema: Mapping[str, Any], request: type[Request] | None) -> dict[str, Any]:
    """Return the schema of one model with its fields described, and their values.

    Another spelling of a field is a property if the specification shows it, and otherwise only in the description.
    Optional fields of a request may be null.
    """
    required = [] if name in PLACES else schema.get("required", [])
    properties: dict[str, Any] = {}
    spellings = request.SPELLINGS if request else {}
    for field, described in schema.get("properties", {}).items():
        complete = _field_schema(name, field, described)
        if request and field in fields_of(request).trimmed:
            complete = _with_blanks(complete)
        if f"{name}.{field}" in AMOUNTS:
            types = NOT_AMOUNTS if field not in required else [*NOT_AMOUNTS, "null"]
            complete["not"] = {"type": types, "items": {}}  # linters want items with the type array
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
        "title": _title(name),
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


def _title(schema: str) -> str:
    """Return the name of an object without its suffix: Transaction for TransactionView."""
    return re.sub(r"(?<=.)(View|In)$", "", schema)


def _or_null(field: dict[str, Any]) -> dict[str, Any]:
    description = {"description": field["description"]}
    parts = field.get("anyOf") or [{key: value for key, value in field.items() if key != "description"}]
    return {"anyOf": parts if NULL in parts else [*parts, NULL], **description}


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
        field = {"format": "double", **amount}
    meanings = dictionary_of(model, name)
    if f"{model}.{name}" in ITEMS:
        field["items"] = {"$ref": SCHEMA_REF + ITEMS[f"{model}.{name}"].__name__}
    if name == "Validations":
        field = {"anyOf": [{"type": "array", "items": {"$ref": SCHEMA_REF + "Finding"}}, NULL]}
    elif meanings:
        _add_enum(field, meanings)
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


def _add_enum(field: dict[str, Any], meanings: Mapping[Any, str]) -> None:
    values = [int(value) if isinstance(value, int) else value for value in meanings]
    kind = "integer" if isinstance(values[0], int) else "string"
    for part in (field, *field.get("anyOf", [])):
        if part.get("type") == kind and "enum" not in part:
            for bound in {"minimum", "maximum"} & part.keys():  # the values say it
                del part[bound]
            part |= {"enum": values, "x-enum-varnames": [name_of_value(meaning) for meaning in meanings.values()]}


def describe_field(model: str, name: str, meanings: Mapping[Any, str]) -> str:
    """Return the description of a field. Raises KeyError for a field that is not described."""
    texts = read_json("fields.json") | OF_FEATURES
    for key in (f"{model}.{name}", *(f"{base}.{name}" for base in BASE_MODELS.get(model, ())), name):
        if key in texts:
            values = "; ".join(f"{_value_text(value)} {meaning}" for value, meaning in meanings.items())
            text = str(texts[key]).replace("{acquirers}", ", ".join(OWN_ACQUIRERS))
            return f"{text} {values}.".removesuffix(" .") if values else text
    message = f"infra/reference.fields.json does not describe {model}.{name}"
    raise KeyError(message)


OF_FEATURES = {wire_name(name): feature["about"] for name, feature in FEATURES.items()}
BASE_MODELS = {f"{act}{noun}": (f"_{noun}",) for act in ("Create", "Update") for noun in ("Merchant", "Terminal")}


def _value_text(value: Any) -> str:
    return re.sub(r"^.*\.", "", str(int(value))) if isinstance(value, int) else str(value)
