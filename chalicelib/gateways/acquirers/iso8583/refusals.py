"""The requests that cannot be written for the host: they are refused before anything is stored or sent."""

import re

from chalicelib.domain.acquirer import AuthorizationRequest, ReversalRequest
from chalicelib.domain.card import CardData
from chalicelib.errors import Check, Finding
from chalicelib.gateways.acquirers.iso8583 import messages

MOST_MINOR = 999_999_999_999  # twelve digits
MOST_TRACK2, MOST_CHIP_DATA = 37, 255
MOST_MID, MOST_TID = 15, 8
PRINTABLE = re.compile("[ -~]+")

Findings = tuple[Finding, ...]


def refuse(request: AuthorizationRequest | ReversalRequest) -> Findings:
    """Return what the host cannot take of a payment, or of a reversal and the card that was read for it."""
    findings = _card(request.card) if request.card else ()
    if isinstance(request, ReversalRequest):
        return findings
    if not request.single_step:
        findings += (Finding("single_step", Check.CONTRADICTION, "This acquirer takes payments in a single step."),)
    if request.amount_minor > MOST_MINOR:
        message = f"This acquirer takes at most {MOST_MINOR} minor units."
        findings += (Finding("amount", Check.OUT_OF_RANGE, message),)
    return (
        *findings,
        *_name("terminal.mid", "BackRetailerID", request.merchant, MOST_MID),
        *_name("terminal.tid", "Name", request.terminal, MOST_TID),
    )


def _card(card: CardData) -> Findings:
    track = messages.track2(card)
    if track is not None and len(track.text) > MOST_TRACK2:
        message = f"This acquirer takes a track 2 of at most {MOST_TRACK2} characters."
        return (Finding("card.reader_data", Check.TOO_LONG, message),)
    size = len(messages.chip_data(card))
    if card.tlv is not None and not 0 < size <= MOST_CHIP_DATA:
        message = f"This acquirer needs 1 to {MOST_CHIP_DATA} bytes of chip data it knows."
        return (Finding("card.reader_data", Check.FORMAT if not size else Check.TOO_LONG, message),)
    return ()


def _name(field: str, shown: str, text: str | None, most: int) -> Findings:
    if not text or not text.strip():
        return (Finding(field, Check.REQUIRED, f"The acquirer of this payment needs the terminal's {shown}."),)
    if len(text) > most or not PRINTABLE.fullmatch(text):
        message = f"The acquirer of this payment takes at most {most} ASCII characters as the terminal's {shown}."
        return (Finding(field, Check.TOO_LONG if len(text) > most else Check.FORMAT, message),)
    return ()
