"""The bytes of a message: pyiso8583 writes and reads them, and this module adds the missing checks.

No error quotes or holds a message, because it may contain a card.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import iso8583

from chalicelib.domain.iso8583_dialect import LENGTHS, MTI, Dialect, FieldFormat

EBCDIC = "cp500"
LEAST_BYTES, MOST_BYTES = 12, 2048  # the size of a message
SECONDARY = 64  # the last field in the first bitmap
BITMAP_DIGITS = 16
DIGITS = re.compile(b"[0-9]*")


class CodecError(ValueError):
    """The content or bytes are not a message of this dialect."""


@dataclass(frozen=True)
class Content:
    """A message: its type, and its fields by number. A field of format b is upper-case hexadecimal."""

    mti: str
    fields: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Content({self.mti}, fields {', '.join(sorted(self.fields, key=int))})"


class Codec:
    """The encoding and decoding of one host's messages."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._specification = _specification(dialect)

    def prepared(self, content: Content) -> Content:
        """Return a message in the host's form: padded, with its constants, without fields that it does not have."""
        forms = self.dialect.fields
        filled = {number: forms[number].filled(value) for number, value in content.fields.items() if number in forms}
        return replace(content, fields={**filled, **self.dialect.constants.get(content.mti, {})})

    def encode(self, content: Content) -> bytes:
        """Return the bytes of a prepared message; raise CodecError for a value that does not fit its field."""
        document = {"t": content.mti}
        for number, value in content.fields.items():
            form = self.dialect.fields.get(number)
            if form is None or not form.fits(value):
                message = f"field {number} of a {content.mti} does not fit"
                raise CodecError(message)
            document[number] = _packed(form, value)
        encoded = self._encoded(document)
        if encoded is None or not LEAST_BYTES <= len(encoded) <= MOST_BYTES:
            message = f"a {content.mti} cannot be written"
            raise CodecError(message)
        return encoded

    def decode(self, data: bytes) -> Content:
        """Return the message in all of these bytes; raise CodecError for a field that differs from the dialect."""
        decoded = self._decoded(data) if LEAST_BYTES <= len(data) <= MOST_BYTES else None
        if decoded is None:
            message = "the bytes are no message"
            raise CodecError(message)
        document, parts = decoded
        mti, _, second = document.pop("t"), document.pop("p"), document.pop("1", "")
        fields = {number: self._value(number, packed, parts[number]["len"]) for number, packed in document.items()}
        has_second = any(int(number) > SECONDARY for number in fields)
        if not MTI.fullmatch(mti) or len(second) != BITMAP_DIGITS * has_second:
            message = "the type or a bitmap is not of its form"
            raise CodecError(message)
        return Content(mti, fields)

    def _value(self, number: str, packed: str, length: bytes) -> str:
        form = self.dialect.fields[number]
        value = _unpacked(form, packed)
        if not form.fits(value) or (form.length_encoding == "ascii" and not DIGITS.fullmatch(length)):
            message = f"field {number} is not of its form"
            raise CodecError(message)
        return value

    def _encoded(self, document: dict[str, str]) -> bytes | None:
        """Return the bytes, or None on failure: the library's errors contain the message, so none may escape."""
        try:
            return bytes(iso8583.encode(document, self._specification)[0])
        except iso8583.EncodeError:
            return None

    def _decoded(self, data: bytes) -> tuple[dict[str, str], dict[str, dict[str, bytes]]] | None:
        try:
            return iso8583.decode(data, self._specification)
        except (iso8583.DecodeError, KeyError):  # KeyError: the dialect does not have the field
            return None


def _packed(form: FieldFormat, value: str) -> str:
    """Return a value in the library's form: BCD is hexadecimal with an even number of digits."""
    if form.encoding != "bcd":
        return value
    if form.format == "n":
        return value.rjust(len(value) + len(value) % 2, "0")
    packed = value.replace("=", "D")
    return packed.ljust(len(packed) + len(packed) % 2, "F")


def _unpacked(form: FieldFormat, packed: str) -> str:
    """Return the value of a field that the library read. A filling nibble is removed where it is certainly one."""
    if form.encoding != "bcd":
        return packed.upper() if form.format == "b" else packed
    if form.format == "z":
        return packed.removesuffix("F").replace("D", "=")
    return packed.removeprefix("0") if len(packed) > form.max else packed


def _specification(dialect: Dialect) -> dict[str, dict[str, Any]]:
    mti = {"data_enc": "b", "max_len": 2} if dialect.mti == "bcd" else {"data_enc": "ascii", "max_len": 4}
    bitmap = {"data_enc": "b", "max_len": 8} if dialect.bitmap == "binary" else {"data_enc": "ascii", "max_len": 16}
    fixed = {"len_enc": "ascii", "len_type": 0, "desc": ""}
    header = {**fixed, "data_enc": "b", "max_len": 0}
    fields = {number: _field(form) for number, form in dialect.fields.items()}
    return {"h": header, "t": {**fixed, **mti}, "p": {**fixed, **bitmap}, "1": {**fixed, **bitmap}, **fields}


def _field(form: FieldFormat) -> dict[str, Any]:
    digits, most = LENGTHS[form.length], form.max
    if form.encoding == "bcd":
        most = (form.max + 1) // 2
    elif form.format == "b" and form.encoding != "binary":  # hexadecimal text
        most = 2 * form.max
    return {
        "data_enc": {"bcd": "b", "binary": "b", "ebcdic": EBCDIC}.get(form.encoding, form.encoding),
        "len_enc": form.length_encoding,
        "len_type": (digits + 1) // 2 if form.length_encoding == "bcd" else digits,
        "max_len": most,
        "desc": "",
    }
