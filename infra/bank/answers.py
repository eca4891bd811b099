"""The bank's answers: 0210, 0430 and 0810, by the table of section 2 of the interface."""

from collections.abc import Mapping
from datetime import datetime

from infra.bank.codec import Message, Value
from infra.bank.entries import CARRIED_OUT, PARTIAL, Entry
from infra.bank.rules import elements

ANSWER_TO = {"0200": "0210", "0420": "0430", "0421": "0430", "0800": "0810"}
ECHOED: Mapping[str, tuple[int, ...]] = {
    "0210": (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49),
    "0430": (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49, 90, 95),
    "0810": (7, 11, 32, 70),
}
CVV2_MATCHED = "8701M"
AUTHENTICATION = bytes.fromhex("1122334455667788")  # what an issuer's computer would sign with the card's key
DECLINED_TEXT = "DECLINED"


def refusal(message: Message, code: str) -> Message:
    """Return an answer that carries the code and what could be read of the request, and nothing else."""
    mti = ANSWER_TO[message.mti]
    echoed = {number: message.fields[number] for number in ECHOED[mti] if message.readable(number)}
    return Message(mti, {**echoed, 39: code})


def answer(message: Message, entry: Entry, now: datetime) -> Message:
    """Return the answer to a well-formed request on which the bank has ruled."""
    plain = refusal(message, entry.code)
    if plain.mti != "0210":
        return plain
    fields: dict[int, Value] = {**plain.fields, 15: f"{now:%m%d}"}
    if entry.code == PARTIAL:
        fields[4] = f"{entry.taken_minor:012}"
    if entry.code in CARRIED_OUT:
        fields |= {38: entry.approval, 63: entry.number}
    else:
        fields[44] = DECLINED_TEXT
    if "92" in (elements(message.text(48)) or {}):
        fields[48] = CVV2_MATCHED
    if 55 in message.fields:
        fields[55] = issuer_data(entry.code)
    return Message(plain.mti, fields)


def issuer_data(code: str) -> bytes:
    """Return field 55 of the answer to a chip: the code for the card (8A), and the issuer's authentication (91)."""
    text = code.encode()
    signed = AUTHENTICATION + text
    return b"\x8a" + bytes([len(text)]) + text + b"\x91" + bytes([len(signed)]) + signed
