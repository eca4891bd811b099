"""The phases of a transaction: which phase may follow which, and how each is shown on the wire."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """The phase of a transaction. The values are stored."""

    SENT = "sent"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    AWAITING_COMPLETION = "owed"  # approved; a signature or a second step is missing
    APPROVED = "approved"
    DECLINED = "declined"
    AUTO_CANCELLING = "auto_cancelling"
    AUTO_CANCELLED = "auto_cancelled"
    CANCELLING = "cancelling"
    RETURNING = "returning"
    REVERSAL_APPROVED = "given_back"


# The phases that may follow. A payment begins as APPROVED if it needs no acquirer, else as SENT. A reversal begins as
# REVERSAL_APPROVED if it needs no acquirer, else as CANCELLING or RETURNING.
TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.SENT: frozenset({
        Phase.APPROVED, Phase.AWAITING_COMPLETION, Phase.DECLINED, Phase.REJECTED, Phase.UNKNOWN, Phase.AUTO_CANCELLING,
    }),
    Phase.UNKNOWN: frozenset({
        Phase.APPROVED, Phase.AWAITING_COMPLETION, Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLING,
    }),
    Phase.REJECTED: frozenset(),
    Phase.AWAITING_COMPLETION: frozenset({Phase.APPROVED}),
    Phase.APPROVED: frozenset(),
    Phase.DECLINED: frozenset(),
    Phase.AUTO_CANCELLING: frozenset({Phase.AUTO_CANCELLED, Phase.DECLINED, Phase.REJECTED}),
    Phase.AUTO_CANCELLED: frozenset(),
    Phase.CANCELLING: frozenset({Phase.REVERSAL_APPROVED, Phase.DECLINED, Phase.REJECTED}),
    Phase.RETURNING: frozenset({Phase.REVERSAL_APPROVED, Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLING}),
    Phase.REVERSAL_APPROVED: frozenset(),
}  # fmt: skip

PENDING = frozenset({Phase.SENT, Phase.UNKNOWN, Phase.AUTO_CANCELLING, Phase.CANCELLING, Phase.RETURNING})
MONEY_TAKEN = frozenset({Phase.APPROVED, Phase.AWAITING_COMPLETION})
FAILED = frozenset({Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLED})  # no money has moved


class Section(StrEnum):
    """The list of an answer that holds a transaction: InProcess, NotFinishedActualTrans or Transactions."""

    IN_PROCESS = "in_process"
    NOT_FINISHED = "not_finished"
    TRANSACTIONS = "transactions"


@dataclass(frozen=True)
class Shown:
    """How a phase is shown: State, Substate, Status, DisplayMode, its list, and StateDisplay, the text for people."""

    state: int
    substate: int
    status: str
    display_mode: int
    section: Section
    text: str


SHOWN = {
    Phase.SENT: Shown(200, 201, "PROCESSING", 100, Section.IN_PROCESS, "In process"),
    Phase.UNKNOWN: Shown(200, 201, "UNKNOWN", 100, Section.IN_PROCESS, "Outcome not known yet"),
    Phase.REJECTED: Shown(200, 202, "REJECTED", 0, Section.TRANSACTIONS, "Rejected"),
    Phase.AWAITING_COMPLETION: Shown(400, 401, "IN-TRANSFER", 1, Section.NOT_FINISHED, "Signature or second step owed"),
    Phase.APPROVED: Shown(400, 411, "IN-TRANSFER", 1, Section.TRANSACTIONS, "Paid"),
    Phase.DECLINED: Shown(400, 412, "DECLINED", 0, Section.TRANSACTIONS, "Declined"),
    Phase.AUTO_CANCELLING: Shown(400, 403, "REVERSING", 100, Section.IN_PROCESS, "Being cancelled automatically"),
    Phase.AUTO_CANCELLED: Shown(400, 404, "REVERSED", 0, Section.TRANSACTIONS, "Cancelled automatically"),
    Phase.CANCELLING: Shown(500, 503, "PROCESSING", 2, Section.IN_PROCESS, "Cancel in process"),
    Phase.RETURNING: Shown(500, 505, "PROCESSING", 2, Section.IN_PROCESS, "Return in process"),
    Phase.REVERSAL_APPROVED: Shown(500, 502, "IN-TRANSFER", 2, Section.TRANSACTIONS, "Given back"),
}
REVERSED_IN_FULL = Shown(500, 502, "REVERSED", 3, Section.TRANSACTIONS, "Reversed in full")  # a payment, APPROVED
DEPOSITED = "DEPOSITED"  # the Status of an approved transaction after its Deadline, and of a cash payment at once
