"""The dialect of an ISO 8583 host: its fields and encodings, as changes of a base dialect.

The document is JSON; `docs/acquirer-iso8583.md` describes it. An error names the key of its fault.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

CHARACTERS = {
    "n": re.compile("[0-9]*"),
    "an": re.compile("[A-Z0-9]*"),
    "ans": re.compile("[ -~]*"),
    "z": re.compile("[0-9]*=?[0-9]*"),
    "b": re.compile("(?:[0-9A-F]{2})*"),  # hexadecimal
}
TEXT = frozenset({"ascii", "ebcdic"})
ENCODINGS = {"n": TEXT | {"bcd"}, "an": TEXT, "ans": TEXT, "z": TEXT | {"bcd"}, "b": TEXT | {"binary"}}
LENGTHS = {"fixed": 0, "LL": 2, "LLL": 3}  # digits of the length prefix
MAX_BYTES = 999  # of a field of fixed length
MAX_FIELD, BITMAPS = 128, frozenset({1, 65})
MTI = re.compile("[0-9]{4}")
CODE, ANSWER_CODE = re.compile("[A-Z0-9]{2}"), re.compile("[0-9]{2}")

# Fields that identify a message, move money or belong to a card: no constant replaces them. Without the NEEDED fields
# answers could not be distinguished.
OUR_OWN = frozenset({"2", "3", "4", "7", "11", "12", "13", "14", "32", "35", "37", "39", "41", "42", "49", "55", "90"})
NEEDED = frozenset({"4", "11", "37", "39"})


class DialectError(ValueError):
    """The document is not a dialect. The message names the key and its fault."""

    def __init__(self, key: str, fault: str) -> None:
        super().__init__(" ".join(f"{key or 'it'} {fault}".split()))  # one line, even if the key has line breaks


@dataclass(frozen=True)
class FieldFormat:
    """The form of one field. `max` counts digits or characters; for format b, bytes."""

    format: str
    max: int
    encoding: str = "ascii"
    length: str = "fixed"
    length_encoding: str = "ascii"

    @property
    def is_fixed(self) -> bool:
        """Return whether the field has no length prefix."""
        return self.length == "fixed"

    def fits(self, value: str) -> bool:
        """Return whether a value has valid characters and length. For format b the value is hexadecimal."""
        size = len(value) // 2 if self.format == "b" else len(value)
        return (size == self.max if self.is_fixed else 0 < size <= self.max) and (
            CHARACTERS[self.format].fullmatch(value) is not None
        )

    def filled(self, value: str) -> str:
        """Return a value of fixed length, padded with zeros or spaces."""
        if not self.is_fixed:
            return value
        return {"n": value.rjust(self.max, "0"), "ans": value.ljust(self.max)}.get(self.format, value)


@dataclass(frozen=True)
class LengthHeader:
    """The length in front of a message."""

    bytes: int = 2
    encoding: str = "binary"
    counts_itself: bool = False


@dataclass(frozen=True)
class Dialect:
    """The fields of a host and their encodings. `added` are fields that the base dialect does not have."""

    mti: str = "ascii"
    bitmap: str = "binary"
    length_header: LengthHeader = LengthHeader()
    fields: Mapping[str, FieldFormat] = field(default_factory=dict)
    constants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    added: frozenset[str] = frozenset()


def changed(base: Dialect, document: object) -> Dialect:
    """Return a dialect with the changes of a document, or raise DialectError for an invalid document."""
    entries = _entries(document, "", {"mti", "bitmap", "length_header", "fields", "constants", "codes"})
    fields = _fields(base, entries.get("fields", {}))
    constants = {**base.constants}
    for mti, values in _entries(entries.get("constants", {}), "constants").items():
        constants[_like(mti, MTI, "constants")] = {**constants.get(mti, {}), **_constants(mti, values, fields)}
    codes = {
        _like(code, CODE, "codes"): _like(meaning, ANSWER_CODE, f"codes.{code}")
        for code, meaning in _entries(entries.get("codes", {}), "codes").items()
    }
    return Dialect(
        mti=_choice(entries.get("mti", base.mti), {"ascii", "bcd"}, "mti"),
        bitmap=_choice(entries.get("bitmap", base.bitmap), {"binary", "hex"}, "bitmap"),
        length_header=_length_header(base.length_header, entries.get("length_header", {})),
        fields=fields,
        constants=constants,
        codes={**base.codes, **codes},
        added=frozenset(fields.keys() - base.fields.keys()) if base.fields else frozenset(),
    )


def _fields(base: Dialect, document: object) -> dict[str, FieldFormat]:
    fields = {**base.fields}
    for number, entry in _entries(document, "fields").items():
        key = f"fields.{number}"
        if number not in {str(one) for one in range(2, MAX_FIELD + 1) if one not in BITMAPS}:
            raise DialectError(key, "is no field")
        if entry is not None:
            fields[number] = _field(fields.get(number), entry, key)
        elif number in NEEDED:
            raise DialectError(key, "cannot be left out")
        else:
            fields.pop(number, None)
    return fields


def _field(base: FieldFormat | None, document: object, key: str) -> FieldFormat:
    """Return the form of a field. A field that the base does not have needs `format` and `max`."""
    entries = _entries(document, key, {"format", "encoding", "length", "length_encoding", "max"})
    if base is None and not {"format", "max"} <= entries.keys():
        raise DialectError(key, "is a new field: it needs format and max")
    form = _choice(entries.get("format", base and base.format), CHARACTERS, f"{key}.format")
    known = base.encoding if base and base.encoding in ENCODINGS[form] else "binary" if form == "b" else "ascii"
    length = _choice(entries.get("length", base.length if base else "fixed"), LENGTHS, f"{key}.length")
    most = 10 ** LENGTHS[length] - 1 if LENGTHS[length] else MAX_BYTES
    return FieldFormat(
        form,
        _number(entries.get("max", base and base.max), most, f"{key}.max"),
        _choice(entries.get("encoding", known), ENCODINGS[form], f"{key}.encoding"),
        length,
        _choice(
            entries.get("length_encoding", base.length_encoding if base else "ascii"),
            {"ascii", "bcd"},
            f"{key}.length_encoding",
        ),
    )


def _length_header(base: LengthHeader, document: object) -> LengthHeader:
    key = "length_header"
    entries = _entries(document, key, {"bytes", "encoding", "counts_itself"})
    header = replace(base, **entries)
    if not isinstance(header.counts_itself, bool):
        raise DialectError(key, "has counts_itself true or false")
    _choice(header.encoding, {"binary", "ascii"}, f"{key}.encoding")
    if _number(header.bytes, 4, f"{key}.bytes") not in ({2, 4} if header.encoding == "binary" else {4}):
        raise DialectError(key, "has 2 or 4 bytes, and 4 in ascii: two digits count no message")
    return header


def _constants(mti: str, document: object, fields: Mapping[str, FieldFormat]) -> dict[str, str]:
    constants = {}
    for number, value in _entries(document, f"constants.{mti}").items():
        key = f"constants.{mti}.{number}"
        if number not in fields or number in OUR_OWN:
            raise DialectError(key, "is no field that may have a constant")
        if not isinstance(value, str) or not fields[number].fits(filled := fields[number].filled(value)):
            raise DialectError(key, "does not fit its field")
        constants[number] = filled
    return constants


def _entries(document: object, key: str, known: Collection[str] | None = None) -> dict[str, Any]:
    """Return the entries of an object. Every key must be known."""
    if not isinstance(document, dict):
        raise DialectError(key, "is not an object")
    for name in document:
        if known is not None and name not in known:
            raise DialectError(".".join(filter(None, (key, name))), "is not known")
    return document


def _choice(value: object, choices: Collection[str], key: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise DialectError(key, f"is one of {', '.join(sorted(choices))}")
    return value


def _number(value: object, most: int, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise DialectError(key, f"is a number from 1 to {most}")
    return value


def _like(value: object, pattern: re.Pattern[str], key: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise DialectError(key, "names a code that is none")
    return value
