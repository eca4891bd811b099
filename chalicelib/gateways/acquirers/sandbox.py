"""SANDBOX: an acquirer that moves no money. Answers follow from the reference, so a repeat gets the same answer."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from chalicelib import outside
from chalicelib.domain.acquirer import (
    APPROVED_CODE,
    DUPLICATE,
    TOO_LATE,
    AcquirerAnswer,
    AnswerLostError,
    AuthorizationRequest,
    InquiryRequest,
    LinkAnswer,
    LinkRequest,
    ReversalRequest,
    Reversed,
    text_of_code,
)
from chalicelib.domain.card import CardData
from chalicelib.domain.kinds import KINDS
from chalicelib.domain.money import Currency
from chalicelib.errors import Finding, ServiceError
from chalicelib.settings import settings
from chalicelib.store.table import AlreadyExistsError, Key, Write, commit, put_new, read, update, write_one

PIN_REQUIRED = 65
PIN_ONLINE = 1  # PINMode: repeat the payment with a PIN
ADDITIONAL_TITLE = "Sandbox"  # AdditionalAcquiringFieldsTitle of an approval


@dataclass(frozen=True)
class SandboxRecord:
    """The stored answer to one request, under its reference."""

    id: str
    code: int
    amount_minor: int
    reversed_minor: int = 0
    signature_required: bool = False
    original: str | None = None  # the payment of a reversal
    steady: bool = False  # the card's number decides, not the cents
    chip: bool = False  # a chip was read, which needs the issuer's answer


def answer_to(request: ReversalRequest, record: SandboxRecord) -> AcquirerAnswer:
    """Return the answer of a reversal's record. Refuse a reference of another request."""
    same = (record.original, record.amount_minor) == (request.original, request.amount_minor)
    return answer_of(record) if same else duplicate()


def duplicate() -> AcquirerAnswer:
    """Return the refusal of a reference that another request has used."""
    return AcquirerAnswer(DUPLICATE, text_of_code(DUPLICATE))


def answer_of(record: SandboxRecord) -> AcquirerAnswer:
    """Return the answer of a record. Everything but the code follows from the reference."""
    digits = f"{int(hashlib.sha256(record.id.encode()).hexdigest(), 16):078d}"
    approved = record.code == APPROVED_CODE
    return AcquirerAnswer(
        record.code,
        text_of_code(record.code),
        approval_code=digits[:6] if approved else None,
        rrn=digits[6:18],
        acquirer_tran_id=f"SBX{digits[18:30]}",
        signature_required=record.signature_required,
        pin_mode=PIN_ONLINE if record.code == PIN_REQUIRED else None,
        reverses=Reversed(record.original, record.amount_minor) if record.original else None,
        additional_fields=f"BATCH={digits[30:33]};TRACE={digits[33:39]}" if approved else None,
        additional_fields_title=ADDITIONAL_TITLE if approved else None,
        emv_result=_emv_result(record, digits) if record.chip else None,
    )


def _emv_result(record: SandboxRecord, digits: str) -> str:
    """Return the issuer's answer for the chip: the response code (8A), and for an approval also its proof (91)."""
    code = f"{record.code:02d}".encode()
    proof = f"910A{digits[39:55]}{code.hex()}" if record.code == APPROVED_CODE else ""
    return f"8A02{code.hex()}{proof}"


R = TypeVar("R")

TABLE = "sandbox"
QUIET = timedelta(seconds=60)

PANS: Mapping[str, int] = {
    "4242424242424242": APPROVED_CODE,
    "4000000000000002": 5,
    "4000000000009995": 51,
    "4000000000000069": 54,
    "4000000000000127": 82,
    "4000000000000119": 96,
    "4000000000009987": 41,
    "4000000000009979": 43,
    "4100000000000019": 59,
    "4000000000006975": 61,
    "4000000000000341": 5,
}
DECLINED_CENTS = frozenset({5, 51, 54, 65, 91})
SIGNATURE_REQUIRED = 8
LOST_CENTS, NEVER_ARRIVED_CENTS = 68, 69
NOT_ARRIVED_MINOR = 0  # the amount of a payment that was reversed before it arrived
INVALID_AMOUNT, INVALID_CARD = 13, 14


@dataclass(frozen=True)
class SandboxToken:
    """The token of a linked card, and the code that its number decides; None: the cents decide."""

    id: str
    code: int | None = None


class Sandbox:
    """The adapter. `Acquirer` describes its methods."""

    name = "Sandbox"
    takes = frozenset(input_type for input_type, kind in KINDS.items() if kind.needs_acquirer)
    can_inquire, links_cards, institution, quiet = True, True, "", QUIET

    def refuse(self, _: AuthorizationRequest | ReversalRequest) -> tuple[Finding, ...]:
        """Return no findings: the sandbox takes everything."""
        return ()

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Approve or decline by the card's number or the cents."""
        record = record_of(request)
        by_cents, cents = not record.steady, _cents(request.amount_minor, request.currency)
        if by_cents and cents == NEVER_ARRIVED_CENTS:
            raise AnswerLostError
        stored = _store_or_read(record)
        answer = answer_of(stored) if stored.original is None else duplicate()
        _wait(within_s)
        if by_cents and cents == LOST_CENTS:
            raise AnswerLostError
        return answer

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Approve or decline by the cents of the reversed amount. A known reference gets its first answer."""
        stored = _find(request.reference)
        if stored is not None:
            return answer_to(request, stored)
        cents = _cents(request.amount_minor, request.currency)
        # Record a payment that has not arrived as declined, so that it cannot be approved later.
        original = _store_or_read(SandboxRecord(request.original, TOO_LATE, NOT_ARRIVED_MINOR))
        if original.original is not None:  # a reversal is not a payment
            return duplicate()
        by_cents = original.code == APPROVED_CODE and not original.steady
        if by_cents and cents == NEVER_ARRIVED_CENTS:
            raise AnswerLostError
        code = _code_of_cents(cents) if by_cents else APPROVED_CODE
        answer = answer_to(request, _store_reversal(request, original, code))
        _wait(within_s)
        if by_cents and cents == LOST_CENTS:
            raise AnswerLostError
        return answer

    def inquire(self, request: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        """Return the stored answer; None for a payment that was reversed before it arrived."""
        record = _find(request.reference)
        _wait(within_s)
        return None if record is None or record.amount_minor == NOT_ARRIVED_MINOR else answer_of(record)

    def link(self, request: LinkRequest, within_s: float) -> LinkAnswer:
        """Return a token, or decline a number that is always declined."""
        pan = request.card.pan.reveal()
        code = PANS.get(pan, APPROVED_CODE)
        _wait(within_s)
        if code != APPROVED_CODE:
            return LinkAnswer(code, text_of_code(code), request.card.details)
        digest = hashlib.sha256(request.reference.encode()).hexdigest()
        token = SandboxToken(f"SBX-{digest[:24].upper()}", PANS.get(pan))
        with suppress(AlreadyExistsError):
            _write(put_new(TABLE, token, "id"))
        return LinkAnswer(code, text_of_code(code), request.card.details, token.id, int(digest[24:31], 16))


def record_of(request: AuthorizationRequest) -> SandboxRecord:
    """Return the decision about a payment, as it is stored before it is answered."""
    code_of_card = _code_of_card(request)
    by_cents, cents = code_of_card is None, _cents(request.amount_minor, request.currency)
    return SandboxRecord(
        request.reference,
        _code_of_cents(cents) if code_of_card is None else code_of_card,
        request.amount_minor,
        signature_required=by_cents and cents == SIGNATURE_REQUIRED,
        steady=not by_cents,
        chip=_is_chip(request.card),
    )


class _MoreThanRemainsError(Exception):
    """The reversal exceeds the remainder of the payment."""


def _code_of_card(request: AuthorizationRequest) -> int | None:
    """Return the code that the card's number decides; None: the cents decide."""
    if request.card is not None:
        return PANS.get(request.card.pan.reveal())
    token = _read(Key(TABLE, SandboxToken, {"id": request.link_id}))
    return INVALID_CARD if token is None else token.code


def _code_of_cents(cents: int) -> int:
    return cents if cents in DECLINED_CENTS else APPROVED_CODE


def _store_or_read(record: SandboxRecord) -> SandboxRecord:
    """Store a record; if its reference already has one, return that one."""
    try:
        _write(put_new(TABLE, record, "id"))
    except AlreadyExistsError:
        return _find(record.id) or record
    return record


def _store_reversal(request: ReversalRequest, original: SandboxRecord, code: int) -> SandboxRecord:
    """Store a reversal. If both are approved, take its amount from its payment in the same transaction."""
    record = SandboxRecord(
        request.reference, code, request.amount_minor, original=request.original, chip=_is_chip(request.card)
    )
    writes = [put_new(TABLE, record, "id")]
    if original.code == APPROVED_CODE and code == APPROVED_CODE:
        writes.append(
            update(
                Key(TABLE, SandboxRecord, {"id": original.id}),
                add={"reversed_minor": request.amount_minor},
                condition="#reversed_minor <= :most",
                compared={"most": original.amount_minor - request.amount_minor},
                otherwise=_MoreThanRemainsError(),
            )
        )
    try:
        _write(*writes)
    except AlreadyExistsError:
        return _find(request.reference) or record
    except _MoreThanRemainsError:
        return _store_or_read(replace(record, code=INVALID_AMOUNT))
    return record


def _find(reference: str) -> SandboxRecord | None:
    return _read(Key(TABLE, SandboxRecord, {"id": reference}))


def _read(key: Key[R]) -> R | None:
    try:
        return read(key)
    except ServiceError:
        raise AnswerLostError from None


def _write(*writes: Write) -> None:
    try:
        commit(*writes) if len(writes) > 1 else write_one(writes[0])
    except ServiceError:  # the table is unavailable, but the write may have happened
        raise AnswerLostError from None


def _is_chip(card: CardData | None) -> bool:
    return card is not None and card.tlv is not None


def _cents(amount_minor: int, currency: Currency) -> int:
    """Return the first two decimals of the amount; 0 for a currency with fewer than two."""
    return int(amount_minor // 10 ** (currency.digits - 2) % 100) if currency.digits > 1 else 0


def _wait(within_s: float) -> None:
    """Wait for the stage's latency; raise AnswerLostError if the caller does not wait so long."""
    seconds = settings().sandbox_latency_ms / 1000
    outside.current.pause(min(seconds, within_s))
    if seconds > within_s:
        raise AnswerLostError
