"""Mapping templates (VTL), as far as this API uses them: #set, #if, #foreach, references, lists, `==`, `||` and `!`.

https://velocity.apache.org/engine/1.7/vtl-reference.html
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

DIRECTIVE = re.compile(r"#(set|if|foreach)\(|#(end)")
TOKEN = re.compile(r'\s*("[^"]*"|\$\w+|\.\w+(?:-\w+)*|\d+|\w+|==|\|\||[][()!,=])')
REFERENCE = re.compile(r"\$(\w+)")


def rendered(template: str, names: Mapping[str, Any]) -> str:
    """Return the text of a template, and change the objects of `names` by its #set. Raises ValueError if malformed."""
    return "".join(_Template(template, dict(names)).block(runs=True))


class _Template:
    def __init__(self, text: str, names: dict[str, Any]) -> None:
        self._text, self._names = text, names
        self._at = 0  # position in the text
        self._left: list[str] = []  # tokens of the current directive

    def block(self, *, runs: bool) -> Iterator[str]:
        """Yield the text up to the end of the block; the directives in a block that does not run are only read."""
        while found := DIRECTIVE.search(self._text, self._at):
            if runs:
                yield self._text[self._at : found.start()]
            self._at = found.end()
            if found[2]:
                return
            self._left = self._argument()
            if found[1] == "foreach":
                yield from self._each(runs=runs)
            elif found[1] == "if":
                yield from self.block(runs=runs and bool(self._value()))
            elif runs:
                self._set()
        if runs:
            yield self._text[self._at :]
        self._at = len(self._text)

    def _argument(self) -> list[str]:
        """Return the tokens up to the bracket that closes."""
        tokens: list[str] = []
        depth = 1
        while found := TOKEN.match(self._text, self._at):
            self._at = found.end()
            depth += {"(": 1, ")": -1}.get(found[1], 0)
            if not depth:
                return tokens
            tokens.append(found[1])
        raise ValueError(self._text[self._at : self._at + 40])

    def _each(self, *, runs: bool) -> Iterator[str]:
        variable, word = self._left.pop(0), self._left.pop(0)
        if word != "in":
            raise ValueError(word)
        start = self._at
        for item in self._value() if runs else ():
            self._at = start
            self._names[variable[1:]] = item
            yield from self.block(runs=True)
        self._at = start
        list(self.block(runs=False))  # to its end

    def _set(self) -> None:
        end = self._left.index("=")
        *path, last = [name[1:] for name in self._left[:end]]
        self._left = self._left[end + 1 :]
        holder: Any = self._names
        for name in path:
            holder = holder[name]
        holder[last] = self._value()

    def _value(self) -> Any:
        """Return the value of the tokens that are left."""
        value = self._any_of()
        if self._left:
            raise ValueError(self._left)
        return value

    def _any_of(self) -> Any:
        value = self._equality()
        while self._skip("||"):
            other = self._equality()
            value = bool(value) or bool(other)
        return value

    def _equality(self) -> Any:
        value = self._operand()
        return value == self._operand() if self._skip("==") else value

    def _operand(self) -> Any:
        match self._left.pop(0):
            case "!":
                return not self._operand()
            case "[":
                return self._items("]")
            case text if text.startswith('"'):
                return REFERENCE.sub(lambda name: str(self._names[name[1]]), text[1:-1])
            case name if name.startswith("$"):
                return self._followed(self._names[name[1:]])
            case "true" | "false" as word:
                return word == "true"
            case digits:
                return int(digits)

    def _followed(self, value: Any) -> Any:
        """Follow the names after a reference, such as `.header` or `.get("Origin")`, and return the value."""
        while self._left and self._left[0].startswith("."):
            name = self._left.pop(0)[1:]
            if self._skip("("):
                arguments = self._items(")")
                value = value.get(*arguments) if name == "get" else value[name](*arguments)
            else:
                value = value[name]
        return value

    def _items(self, end: str) -> list[Any]:
        items = []
        while not self._skip(end):
            items.append(self._any_of())
            self._skip(",")
        return items

    def _skip(self, token: str) -> bool:
        found = self._left[:1] == [token]
        if found:
            self._left.pop(0)
        return found
