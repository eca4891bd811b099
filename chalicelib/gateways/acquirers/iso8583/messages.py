"""The requests to the host, made from domain values by the tables in sections 2 to 4 of its interface."""

from datetime import UTC, datetime

from chalicelib.domain import emv
from chalicelib.domain.acquirer import AuthorizationRequest, Message, ReversalKind, ReversalRequest
from chalicelib.domain.card import CardData
from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.transaction import MessageTrace, TerminalSnapshot
from chalicelib.gateways.acquirers.iso8583.codec import Content

REQUEST, ADVICE, REPEATED_ADVICE, ECHO = "0200", "0420", "0421", "0800"
PURCHASE, REFUND = "000000", "200000"
ECHO_TEST = "301"
OF_RETURNS = frozenset({ReversalKind.RETURN, ReversalKind.AUTOMATIC_OF_RETURN})

MANUAL, STRIPE, STRIPE_OF_CHIP, CHIP, CONTACTLESS, NO_CARD = "01", "90", "80", "05", "07", "00"
ENTRIES = {InputType.MANUAL_ENTRY: MANUAL, InputType.CHIP: CHIP, InputType.CONTACTLESS: CONTACTLESS}
CUSTOMER_ABSENT = frozenset({MANUAL, NO_CARD})
READS_CHIPS = frozenset({"5", "8", "9"})  # EntryCaps
UNKNOWN_CAPS, NO_PIN_ENTRY = "0", "2"

SEQUENCE = 0x5F34
CHIP_TAGS = frozenset({
    0x4F, 0x5F2A, 0x82, 0x84, 0x95, 0x9A, 0x9B, 0x9C, 0x9F02, 0x9F03, 0x9F09, 0x9F10, 0x9F1A, 0x9F1E, 0x9F26, 0x9F27,
    0x9F33, 0x9F34, 0x9F35, 0x9F36, 0x9F37, 0x9F41, 0x9F6E,
})  # fmt: skip
ENTRY_CAPS_ELEMENT, CVV2_ELEMENT = "61", "92"


class FactsMissingError(ValueError):
    """The request lacks facts that a message to this host needs."""


def purchase(request: AuthorizationRequest) -> Content:
    """Return the 0200 of a payment."""
    message, card = _message(request.message), request.card
    if card is None:
        raise FactsMissingError
    fields = {
        **_common(message, PURCHASE, request.amount_minor, request.currency),
        **_terminal(message.terminal, _entry(request.input_type, card, message.terminal.entry_caps)),
        **_card(card),
    }
    if card.cvv2 is not None:
        fields["48"] += _element(CVV2_ELEMENT, card.cvv2.reveal())
    return Content(REQUEST, fields)


def refund(request: ReversalRequest) -> Content:
    """Return the 0200 of a return, with the card if it was read again."""
    message, card = _message(request.message), request.card
    if card is not None and request.input_type is None:
        raise FactsMissingError
    entry = _entry(request.input_type, card, message.terminal.entry_caps) if card and request.input_type else NO_CARD
    fields = {
        **_common(message, REFUND, request.amount_minor, request.currency),
        **_terminal(message.terminal, entry),
        **(_card(card) if card else {}),
        "90": _original(request.original_trace, message.institution),
    }
    return Content(REQUEST, fields)


def advice(request: ReversalRequest) -> Content:
    """Return the 0420 of a cancel or an automatic reversal, or the 0421 of its repeat. It carries no card."""
    message = _message(request.message)
    fields = {
        **_common(message, REFUND if request.kind in OF_RETURNS else PURCHASE, request.amount_minor, request.currency),
        "56": request.reason,
        "90": _original(request.original_trace, message.institution),
    }
    return Content(REPEATED_ADVICE if request.is_repeat else ADVICE, fields)


def echo(trace: MessageTrace) -> Content:
    """Return the 0800 for an operator's check of the connection."""
    return Content(ECHO, {"7": _time(trace.made_at), "11": f"{trace.stan:06d}", "70": ECHO_TEST})


def track2(card: CardData) -> emv.Track2 | None:
    """Return the track 2 of a stripe, or a chip's image of one."""
    if card.track2 is not None:
        return emv.track2(card.track2.reveal())
    image = _objects(card).get(emv.TRACK2_EQUIVALENT)
    return None if image is None else emv.track2(image.hex().upper())


def chip_data(card: CardData) -> bytes:
    """Return the chip's objects that the host takes, in the reader's order."""
    return b"".join(encoded(tag, value) for tag, value in _objects(card).items() if tag in CHIP_TAGS)


def _message(message: Message | None) -> Message:
    if message is None:
        raise FactsMissingError
    return message


def _common(message: Message, code: str, amount_minor: int, currency: Currency) -> dict[str, str]:
    return {
        "3": code,
        "4": f"{amount_minor:012d}",
        "7": _time(message.trace.made_at),
        "11": f"{message.trace.stan:06d}",
        "12": f"{message.local_time:%H%M%S}",
        "13": f"{message.local_time:%m%d}",
        "32": message.institution,
        "37": message.rrn,
        "41": message.tid,
        "42": message.terminal.mid,
        "49": currency.number,
    }


def _terminal(terminal: TerminalSnapshot, entry: str) -> dict[str, str]:
    can_enter_pin = UNKNOWN_CAPS if terminal.entry_caps == UNKNOWN_CAPS else NO_PIN_ENTRY
    place = _cut(terminal.title, 25) + _cut(terminal.city, 13) + _cut(terminal.country_code, 2)
    return {
        "18": terminal.sic,
        "22": f"{entry}{can_enter_pin}",
        "25": "01" if entry in CUSTOMER_ABSENT else "00",
        "43": place,
        "48": _element(ENTRY_CAPS_ELEMENT, terminal.entry_caps.rjust(2, "0")),
    }


def _entry(input_type: InputType, card: CardData, entry_caps: str) -> str:
    if input_type is not InputType.MAGNETIC_STRIPE:
        return ENTRIES[input_type]
    track = track2(card)
    of_chip = track is not None and track.has_chip
    return STRIPE_OF_CHIP if of_chip and entry_caps in READS_CHIPS else STRIPE


def _card(card: CardData) -> dict[str, str]:
    exp = card.details.exp or ""
    fields = {"2": card.pan.reveal(), "14": exp[2:] + exp[:2]}
    track = track2(card)
    if track is not None:
        fields["35"] = track.text
    if card.tlv is not None:
        fields["55"] = chip_data(card).hex().upper()
        sequence = _objects(card).get(SEQUENCE, b"").hex()
        if len(sequence) == len("01") and sequence.isdigit():
            fields["23"] = sequence.rjust(3, "0")
    return fields


def _objects(card: CardData) -> dict[int, bytes]:
    return dict(emv.objects(bytes.fromhex(card.tlv.reveal()))) if card.tlv is not None else {}


def _original(trace: MessageTrace | None, institution: str) -> str:
    if trace is None:
        raise FactsMissingError
    return f"{REQUEST}{trace.stan:06d}{_time(trace.made_at)}{institution.rjust(11, '0')}{'0' * 11}"


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%m%d%H%M%S}"


def _element(tag: str, value: str) -> str:
    return f"{tag}{len(value):02d}{value}"


def _cut(text: str, size: int) -> str:
    printable = "".join(character if " " <= character <= "~" else "?" for character in text)
    return printable[:size].ljust(size)


def encoded(tag: int, value: bytes) -> bytes:
    """Return a primitive data object as bytes, its length in the shortest form."""
    size = len(value)
    length = _octets(size) if size < emv.LONG else bytes([emv.LONG + len(_octets(size))]) + _octets(size)
    return _octets(tag) + length + value


def _octets(number: int) -> bytes:
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8))
