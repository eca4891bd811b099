"""Tables of fields: what only one endpoint uses is shown in place, what several share stands once under Objects."""

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
CONTEXT_FIELDS = {field.alias for field in Context.model_fields.values()}  # sent with most requests: it comes last
ENVELOPE_FIELDS = {"ErrorCode", "ErrorMessage", "Validations"}


def shown_name(schema: str) -> str:
    """The name of an object for people: TransactionView is the Transaction."""
    return re.sub(r"(?<=.)(View|In)$", "", schema)


class Fields:
    """The objects of a document, and which of them are shared."""

    def __init__(self, described: dict[str, Any]) -> None:
        self._schemas: dict[str, Any] = described["components"]["schemas"]
        used = re.findall(rf"{SCHEMA_REF}(\w+)", str([described["paths"], self._schemas]))
        self._shared = {name for name, count in Counter(used).items() if count > 1} - {"Refusal"}
        bodies = [one.get("requestBody") for methods in described["paths"].values() for one in methods.values()]
        self._sent = self._reached(set(re.findall(rf"{SCHEMA_REF}(\w+)", str(bodies))))

    def _reached(self, names: set[str]) -> set[str]:
        found = set(re.findall(rf"{SCHEMA_REF}(\w+)", str([self._schemas[name] for name in names])))
        return names if found <= names else self._reached(names | found)

    def shared(self) -> list[tuple[str, dict[str, Any]]]:
        """The objects several places refer to, in order."""
        return [(name, self._schemas[name]) for name in sorted(self._shared, key=shown_name)]

    def table(self, schema: dict[str, Any]) -> str:
        """The fields of what a request or an answer is; the envelope goes without saying."""
        return self.rows(schema["$ref"].removeprefix(SCHEMA_REF))

    def rows(self, name: str) -> str:
        """The fields of one object: which are required where it is sent, which may be null where it is answered."""
        rows = "".join(self._rows(self._schemas[name], "", sent=name in self._sent))
        return f'<table class="fields"><thead><tr><th>Field<th>Type<th>Meaning<tbody>{rows}</table>'

    def parameters(self, parameters: list[dict[str, Any]]) -> str:
        """What stands in the path, the query and the headers."""
        rows = "".join(
            _row(one["name"], self._type(one["schema"], sent=True), one["description"], must=one.get("required", False))
            for one in parameters
        )
        return f'<table class="fields"><tbody>{rows}</table>'

    def _rows(self, schema: dict[str, Any], path: str, *, sent: bool) -> Iterator[str]:
        required = set(schema.get("required", ())) if sent else set()
        for name, field in sorted(
            schema["properties"].items(), key=lambda item: not path and item[0] in CONTEXT_FIELDS
        ):
            if not path and name in ENVELOPE_FIELDS:
                continue
            yield _row(path + name, self._type(field, sent=sent), field["description"], must=name in required)
            inner, many = self._inner(field)
            if inner and inner not in self._shared:
                yield from self._rows(self._schemas[inner], f"{path}{name}{'[]' if many else ''}.", sent=sent)

    def _inner(self, field: dict[str, Any]) -> tuple[str | None, bool]:
        """The object a field holds, and whether there may be several."""
        for part in (field, *field.get("anyOf", ())):
            if "$ref" in part:
                return part["$ref"].removeprefix(SCHEMA_REF), False
            if "$ref" in part.get("items", {}):
                return part["items"]["$ref"].removeprefix(SCHEMA_REF), True
        return None, False

    def _type(self, field: dict[str, Any], *, sent: bool) -> str:
        parts = field.get("anyOf", [field])
        words = [self._word(part) for part in parts if part.get("type") != "null"]
        nullable = len(words) < len(parts) and not sent  # where it is sent, null is the same as absent
        return " or ".join(dict.fromkeys(words)) + (" or null" if nullable and words else "") or "null"

    def _word(self, part: dict[str, Any]) -> str:
        if "$ref" in part:
            name = part["$ref"].removeprefix(SCHEMA_REF)
            return f'<a href="#{name}">{shown_name(name)}</a>' if name in self._shared else "object"
        if part.get("type") == "array":
            return f"array of {self._word(part.get('items', {})) or 'anything'}"
        limits = [text.format(escape(str(part[name]))) for name, text in LIMITS.items() if name in part]
        return str(part.get("type", "anything")) + (f" ({', '.join(limits)})" if limits and "enum" not in part else "")


def _row(name: str, kind: str, meaning: str, *, must: bool) -> str:
    required = ' <span class="must">required</span>' if must else ""
    shown = escape(name).replace(".", ".<wbr>")
    return f'<tr><td><code>{shown}</code>{required}<td class="type">{kind}<td>{escape(meaning)}'
