"""Tables of fields: an object of one endpoint is shown there, one of several endpoints once, under Objects."""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any

from chalicelib.schemas.request_context import Context
from infra.reference.schemas import SCHEMA_REF

LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "from {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
    "maxItems": "at most {} items",
    "pattern": "as {}",
}
CONTEXT_FIELDS = {field.alias for field in Context.model_fields.values()}  # sent with most requests: shown last
ENVELOPE_FIELDS = {"ErrorCode", "ErrorMessage", "Validations"}


def shown_name(schema: str) -> str:
    """Return the name of an object without its suffix: Transaction for TransactionView."""
    return re.sub(r"(?<=.)(View|In)$", "", schema)


class Fields:
    """The objects of a document, which are either shared or of one endpoint."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas: dict[str, Any] = document["components"]["schemas"]
        used = re.findall(rf"{SCHEMA_REF}(\w+)", str([document["paths"], self._schemas]))
        self._shared = {name for name, count in Counter(used).items() if count > 1} - {"Refusal"}
        bodies = [one.get("requestBody") for methods in document["paths"].values() for one in methods.values()]
        self._in_requests = self._referenced(set(re.findall(rf"{SCHEMA_REF}(\w+)", str(bodies))))

    def _referenced(self, names: set[str]) -> set[str]:
        found = set(re.findall(rf"{SCHEMA_REF}(\w+)", str([self._schemas[name] for name in names])))
        return names if found <= names else self._referenced(names | found)

    def shared(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the objects that several places refer to, in order."""
        return [(name, self._schemas[name]) for name in sorted(self._shared, key=shown_name)]

    def table(self, schema: dict[str, Any]) -> str:
        """Return the table of a request or an answer, without the fields of the envelope."""
        return self.rows(schema["$ref"].removeprefix(SCHEMA_REF))

    def rows(self, name: str) -> str:
        """Return the table of one object: requests show which fields are required, answers which may be null."""
        rows = "".join(self._rows(self._schemas[name], "", in_request=name in self._in_requests))
        return f'<table class="fields"><thead><tr><th>Field<th>Type<th>Meaning<tbody>{rows}</table>'

    def parameters(self, parameters: list[dict[str, Any]]) -> str:
        """Return the table of the parameters in path, query and headers."""
        rows = "".join(
            _row(
                one["name"],
                self._type(one["schema"], in_request=True),
                one["description"],
                required=one.get("required", False),
            )
            for one in parameters
        )
        return f'<table class="fields"><tbody>{rows}</table>'

    def _rows(self, schema: dict[str, Any], path: str, *, in_request: bool) -> Iterator[str]:
        required = set(schema.get("required", ())) if in_request else set()
        for name, field in sorted(
            schema["properties"].items(), key=lambda item: not path and item[0] in CONTEXT_FIELDS
        ):
            if not path and name in ENVELOPE_FIELDS:
                continue
            yield _row(
                path + name, self._type(field, in_request=in_request), field["description"], required=name in required
            )
            inner, many = self._inner_object(field)
            if inner and inner not in self._shared:
                yield from self._rows(
                    self._schemas[inner], f"{path}{name}{'[]' if many else ''}.", in_request=in_request
                )

    def _inner_object(self, field: dict[str, Any]) -> tuple[str | None, bool]:
        """Return the object that a field holds, and whether it holds a list of them."""
        for part in (field, *field.get("anyOf", ())):
            if "$ref" in part:
                return part["$ref"].removeprefix(SCHEMA_REF), False
            if "$ref" in part.get("items", {}):
                return part["items"]["$ref"].removeprefix(SCHEMA_REF), True
        return None, False

    def _type(self, field: dict[str, Any], *, in_request: bool) -> str:
        parts = field.get("anyOf", [field])
        words = [self._type_text(part) for part in parts if part.get("type") != "null"]
        nullable = len(words) < len(parts) and not in_request  # in a request, null is the same as absent
        return " or ".join(dict.fromkeys(words)) + (" or null" if nullable and words else "") or "null"

    def _type_text(self, part: dict[str, Any]) -> str:
        if "$ref" in part:
            name = part["$ref"].removeprefix(SCHEMA_REF)
            return f'<a href="#{name}">{shown_name(name)}</a>' if name in self._shared else "object"
        if part.get("type") == "array":
            return f"array of {self._type_text(part.get('items', {})) or 'anything'}"
        limits = [text.format(escape(str(part[name]))) for name, text in LIMITS.items() if name in part]
        return str(part.get("type", "anything")) + (f" ({', '.join(limits)})" if limits and "enum" not in part else "")


def _row(name: str, kind: str, meaning: str, *, required: bool) -> str:
    mark = ' <span class="must">required</span>' if required else ""
    shown = escape(name).replace(".", ".<wbr>")
    return f'<tr><td><code>{shown}</code>{mark}<td class="type">{kind}<td>{escape(meaning)}'
