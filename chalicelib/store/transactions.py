"""Transactions, payments and reversals alike, by ID."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.domain.outcome import due_at, was_not_attempted
from chalicelib.domain.reversibility import CANCELS
from chalicelib.domain.transaction import TRANSITIONS, Phase, Transaction
from chalicelib.domain.webhooks import event_of
from chalicelib.store import events, history
from chalicelib.store.due_index import NO_ACQUIRER, shard_of
from chalicelib.store.table import (
    Key,
    Value,
    Write,
    attributes_of,
    commit,
    decode,
    put_new,
    read,
    read_item,
    set_attributes,
    update,
    value_of,
    write_one,
)

TABLE = "transactions"
LATEST_REVERSAL = "#reverse_id = :id, #reverse_invoice = :invoice"  # of a payment, the one that was done last
UNSIGNED = " AND attribute_not_exists(#signature_key)"
SAME_AMOUNTS = " AND #reversed_minor = :back AND #reserved_minor = :reserved AND #reversals = :count"
UNCLAIMED = " AND attribute_not_exists(#asked_at)"
CLAIM_PAUSE = timedelta(seconds=5)  # between two claims of the same transaction


class PhaseChangedError(Exception):
    """A transaction that is no longer in the phase it was read in: another request or sweep moved it."""


class RemainderChangedError(Exception):
    """A payment whose remainder is no longer the one the reversal was decided on."""


def key(transaction_id: str) -> Key[Transaction]:
    """Return the key of a transaction; IDs are in upper case."""
    return Key(TABLE, Transaction, {"id": transaction_id})


def get(transaction_id: str) -> Transaction | None:
    """Read a transaction as it is now; None when there is none."""
    return read(key(transaction_id))


def item_of(transaction: Transaction) -> dict[str, Value]:
    """Return the item of a new transaction, with its place in the index of what is due."""
    item: dict[str, Value] = _put(transaction).parameters["Item"]
    return item


def get_due(transaction_id: str, now: datetime) -> Transaction | None:
    """Read a transaction that is due; None when it is finished, or another process has resolved or claimed it."""
    item = read_item(key(transaction_id))
    if "due_at" not in item or item["due_at"]["S"] > value_of(now)["S"]:
        return None
    return decode(Transaction, item)


def record(transaction: Transaction, *beside: Write) -> None:
    """Store a new transaction, its history, its event and the writes `beside` it: all or nothing.

    Raise AlreadyExistsError when its ID was used before: the same payment is never stored twice.
    """
    commit(
        _put(transaction), *history.writes_for_new(transaction), *_told(transaction, transaction.created_at), *beside
    )


def store_step(before: Transaction, after: Transaction, now: datetime, *beside: Write) -> None:
    """Store the next step of a transaction and the writes `beside` it; raise PhaseChangedError when it has moved on.

    Only changed attributes are written, so the reservation of a reversal made at the same time is not undone. Of two
    steps that bring a signature one is stored. "Nothing was attempted" is not stored of a reversal that was claimed:
    whoever claimed it may have requested it, too. Of a payment that took money the amounts must be as they were read:
    what is shown of it, and what a completion writes in the history, has to agree with reversals at the same time.
    """
    stored = attributes_of(before)
    changed = {name: value for name, value in attributes_of(after).items() if value != stored[name]}
    index = _due_attributes(after, now) or {"due_shard": None, "due_at": None}
    values = {name: value for name, value in {**changed, **index}.items() if value is not None}
    removed = [name for name in (*changed, *index) if name not in values]
    expression = set_attributes(values)
    if removed:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in removed)
    values["was"] = before.phase
    condition = "#phase = :was" + (UNSIGNED if "signature_key" in changed else "")
    if after.is_reversal and was_not_attempted(after):
        condition += UNCLAIMED
    if before.took_money:
        condition += SAME_AMOUNTS
        values |= {
            "back": before.reversals.amount_minor,
            "reserved": before.reversals.reserved_minor,
            "count": before.reversals.count,
        }
    if before.phase is Phase.AWAITING_COMPLETION and "phase" in changed:
        beside += tuple(history.writes_for_completion(after))
    step = update(
        key(after.id),
        expression,
        values,
        condition=condition,
        otherwise=PhaseChangedError(),
    )
    told = _told(after, now) if after.phase is not before.phase else []
    if beside or told:
        commit(step, *told, *beside)
    else:
        write_one(step)


def claim(transaction: Transaction, now: datetime) -> bool:
    """Claim a pending transaction, so that one caller at a time resolves it; return False when another has it.

    A claim lasts a few seconds, and the Deadline allows one more. The transaction is due again later, in case the
    caller dies.
    """
    before = now - CLAIM_PAUSE
    if now >= transaction.deadline:
        before = max(before, transaction.deadline)
    claimed = update(
        key(transaction.id),
        "SET #asked_at = :now, #due_at = :due_at, #due_shard = :due_shard",
        {
            "now": now,
            "before": before,
            "due_at": due_at(transaction, now),
            "due_shard": _shard(transaction),
            "phase": transaction.phase,
        },
        condition="#phase = :phase AND (attribute_not_exists(#asked_at) OR #asked_at < :before)",
        otherwise=PhaseChangedError(),
    )
    try:
        write_one(claimed)
    except PhaseChangedError:
        return False
    return True


def reserve(original: Transaction, reversal: Transaction, *beside: Write, follows_latest: bool = False) -> None:
    """Store a reversal and take its amount from what remains of the original payment, both or neither.

    The condition is on what remains, not on what was read, so two tills that reverse at once cannot both succeed. A
    cancellation requires an untouched payment. `follows_latest` requires that no other reversal was requested since the
    original was read: for a request without a key, which may repeat the one that was. Raise AlreadyExistsError for the
    ID, RemainderChangedError for the payment.
    """
    pending = reversal.is_pending
    expression = "SET #reversed_minor = #reversed_minor + :amount, #reversals = #reversals + :one, "
    expression += "#latest_reversal_id = :latest, "
    expression += "#reserved_minor = #reserved_minor + :amount" if pending else LATEST_REVERSAL
    values = {
        "amount": reversal.amount_minor,
        "one": 1,
        "most": 0 if reversal.original.mode in CANCELS else original.amount_minor - reversal.amount_minor,
        "phase": original.phase,
        "latest": reversal.id,
        **({} if pending else {"id": reversal.id, "invoice": reversal.invoice}),
    }
    condition = "#reversed_minor <= :most AND #phase = :phase"
    if follows_latest and original.reversals.requested_id is None:
        condition += " AND attribute_not_exists(#latest_reversal_id)"
    elif follows_latest:
        condition += " AND #latest_reversal_id = :seen"
        values["seen"] = original.reversals.requested_id
    reservation = update(
        key(original.id),
        expression,
        values,
        condition=condition,
        otherwise=RemainderChangedError(),
    )
    shown = [] if pending else history.writes_for_reversed(original, reversal)
    told = _told(reversal, reversal.created_at)
    commit(_put(reversal), reservation, *history.writes_for_new(reversal), *shown, *told, *beside)


def release(reversal: Transaction, original: Transaction | None = None) -> Write:
    """End the reservation of a reversal that has its outcome: its amount is reversed, or remains in the payment.

    `original` is the payment as its place in the history is written beside it; raise PhaseChangedError when it was
    completed since, because then that would undo there what its completion wrote.
    """
    values: dict[str, int | str] = {"amount": reversal.amount_minor}
    if reversal.phase is Phase.REVERSAL_APPROVED:
        values |= {"id": reversal.id, "invoice": reversal.invoice}
        expression = f"SET #reserved_minor = #reserved_minor - :amount, {LATEST_REVERSAL}"
    else:
        values |= {"one": 1}
        expression = (
            "SET #reserved_minor = #reserved_minor - :amount, #reversed_minor = #reversed_minor - :amount, "
            "#reversals = #reversals - :one"
        )
    payment = key(reversal.original.id or "")
    if original is None:
        return update(payment, expression, values)
    condition = "#phase = :phase"
    return update(
        payment, expression, {**values, "phase": original.phase}, condition=condition, otherwise=PhaseChangedError()
    )


def _told(transaction: Transaction, at: datetime) -> list[Write]:
    """Store the event of the phase that a transaction reaches, if its merchant wants to be told."""
    made = event_of(transaction, at)
    return [events.put(made)] if made else []


def _put(transaction: Transaction) -> Write:
    stored = transaction if TRANSITIONS[transaction.phase] else replace(transaction, makes_events=None)
    return put_new(TABLE, stored, "id", index=_due_attributes(transaction, transaction.created_at))


def _due_attributes(transaction: Transaction, now: datetime) -> dict[str, Any]:
    """Return the attributes that list a transaction in the index of what is due; none when nothing is due."""
    due = due_at(transaction, now)
    return {"due_shard": _shard(transaction), "due_at": due} if due else {}


def _shard(transaction: Transaction) -> str:
    """Return its shard of the index of what is due: in the lane of the acquirer that its next step needs, if any."""
    lane = NO_ACQUIRER if transaction.phase is Phase.AWAITING_COMPLETION else transaction.acquirer
    return shard_of(transaction.id, lane)
