"""SANDBOX: an acquirer that moves no money and always answers the same.

Well-known test numbers decide first, then the cents of the amount. What it was asked it remembers in a table of its
own, so that it tells the truth to another process too. It keeps no card: a token remembers what its card's number does.
"""

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from chalicelib.domain.acquirer import (
    APPROVED_CODE,
    TOO_LATE,
    AcquirerAnswer,
    AnswerLostError,
    AuthorizationRequest,
    LinkAnswer,
    LinkRequest,
    ReversalRequest,
    message_of,
)
from chalicelib.domain.money import Currency
from chalicelib.errors import ServiceError
from chalicelib.settings import settings
from chalicelib.store.table import AlreadyExistsError, Key, Write, commit, put_new, read, update, write_one

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
}
DECLINED_CENTS = frozenset({5, 51, 54, 65, 91})
PIN_REQUIRED, SIGNATURE_REQUIRED = 65, 8
LOST, NEVER_ARRIVED = 68, 69
NEVER_CAME = 0  # the amount of what was reversed before it arrived
INVALID_AMOUNT, INVALID_CARD = 13, 14
PIN_ONLINE = 1  # PINMode of a payment that is to be repeated with a PIN


@dataclass(frozen=True)
class Entry:
    """What is remembered of one request, under its reference."""

    id: str
    code: int
    amount_minor: int
    reversed_minor: int = 0
    signature_required: bool = False
    original: str | None = None  # of a reversal
    steady: bool = False  # its card's number decides, whatever the cents


@dataclass(frozen=True)
class Token:
    """A linked card: what its number makes of a payment, None when the cents decide."""

    id: str
    code: int | None = None


class Sandbox:
    """The acquirer itself; see the protocol for what each method means."""

    quiet = QUIET

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Approve or decline, as the number or the cents say."""
        fixed = self._code_of(request)
        cents = _cents(request.amount_minor, request.currency)
        if fixed is None and cents == NEVER_ARRIVED:
            raise AnswerLostError
        code = (cents if cents in DECLINED_CENTS else APPROVED_CODE) if fixed is None else fixed
        by_cents = fixed is None
        entry = Entry(
            request.reference,
            code,
            request.amount_minor,
            signature_required=by_cents and cents == SIGNATURE_REQUIRED,
            steady=not by_cents,
        )
        answer = _answer(_remembered(entry))
        _wait(within_s)
        if by_cents and cents == LOST:
            raise AnswerLostError
        return answer

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Give back, by the cents of what is given back; the same reference is answered as before."""
        before = _read(request.reference)
        if before is not None:
            return _answer(before)
        cents = _cents(request.amount_minor, request.currency)
        original = _remembered(Entry(request.original, TOO_LATE, NEVER_CAME))  # what never came shall not come later
        by_cents = original.code == APPROVED_CODE and not original.steady
        if by_cents and cents == NEVER_ARRIVED:
            raise AnswerLostError
        code = cents if by_cents and cents in DECLINED_CENTS else APPROVED_CODE
        answer = _answer(_given_back(request, original, code))
        _wait(within_s)
        if by_cents and cents == LOST:
            raise AnswerLostError
        return answer

    def inquire(self, reference: str, within_s: float) -> AcquirerAnswer | None:
        """What is remembered; what was only reversed, before it ever arrived, is not found."""
        entry = _read(reference)
        _wait(within_s)
        return None if entry is None or entry.amount_minor == NEVER_CAME else _answer(entry)

    def link(self, request: LinkRequest, within_s: float) -> LinkAnswer:
        """A token, unless the number is one that is declined."""
        pan = request.card.pan.reveal()
        code = PANS.get(pan, APPROVED_CODE)
        _wait(within_s)
        if code != APPROVED_CODE:
            return LinkAnswer(code, message_of(code), request.card.face)
        digest = hashlib.sha256(request.reference.encode()).hexdigest()
        token = Token(f"SBX-{digest[:24].upper()}", PANS.get(pan))
        with suppress(AlreadyExistsError):
            _kept(put_new(TABLE, token, "id"))
        return LinkAnswer(code, message_of(code), request.card.face, token.id, int(digest[24:31], 16))

    def _code_of(self, request: AuthorizationRequest) -> int | None:
        """What the number decides; None leaves it to the cents."""
        if request.card is not None:
            return PANS.get(request.card.pan.reveal())
        token = _asked(Key(TABLE, Token, {"id": request.link_id}))
        return INVALID_CARD if token is None else token.code


def _remembered(entry: Entry) -> Entry:
    """The entry, or what was remembered under its reference before."""
    try:
        _kept(put_new(TABLE, entry, "id"))
    except AlreadyExistsError:
        return _read(entry.id) or entry
    return entry


def _given_back(request: ReversalRequest, original: Entry, code: int) -> Entry:
    """Remember a reversal, and with an approved one what it takes from its original: both or neither."""
    entry = Entry(request.reference, code, request.amount_minor, original=request.original)
    writes = [put_new(TABLE, entry, "id")]
    if original.code == APPROVED_CODE and code == APPROVED_CODE:
        writes.append(
            update(
                Key(TABLE, Entry, {"id": original.id}),
                "ADD #reversed_minor :amount",
                {"amount": request.amount_minor, "most": original.amount_minor - request.amount_minor},
                condition="#reversed_minor <= :most",
                otherwise=_MoreThanTakenError(),
            )
        )
    try:
        _kept(*writes)
    except AlreadyExistsError:
        return _read(request.reference) or entry
    except _MoreThanTakenError:
        return _remembered(Entry(request.reference, INVALID_AMOUNT, request.amount_minor, original=request.original))
    return entry


class _MoreThanTakenError(Exception):
    """A reversal of more than what is left."""


def _kept(*writes: Write) -> None:
    try:
        commit(*writes) if len(writes) > 1 else write_one(writes[0])
    except ServiceError:  # its table is out of reach: nobody can tell whether it was written
        raise AnswerLostError from None


def _read(reference: str) -> Entry | None:
    return _asked(Key(TABLE, Entry, {"id": reference}))


def _asked(key: Key[R]) -> R | None:
    try:
        return read(key)
    except ServiceError:
        raise AnswerLostError from None


def _answer(entry: Entry) -> AcquirerAnswer:
    """Everything else an acquirer would say, made of the reference."""
    digits = f"{int(hashlib.sha256(entry.id.encode()).hexdigest(), 16):078d}"
    approved = entry.code == APPROVED_CODE
    return AcquirerAnswer(
        entry.code,
        message_of(entry.code),
        approval_code=digits[:6] if approved else None,
        rrn=digits[6:18],
        acquirer_tran_id=f"SBX{digits[18:30]}",
        signature_required=entry.signature_required,
        pin_mode=PIN_ONLINE if entry.code == PIN_REQUIRED else None,
    )


def _cents(amount_minor: int, currency: Currency) -> int:
    """The first two decimals of the amount; a currency without any has no cents."""
    return int(amount_minor // 10 ** (currency.digits - 2) % 100) if currency.digits > 1 else 0


def _wait(within_s: float) -> None:
    """Take as long as the stage says; longer than the caller waits is an answer lost."""
    seconds = settings().sandbox_latency_ms / 1000
    time.sleep(min(seconds, within_s))
    if seconds > within_s:
        raise AnswerLostError
