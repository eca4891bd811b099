"""Mapping templates (VTL), as far as this API has them: #set, #if, #foreach, references, lists, `==`, `||` and `!`.

https://velocity.apache.org/engine/1.7/vtl-reference.html
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

DIRECTIVE = re.compile(r"#(set|if|foreach)\(|#(end)")
TOKEN = re.compile(r'\s*("[^"]*"|\$\w+|\.\w+(?:-\w+)*|\d+|\w+|==|\|\||[][()!,=])')
REFERENCE = re.compile(r"\$(\w+)")


def rendered(template: str, names: Mapping[str, Any]) -> str:
    """Return the text of a template; what it sets is in the objects of `names`. ValueError for what is not known."""
    return "".join(_Template(template, dict(names)).block(runs=True))


class _Template:
    def __init__(self, text: str, names: dict[str, Any]) -> None:
        self._text, self._names = text, names
        self._at = 0  # how far the text is read

    def block(self, *, runs: bool) -> Iterator[str]:
        """Yield the text up to the end of the block; the directives in a block that does not run are only read."""
        while found := DIRECTIVE.search(self._text, self._at):
            if runs:
                yield self._text[self._at : found.start()]
            self._at = found.end()
            if found[2]:
                return
            yield from self._directive(found[1], runs=runs)
        if runs:
            yield self._text[self._at :]
        self._at = len(self._text)

    def _directive(self, name: str, *, runs: bool) -> Iterator[str]:
        argument = self._argument()
        if name == "set":
            if runs:
                self._set(argument)
        elif name == "if":
            yield from self.block(runs=runs and bool(self._value(argument)))
        else:
            yield from self._each(argument, runs=runs)

    def _each(self, argument: list[str], *, runs: bool) -> Iterator[str]:
        variable, word, *listed = argument
        if word != "in":
            raise ValueError(argument)
        start = self._at
        for item in self._value(listed) if runs else ():
            self._at = start
            self._names[variable[1:]] = item
            yield from self.block(runs=True)
        self._at = start
        list(self.block(runs=False))  # to its end

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

    def _set(self, argument: list[str]) -> None:
        target, value = argument[: argument.index("=")], self._value(argument[argument.index("=") + 1 :])
        path = [target[0][1:], *(name[1:] for name in target[1:])]
        holder: Any = self._names
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = value

    def _value(self, tokens: list[str]) -> Any:
        expression = _Expression(tokens, self._names)
        value = expression.any_of()
        if expression.left:
            raise ValueError(tokens)
        return value


class _Expression:
    def __init__(self, tokens: list[str], names: Mapping[str, Any]) -> None:
        self.left, self._names = list(tokens), names

    def any_of(self) -> Any:
        value = self._equality()
        while self._skip("||"):
            other = self._equality()
            value = bool(value) or bool(other)
        return value

    def _equality(self) -> Any:
        value = self._operand()
        return value == self._operand() if self._skip("==") else value

    def _operand(self) -> Any:
        match self.left.pop(0):
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
        """Return what the names after a reference lead to: a member, or what the method `get` or `params` returns."""
        while self.left and self.left[0].startswith("."):
            name = self.left.pop(0)[1:]
            if self._skip("("):
                arguments = self._items(")")
                value = value.get(*arguments) if name == "get" else value[name](*arguments)
            else:
                value = value[name]
        return value

    def _items(self, end: str) -> list[Any]:
        items = []
        while not self._skip(end):
            items.append(self.any_of())
            self._skip(",")
        return items

    def _skip(self, token: str) -> bool:
        found = self.left[:1] == [token]
        if found:
            self.left.pop(0)
        return found
