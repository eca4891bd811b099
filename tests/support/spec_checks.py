"""The tables of tests/support/spec_fields.py, compared with what is sent and what is answered."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support import spec_fields
from tests.support.spec_fields import ANSWERS, OBJECTS
from tests.support.specification import A, B, D, I, N, O, S

NULL = "null"
MISSING: Any = object()  # the value of a field that is not there
STEP = re.compile(r"\[(\d+)\]|\.?(\w+)")


def kind_of(value: object) -> str:
    """Return the specification's word for the type of a JSON value."""
    words = ((type(None), NULL), (bool, B), (int, I), (str, S), (list, A), (dict, O))
    return next((word for kind, word in words if isinstance(value, kind)), N)


def word_of(kind: Any) -> str:
    """Return the word for a type as the tables write it."""
    if isinstance(kind, list):
        return A
    return O if isinstance(kind, dict) or kind in OBJECTS else kind


def fits(word: str, kind: str | None) -> bool:
    """Return whether a value of the one type may stand where the table says the other: a whole number is a number."""
    return kind in (None, word) or (kind in {N, D} and word in {N, I})


class Seen:
    """What answers held: for each field of OBJECTS the types of its values, and the fields that no table has."""

    def __init__(self) -> None:
        self.words: dict[str, set[str]] = defaultdict(set)
        self.others: set[str] = set()

    def answer(self, endpoint: str, status: int, body: Mapping[str, Any]) -> None:
        """Look at the answer of an endpoint; a refusal is the envelope alone."""
        envelope = {name: body[name] for name in spec_fields.ENVELOPE}
        self._look(envelope, "Answer", "")
        rest = {name: value for name, value in body.items() if name not in spec_fields.ENVELOPE}
        if status == 200 and ANSWERS[endpoint] != "Answer":
            self._look(rest, ANSWERS[endpoint], "")
        else:
            self.others |= set(rest)

    def _look(self, value: Any, kind: Any, path: str) -> None:
        if path:
            self.words[path].add("missing" if value is MISSING else kind_of(value))
        if isinstance(kind, str) and kind in OBJECTS:
            kind, path = OBJECTS[kind], kind
        if value is None and isinstance(kind, list | dict):  # its parts are null, too
            parts = {"[]": kind[0]} if isinstance(kind, list) else {f".{name}": inner for name, inner in kind.items()}
            for name, inner in parts.items():
                self._look(None, inner, path + name)
        if isinstance(value, dict) and isinstance(kind, dict):
            self.others |= {f"{path}.{name}" for name in value if name not in kind}
            for name, inner in kind.items():
                self._look(value.get(name, MISSING), inner, f"{path}.{name}")
        if isinstance(value, list) and isinstance(kind, list):
            for item in value:
                self._look(item, kind[0], f"{path}[]")

    def faults(self, *objects: str) -> list[str]:
        """Return each field of these objects (of all) that was missing, of another type, or not once looked at."""
        found = []
        for path, kind in sorted(documented(*objects).items()):
            wrong = {word for word in self.words[path] - {NULL} if not fits(word, kind)}
            found += [f"{path} is {word}" for word in sorted(wrong)]
            if not self.words[path]:
                found.append(f"{path} was not seen")
        return found

    def always_null(self, *objects: str) -> set[str]:
        """Return the fields of these objects (of all) that had no value in any answer."""
        every = [path for path in documented(*objects) if not path.endswith("[]")]
        return {path for path in every if self.words[path] <= {NULL}}


def documented(*objects: str) -> dict[str, Any]:
    """Return every field of these objects (of all) by its path, and the word for its type."""
    found: dict[str, Any] = {}
    for name in objects or OBJECTS:
        for field, kind in OBJECTS[name].items():
            found[f"{name}.{field}"] = word_of(kind)
            if isinstance(kind, list):
                found[f"{name}.{field}[]"] = word_of(kind[0])
    return found


def paths(table: Mapping[str, Any], path: str = "") -> list[tuple[str, str, bool]]:
    """Return every field of a request's table, nested ones included: path, type, and whether it is required.

    A list is represented by its first item: Files, Files[0], Files[0].FileType.
    """
    return [one for name, (kind, required) in table.items() for one in _paths(kind, path + name, required=required)]


def _paths(kind: Any, path: str, *, required: bool) -> Iterator[tuple[str, str, bool]]:
    yield path, word_of(kind), required
    if isinstance(kind, list):
        yield from _paths(kind[0], f"{path}[0]", required=False)
    elif isinstance(kind, dict):
        for inner, word, must in paths(kind, f"{path}."):
            yield inner, word, required and must


def leaves(table: Mapping[str, Any]) -> list[str]:
    """Return the paths of a request's fields that have no fields of their own."""
    every = [path for path, _, _ in paths(table)]
    return [path for path in every if not any(other.startswith((f"{path}.", f"{path}[")) for other in every)]


def steps(path: str) -> list[str | int]:
    """Return the parts of a path: Files[0].FileType is Files, 0, FileType."""
    return [int(number) if number else name for number, name in STEP.findall(path)]


def at(body: Any, path: str) -> Any:
    """Return what stands at a path, MISSING where nothing does."""
    for step in steps(path):
        if isinstance(step, int):
            body = body[step] if isinstance(body, list) and step < len(body) else MISSING
        else:
            body = body.get(step, MISSING) if isinstance(body, dict) else MISSING
    return body


def put_at(body: Any, path: str, value: Any) -> None:
    """Put a value at a path of a body that has it."""
    *outer, last = steps(path)
    for step in outer:
        body = body[step]
    body[last] = value
