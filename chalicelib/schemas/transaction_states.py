"""Phases on the wire: State, Substate, Status, DisplayMode, the list a transaction stands in, and its ErrorCode."""

from datetime import datetime
from enum import StrEnum

from chalicelib.domain.transaction import InputType, Phase, Transaction
from chalicelib.errors import ErrorCode
from chalicelib.record import Record

DECLINED = 1000  # + the ISO 8583 response code: the ErrorCode of a decline


class Section(StrEnum):
    """The list of the wrapper a transaction stands in."""

    IN_PROCESS = "in_process"
    NOT_FINISHED = "not_finished"
    TRANSACTIONS = "transactions"


class WireState(Record):
    """The look of a phase on the wire; `text` is for people."""

    state: int
    substate: int
    status: str
    display_mode: int
    section: Section
    text: str


WIRE_STATES = {
    Phase.SENT: WireState(200, 201, "PROCESSING", 100, Section.IN_PROCESS, "In process"),
    Phase.UNKNOWN: WireState(200, 201, "UNKNOWN", 100, Section.IN_PROCESS, "Outcome not known yet"),
    Phase.REJECTED: WireState(200, 202, "REJECTED", 0, Section.TRANSACTIONS, "Rejected"),
    Phase.AWAITING_COMPLETION: WireState(
        400, 401, "IN-TRANSFER", 1, Section.NOT_FINISHED, "Signature or second step owed"
    ),
    Phase.APPROVED: WireState(400, 411, "IN-TRANSFER", 1, Section.TRANSACTIONS, "Paid"),
    Phase.DECLINED: WireState(400, 412, "DECLINED", 0, Section.TRANSACTIONS, "Declined"),
    Phase.AUTO_CANCELLING: WireState(400, 403, "REVERSING", 100, Section.IN_PROCESS, "Being cancelled automatically"),
    Phase.AUTO_CANCELLED: WireState(400, 404, "REVERSED", 0, Section.TRANSACTIONS, "Cancelled automatically"),
    Phase.CANCELLING: WireState(500, 503, "PROCESSING", 2, Section.IN_PROCESS, "Cancel in process"),
    Phase.RETURNING: WireState(500, 505, "PROCESSING", 2, Section.IN_PROCESS, "Return in process"),
    Phase.REVERSAL_APPROVED: WireState(500, 502, "IN-TRANSFER", 2, Section.TRANSACTIONS, "Given back"),
}
REVERSED_IN_FULL = WireState(500, 502, "REVERSED", 3, Section.TRANSACTIONS, "Reversed in full")


def wire_state(transaction: Transaction) -> WireState:
    """Return the look of a transaction; a payment that is reversed in full has one of its own.

    A return that is being cancelled automatically looks like one in process: till and customer wait for its outcome.
    """
    if transaction.is_reversed_in_full:
        return REVERSED_IN_FULL
    is_return_cancelled = transaction.is_reversal and transaction.phase is Phase.AUTO_CANCELLING
    return WIRE_STATES[Phase.RETURNING if is_return_cancelled else transaction.phase]


def status_of(transaction: Transaction, now: datetime) -> str:
    """Return Status: what was approved is in transfer until the Deadline; cash is deposited at once."""
    deposited = transaction.input_type is InputType.CASH or now >= transaction.deadline
    approved = transaction.phase in (Phase.APPROVED, Phase.REVERSAL_APPROVED)
    if approved and deposited and not transaction.is_reversed_in_full:
        return "DEPOSITED"
    return wire_state(transaction).status


def error_of(transaction: Transaction) -> tuple[int, str | None]:
    """Return `ErrorCode` and `ErrorMessage` of the answer that carries a transaction."""
    if transaction.is_pending:
        return ErrorCode.OUTCOME_UNKNOWN.code, ErrorCode.OUTCOME_UNKNOWN.message
    if transaction.phase in (Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLED):
        return DECLINED + (transaction.result.code or 0), transaction.result.message
    return 0, None
