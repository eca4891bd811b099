"""The bank's own codec: bytes to fields and back, by the table of section 2 of the interface."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MIN_BYTES, MAX_BYTES = 12, 2048
HEADER_BYTES = 2
BITMAP_BYTES = 8

Value = str | bytes


class NotAMessageError(Exception):
    """Bytes that are not a message. `wrong` names the part, and quotes nothing."""

    def __init__(self, *, wrong: str) -> None:
        super().__init__(f"These bytes are no message: {wrong}.")
        self.wrong = wrong


@dataclass(frozen=True)
class Format:
    """The form of a field: the pattern of its value, and the digits of its length prefix (0: a fixed width)."""

    pattern: re.Pattern[str] | None  # None: bytes
    width: int  # exact, or the maximum if there is a length prefix
    length_digits: int = 0
    numeric: bool = False


def _fixed(kind: str, width: int) -> Format:
    return Format(re.compile(f"{CLASSES[kind]}{{{width}}}"), width, numeric=kind == "n")


def _variable(kind: str, digits: int, least: int, most: int) -> Format:
    return Format(re.compile(f"{CLASSES[kind]}{{{least},{most}}}"), most, digits)


CLASSES = {"n": "[0-9]", "an": "[A-Z0-9]", "ans": "[ -~]", "z": "[0-9=]"}

FORMATS: Mapping[int, Format] = {
    2: _variable("n", 2, 12, 19),
    3: _fixed("n", 6),
    4: _fixed("n", 12),
    7: _fixed("n", 10),
    11: _fixed("n", 6),
    12: _fixed("n", 6),
    13: _fixed("n", 4),
    14: _fixed("n", 4),
    15: _fixed("n", 4),
    18: _fixed("n", 4),
    22: _fixed("n", 3),
    23: _fixed("n", 3),
    25: _fixed("n", 2),
    32: _variable("n", 2, 1, 11),
    35: _variable("z", 2, 17, 37),
    37: _fixed("an", 12),
    38: _fixed("an", 6),
    39: _fixed("an", 2),
    41: _fixed("ans", 8),
    42: _fixed("ans", 15),
    43: _fixed("ans", 40),
    44: _variable("ans", 2, 1, 25),
    48: _variable("ans", 3, 1, 999),
    49: _fixed("n", 3),
    55: Format(None, 255, 3),
    56: _variable("n", 3, 4, 4),
    63: _variable("ans", 3, 1, 32),
    70: _fixed("n", 3),
    90: _fixed("n", 42),
    95: _fixed("an", 42),
}


@dataclass(frozen=True)
class Message:
    """A message. `problems` lists fields that break the table; fields after an unreadable one are missing."""

    mti: str
    fields: Mapping[int, Value] = field(repr=False)
    problems: tuple[str, ...] = ()

    def text(self, number: int) -> str:
        """Return the text of a field; an empty one when the message does not have it."""
        value = self.fields.get(number, "")
        return value if isinstance(value, str) else ""

    def readable(self, number: int) -> bool:
        """Return whether the message has the field, in its form."""
        value = self.fields.get(number)
        return value is not None and has_form(number, value)


def has_form(number: int, value: Value) -> bool:
    """Return whether the value has the form of the field."""
    form = FORMATS[number]
    if form.pattern is None:
        return isinstance(value, bytes) and 1 <= len(value) <= form.width
    return isinstance(value, str) and form.pattern.fullmatch(value) is not None


def decode(message: bytes) -> Message:
    """Return the message of these bytes, without a length header. Raises NotAMessageError."""
    if not MIN_BYTES <= len(message) <= MAX_BYTES:
        raise NotAMessageError(wrong="its size")
    if not re.fullmatch(rb"[0-9]{4}", message[:4]):
        raise NotAMessageError(wrong="the MTI")
    numbers, position = _bitmap(message)
    fields: dict[int, Value] = {}
    for number in numbers:
        if number not in FORMATS:  # its end is unknown, so the rest cannot be read
            return Message(message[:4].decode(), fields, (f"field {number} is not of the table",))
        fields[number], position = _read(message, position, number)
    if position != len(message):
        raise NotAMessageError(wrong="bytes after its end")
    wrong = tuple(f"field {number} has another form" for number, value in fields.items() if not has_form(number, value))
    return Message(message[:4].decode(), fields, wrong)


def encode(mti: str, fields: Mapping[int, Value]) -> bytes:
    """Return the bytes of a message, without a length header. Raises ValueError for a value of another form."""
    bits = 1 << 63 if (is_long := max(fields) > 64) else 0
    content = b""
    for number in sorted(fields):
        value, form = fields[number], FORMATS[number]
        if not has_form(number, value):
            message = f"field {number} has another form"
            raise ValueError(message)
        bits |= 1 << 64 - number if not is_long or number <= 64 else 0
        raw = value if isinstance(value, bytes) else value.encode("ascii")
        content += (f"{len(raw):0{form.length_digits}}".encode() if form.length_digits else b"") + raw
    bitmap = bits.to_bytes(8, "big")
    if is_long:
        bitmap += sum(1 << 128 - number for number in fields if number > 64).to_bytes(8, "big")
    return mti.encode() + bitmap + content


def framed(message: bytes) -> bytes:
    """Return the message with its length header."""
    return len(message).to_bytes(HEADER_BYTES, "big") + message


def _bitmap(message: bytes) -> tuple[list[int], int]:
    """Return the numbers of the fields, ascending, and the position of the first one."""
    is_long = bool(message[4] & 0x80)
    end = 4 + BITMAP_BYTES * (2 if is_long else 1)
    bits = message[4:end]
    if len(message) < end:
        raise NotAMessageError(wrong="its bitmap")
    numbers = [
        8 * index + bit + 1 for index, byte in enumerate(bits) for bit in range(8) if byte & 0x80 >> bit and index + bit
    ]
    if is_long != any(number > 64 for number in numbers):
        raise NotAMessageError(wrong="bit 1, which says that there is a second bitmap with fields")
    return numbers, end


def _read(message: bytes, position: int, number: int) -> tuple[Value, int]:
    form = FORMATS[number]
    length, start = form.width, position + form.length_digits
    if form.length_digits:
        digits = message[position:start]
        if not re.fullmatch(rb"[0-9]+", digits) or len(digits) < form.length_digits:
            raise NotAMessageError(wrong=f"the length of field {number}")
        length = int(digits)
    raw = message[start : start + length]
    if len(raw) < length:
        raise NotAMessageError(wrong=f"the end of field {number}")
    # latin-1 reads every byte: `has_form` finds characters outside the class, so that they get an answer
    return (raw if form.pattern is None else raw.decode("latin-1")), start + length
