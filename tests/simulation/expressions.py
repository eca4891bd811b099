"""The expressions of DynamoDB that the service writes, read once each: conditions, updates, projections, keys.

Every attribute is written `#name` and every value `:name`; paths into lists and maps are not modelled.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from tests.simulation.values import EXACT, ORDERED, SETS, InvalidError, Item, Value, comparable, number_of, stored

Values = Mapping[str, Value]
Holds = Callable[[Item, Values], bool]
Evaluate = Callable[[Item, Values], Value | None]
Names = tuple[tuple[str, str], ...]

TOKEN = re.compile(r"\s*(<>|<=|>=|[()=<>,+-]|[#:]\w+|[A-Za-z_]\w*)")
COMPARED = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
WORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "ADD", "REMOVE", "DELETE"})
ADDED = frozenset({"N", *SETS})  # the types that ADD adds
PREFIXES = frozenset({"S", "B"})  # the types that begin with others
BOUNDS = "bounds"  # both of BETWEEN, where they are values
LISTED_MOST = 100  # operands of IN


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition: whether it holds of an item, and which names and values it mentions."""

    holds: Holds
    parts: tuple[Any, ...]  # how it is written, for a key condition
    used: frozenset[str]
    operands: tuple[tuple[str, tuple[str, ...]], ...]  # its operators that do not take every value, and their values

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that it looks at."""
        return frozenset(_attributes(self.parts))


@dataclass(frozen=True, eq=False)
class Update:
    """An update: its actions, each on an attribute of its own, and which names and values it mentions."""

    set: tuple[tuple[str, Evaluate], ...]
    remove: tuple[str, ...]
    add: tuple[tuple[str, str], ...]
    numbers: frozenset[str]  # the values that are added up
    used: frozenset[str]

    @cached_property
    def changes(self) -> tuple[str, ...]:
        """The attributes it changes."""
        return (*(name for name, _ in self.set), *self.remove, *(name for name, _ in self.add))


@lru_cache(maxsize=4096)
def condition(text: str, names: Names) -> Condition:
    """Read a condition or a filter."""
    reader = _Reader(text, names)
    parts = reader.either()
    reader.end()
    return Condition(_holds(parts), parts, frozenset(reader.used), tuple(_operands(parts)))


@lru_cache(maxsize=4096)
def update(text: str, names: Names) -> Update:
    """Read an update."""
    reader = _Reader(text, names)
    found = reader.update()
    reader.end()
    changed = found.changes
    if len(set(changed)) < len(changed):
        raise InvalidError  # two actions on one attribute
    return found


@lru_cache(maxsize=4096)
def projection(text: str, names: Names) -> tuple[tuple[str, ...], frozenset[str]]:
    """Read the attributes of a projection, and the names it mentions."""
    reader = _Reader(text, names)
    found = [reader.name()]
    while reader.took(","):
        found.append(reader.name())
    reader.end()
    if len(set(found)) < len(found):
        raise InvalidError
    return tuple(found), frozenset(reader.used)


class _Reader:
    """A reader of one expression. What it reads becomes tuples, of which functions are made."""

    def __init__(self, text: str, names: Names) -> None:
        self._names = dict(names)
        self._words = _words(text)
        self._at = 0
        self.used: set[str] = set()
        self.numbers: set[str] = set()

    def end(self) -> None:
        if self._at < len(self._words):
            raise InvalidError

    def took(self, word: str) -> bool:
        """Return whether the next word is this one, and go on behind it if so."""
        if self._next().upper() != word:
            return False
        self._at += 1
        return True

    def _next(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _expect(self, word: str) -> None:
        if not self.took(word):
            raise InvalidError

    def name(self) -> str:
        """Read an attribute's name."""
        word = self._next()
        if not word.startswith("#") or word not in self._names:
            raise InvalidError
        self._at += 1
        self.used.add(word)
        return self._names[word]

    def _value(self) -> str:
        word = self._next()
        if not word.startswith(":"):
            raise InvalidError
        self._at += 1
        self.used.add(word)
        return word

    def _operand(self) -> tuple[str, Any]:
        return ("value", self._value()) if self._next().startswith(":") else ("name", self.name())

    def either(self) -> tuple[Any, ...]:
        parts = [self._all()]
        while self.took("OR"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else ("or", *parts)

    def _all(self) -> tuple[Any, ...]:
        parts = [self._not()]
        while self.took("AND"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else ("and", *parts)

    def _not(self) -> tuple[Any, ...]:
        if self.took("NOT"):
            return ("not", self._not())
        if self.took("("):
            inner = self.either()
            self._expect(")")
            return inner
        function = self._next()
        if function in FUNCTIONS:
            return self._function(function)
        return self._comparison(self._operand())

    def _function(self, function: str) -> tuple[Any, ...]:
        self._at += 1
        self._expect("(")
        subject = self.name() if function.startswith("attribute") else self._operand()
        if FUNCTIONS[function] == 1:
            self._expect(")")
            return (function, subject)
        self._expect(",")
        sought = self._operand()
        self._expect(")")
        return _distinct((function, subject, sought))

    def _comparison(self, left: tuple[str, Any]) -> tuple[Any, ...]:
        if self.took("BETWEEN"):
            low = self._operand()
            self._expect("AND")
            return _distinct(("between", left, low, self._operand()))
        if self.took("IN"):
            self._expect("(")
            listed = [self._operand()]
            while self.took(","):
                listed.append(self._operand())
            self._expect(")")
            if len(listed) > LISTED_MOST:
                raise InvalidError
            return _distinct(("in", left, *listed))
        sign = self._next()
        if sign not in COMPARED:
            raise InvalidError
        self._at += 1
        return _distinct((sign, left, self._operand()))

    def update(self) -> Update:
        clauses: dict[str, Any] = {}
        while (clause := self._next().upper()) in {"SET", "REMOVE", "ADD"}:
            if clause in clauses:
                raise InvalidError
            self._at += 1
            action = {"SET": self._assignment, "REMOVE": self.name, "ADD": self._addition}[clause]
            clauses[clause] = [action()]
            while self.took(","):
                clauses[clause].append(action())
        if not clauses:
            raise InvalidError
        assigned, removed, added_ones = (tuple(clauses.get(clause, ())) for clause in ("SET", "REMOVE", "ADD"))
        return Update(assigned, removed, added_ones, frozenset(self.numbers), frozenset(self.used))

    def _assignment(self) -> tuple[str, Evaluate]:
        name = self.name()
        self._expect("=")
        begin = self._at
        first = self._term()
        sign = self._next()
        if sign not in {"+", "-"}:
            return name, first
        self._at += 1
        second = self._term()
        self.numbers |= {word for word in (self._words[begin], self._words[self._at - 1]) if word.startswith(":")}
        return name, _sum(first, second, 1 if sign == "+" else -1)

    def _term(self) -> Evaluate:
        if self._next() != "if_not_exists":
            return _evaluate(self._operand())
        self._at += 1
        self._expect("(")
        name = self.name()
        self._expect(",")
        otherwise = self._term()
        self._expect(")")
        return lambda item, values: item[name] if name in item else otherwise(item, values)

    def _addition(self) -> tuple[str, str]:
        return self.name(), self._value()


FUNCTIONS = {"attribute_exists": 1, "attribute_not_exists": 1, "begins_with": 2, "contains": 2}


def _distinct(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a condition; refuse one that compares something with itself."""
    if parts[1] in parts[2:] and parts[1][0] == "name":
        raise InvalidError
    return parts


def _words(text: str) -> list[str]:
    words, at, text = [], 0, text.rstrip()
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise InvalidError
        words.append(found[1])
        at = found.end()
    return words


def _evaluate(operand: tuple[str, Any]) -> Evaluate:
    kind, name = operand
    if kind == "value":
        return lambda _, values: values[name]
    return lambda item, _: item.get(name)


def _sum(first: Evaluate, second: Evaluate, sign: int) -> Evaluate:
    def total(item: Item, values: Values) -> Value:
        left, right = first(item, values), second(item, values)
        if left is None or right is None or "N" not in left or "N" not in right:
            raise InvalidError
        return _total(left["N"], right["N"], sign)

    return total


def _total(one: str, other: str, sign: int = 1) -> Value:
    left, right = number_of(one), number_of(other)
    if isinstance(left, int) and isinstance(right, int):
        return stored({"N": str(left + sign * right)})
    return stored({"N": str((EXACT.add if sign > 0 else EXACT.subtract)(Decimal(left), Decimal(right)))})


def added(before: Value | None, value: Value) -> Value:
    """Return what ADD makes of an attribute; raise InvalidError for other types."""
    kind = next(iter(value))
    if before is None:
        return value
    if kind not in before:
        raise InvalidError
    if kind == "N":
        return _total(before["N"], value["N"])
    return {kind: [*before[kind], *(each for each in value[kind] if each not in before[kind])]}


def check_values(update: Update, values: Values) -> None:
    """Refuse values of types that an update cannot add, before an item is looked at."""
    for _, placeholder in update.add:
        if ADDED.isdisjoint(values[placeholder]):
            raise InvalidError
    for placeholder in update.numbers:
        if "N" not in values[placeholder]:
            raise InvalidError


def check_operands(condition: Condition, values: Values) -> None:
    """Refuse values of types that an operator does not take, before an item is looked at."""
    for kind, placeholders in condition.operands:
        literals = [values[placeholder] for placeholder in placeholders]
        taken = PREFIXES if kind == "begins_with" else ORDERED
        for literal in literals:
            if taken.isdisjoint(literal):
                raise InvalidError
        if kind == BOUNDS:
            (low, lowest), (high, highest) = map(comparable, literals)
            if low != high or lowest > highest:
                raise InvalidError


def _operands(parts: tuple[Any, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the operators that do not take values of every type, each with the values it is given."""
    kind, *operands = parts
    if kind in {"and", "or", "not"}:
        for operand in operands:
            yield from _operands(operand)
    elif kind in {"<", "<=", ">", ">=", "between", "begins_with"}:
        yield kind, tuple(name for given, name in operands if given == "value")
    if kind == "between" and all(given == "value" for given, _ in operands[1:]):
        yield BOUNDS, tuple(name for _, name in operands[1:])


def _attributes(parts: Any) -> set[str]:
    """Return the attributes that a condition looks at."""
    if isinstance(parts, tuple):
        if parts[0] == "name":
            return {parts[1]}
        names = {parts[1]} if str(parts[0]).startswith("attribute") else set()
        return names.union(*map(_attributes, parts[1:]))
    return set()


def _holds(parts: tuple[Any, ...]) -> Holds:  # noqa: PLR0911  a line for each kind of condition
    kind, *operands = parts
    if kind == "and":
        every = [_holds(operand) for operand in operands]
        return lambda item, values: all(holds(item, values) for holds in every)
    if kind == "or":
        some = [_holds(operand) for operand in operands]
        return lambda item, values: any(holds(item, values) for holds in some)
    if kind == "not":
        (one,) = (_holds(operand) for operand in operands)
        return lambda item, values: not one(item, values)
    if kind == "attribute_exists":
        return lambda item, _: operands[0] in item
    if kind == "attribute_not_exists":
        return lambda item, _: operands[0] not in item
    subject, *others = map(_evaluate, operands)
    if kind == "between":
        low, high = _compared(">=", subject, others[0]), _compared("<=", subject, others[1])
        return lambda item, values: low(item, values) and high(item, values)
    if kind == "in":
        equal = [_compared("=", subject, other) for other in others]
        return lambda item, values: any(holds(item, values) for holds in equal)
    if kind in COMPARED:
        return _compared(kind, subject, others[0])
    found = _begins_with if kind == "begins_with" else _contains
    return lambda item, values: found(subject(item, values), others[0](item, values))


def _compared(sign: str, left: Evaluate, right: Evaluate) -> Holds:
    compare = COMPARED[sign]

    def holds(item: Item, values: Values) -> bool:
        one, other = left(item, values), right(item, values)
        if one is None or other is None:
            return sign == "<>"
        (kind, content), (other_kind, other_content) = comparable(one), comparable(other)
        if kind != other_kind:
            return sign == "<>"
        return (kind in ORDERED or sign in {"=", "<>"}) and bool(compare(content, other_content))

    return holds


def _begins_with(value: Value | None, prefix: Value | None) -> bool:
    if value is None or prefix is None:
        return False
    (kind, content), (other_kind, other) = comparable(value), comparable(prefix)
    return kind == other_kind and kind in {"S", "B"} and bool(content.startswith(other))


def _contains(value: Value | None, sought: Value | None) -> bool:
    if value is None or sought is None:
        return False
    (kind, content), (other_kind, other) = comparable(value), comparable(sought)
    if kind in SETS:
        return SETS[kind] == other_kind and other in content
    if kind == "L":
        return (other_kind, other) in content
    return kind == other_kind and kind in {"S", "B"} and other in content
