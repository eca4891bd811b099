"""The command `make reference`: the reference of the interface, from routes, schemas and the error catalogue."""

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import simplejson

Value = TypeVar("Value")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@cache
def read_json(name: str) -> Any:
    """Return the content of a JSON file of this folder, such as fields.json."""
    return json.loads((HERE / name).read_text(encoding="utf-8"), parse_float=Decimal)


def by_model(table: Mapping[str, Value]) -> dict[tuple[str, str], Value]:
    """Return a table with keys such as "CreateTerminal|TerminalView.City" by model and field, without doubles."""
    found: dict[tuple[str, str], Value] = {}
    for key, value in table.items():
        models, _, field = key.rpartition(".")
        for model in models.split("|"):
            if found.setdefault((model, field), value) is not value:
                raise ValueError(key)
    return found


def to_lines(value: Any, levels: int) -> str:
    """Return compact JSON in ASCII, with a line for each member of the objects of so many levels."""
    if not levels or not isinstance(value, dict):
        return simplejson.dumps(value, use_decimal=True, separators=(",", ":"))
    members = (f"{simplejson.dumps(name)}:{to_lines(member, levels - 1)}" for name, member in value.items())
    return "{\n" + ",\n".join(members) + "\n}"
