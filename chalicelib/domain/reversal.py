"""Reversals (cancel: void; return: refund): which are open to a payment. Flags and the act use one function."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any

from chalicelib.domain.agent import Agent
from chalicelib.domain.money import canonical, from_minor
from chalicelib.domain.payment import APPROVED_TEXT, fingerprint_of, invoice_of, minor
from chalicelib.domain.period import end_of_day
from chalicelib.domain.purchase import Purchase
from chalicelib.domain.transaction import (
    KINDS,
    MONEY_TAKEN,
    AgentSnapshot,
    InputType,
    Phase,
    ReceiptAddresses,
    Transaction,
)
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid


class ReverseMode(IntEnum):
    """The way a payment is reversed."""

    CANCEL = 1
    RETURN = 2
    CANCEL_CNP = 3
    AUTO_CANCEL = 4
    RETURN_CNP = 5
    CREDIT_VOUCHER = 500


CANCELS = frozenset({ReverseMode.CANCEL, ReverseMode.CANCEL_CNP})
CARD_PRESENT_MODES = frozenset({ReverseMode.CANCEL, ReverseMode.RETURN})
CNP_MODES = frozenset({ReverseMode.CANCEL_CNP, ReverseMode.RETURN_CNP})
TIME_TO_FINISH = timedelta(hours=1)  # at the least, before the Deadline of a reversal


def allowed_mode(mode: int, allowed: frozenset[ReverseMode]) -> ReverseMode:
    """Return the mode; refuse one that nobody may send (312, 151) and one of another endpoint (303)."""
    found = ReverseMode(mode)
    if found is ReverseMode.CREDIT_VOUCHER:
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, "Credit vouchers are not supported.")
    if found is ReverseMode.AUTO_CANCEL:
        raise ServiceError(ErrorCode.ROLE_MAY_NOT, "ReverseMode 4 is the system's own.")
    if found not in allowed:
        endpoint = _endpoint(card_present=found in CARD_PRESENT_MODES)
        raise ServiceError(ErrorCode.NOT_REVERSIBLE_HERE, f"ReverseMode {found:d} belongs to {endpoint}.")
    return found


def _endpoint(*, card_present: bool) -> str:
    return "payment/reverse" if card_present else "payment/reversecnp"


def refusal(  # noqa: PLR0911  a list of reasons, each its own line
    original: Transaction, mode: ReverseMode, now: datetime, *, partial: bool
) -> ErrorCode | None:
    """Return why this reversal is refused, or None when it is open: a flag shows it and the endpoint obeys it."""
    modes = CARD_PRESENT_MODES if KINDS[original.input_type].card_present else CNP_MODES
    if original.is_reversal or mode not in modes:
        return ErrorCode.NOT_REVERSIBLE_HERE
    if original.is_pending:
        return ErrorCode.ORIGINAL_UNFINISHED
    if original.is_reversed_in_full:
        return ErrorCode.ALREADY_REVERSED
    if original.phase not in MONEY_TAKEN:
        return ErrorCode.NOT_REVERSIBLE_HERE
    if original.remaining_minor == 0:  # all of it is reserved by reversals that are not finished
        return ErrorCode.EXCEEDS_REMAINDER
    if mode in CANCELS:
        if now >= original.deadline:
            return ErrorCode.CANCEL_WINDOW_CLOSED
        if partial or original.reversals:
            return ErrorCode.NOT_REVERSIBLE_HERE
    return None


@dataclass(frozen=True)
class Offers:
    """The Can… flags of a transaction."""

    can_cancel: bool
    can_cancel_partial: bool
    can_return: bool
    can_return_partial: bool
    can_cancel_cnp: bool
    can_cancel_cnp_partial: bool
    can_return_cnp: bool
    can_return_cnp_partial: bool
    reverse_cp_input_types: tuple[InputType, ...]


def offers(original: Transaction, now: datetime) -> Offers:
    """Return every reversal that would be accepted at `now`."""

    def is_open(mode: ReverseMode, *, partial: bool = False) -> bool:
        return refusal(original, mode, now, partial=partial) is None

    card_present = is_open(ReverseMode.CANCEL) or is_open(ReverseMode.RETURN)
    return Offers(
        can_cancel=is_open(ReverseMode.CANCEL),
        can_cancel_partial=is_open(ReverseMode.CANCEL, partial=True),
        can_return=is_open(ReverseMode.RETURN),
        can_return_partial=is_open(ReverseMode.RETURN, partial=True),
        can_cancel_cnp=is_open(ReverseMode.CANCEL_CNP),
        can_cancel_cnp_partial=is_open(ReverseMode.CANCEL_CNP, partial=True),
        can_return_cnp=is_open(ReverseMode.RETURN_CNP),
        can_return_cnp_partial=is_open(ReverseMode.RETURN_CNP, partial=True),
        reverse_cp_input_types=(original.input_type,) if card_present else (),
    )


@dataclass(frozen=True)
class ReversalOrder:
    """A reversal as requested: parsed and typed, not yet decided."""

    original_id: str
    mode: ReverseMode
    raw_request: str
    amount: Decimal | None = None
    currency: str | None = None
    input_type: int | None = None
    partial: bool | None = None
    id: str | None = None
    idempotency_key: str | None = None
    client_date_time: str | None = None
    receipt_email: str | None = None
    receipt_phone: str | None = None
    receipt: ReceiptAddresses | None = None
    purchases: tuple[Purchase, ...] = ()


def fingerprint(order: ReversalOrder, agent_id: int) -> str:
    """Return what makes a repeated ID the same reversal."""
    amount = "" if order.amount is None else canonical(order.amount)
    return fingerprint_of("reversal", agent_id, order.original_id, int(order.mode), amount, order.currency or "")


def amount_to_reverse(order: ReversalOrder, original: Transaction) -> int:
    """Return the minor units to reverse, all that remains when no amount is named, or raise 202."""
    findings: list[Finding] = []
    if order.currency not in (None, original.currency.code):
        findings.append(Finding("currency", Check.CONTRADICTION, f"It was paid in {original.currency.code}."))
    if order.input_type not in (None, original.input_type):
        message = f"It was paid with InputType {original.input_type:d}."
        findings.append(Finding("input_type", Check.CONTRADICTION, message))
    amount_minor = original.remaining_minor
    if order.amount is None:
        if order.partial:
            findings.append(Finding("amount", Check.REQUIRED, "A partial reversal names its amount."))
    else:
        amount_minor = minor("amount", order.amount, original.currency, findings)
    if findings:
        raise invalid(*findings)
    return amount_minor


def decide(order: ReversalOrder, original: Transaction, now: datetime) -> int:
    """Return what this reversal takes from the payment, in minor units, or raise its refusal."""
    amount_minor = amount_to_reverse(order, original)
    partial = amount_minor < original.amount_minor
    error = refusal(original, order.mode, now, partial=partial)
    if error:
        raise ServiceError(error, _reason(error, original))
    remains = f"{from_minor(original.remaining_minor, original.currency):f} {original.currency.code}"
    if amount_minor > original.remaining_minor:
        raise ServiceError(ErrorCode.EXCEEDS_REMAINDER, f"Only {remains} remain of the payment.")
    if order.partial is False and amount_minor != original.remaining_minor:
        message = f"PartialReverse is false, and {remains} remain."
        raise invalid(Finding("amount", Check.CONTRADICTION, message))
    return amount_minor


def _reason(error: ErrorCode, original: Transaction) -> str | None:
    if error is not ErrorCode.NOT_REVERSIBLE_HERE or original.is_reversal:
        return None
    endpoint = _endpoint(card_present=KINDS[original.input_type].card_present)
    return f"{error.message} Payments of InputType {original.input_type:d} are reversed at {endpoint}."


# What a payment has and its reversal does not: begun with nothing in these fields.
NOT_OF_A_REVERSAL: dict[str, Any] = {
    **dict.fromkeys(("amount_cash_got_minor", "date", "approval_code", "rrn", "acquirer_tran_id", "photo_key")),
    **dict.fromkeys(("signature_key", "reverse_id", "reverse_invoice", "latest_reversal_id", "auto_cancel_id")),
    **dict.fromkeys(("reversed_minor", "reserved_minor", "reversals"), 0),
    "signature_required": False,
}


def begin(  # noqa: PLR0913, PLR0917  each is a thing of its own
    name: str, order: ReversalOrder, original: Transaction, agent: Agent, amount_minor: int, now: datetime
) -> Transaction:
    """Return the reversal `name`: approved at once, or in progress when an acquirer has to be called."""
    needs_acquirer = KINDS[original.input_type].acquirer is None
    in_progress = Phase.CANCELLING if order.mode in CANCELS else Phase.RETURNING
    return replace(
        original,
        **NOT_OF_A_REVERSAL,
        id=name,
        agent=AgentSnapshot(agent.id, agent.email, agent.name, agent.phone),
        phase=in_progress if needs_acquirer else Phase.REVERSAL_APPROVED,
        amount_minor=amount_minor,
        created_at=now,
        deadline=end_of_day(now + TIME_TO_FINISH, original.gmt),
        fingerprint=fingerprint(order, agent.id),
        invoice=invoice_of(name, now, original.gmt),
        raw_request=order.raw_request,
        particulars=replace(
            original.particulars,
            ext_id=None,
            offline_queue_id=None,
            receipt_email=order.receipt_email,
            receipt_phone=order.receipt_phone,
        ),
        purchases=order.purchases,
        receipt=order.receipt,
        result_code=None if needs_acquirer else 0,
        result_message=None if needs_acquirer else APPROVED_TEXT,
        original_id=original.id,
        original_invoice=original.invoice,
        reverse_mode=int(order.mode),
        partial=amount_minor < original.amount_minor,
    )
