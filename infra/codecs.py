"""Three codecs of ISO 8583 side by side, which nobody wrote together: the adapter's, the bank's and cardutil's.

The table of section 2 of the interface is here once more, so that none of the three is judged by its own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from cardutil import iso8583

from chalicelib.gateways.acquirers.iso8583.codec import Codec, CodecError, Content
from chalicelib.settings.iso8583 import usual
from infra.bank import codec as bank

CLASSES = {"n": "[0-9]", "an": "[A-Z0-9]", "ans": "[ -~]", "b": "[0-9A-F]{2}"}
CHIP = 55  # the field whose content is bytes
BITMAP = slice(4, 12)
LEAST_BYTES, MOST_BYTES = 12, 2048
TELLING = b"0123456789 +-_=A"  # bytes that are of some forms and not of others
LETTERS = {
    "n": "0123456789",
    "an": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "ans": "".join(map(chr, range(0x20, 0x7F))),
}


@dataclass(frozen=True)
class Form:
    """The form of a field: its characters, how its length is told, and from how many to how many it has."""

    kind: str
    length: str
    least: int
    most: int

    def fits(self, value: str) -> bool:
        """Return whether a value has this form."""
        if self.kind == "z":
            return re.fullmatch("[0-9]+=[0-9]+", value) is not None and self.least <= len(value) <= self.most
        return re.fullmatch(f"(?:{CLASSES[self.kind]}){{{self.least},{self.most}}}", value) is not None


def _fixed(kind: str, size: int) -> Form:
    return Form(kind, "FIXED", size, size)


TABLE: Mapping[int, Form] = {
    2: Form("n", "LLVAR", 12, 19),
    **{number: _fixed("n", size) for number, size in {3: 6, 4: 12, 7: 10, 11: 6, 12: 6, 13: 4, 14: 4, 15: 4}.items()},
    **{number: _fixed("n", size) for number, size in {18: 4, 22: 3, 23: 3, 25: 2, 49: 3, 70: 3, 90: 42}.items()},
    32: Form("n", "LLVAR", 1, 11),
    35: Form("z", "LLVAR", 17, 37),
    **{number: _fixed("an", size) for number, size in {37: 12, 38: 6, 39: 2, 95: 42}.items()},
    **{number: _fixed("ans", size) for number, size in {41: 8, 42: 15, 43: 40}.items()},
    44: Form("ans", "LLVAR", 1, 25),
    48: Form("ans", "LLLVAR", 1, 999),
    CHIP: Form("b", "LLLVAR", 1, 255),
    56: Form("n", "LLLVAR", 4, 4),
    63: Form("ans", "LLLVAR", 1, 32),
}

# No answer has these, and the service makes theirs of what it has read already: the adapter and the bank each leave
# something of their form to others (how short it may be, where a track has its "=").
LOOSE = frozenset({"2", "35", "56"})

_IDENTITY = (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49)
_OF_TERMINAL = (18, 22, 25, 43, 48)


@dataclass(frozen=True)
class Kind:
    """A kind of message: its type, the fields it always has, and those it may have."""

    mti: str
    required: tuple[int, ...]
    optional: tuple[int, ...] = ()


KINDS: Mapping[str, Kind] = {
    "purchase": Kind("0200", (2, 14, *_IDENTITY, *_OF_TERMINAL), (23, 35, CHIP)),
    "refund": Kind("0200", (*_IDENTITY, *_OF_TERMINAL, 90), (2, 14, 23, 35, CHIP)),
    "answer": Kind("0210", (*_IDENTITY, 39), (15, 38, 44, 48, CHIP, 63)),
    "advice": Kind("0420", (*_IDENTITY, 56, 90), (95,)),
    "repeated advice": Kind("0421", (*_IDENTITY, 56, 90), (95,)),
    "acknowledgement": Kind("0430", (*_IDENTITY, 39, 90), (38, 95)),
    "echo": Kind("0800", (7, 11, 70), (32,)),
    "answer to an echo": Kind("0810", (7, 11, 39, 70), (32,)),
}

_adapter = Codec(usual())
_CARDUTIL = {
    str(number): {"field_type": form.length, "field_length": form.most if form.length == "FIXED" else 0}
    for number, form in TABLE.items()
}


def _read_by_adapter(data: bytes) -> Content | None:
    try:
        return _adapter.decode(data)
    except CodecError:
        return None


def _write_by_bank(content: Content) -> bytes:
    values: dict[int, bank.Value] = {int(number): value for number, value in content.fields.items()}
    if str(CHIP) in content.fields:
        values[CHIP] = bytes.fromhex(content.fields[str(CHIP)])
    return bank.encode(content.mti, values)


def _read_by_bank(data: bytes) -> Content | None:
    try:
        message = bank.decode(data)
    except bank.NotAMessageError:
        return None
    if message.problems:
        return None
    values = {str(number): v.hex().upper() if isinstance(v, bytes) else v for number, v in message.fields.items()}
    return Content(message.mti, values)


def _write_by_cardutil(content: Content) -> bytes:
    """Return the bytes cardutil writes, without the second bitmap when it is empty: cardutil always writes one."""
    values: dict[str, str | bytes] = {"MTI": content.mti, **{f"DE{n}": value for n, value in content.fields.items()}}
    if str(CHIP) in content.fields:
        values[f"DE{CHIP}"] = bytes.fromhex(content.fields[str(CHIP)])
    data: bytes = iso8583.dumps(values, iso_config=_CARDUTIL)
    if any(data[12:20]):
        return data
    return data[:4] + bytes([data[4] & 0x7F]) + data[5:12] + data[20:]


def _read_by_cardutil(data: bytes) -> Content | None:
    """Return what cardutil reads, if it has its form and reads back: cardutil itself checks hardly anything."""
    if not LEAST_BYTES <= len(data) <= MOST_BYTES or re.fullmatch(b"[0-9]{4}", data[:4]) is None:
        return None
    whole = data if data[4] & 0x80 else data[:4] + bytes([data[4] | 0x80]) + data[5:12] + bytes(8) + data[12:]
    try:
        read = iso8583.loads(whole, iso_config=_CARDUTIL)
    except iso8583.Iso8583DataError:
        return None
    mti, values = read.pop("MTI"), {name.removeprefix("DE"): value for name, value in read.items()}
    if str(CHIP) in values:
        values[str(CHIP)] = values[str(CHIP)].encode("latin-1").hex().upper()
    content = Content(mti, values)
    return content if _is_of_the_table(content) and _write_by_cardutil(content) == data else None


ADAPTER = "the adapter's"
WRITERS: dict[str, Callable[[Content], bytes]] = {
    ADAPTER: _adapter.encode,
    "the bank's": _write_by_bank,
    "cardutil's": _write_by_cardutil,
}
READERS: dict[str, Callable[[bytes], Content | None]] = {
    ADAPTER: _read_by_adapter,
    "the bank's": _read_by_bank,
    "cardutil's": _read_by_cardutil,
}


def unlike(content: Content) -> list[str]:
    """Return the codecs that write a message otherwise than the adapter's, or do not read it as it is."""
    data = _adapter.encode(content)
    writers = [f"{name} writing" for name, write in WRITERS.items() if write(content) != data]
    return writers + [f"{name} reading" for name, read in READERS.items() if read(data) != content]


def at_odds(data: bytes) -> list[str]:
    """Return the codecs that refuse bytes another one reads, or read them otherwise; none when they agree.

    What one of them alone reads must be of the form of the table, save in the fields whose form is loose.
    """
    readings = {name: read(data) for name, read in READERS.items()}
    read = [content for content in readings.values() if content is not None]
    if not read:
        return []
    if not _is_of_the_table(read[0]) and _is_of_the_table(read[0], save=LOOSE):
        return [name for name, content in readings.items() if content not in (None, read[0])]
    return [name for name, content in readings.items() if content != read[0]]


def a_message(kind: Kind, random: Random) -> Content:
    """Return a random message of a kind; every third length is the least or the greatest."""
    numbers = [*kind.required, *(number for number in kind.optional if random.getrandbits(1))]
    return Content(kind.mti, {str(number): _value(TABLE[number], random) for number in numbers})


def damaged(data: bytes, random: Random) -> bytes:
    """Return a message with one to three of its bytes changed, lost or added, or without its end."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(changed))
        match random.randrange(5):
            case 0:
                changed[at] = random.getrandbits(8)
            case 1:
                changed[at] = random.choice(TELLING)
            case 2:
                del changed[at]
            case 3:
                changed.insert(at, random.choice(TELLING))
            case _:
                changed[BITMAP.start + at % 8] ^= 1 << random.randrange(8)
    return bytes(changed[: random.randrange(len(changed))] if random.randrange(16) == 0 else changed)


def _is_of_the_table(content: Content, save: frozenset[str] = frozenset()) -> bool:
    return all(TABLE[int(n)].fits(value) for n, value in content.fields.items() if n not in save)


def _value(form: Form, random: Random) -> str:
    size = random.choice((form.least, form.most, *[random.randint(form.least, form.most)] * 4))
    if form.kind == "b":
        return random.randbytes(size).hex().upper()
    if form.kind != "z":
        return "".join(random.choices(LETTERS[form.kind], k=size))
    digits = random.choices(LETTERS["n"], k=size)
    digits[random.randint(12, min(19, size - 5))] = "="  # after a card's number, before an expiry
    return "".join(digits)
