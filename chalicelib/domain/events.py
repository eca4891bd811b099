"""Events: the phases that webhooks report, their IDs, and their places in a merchant's day."""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from chalicelib.domain.money import from_minor
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction

KEPT_FOR = timedelta(days=30)
ID_PATTERN = re.compile(r"evt_[0-9a-f]{32}")
SECOND_DIGITS = 8
STREAMS_TURN = timedelta(seconds=10)  # after the event's time: later, the sweep begins it as well


class Kind(StrEnum):
    """The kinds of events that webhooks may choose. The values are on the wire and stored."""

    PAYMENT_APPROVED = "payment.approved"
    PAYMENT_DECLINED = "payment.declined"
    PAYMENT_REJECTED = "payment.rejected"
    PAYMENT_UNKNOWN = "payment.unknown"
    PAYMENT_CANCELLED = "payment.cancelled"
    REVERSAL_APPROVED = "reversal.approved"
    REVERSAL_DECLINED = "reversal.declined"


PING = "ping"  # the event of webhook/test, only for the tested webhook

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


@dataclass(frozen=True)
class Event:
    """A stored event. A ping has no phase, transaction or agent. Until it is begun, it is held for the stream, or due.

    `due_at` follows from the event's time. So an event that is stored late, after a slow acquirer or by a paused
    process, is due at once.
    """

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
    input_type: int | None = None
    amount: str | None = None  # decimal, in the currency's digits
    currency: str | None = None  # alpha-3
    ext_id: str | None = None
    webhook_id: int | None = None  # the only receiver of a ping
    erased: bool | None = None  # the payer's data was erased: no answer to this event is stored any longer
    due_at: datetime | None = None  # None: it is begun


def kind_of(transaction: Transaction) -> Kind | None:
    """Return the kind of event for the transaction's phase; None for an undecided phase."""
    return (OF_REVERSALS if transaction.is_reversal else OF_PAYMENTS).get(transaction.phase)


def event_of(transaction: Transaction, at: datetime) -> Event | None:
    """Return the event for a transaction's new phase; None if the phase makes no event.

    The store asks only for a transaction whose merchant wants events.
    """
    kind = kind_of(transaction)
    if kind is None:
        return None
    event_id = id_of(f"{transaction.id}.{transaction.phase}", at)
    return Event(
        *place_of_event(transaction.client_id, event_id, at),
        event_id,
        transaction.client_id,
        kind,
        at,
        int((at + KEPT_FOR).timestamp()),
        transaction_id=transaction.id,
        original_id=transaction.original.id,
        phase=transaction.phase,
        pos_id=transaction.agent.id,
        input_type=int(transaction.input_type),
        amount=str(from_minor(transaction.amount_minor, transaction.currency)),
        currency=transaction.currency.code,
        ext_id=transaction.particulars.ext_id,
        erased=transaction.erasure is not None or None,
        due_at=at + STREAMS_TURN,
    )


def ping(token: str, client_id: int, webhook_id: int, at: datetime) -> Event:
    """Return a test event for one webhook; `token` is random."""
    event_id = id_of(token, at)
    place = place_of_event(client_id, event_id, at)
    expires_at = int((at + KEPT_FOR).timestamp())
    due_at = at + STREAMS_TURN
    return Event(*place, event_id, client_id, PING, at, expires_at, webhook_id=webhook_id, due_at=due_at)


def id_of(what: str, at: datetime) -> str:
    """Return the ID of an event: its second, so that it is found without an index, and a digest."""
    digest = hashlib.sha256(what.encode()).hexdigest()
    return f"evt_{int(at.timestamp()):0{SECOND_DIGITS}x}{digest[: 32 - SECOND_DIGITS]}"


def second_of(event_id: str) -> datetime | None:
    """Return the second of an event from its ID; None for another text."""
    if not ID_PATTERN.fullmatch(event_id):
        return None
    return datetime.fromtimestamp(int(event_id.removeprefix("evt_")[:SECOND_DIGITS], 16), UTC)


def place_of_event(client_id: int, event_id: str, at: datetime) -> tuple[str, str]:
    """Return the place of an event: the partition of its merchant and day, and its key in the order of time."""
    return partition_of(client_id, at.astimezone(UTC).date()), f"{time_text(at)}#{event_id}"


def partition_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant and a UTC day."""
    return f"{client_id}#{day.isoformat()}"


def spans(client_id: int, begin: datetime, end: datetime) -> list[tuple[str, str, str]]:
    """Return the spans that hold the events from `begin` until before `end`, oldest first.

    Each span is a partition, and the first and last place in it.
    """
    if begin >= end:
        return []
    days = range(begin.date().toordinal(), end.date().toordinal() + 1)
    bounds = (time_text(begin), time_text(end))
    return [(partition_of(client_id, date.fromordinal(day)), *bounds) for day in days]


def time_text(at: datetime) -> str:
    """Return an instant in the sortable form of places: 2026-03-14T09:26:53.589793."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
