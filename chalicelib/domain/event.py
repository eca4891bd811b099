"""Events: what a transaction has come to, told to who asked for it. One for each phase it reaches."""

import hashlib
import re
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.record import Record

KEPT_FOR = timedelta(days=30)
ID_PATTERN = re.compile(r"evt_[0-9a-f]{32}")
SECOND_DIGITS = 8


class Kind(StrEnum):
    """The kinds of events that webhooks may choose from. The values are on the wire, and stored."""

    PAYMENT_APPROVED = "payment.approved"
    PAYMENT_DECLINED = "payment.declined"
    PAYMENT_REJECTED = "payment.rejected"
    PAYMENT_UNKNOWN = "payment.unknown"
    PAYMENT_CANCELLED = "payment.cancelled"
    REVERSAL_APPROVED = "reversal.approved"
    REVERSAL_DECLINED = "reversal.declined"


PING = "ping"  # of webhook/test, for the one webhook that is tested

OF_PAYMENTS = {
    Phase.UNKNOWN: Kind.PAYMENT_UNKNOWN,
    Phase.REJECTED: Kind.PAYMENT_REJECTED,
    Phase.AWAITING_COMPLETION: Kind.PAYMENT_APPROVED,
    Phase.APPROVED: Kind.PAYMENT_APPROVED,
    Phase.DECLINED: Kind.PAYMENT_DECLINED,
    Phase.AUTO_CANCELLED: Kind.PAYMENT_CANCELLED,
}
OF_REVERSALS = {
    Phase.REVERSAL_APPROVED: Kind.REVERSAL_APPROVED,
    Phase.DECLINED: Kind.REVERSAL_DECLINED,
    Phase.REJECTED: Kind.REVERSAL_DECLINED,
}


class Event(Record):
    """A stored event. `phase` and the IDs of transaction and agent are the transaction's: a ping has none."""

    day: str
    place: str
    id: str
    client_id: int
    kind: str
    at: datetime
    expires_at: int  # epoch seconds: the table's TTL
    transaction_id: str | None = None
    original_id: str | None = None
    phase: Phase | None = None
    pos_id: int | None = None
    webhook_id: int | None = None  # that alone gets it: a ping


def kind_of(transaction: Transaction) -> Kind | None:
    """Return the kind of the event that a phase makes; None for one that decides nothing."""
    return (OF_REVERSALS if transaction.is_reversal else OF_PAYMENTS).get(transaction.phase)


def event_of(transaction: Transaction, at: datetime) -> Event | None:
    """Return the event of the phase that a transaction reaches; None when it makes none."""
    kind = kind_of(transaction)
    if kind is None or not transaction.makes_events:
        return None
    event_id = id_of(f"{transaction.id}.{transaction.phase}", at)
    return Event(
        *place_of(transaction.client_id, event_id, at),
        event_id,
        transaction.client_id,
        kind,
        at,
        int((at + KEPT_FOR).timestamp()),
        transaction_id=transaction.id,
        original_id=transaction.original.id,
        phase=transaction.phase,
        pos_id=transaction.agent.id,
    )


def ping(token: str, client_id: int, webhook_id: int, at: datetime) -> Event:
    """Return an event for one webhook, which is tested; `token` is random."""
    event_id = id_of(token, at)
    place = place_of(client_id, event_id, at)
    return Event(*place, event_id, client_id, PING, at, int((at + KEPT_FOR).timestamp()), webhook_id=webhook_id)


def id_of(what: str, at: datetime) -> str:
    """Return the ID of an event: its second and a digest, so that it is found without an index."""
    digest = hashlib.sha256(what.encode()).hexdigest()
    return f"evt_{int(at.timestamp()):0{SECOND_DIGITS}x}{digest[: 32 - SECOND_DIGITS]}"


def second_of(event_id: str) -> datetime | None:
    """Return the second in which an event was made; None for what is no ID of an event."""
    if not ID_PATTERN.fullmatch(event_id):
        return None
    return datetime.fromtimestamp(int(event_id.removeprefix("evt_")[:SECOND_DIGITS], 16), UTC)


def place_of(client_id: int, event_id: str, at: datetime) -> tuple[str, str]:
    """Return where an event stands: in the partition of its merchant and day, in the order of time."""
    return partition_of(client_id, at.astimezone(UTC).date()), f"{time_text(at)}#{event_id}"


def partition_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant and a day of UTC."""
    return f"{client_id}#{day.isoformat()}"


def spans(client_id: int, begin: datetime, end: datetime) -> list[tuple[str, str, str]]:
    """Return what holds the events from one instant until before another, oldest first.

    Each is a partition, and the first and the last place in it.
    """
    if begin >= end:
        return []
    days = range(begin.date().toordinal(), end.date().toordinal() + 1)
    bounds = (time_text(begin), time_text(end))
    return [(partition_of(client_id, date.fromordinal(day)), *bounds) for day in days]


def time_text(at: datetime) -> str:
    """Return an instant as places are ordered by: 2026-03-14T09:26:53.589793."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
