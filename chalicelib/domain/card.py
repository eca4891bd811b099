"""A card: read from the till's data and checked; and the part of it that may be stored.

The number, CVV2, track and TLV are Secrets from the first line to the acquirer. No finding quotes them.
"""

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from chalicelib.domain import emv
from chalicelib.domain.business_days import start_of
from chalicelib.domain.kinds import InputType
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import CardDetails, EmvData
from chalicelib.errors import Check, Finding

CARD_ACTIVE, CARD_BLOCKED = 1, 2  # State of a linked card
CREATED, IN_VERIFICATION, VERIFIED, FAILED = 1, 2, 3, 10  # Status of a linked card
LINK_TYPE = 1  # of a linked card: the only type

READERS = frozenset({InputType.MAGNETIC_STRIPE, InputType.CHIP, InputType.CONTACTLESS})
PAN_DIGITS = re.compile("[0-9]{12,19}")
EXP_DIGITS = re.compile("(0[1-9]|1[0-2])[0-9]{2}")
CVV2_DIGITS = re.compile("[0-9]{3,4}")
CENTURY = 2000
CHIP_DATA_IS = "EMV data objects in hexadecimal, with the card's number and expiry, are expected."
STRIPE_IS = "A track 2 is expected, alone or after track 1."


@dataclass(frozen=True)
class Brand:
    """A payment system: the first and last prefix of each of its ranges, and the lengths of its numbers."""

    name: str
    prefixes: tuple[tuple[str, str], ...]
    lengths: range | frozenset[int]


# The order matters: the last brand takes all other numbers that begin with 5 and 6.
BRANDS = (
    Brand("VISA", (("4", "4"),), frozenset({13, 16, 19})),
    Brand("MASTERCARD", (("51", "55"), ("2221", "2720")), frozenset({16})),
    Brand("AMEX", (("34", "34"), ("37", "37")), frozenset({15})),
    Brand("MIR", (("2200", "2204"),), range(16, 20)),
    Brand("DINERS", (("300", "305"), ("3095", "3095"), ("36", "36"), ("38", "39")), range(14, 20)),
    Brand("JCB", (("3528", "3589"),), range(16, 20)),
    Brand("DISCOVER", (("6011", "6011"), ("644", "649"), ("65", "65")), range(16, 20)),
    Brand("UNIONPAY", (("62", "62"), ("81", "81")), range(16, 20)),
    Brand("MAESTRO", (("50", "50"), ("56", "69")), range(12, 20)),
)


@dataclass(frozen=True)
class CardInput:
    """The card data of a request, unread."""

    pan: Secret | None = None
    exp: Secret | None = None
    cvv2: Secret | None = None
    reader_data: Secret | None = None


@dataclass(frozen=True)
class CardData:
    """A card in memory, on its way to the acquirer. Only its details may be stored."""

    pan: Secret
    details: CardDetails
    found_in: str  # the request's field with the card
    cvv2: Secret | None = None
    track2: Secret | None = None
    tlv: Secret | None = None
    emv: EmvData | None = None
    has_chip: bool = False  # a swiped card's stripe names a chip


@dataclass(frozen=True)
class LinkedCard:
    """A card that an agent may pay with by its ID. Its details and the acquirer's token for it are stored."""

    id: int
    client_id: int
    account_id: int
    acquirer: str
    details: CardDetails
    alias: str
    created_at: datetime
    updated_at: datetime
    link_id: str | None = None
    storage_id: int | None = None
    state: int = CARD_ACTIVE
    status: int = CREATED
    deleted: bool = False
    transaction_count: int = 0


Findings = tuple[Finding, ...]


def read(input_type: InputType, sent: CardInput) -> tuple[CardData | None, Findings]:
    """Return the card or the findings. The caller checks the expiry date."""
    problems = _cvv2(sent.cvv2)
    if input_type is InputType.MAGNETIC_STRIPE:
        card, found = _swiped(sent)
    elif input_type in READERS:
        card, found = _chip(sent)
    else:
        card, found = _keyed_in(sent)
    if card and input_type in READERS and sent.pan not in (None, card.pan):
        message = "It is not the number in ReaderData."
        found += (Finding("card.pan", Check.CONTRADICTION, message),)
    problems = found + problems
    return (None if problems or card is None else replace(card, cvv2=sent.cvv2)), problems


def expired(card: CardData, today: date) -> Findings:
    """Return a finding when the card has expired on this day in the merchant's zone."""
    if not is_expired(card.details.exp, today):
        return ()
    return (Finding(card.found_in, Check.CARD_EXPIRED, "The card has expired."),)


def is_expired(exp: str | None, today: date) -> bool:
    """Return whether the card has expired. It is valid until the last day of its month."""
    return exp is not None and today > last_day(exp)


def last_day(exp: str) -> date:
    """Return the last day of a month given as MMYY."""
    month, year = int(exp[:2]), CENTURY + int(exp[2:])
    return date(year, month, calendar.monthrange(year, month)[1])


def last_second(exp: str, gmt: int) -> datetime:
    """Return the last second in which a card may pay: the end of its last month (MMYY) in the merchant's zone."""
    return start_of(last_day(exp) + timedelta(days=1), gmt) - timedelta(seconds=1)


def is_usable(card: LinkedCard, agent_id: int, today: date) -> bool:
    """Return whether this agent may pay with the card."""
    standing = (card.account_id, card.state, card.status, card.deleted)
    return standing == (agent_id, CARD_ACTIVE, VERIFIED, False) and not is_expired(card.details.exp, today)


def brand_of(pan: str) -> str | None:
    """Return the payment system of a number, None when it is unknown."""
    for brand in BRANDS:
        if len(pan) in brand.lengths and any(low <= pan[: len(low)] <= high for low, high in brand.prefixes):
            return brand.name
    return None


def has_check_digit(pan: str) -> bool:
    """Return whether the number passes the Luhn check (ISO/IEC 7812-1, annex B)."""
    digits = [int(digit) for digit in reversed(pan)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def mistyped(pan: Secret | None, name: str) -> Findings:
    """Return a finding when a text is no number of a card of a known payment system."""
    if pan is None:
        return (_required("pan"),)
    digits = pan.reveal()
    if not PAN_DIGITS.fullmatch(digits):
        return (Finding(name, Check.FORMAT, "A card number of 12 to 19 digits is expected."),)
    if not has_check_digit(digits):
        return (Finding(name, Check.CARD_NUMBER, "The card number is mistyped: its check digit does not fit."),)
    if brand_of(digits) is None:
        return (Finding(name, Check.CARD_NUMBER, "The card number is of no known payment system."),)
    return ()


def _keyed_in(sent: CardInput) -> tuple[CardData | None, Findings]:
    problems = (*mistyped(sent.pan, "card.pan"), *_expiry(sent.exp))
    if problems or sent.pan is None or sent.exp is None:
        return None, problems
    pan = sent.pan.reveal()
    return CardData(sent.pan, _details(pan, sent.exp.reveal()), "card.exp"), ()


def _swiped(sent: CardInput) -> tuple[CardData | None, Findings]:
    if sent.reader_data is None:
        return None, (_required("reader_data"),)
    try:
        track, text = emv.stripe(sent.reader_data.reveal())
    except emv.MalformedError:
        return None, (_malformed(STRIPE_IS),)
    card = CardData(Secret(track.pan), CardDetails(""), "", track2=Secret(text), has_chip=track.has_chip)
    card_read, problems = _read_out(track, card, STRIPE_IS)
    return _named(card_read, track.cardholder), problems


def _chip(sent: CardInput) -> tuple[CardData | None, Findings]:
    if sent.reader_data is None:
        return None, (_required("reader_data"),)
    try:
        found = emv.objects(bytes.fromhex(sent.reader_data.reveal()))
        track = emv.card_in(found)
    except ValueError:  # not hexadecimal, or not TLV
        return None, (_malformed(CHIP_DATA_IS),)
    chip = CardData(Secret(track.pan), CardDetails(""), "", tlv=sent.reader_data, emv=_emv(found, track.pan))
    card, problems = _read_out(track, chip, CHIP_DATA_IS)
    return _named(card, emv.cardholder(found)), problems


def _named(card: CardData | None, cardholder: str | None) -> CardData | None:
    return card and replace(card, details=replace(card.details, cardholder=cardholder))


def _read_out(track: emv.Track2, card: CardData, expected: str) -> tuple[CardData | None, Findings]:
    """Return the card in a reader's data, with number and expiry checked."""
    name = "card.reader_data"
    problems = mistyped(card.pan, name)
    if not EXP_DIGITS.fullmatch(track.exp):
        problems += (_malformed(expected),)
    if problems:
        return None, problems
    return replace(card, details=_details(track.pan, track.exp), found_in=name), ()


def _emv(found: Mapping[int, bytes], pan: str) -> EmvData:
    """Return the chip data for a receipt, without fields that contain the card's number."""
    printed = emv.printed(found)
    return EmvData(
        aid=None if pan in (printed.aid or "") else printed.aid,
        apn=None if pan in (printed.apn or "") else printed.apn,
        tsi=printed.tsi,
        tvr=printed.tvr,
    )


def _details(pan: str, exp: str) -> CardDetails:
    return CardDetails(brand=brand_of(pan) or "", bin=pan[:6], last4=pan[-4:], exp=exp)


def _expiry(exp: Secret | None) -> Findings:
    if exp is None:
        return (_required("exp"),)
    if not EXP_DIGITS.fullmatch(exp.reveal()):
        return (Finding("card.exp", Check.FORMAT, "Month and year of expiry are expected as MMYY."),)
    return ()


def _cvv2(cvv2: Secret | None) -> Findings:
    if cvv2 is None or CVV2_DIGITS.fullmatch(cvv2.reveal()):
        return ()
    return (Finding("card.cvv2", Check.FORMAT, "CVV2 has 3 or 4 digits."),)


def _required(name: str) -> Finding:
    return Finding(f"card.{name}", Check.REQUIRED, "It is required for this InputType.")


def _malformed(expected: str) -> Finding:
    return Finding("card.reader_data", Check.FORMAT, expected)
