"""Reads of moto in a time that does not grow with what is stored elsewhere.

For each query moto sorts and compares all items of the table; here it gets those of the partition that is asked for,
and for an index all of them as they come. And it looks each attribute of an item up under every name that it could have
in a Python object; here an item is written as it is. moto does the rest. The caller holds the lock of moto.
"""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from moto.core.serialize import JSONSerializer
    from moto.dynamodb.models.table import Table

VALUE = "AttributeValue"  # the name that the model of DynamoDB has for it


@contextlib.contextmanager
def look_at_what_is_asked_alone() -> Iterator[None]:
    """Replace moto's searches through whole tables, and for names of attributes, until the block ends."""
    table = import_module("moto.dynamodb.models.table").Table
    serializer: Any = import_module("moto.core.serialize").JSONSerializer
    writing = "_serialize_type_structure"
    with (
        patch.object(table, "query", _of_one_partition(table.query)),
        patch.object(serializer, writing, _direct(getattr(serializer, writing))),
    ):
        yield


def _of_one_partition(carry_out: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(carry_out)

    def query(self: "Table", *positional: Any, **named: Any) -> Any:
        asked = signature.bind(self, *positional, **named).arguments
        with patch.object(self, "all_items", lambda: list(_partition(self, asked))):
            return carry_out(self, *positional, **named)

    return query


def _partition(table: "Table", asked: Mapping[str, Any]) -> Iterable[Any]:
    """Return the items of the partition, or for an index all of them, in any order: moto chooses of them, and sorts."""
    ranged = bool(table.range_key_attr)
    stored: Any = table.items
    if asked.get("index_name"):
        return chain.from_iterable(found.values() for found in stored.values()) if ranged else stored.values()
    if (found := stored.get(asked["hash_key"])) is None:
        return ()
    return found.values() if ranged else (found,)


def _direct(search: Callable[..., None]) -> Callable[..., None]:
    def write(self: "JSONSerializer", serialized: dict[str, Any], value: Any, shape: Any, key: str) -> None:
        if shape.name == VALUE and self.service_model.service_name == "dynamodb":
            serialized[key] = _written(self, value)
        else:
            search(self, serialized, value, shape, key)

    return write


def _written(serializer: "JSONSerializer", value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value as JSON has it."""
    ((kind, inner),) = value.items()
    if kind == "M":
        inner = {name: _written(serializer, one) for name, one in inner.items()}
    elif kind == "L":
        inner = [_written(serializer, one) for one in inner]
    elif kind == "B":
        inner = serializer._base64(inner)  # noqa: SLF001  as moto writes it
    elif kind == "BS":
        inner = [serializer._base64(one) for one in inner]  # noqa: SLF001  as above
    return {kind: inner}
