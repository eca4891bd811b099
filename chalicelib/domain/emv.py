"""The data of a card reader: EMV data objects (BER-TLV) and track 2.

The module is our own because the BER-TLV libraries on PyPI were last released in 2017 and 2022. The rules are those of
EMV Book 3, Annex B. No error quotes the data, because it is a card.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from chalicelib.domain.transaction import EmvData

MAX_DEPTH = 8  # templates within templates; cards have three
CONSTRUCTED, NUMBER_FOLLOWS, MORE = 0x20, 0x1F, 0x80
LONG, MAX_LENGTH_BYTES = 0x80, 3  # EMV does not use the indefinite length, a single 0x80
MAX_TAG_BYTES = 3
FILLER = 0xFF
# Track 1, which a reader may send before track 2.
TRACK1 = re.compile(r"%B([0-9]{12,19})\^([^^]{2,26})\^[0-9]{4}([0-9]{3})?[^?]*\?[^;]?")
TRACK2 = re.compile(r";?([0-9]{12,19})[=Dd]([0-9]{2})([0-9]{2})([0-9]*)[Ff]*\??.?")
SERVICE_DIGITS = 3
CHIP_SERVICES = ("2", "6")  # the first digit of a chip card's service code (ISO/IEC 7813)

PAN, TRACK2_EQUIVALENT, EXPIRATION, CARDHOLDER = 0x5A, 0x57, 0x5F24, 0x5F20
AID, DF_NAME, TERMINAL_AID = 0x4F, 0x84, 0x9F06
PREFERRED_NAME, LABEL = 0x9F12, 0x50
TSI, TVR = 0x9B, 0x95
MAX_ANSWER = 255  # bytes of an issuer's answer: ISO 8583 field 55
RESPONSE_CODE = "8A02"  # Authorization Response Code: two characters


class MalformedError(ValueError):
    """The data does not have the form of a reader's data."""


@dataclass(frozen=True)
class Track2:
    """The fields of a track 2. `exp` is MMYY, as a card prints it; `rest` begins with the service code."""

    pan: str
    exp: str
    rest: str = ""
    has_chip_on_track1: bool = False
    cardholder: str | None = None  # on track 1

    @property
    def text(self) -> str:
        """Return the track as on the card, without sentinels, check character and padding."""
        return f"{self.pan}={self.exp[2:]}{self.exp[:2]}{self.rest}"

    @property
    def has_chip(self) -> bool:
        """Return whether the service code names a chip."""
        return self.has_chip_on_track1 or (len(self.rest) >= SERVICE_DIGITS and self.rest.startswith(CHIP_SERVICES))

    def __repr__(self) -> str:
        return "Track2(******)"


def objects(data: bytes) -> Mapping[int, bytes]:
    """Return every primitive data object by its tag, from any template. Of one tag the first filled one counts."""
    found: dict[int, bytes] = {}
    for tag, value in _objects(data, 0):
        found[tag] = found.get(tag) or value
    return found


def _objects(data: bytes, depth: int) -> Iterator[tuple[int, bytes]]:
    if depth > MAX_DEPTH:
        raise MalformedError
    at = 0
    while at < len(data):
        if _is_padding(data, at, depth):
            at += 1
            continue
        tag, first, at = _tag(data, at)
        length, at = _length(data, at)
        if at + length > len(data):
            raise MalformedError
        value = data[at : at + length]
        at += length
        if first & CONSTRUCTED:
            yield from _objects(value, depth + 1)
        else:
            yield tag, value


def _is_padding(data: bytes, at: int, depth: int) -> bool:
    """Return whether a byte 00 or FF has no meaning (ISO/IEC 7816-4). FF may also begin a template of a reader."""
    if data[at] != FILLER:
        return data[at] == 0
    if at + 1 == len(data) or data[at + 1] in (0, FILLER):
        return True
    if depth:
        return False
    try:
        _, _, start = _tag(data, at)
        length, start = _length(data, start)
        if start + length > len(data):
            return True
        return not list(_objects(data[start : start + length], depth + 1))
    except MalformedError:
        return True


def _tag(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the tag, its first byte (which marks a template), and the place where its length begins."""
    first, end = data[at], at + 1
    if first & NUMBER_FOLLOWS == NUMBER_FOLLOWS:
        while True:
            if end == len(data) or end - at == MAX_TAG_BYTES:
                raise MalformedError
            end += 1
            if not data[end - 1] & MORE:
                break
    return int.from_bytes(data[at:end]), first, end


def _length(data: bytes, at: int) -> tuple[int, int]:
    if at == len(data):
        raise MalformedError
    first = data[at]
    if first < LONG:
        return first, at + 1
    size = first - LONG
    if not 0 < size <= MAX_LENGTH_BYTES or at + 1 + size > len(data):
        raise MalformedError
    return int.from_bytes(data[at + 1 : at + 1 + size]), at + 1 + size


def track2(text: str) -> Track2:
    """Parse a track 2 as a reader sends it, with or without its sentinels and check character."""
    match = TRACK2.fullmatch(text)
    if match is None:
        raise MalformedError
    pan, year, month, rest = match.groups()
    return Track2(pan, month + year, rest)


def stripe(text: str) -> tuple[Track2, str]:
    """Return track 2 of a stripe, and its text. A reader may send track 1 before it; it must be the same card's."""
    text = text.strip()  # readers that type end a track with a line end
    before = TRACK1.match(text)
    if before is None:
        return track2(text), text
    alone = text[before.end() :].lstrip()
    track = track2(alone)
    pan, name, service = before.groups()
    if pan != track.pan:
        raise MalformedError
    has_chip = (service or "").startswith(CHIP_SERVICES)
    return replace(track, has_chip_on_track1=has_chip, cardholder=_name(name)), alone


def card_in(found: Mapping[int, bytes]) -> Track2:
    """Return number and expiry of a chip card: from its track 2 equivalent, else from their own objects."""
    if track := found.get(TRACK2_EQUIVALENT):  # a reader may send it empty
        return track2(track.hex().upper())
    try:
        pan = found[PAN].hex().upper().rstrip("F")
        expiration = found[EXPIRATION].hex()
    except KeyError:
        raise MalformedError from None
    return track2(f"{pan}D{expiration[:4]}")


def printed(found: Mapping[int, bytes]) -> EmvData:
    """Return the chip data for a receipt."""
    aid = found.get(AID) or found.get(DF_NAME) or found.get(TERMINAL_AID)
    name = found.get(PREFERRED_NAME) or found.get(LABEL)
    return EmvData(
        aid=_hex(aid, 5, 16),
        apn=_text(name, 16) if name else None,
        tsi=_hex(found.get(TSI), 2, 2),
        tvr=_hex(found.get(TVR), 5, 5),
    )


def cardholder(found: Mapping[int, bytes]) -> str | None:
    """Return the name on the chip."""
    return _name(_text(found.get(CARDHOLDER, b""), 26) or "")


def _name(text: str) -> str | None:
    """Return the cardholder's name; None if the card has none. A text with a digit is not a name."""
    name = text.strip()
    is_name = name.isprintable() and any(map(str.isalpha, name)) and not any(map(str.isdigit, name))
    return name if is_name else None


def online_result(code: int) -> str:
    """Return the data that the terminal gives to the chip: the issuer's response code."""
    return f"{RESPONSE_CODE}{f'{code:02d}'.encode().hex().upper()}"


def issuer_answer(text: str | None) -> str | None:
    """Return the issuer's answer for the chip in upper-case hexadecimal. None if it is invalid or quotes the card."""
    try:
        data = bytes.fromhex(text or "")
        quotes_card = {PAN, TRACK2_EQUIVALENT} & objects(data).keys()
    except ValueError:  # not hexadecimal, or not TLV
        return None
    return data.hex().upper() if 0 < len(data) <= MAX_ANSWER and not quotes_card else None


def _hex(value: bytes | None, least: int, most: int) -> str | None:
    return value.hex().upper() if value and least <= len(value) <= most else None


def _text(value: bytes, most: int) -> str | None:
    text = value.decode("latin-1").strip()
    return text if text and len(value) <= most and text.isprintable() else None
