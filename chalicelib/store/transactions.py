"""Payments and reversals alike, under their ID."""

from datetime import datetime, timedelta

from chalicelib.domain.outcome import due_at
from chalicelib.domain.reversal import CANCELS
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.store import history
from chalicelib.store.codec import attributes_of
from chalicelib.store.due_index import shard_of
from chalicelib.store.table import Key, Write, commit, put_new, read, update, write_one

TABLE = "transactions"
LATEST = "#reverse_id = :id, #reverse_invoice = :invoice"  # of a payment: its reversal that was done last
PAUSE = timedelta(seconds=5)  # between two who look after the same transaction


def key(transaction_id: str) -> Key[Transaction]:
    """Where a transaction is kept; IDs are in upper case."""
    return Key(TABLE, Transaction, {"id": transaction_id})


def get(transaction_id: str) -> Transaction | None:
    """The transaction as it is now, or None."""
    return read(key(transaction_id))


def record(transaction: Transaction, *beside: Write) -> None:
    """Keep a new transaction, its place in the history and what goes `beside` it: all or nothing.

    Raises AlreadyThereError when its ID was used before: the same payment is never kept twice.
    """
    commit(_new(transaction), *history.record(transaction), *beside)


class OvertakenError(Exception):
    """The transaction is no longer in the phase it was read in: somebody else went on with it."""


def finish(before: Transaction, after: Transaction, now: datetime, *beside: Write) -> None:
    """Keep what became of a transaction, and what goes `beside` it, if it is still in the phase it was in.

    Only what changed is written, so a reversal that takes from the payment at this moment is not undone.
    """
    due = due_at(after, now)
    index = {"due_shard": shard_of(after.id), "due_at": due} if due else {"due_shard": None, "due_at": None}
    stored = attributes_of(before)
    changed = {name: value for name, value in attributes_of(after).items() if value != stored[name]}
    values = {name: value for name, value in {**changed, **index}.items() if value is not None}
    gone = [name for name in (*changed, *index) if name not in values]
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
    if gone:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in gone)
    step = update(
        key(after.id),
        expression,
        {**values, "was": before.phase},
        condition="#phase = :was",
        otherwise=OvertakenError(),
    )
    if beside:
        commit(step, *beside)
    else:
        write_one(step)


def claim(transaction: Transaction, now: datetime) -> bool:
    """Whether it is ours to look after now: at most one asker every few seconds gets it, and one more at the Deadline.

    It is due again later, should we not come back.
    """
    before = now - PAUSE
    if now >= transaction.deadline:
        before = max(before, transaction.deadline)
    ours = update(
        key(transaction.id),
        "SET #asked_at = :now, #due_at = :due_at, #due_shard = :due_shard",
        {
            "now": now,
            "before": before,
            "due_at": due_at(transaction, now),
            "due_shard": shard_of(transaction.id),
            "phase": transaction.phase,
        },
        condition="#phase = :phase AND (attribute_not_exists(#asked_at) OR #asked_at < :before)",
        otherwise=OvertakenError(),
    )
    try:
        write_one(ours)
    except OvertakenError:
        return False
    return True


def _new(transaction: Transaction) -> Write:
    due = due_at(transaction, transaction.created_at)
    index = {"due_shard": shard_of(transaction.id), "due_at": due} if due else {}
    return put_new(TABLE, transaction, "id", index=index)


class RemainderChangedError(Exception):
    """What remains of the payment is not what the reversal was decided on."""


def reserve(original: Transaction, reversal: Transaction, *beside: Write) -> None:
    """Keep `reversal` and take its amount from what remains of `original`, both or neither.

    The condition is on what remains, not on what was read: two tills reversing at once cannot both win. A cancel wants
    the payment untouched. Raises AlreadyThereError for the ID, RemainderChangedError for the amount.
    """
    pending = reversal.is_pending
    expression = "SET #reversed_minor = #reversed_minor + :amount, #reversals = #reversals + :one, "
    expression += "#reserved_minor = #reserved_minor + :amount" if pending else LATEST
    values = {
        "amount": reversal.amount_minor,
        "one": 1,
        "most": 0 if reversal.reverse_mode in CANCELS else original.amount_minor - reversal.amount_minor,
        "phase": original.phase,
        **({} if pending else {"id": reversal.id, "invoice": reversal.invoice}),
    }
    taken = update(
        key(original.id),
        expression,
        values,
        condition="#reversed_minor <= :most AND #phase = :phase",
        otherwise=RemainderChangedError(),
    )
    commit(_new(reversal), taken, *history.record(reversal), *beside)


def release(reversal: Transaction) -> Write:
    """What a reserved amount becomes in its payment: given back, or what remains again. Goes with the outcome."""
    values: dict[str, int | str] = {"amount": reversal.amount_minor}
    if reversal.phase is Phase.REVERSAL_APPROVED:
        values |= {"id": reversal.id, "invoice": reversal.invoice}
        expression = f"SET #reserved_minor = #reserved_minor - :amount, {LATEST}"
    else:
        values |= {"one": 1}
        expression = (
            "SET #reserved_minor = #reserved_minor - :amount, #reversed_minor = #reversed_minor - :amount, "
            "#reversals = #reversals - :one"
        )
    return update(key(reversal.original_id or ""), expression, values)
