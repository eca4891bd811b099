"""Transactions by ID: payments and reversals."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

from chalicelib.domain.events import event_of
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.reversibility import CANCELS
from chalicelib.domain.steps import claims_hold_since, due_at, was_not_attempted
from chalicelib.domain.transaction import PRECISION, Transaction
from chalicelib.store import due_index, events, history, outbox
from chalicelib.store.due_index import NO_ACQUIRER
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import (
    Key,
    UnreadableError,
    Value,
    Write,
    attributes_of,
    attributes_of_class,
    commit,
    decode,
    put_with_parts,
    read,
    read_all,
    read_item,
    update,
    value_of,
    write_one,
)

TABLE = "transactions"
NOT_LISTED = {"receipt_purchases", "receipt_taxes", "receipt_addresses", "receipt_withheld", "host"}
NOT_DUE = {"due_lane": None, "due_at": None}


class PhaseChangedError(ChangedMeanwhileError):
    """The transaction is no longer in the phase that was read: another request or sweep changed it."""


class RemainderChangedError(ChangedMeanwhileError):
    """The payment's remainder has changed since the reversal was decided."""


def key(transaction_id: str) -> Key[Transaction]:
    """Return the key of a transaction. IDs are in upper case."""
    return Key(TABLE, Transaction, {"id": transaction_id})


def get(transaction_id: str) -> Transaction | None:
    """Read the current transaction; None when it is missing."""
    return read(key(transaction_id))


def list_by_ids(ids: Iterable[str]) -> list[Transaction | None]:
    """Read the transactions of a list, without the attributes that no list shows; None without a readable one."""
    return read_all([key(one) for one in ids], _listed(), for_list=True)


@cache
def _listed() -> tuple[str, ...]:
    return tuple(name for name in attributes_of_class(Transaction) if name not in NOT_LISTED)


def items_of(transaction: Transaction) -> list[dict[str, Value]]:
    """Return the items of a new transaction: its own, with its attributes for the index of due records, and parts."""
    return [write.parameters["Item"] for write in _puts(transaction)]


def get_due(transaction_id: str, now: datetime) -> Transaction | None:
    """Read a due transaction; None when it is finished, or another process has resolved or claimed it."""
    item = read_item(key(transaction_id))
    if "due_at" not in item or item["due_at"]["S"] > value_of(now)["S"]:
        return None
    return decode(Transaction, item)


def record(transaction: Transaction, *also: Write) -> None:
    """Store a new transaction with its history, its event and the writes in `also`: all or nothing.

    Raise AlreadyExistsError for a used ID, so the same payment is never stored twice.
    """
    event = _event_writes(transaction, transaction.created_at)
    _commit(*_puts(transaction), *history.writes_for_new(transaction), *event, *also)


def _commit(*writes: Write) -> None:
    """Execute all writes or none. Leave out messages that are stored already, which a lost transaction left behind."""
    try:
        commit(*writes)
    except outbox.AlreadyStoredError:
        commit(*(one for one in writes if not isinstance(one.otherwise, outbox.AlreadyStoredError)))


def store_step(before: Transaction, after: Transaction, now: datetime, *also: Write) -> None:
    """Store the next step of a transaction with the writes in `also`: all or nothing.

    Only changed attributes are written, so a step does not undo the reservation of a concurrent reversal. Raise
    PhaseChangedError when the step does not follow from the stored state: see `_condition_of_step`.
    """
    changes = _changes(before, after) | (_due_attributes(after, now) or NOT_DUE)
    condition, compared = _condition_of_step(before, after)
    values = {name: value for name, value in changes.items() if value is not None}
    step = update(
        key(after.id),
        values,
        remove=changes.keys() - values.keys(),
        condition=condition,
        compared=compared,
        otherwise=PhaseChangedError(),
    )
    event, completion = [], []
    if after.phase is not before.phase:
        event = _event_writes(after, now)
        completion = history.writes_for_completion(after) if before.phase is Phase.AWAITING_COMPLETION else []
    writes = (*event, *also, *completion)
    if writes:
        _commit(step, *writes)
    else:
        write_one(step)


def _changes(before: Transaction, after: Transaction) -> dict[str, Any]:
    """Return the changed attributes with their new values: None for a removed one."""
    stored = attributes_of(before)
    return {name: value for name, value in attributes_of(after).items() if value != stored[name]}


def _condition_of_step(before: Transaction, after: Transaction) -> tuple[str, dict[str, Any]]:
    """Return the condition for storing a step, and the values that it compares.

    - The transaction is still in the phase that was read.
    - A signature is stored only once.
    - "Nothing was attempted" is stored for a reversal only if no process has claimed it: that process may have sent it.
      Nor does the end of a request replace a claim.
    - No data of the payer was erased since the transaction was read: the history's entry and the messages copy it.
    - The amounts of a payment that took money are still those that were read: the answer shows them, and the history's
      entry must agree with concurrent reversals.
    """
    erasure, compared = _same_erasure(before)
    compared["was"] = before.phase
    conditions = ["#phase = :was", erasure]
    if after.pictures.signature_key != before.pictures.signature_key:
        conditions.append("attribute_not_exists(#pictures_signature_key)")
    is_first_claim = before.claimed_at is None and after.claimed_at is not None
    if is_first_claim or (after.is_reversal and was_not_attempted(after)):
        conditions.append("attribute_not_exists(#claimed_at)")
    if before.took_money:
        conditions += ["#reversals_amount_minor = :back", "#reversals_reserved_minor = :reserved"]
        conditions.append("#reversals_count = :count")
        taken = before.reversals
        compared |= {"back": taken.amount_minor, "reserved": taken.reserved_minor, "count": taken.count}
    return " AND ".join(conditions), compared


def _same_erasure(read: Transaction) -> tuple[str, dict[str, Any]]:
    """Return the condition that no data of the payer was erased since a transaction was read, and its values."""
    if read.erasure is None:
        return "attribute_not_exists(#erasure)", {}
    return "#erasure = :erasure", {"erasure": read.erasure}


def claim(transaction: Transaction, now: datetime) -> bool:
    """Claim a pending transaction, so that others leave it alone meanwhile; return False when another has it.

    The transaction becomes due again later, in case the caller dies. Who takes longer than its claim may meet another
    caller: the conditions of the steps decide.
    """
    compared = {"phase": transaction.phase, "before": claims_hold_since(transaction, now)}
    changes = {"claimed_at": now, "due_at": due_at(transaction, now), "due_lane": _lane(transaction)}
    claimed = due_index.claim(key(transaction.id), due_index.NOT_CLAIMED, compared, changes, counts=False)
    return claimed is not None


def reserve(original: Transaction, reversal: Transaction, *also: Write, follows_latest: bool = False) -> None:
    """Store a reversal and take its amount from the remainder of the original payment, both or neither.

    `follows_latest` requires that no other reversal was requested since the original was read. It is for a request
    without a key, which may repeat that other reversal. Raise AlreadyExistsError for a used ID, RemainderChangedError
    for a changed payment.
    """
    _commit(
        *_puts(reversal, like=original),
        _reservation(original, reversal, follows_latest=follows_latest),
        *history.writes_for_new(reversal),
        *([] if reversal.is_pending else history.writes_for_reversed(original, reversal)),
        *_event_writes(reversal, reversal.created_at),
        *also,
    )


def _reservation(original: Transaction, reversal: Transaction, *, follows_latest: bool) -> Write:
    """Return the write that takes the amount of a reversal from its payment, or reserves it for a pending reversal.

    A payment never gives back more than it took: the condition compares the stored amount, not the one that was read.
    So two tills that reverse at once cannot both succeed. A cancel requires a payment without reversals. The
    returned lines and taxes follow from those of all earlier reversals, so the payment must be as it was read.
    """
    values: dict[str, Any] = {"reversals_requested_id": reversal.id}
    more = {"reversals_amount_minor": reversal.amount_minor, "reversals_count": 1}
    erasure, compared = _same_erasure(original)
    conditions = ["#reversals_amount_minor <= :most", "#phase = :phase", erasure]
    compared["most"] = 0 if reversal.original.mode in CANCELS else original.amount_minor - reversal.amount_minor
    compared["phase"] = original.phase
    if reversal.is_pending:
        more["reversals_reserved_minor"] = reversal.amount_minor
    else:
        values |= _latest_reversal(reversal)
    before, given_back = original.reversals, reversal.original.gives_back
    if given_back:
        values["reversals_given_back"] = added(before.given_back, given_back)
        conditions.append("#reversals_amount_minor = :read")  # less when another reversal has failed since
        compared["read"] = before.amount_minor
    if (follows_latest or given_back) and before.requested_id is None:
        conditions.append("attribute_not_exists(#reversals_requested_id)")
    elif follows_latest or given_back:
        conditions.append("#reversals_requested_id = :seen")
        compared["seen"] = before.requested_id
    return update(
        key(original.id),
        values,
        add=more,
        condition=" AND ".join(conditions),
        compared=compared,
        otherwise=RemainderChangedError(),
    )


def _latest_reversal(reversal: Transaction) -> dict[str, Any]:
    return {"reversals_latest_id": reversal.id, "reversals_latest_invoice": reversal.invoice}


def added(before: Mapping[str, Decimal] | None, more: Mapping[str, Decimal], sign: int = 1) -> dict[str, Decimal]:
    """Return the returned lines and taxes with those of one more reversal, or without them (`sign` -1)."""
    sums = dict(before or {})
    with localcontext(prec=PRECISION):
        for name, amount in more.items():
            sums[name] = sums.get(name, Decimal()) + sign * amount
    return sums


def release(reversal: Transaction, original: Transaction | None = None) -> Write:
    """Return the write that ends the reservation of a decided reversal: its amount is reversed or free again.

    `original` is the payment as it was read. With it, the payment's history entry may be written as well, and lines and
    taxes are free again, so the payment must be unchanged: otherwise PhaseChangedError is raised.
    """
    payment, less, values = key(reversal.original.id or ""), {"reversals_reserved_minor": -reversal.amount_minor}, {}
    conditions, compared = [], dict[str, Any]()
    if reversal.phase is Phase.REVERSAL_APPROVED:
        values = _latest_reversal(reversal)
    else:
        less |= {"reversals_amount_minor": -reversal.amount_minor, "reversals_count": -1}
        given_back = original.reversals.given_back if original else None
        if given_back and reversal.original.gives_back:
            values = {"reversals_given_back": added(given_back, reversal.original.gives_back, sign=-1)}
            conditions, compared = ["#reversals_given_back = :given_back"], {"given_back": given_back}
    if original is None:
        stored, missing = "attribute_exists(#reversals_reserved_minor)", UnreadableError("missing")
        return update(payment, values, add=less, condition=stored, otherwise=missing)
    erasure, of_erasure = _same_erasure(original)
    return update(
        payment,
        values,
        add=less,
        condition=" AND ".join(["#phase = :phase", erasure, *conditions]),
        compared={"phase": original.phase, **of_erasure, **compared},
        otherwise=PhaseChangedError(),
    )


def _event_writes(transaction: Transaction, at: datetime) -> list[Write]:
    """Return the write of the event for a transaction's new phase; none if its merchant wants no events."""
    event = event_of(transaction, at) if transaction.makes_events else None
    return [events.put(event)] if event else []


def _puts(transaction: Transaction, like: Transaction | None = None) -> list[Write]:
    if not TRANSITIONS[transaction.phase]:  # it is finished: never due again, and no event follows
        return put_with_parts(TABLE, replace(transaction, makes_events=None), "id", like)
    return put_with_parts(TABLE, transaction, "id", like, index=_due_attributes(transaction, transaction.created_at))


def _due_attributes(transaction: Transaction, now: datetime) -> dict[str, Any]:
    """Return the attributes that list a transaction in the index of due records; none when it is finished."""
    due = due_at(transaction, now)
    return {"due_lane": _lane(transaction), "due_at": due} if due else {}


def _lane(transaction: Transaction) -> str:
    """Return its lane in the index of due records: that of the acquirer of its next step, if any."""
    return NO_ACQUIRER if transaction.phase is Phase.AWAITING_COMPLETION else transaction.acquirer
