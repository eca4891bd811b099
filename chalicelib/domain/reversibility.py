"""What may be reversed (cancel: void; return: refund). The Can… flags and the endpoints use one function."""

import itertools
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from chalicelib.domain.card import READERS
from chalicelib.domain.kinds import KINDS, InputType
from chalicelib.domain.phases import MONEY_TAKEN, Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError


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
CARD_PRESENT, CNP = "payment/reverse", "payment/reversecnp"
MODES = {CARD_PRESENT: CARD_PRESENT_MODES, CNP: CNP_MODES}  # the modes of each endpoint
NO_MONEY = {
    Phase.DECLINED: "It was declined, so no money was taken.",
    Phase.REJECTED: "It was rejected, so no money was taken.",
    Phase.AUTO_CANCELLED: "It was cancelled automatically: no money was taken.",
}


@dataclass(frozen=True)
class Refusal:
    """The error of a refused reversal, and the reason in this payment."""

    error: ErrorCode
    reason: str = ""

    @property
    def message(self) -> str:
        """Return the message for the caller."""
        return f"{self.error.message} {self.reason}".rstrip()


def known_mode(mode: int) -> ReverseMode:
    """Return the mode. Refuse a mode that no caller may send (312, 151), for any payment."""
    found = ReverseMode(mode)
    if found is ReverseMode.CREDIT_VOUCHER:
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, "Credit vouchers are not supported.")
    if found is ReverseMode.AUTO_CANCEL:
        raise ServiceError(ErrorCode.ROLE_MAY_NOT, "ReverseMode 4 is the system's own.")
    return found


def endpoint_of(original: Transaction) -> str:
    """Return the one endpoint that reverses payments of this kind."""
    return CARD_PRESENT if KINDS[original.input_type].card_present else CNP


def reversal_types(input_type: InputType) -> tuple[InputType, ...]:
    """Return the input types that a reversal may name: the payment's own, or any reader's if a reader read its card."""
    return tuple(sorted(READERS)) if input_type in READERS else (input_type,)


def reading_type(named: int | None, paid: InputType) -> InputType:
    """Return the way the card of a reversal is read: as the reversal's InputType says, else as the payment's."""
    return InputType(named) if named in reversal_types(paid) else paid


def refusal(
    original: Transaction, mode: ReverseMode, now: datetime, *, partial: bool, endpoint: str | None = None
) -> Refusal | None:
    """Return the reason to refuse this reversal, or None when it is open. Flags show it and the endpoint obeys it.

    The refusal names another endpoint only if that one reverses this payment, so following a refusal always ends.
    Without `endpoint`, assume the right one.
    """
    return (
        _of_state(original)
        or _of_place(original, mode, endpoint)
        or _of_remainder(original)
        or _of_cancel(original, mode, now, partial)
    )


def _of_state(original: Transaction) -> Refusal | None:
    if original.is_reversal:
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, "It is a reversal, and a reversal is not reversed.")
    if original.is_pending:
        return Refusal(ErrorCode.ORIGINAL_UNFINISHED)
    if original.is_reversed_in_full:
        return Refusal(ErrorCode.ALREADY_REVERSED)
    if original.phase not in MONEY_TAKEN:
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, NO_MONEY.get(original.phase, ""))
    return None


def _of_place(original: Transaction, mode: ReverseMode, endpoint: str | None) -> Refusal | None:
    right = endpoint_of(original)
    cancel, give_back = _own_modes(original)
    kind = f"Payments of InputType {original.input_type:d} are"
    if endpoint not in (None, right):
        reason = f"{kind} reversed with ReverseMode {cancel:d} or {give_back:d} at {right}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    if mode not in MODES[right]:
        reason = f"{kind} cancelled with ReverseMode {cancel:d} and returned with ReverseMode {give_back:d}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    return None


def _of_remainder(original: Transaction) -> Refusal | None:
    if original.remaining_minor == 0:  # unfinished reversals reserve all of it
        return Refusal(ErrorCode.EXCEEDS_REMAINDER)
    return None


def _of_cancel(original: Transaction, mode: ReverseMode, now: datetime, partial: bool) -> Refusal | None:  # noqa: FBT001
    if mode not in CANCELS:
        return None
    if now >= original.deadline:
        return Refusal(ErrorCode.CANCEL_WINDOW_CLOSED)
    _, give_back = _own_modes(original)
    if original.reversals.count:
        reason = f"A part of it is reversed already: the rest is returned with ReverseMode {give_back:d}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    if partial:
        reason = f"It is cancelled in full only: a part is returned with ReverseMode {give_back:d}."
        return Refusal(ErrorCode.NOT_REVERSIBLE_HERE, reason)
    return None


def _own_modes(original: Transaction) -> tuple[ReverseMode, ReverseMode]:
    """Return the modes that cancel and return a payment of this kind."""
    modes = MODES[endpoint_of(original)]
    (cancel,), (give_back,) = modes & CANCELS, modes - CANCELS
    return cancel, give_back


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
    open_now: set[tuple[ReverseMode, bool]] = set()
    if not _of_state(original) and not _of_remainder(original):  # these refuse every mode
        own = itertools.product(_own_modes(original), (False, True))
        open_now = {(mode, partial) for mode, partial in own if _of_cancel(original, mode, now, partial) is None}

    def is_open(mode: ReverseMode, *, partial: bool = False) -> bool:
        return (mode, partial) in open_now

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
        reverse_cp_input_types=reversal_types(original.input_type) if card_present else (),
    )
