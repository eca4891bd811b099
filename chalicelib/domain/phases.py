"""The phases of a transaction, and which phase may follow which."""

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
