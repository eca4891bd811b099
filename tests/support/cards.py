"""Builders of cards as tills send them. The numbers are the industry's test numbers; no issuer has them."""

from typing import Any

from chalicelib.domain.acquirer import AuthorizationRequest, InquiryRequest
from chalicelib.domain.card import VERIFIED, CardData, CardInput, LinkedCard, read
from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.secret import Secret
from tests.support.transactions import NOW, ZAR, a_guid

PAN = "4111111111111111"  # the cents of the amount decide
STEADY = "4242424242424242"  # always approved
EXP = "1230"
TRACK2 = f";{PAN}=30121011000012300000?"  # service code 101: no chip
CHIP_STRIPE = TRACK2.replace("=3012101", "=3012201")
TRACK1 = f"%B{PAN}^MOKOENA/THANDI            ^30121011000000000123000000?"
AID, APN, TSI, TVR = "A0000000031010", "VISA CREDIT", "E800", "0000008000"


def tlv(tag: str, value: str) -> str:
    """One data object, in hexadecimal."""
    return f"{tag}{len(value) // 2:02X}{value}"


def chip_data(pan: str = PAN, exp: str = EXP, cryptogram: str = "AABBCCDDEEFF0011") -> str:
    """Return the chip data a terminal sends: an application cryptogram and what goes with it."""
    track = f"{pan}D{exp[2:]}{exp[:2]}201100001230000"
    objects = {
        "57": track + "F" * (len(track) % 2),
        "5F20": b"MOKOENA/THANDI".hex().upper(),
        "84": AID,
        "50": APN.encode().hex().upper(),
        "95": TVR,
        "9B": TSI,
        "9F26": cryptogram,
        "9F02": "000000001230",
        "5F2A": "0710",
    }
    return "".join(tlv(tag, value) for tag, value in objects.items())


def an_input(**changes: str | None) -> CardInput:
    """A keyed-in card; a null leaves a field out."""
    facts: dict[str, str | None] = {"pan": PAN, "exp": EXP, "cvv2": "123", **changes}
    return CardInput(**{name: Secret(text) for name, text in facts.items() if text is not None})


def a_card(**changes: str | None) -> CardData:
    """The card of an_input."""
    card, problems = read(InputType.MANUAL_ENTRY, an_input(**changes))
    assert card is not None, problems
    return card


def a_chip_card() -> CardData:
    """The same card, read by its chip."""
    card, problems = read(InputType.CHIP, CardInput(reader_data=Secret(chip_data())))
    assert card is not None, problems
    return card


def a_linked_card(**changes: Any) -> LinkedCard:
    """That card, linked by its agent."""
    facts: dict[str, Any] = {
        "id": 1,
        "client_id": 7,
        "account_id": 17,
        "acquirer": "SANDBOX",
        "details": a_card().details,
        "alias": "Company card",
        "created_at": NOW,
        "updated_at": NOW,
        "link_id": "SBX-1",
        "status": VERIFIED,
    }
    return LinkedCard(**{**facts, **changes})


def an_authorization(**changes: Any) -> AuthorizationRequest:
    """R 12.30 by that card."""
    facts: dict[str, Any] = {
        "reference": a_guid(),
        "amount_minor": 1230,
        "currency": Currency("ZAR", "710", 2),
        "input_type": InputType.MANUAL_ENTRY,
        "terminal": "SHOP0001",
        "merchant": None,
        "card": a_card(),
    }
    return AuthorizationRequest(**{**facts, **changes})


def an_inquiry(reference: str, **changes: Any) -> InquiryRequest:
    """An inquiry about that payment."""
    facts: dict[str, Any] = {"amount_minor": 1230, "currency": Currency("ZAR", "710", 2), "created_at": NOW, **changes}
    return InquiryRequest(reference, **facts)


def a_card_body(
    amount: Any = 12.3, pan: str = PAN, *, basic: dict[str, Any] | None = None, **parts: Any
) -> dict[str, Any]:
    """The body of payment/submit for a keyed-in card; `parts` replace parts of the body."""
    return {
        "BasicTran": {"ID": a_guid(), "InputType": 1, "CurrencyID": ZAR.code, "Amount": amount, **(basic or {})},
        "Card": {"CardInputMode": 1, "CardDataInput": {"PAN": pan, "EXP": EXP, "CVV2": "123"}},
        **parts,
    }
