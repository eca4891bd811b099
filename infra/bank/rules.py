"""The rules of a well-formed request: the table of section 2 and the rules of section 3 of the interface."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from infra.bank.codec import Message

PURCHASE, REFUND = "000000", "200000"
ADVICES = ("0420", "0421")
REQUESTS = ("0200", *ADVICES, "0800")
CLOCK_LEEWAY = timedelta(minutes=5)

_ALWAYS = {3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49}
_SALE = _ALWAYS | {18, 22, 25, 43, 48}
MANDATORY: Mapping[str, set[int]] = {
    "purchase": _SALE | {2, 14},
    "refund": _SALE | {90},
    "advice": _ALWAYS | {56, 90},
    "echo": {7, 11, 70},
}
ALLOWED: Mapping[str, set[int]] = {
    "purchase": MANDATORY["purchase"] | {23, 35, 55},
    "refund": MANDATORY["refund"] | {2, 14, 23, 35, 55},
    "advice": MANDATORY["advice"] | {38, 95},
    "echo": MANDATORY["echo"] | {32},
}
# By the first two digits of field 22: the fields of the card that must be there, and those that may.
_CARD = {2, 14, 23, 35, 55}
ENTRIES: Mapping[str, tuple[set[int], set[int]]] = {
    "00": (set(), set()),
    "01": ({2, 14}, set()),
    "80": ({2, 14, 35}, set()),
    "90": ({2, 14, 35}, set()),
    "05": ({2, 14, 55}, {23, 35}),
    "07": ({2, 14, 55}, {23, 35}),
}
_ABSENT_CARD = ("00", "01")
CHIP_CAPS = {"05", "08", "09"}
TRACK2 = re.compile(r"(?P<pan>[0-9]{12,19})=(?P<expiry>[0-9]{4})(?P<service>[0-9]{3})[0-9]*")
ORIGINAL = re.compile(r"0200(?P<stan>[0-9]{6})(?P<time>[0-9]{10})(?P<institution>[0-9]{11})0{11}")
REPLACEMENT = re.compile(r"(?P<remains>[0-9]{12})0{12}C00000000C00000000")
REASONS = {"4000", "4020", "4021"}
# fmt: off
TAGS = frozenset({
    "4F", "5F2A", "82", "84", "95", "9A", "9B", "9C", "9F02", "9F03", "9F09", "9F10", "9F1A", "9F1E", "9F26", "9F27",
    "9F33", "9F34", "9F35", "9F36", "9F37", "9F41", "9F6E",
})
# fmt: on


def kind_of(message: Message) -> str:
    """Return the column of the table that a request belongs to."""
    if message.mti == "0800":
        return "echo"
    if message.mti in ADVICES:
        return "advice"
    return "refund" if message.text(3) == REFUND else "purchase"


def problems_of(message: Message, now: datetime) -> list[str]:
    """List the problems of a request, by field and without values. A well-formed request has none."""
    kind = kind_of(message)
    if message.problems:
        return list(message.problems)
    present = set(message.fields)
    found = [f"field {number} is missing" for number in sorted(MANDATORY[kind] - present)]
    found += [f"field {number} must not be in a {kind}" for number in sorted(present - ALLOWED[kind])]
    if found:
        return found
    found = list(_values(message))
    if kind == "advice":
        return found + list(_advice(message))
    if kind in {"purchase", "refund"}:
        found += _sale(message, kind)
        if not _is_near(message.text(7), now):
            found.append("field 7 is more than five minutes off")
    return found


def elements(text: str) -> dict[str, str] | None:
    """Return the elements of field 48, or None if it is malformed or has an element twice."""
    found: dict[str, str] = {}
    while text:
        tag, length = text[:2], text[2:4]
        if len(text) < 4 or not text[:4].isdigit() or len(text) < 4 + int(length) or tag in found:
            return None
        found[tag] = text[4 : 4 + int(length)]
        text = text[4 + int(length) :]
    return found


def moment(month_to_second: str, now: datetime) -> datetime | None:
    """Return the time of field 7 in the year that brings it nearest to now; None if it is not a time."""
    found = []
    for year in (now.year - 1, now.year, now.year + 1):
        try:
            found.append(datetime.strptime(f"{year}{month_to_second}", "%Y%m%d%H%M%S").replace(tzinfo=UTC))
        except ValueError:  # 29 February does not exist in every year
            continue
    return min(found, key=lambda time: abs(time - now), default=None)


def _is_near(month_to_second: str, now: datetime) -> bool:
    time = moment(month_to_second, now)
    return time is not None and abs(time - now) <= CLOCK_LEEWAY


def _values(message: Message) -> Iterator[str]:
    """Yield the fields of any request that are not a valid time, number or code."""
    leap = "2000"
    for number, text, form in (
        (7, leap + message.text(7), "%Y%m%d%H%M%S"),
        (12, message.text(12) or "000000", "%H%M%S"),
        (13, leap + (message.text(13) or "0101"), "%Y%m%d"),
        (14, message.text(14) or "0001", "%y%m"),
    ):
        try:
            datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            yield f"field {number} is no time"
    if message.text(11) == "000000":
        yield "field 11 is zero"
    if message.mti == "0800":
        if message.text(70) != "301":
            yield "field 70 is not 301"
        return
    if not int(message.text(4)):
        yield "field 4 is zero"
    if message.text(3) not in {PURCHASE, REFUND}:
        yield "field 3 is neither purchase nor refund"
    if 90 in message.fields:
        original = ORIGINAL.fullmatch(message.text(90))
        if not original or int(original["institution"]) != int(message.text(32)):
            yield "field 90 names no original of field 32"


def _advice(message: Message) -> Iterator[str]:
    if message.text(56) not in REASONS:
        yield "field 56 is none of the reasons"
    if 95 in message.fields and not REPLACEMENT.fullmatch(message.text(95)):
        yield "field 95 has another form"


def _sale(message: Message, kind: str) -> Iterator[str]:
    """Yield the problems of fields 22, 25, 48 and of the card's fields, in a purchase or refund."""
    entry, pin = message.text(22)[:2], message.text(22)[2]
    private = elements(message.text(48)) or {}
    caps = private.get("61", "")
    if not re.fullmatch("[0-9]{2}", caps) or not re.fullmatch("[0-9]{3,4}", private.get("92", "000")):
        yield "field 48 is no row of elements, EntryCaps among them"
    if set(private) - ({"61", "92"} if kind == "purchase" else {"61"}):
        yield "field 48 has an element that must not be there"
    if pin != ("0" if caps == "00" else "2"):
        yield "the third digit of field 22 is not that of EntryCaps"
    if message.text(25) != ("01" if entry in _ABSENT_CARD else "00"):
        yield "field 25 is not that of field 22"
    if entry not in ENTRIES or (entry == "00" and kind == "purchase"):
        yield "field 22 is no entry mode of the table"
    else:
        yield from _card(message, entry, caps)


def _card(message: Message, entry: str, caps: str) -> Iterator[str]:
    must, may = ENTRIES[entry]
    present = _CARD & set(message.fields)
    for number in sorted((must - present) | (present - must - may)):
        yield f"field {number} is not as field 22 says"
    if 35 in present:
        yield from _track(message, entry, caps)
    if 55 in present:
        yield from _chip(message.fields[55])


def _track(message: Message, entry: str, caps: str) -> Iterator[str]:
    track = TRACK2.fullmatch(message.text(35))
    if not track:
        yield "field 35 has another form"
    elif (track["pan"], track["expiry"]) != (message.text(2), message.text(14)):
        yield "field 35 is not of the card of fields 2 and 14"
    elif entry in {"80", "90"}:
        fallback = track["service"][0] in "26" and caps in CHIP_CAPS
        if entry != ("80" if fallback else "90"):
            yield "field 22 is not that of the service code and EntryCaps"


def _chip(data: str | bytes) -> Iterator[str]:
    """Yield the problems of field 55: it has known primitive objects, each once, lengths in their shortest form."""
    rest = data if isinstance(data, bytes) else b""
    seen: set[str] = set()
    while rest:
        size = 2 if rest[0] & 0x1F == 0x1F else 1
        tag, rest = rest[:size].hex().upper(), rest[size:]
        if tag not in TAGS or tag in seen:
            yield "field 55 has a tag that must not be there, or twice"
            return
        seen.add(tag)
        is_long = bool(rest) and rest[0] == 0x81
        length = rest[1] if is_long and len(rest) > 1 else rest[0] if rest else 256
        rest = rest[2 if is_long else 1 :]
        if is_long != (length > 127) or len(rest) < length:
            yield "field 55 has a length that is wrong or not the shortest"
            return
        rest = rest[length:]
