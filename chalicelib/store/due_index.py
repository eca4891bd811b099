"""The claim, by which one process at a time attempts a due record. `due_records` reads the index.

The index is sparse: it lists only records with `due_at` and `due_lane`. Lanes are read separately. Lane "SANDBOX" holds
due transactions of the acquirer SANDBOX, "none" transactions without an acquirer, "email" e-mails, "event" new events,
"7#1" deliveries to webhook 1 of merchant 7.

A claim holds a record until its new `due_at`. If the process dies, the record is due again at that time. A process
stores its result only in a record that still has the `due_at` of its claim, so it changes nothing after another process
has claimed the record. Steps of transactions have conditions of their own, in `store.transactions`.
"""

from collections.abc import Mapping
from datetime import datetime
from secrets import token_hex
from typing import Any, TypeVar

from chalicelib.store.table import Key, Write, decode, read_item, update, value_of, write_one

NO_ACQUIRER = "none"  # the lane of transactions without an acquirer

R = TypeVar("R")


class NotHeldError(Exception):
    """Another process holds the record, or it is finished."""


# The conditions of a claim: no other process has the record.
DUE = "#due_at <= :now"  # every hold has ended
NEW = "#attempts = :none AND #due_at = :due_at"  # held for the stream; the claim keeps `due_at`, so the index as well
# Of a transaction, due or not, because a reader of its status may claim it before the sweep.
NOT_CLAIMED = "#phase = :phase AND (attribute_not_exists(#claimed_at) OR #claimed_at < :before)"


def claim(
    key: Key[R], condition: str, compared: Mapping[str, Any], changes: Mapping[str, Any], *, counts: bool = True
) -> R | None:
    """Claim a record until its new `due_at`; return the changed record, or None when another process has it.

    `condition` is one of those above, `compared` has its values, `changes` the new `due_at`. A claim that `counts` adds
    one to the record's attempts. It counts before the attempt, which limits the attempts of a record that crashes its
    process. After a lost answer botocore repeats the write, which its own claim then refuses: so each has a name.
    """
    one_more, own = ({"attempts": 1} if counts else {}), token_hex(8)
    changes = {**changes, "claimed_by": own}
    claimed = update(key, changes, add=one_more, condition=condition, compared=compared, otherwise=NotHeldError())
    if held := _if_held(key, claimed):
        return held
    item = read_item(key)  # once: after the answer about the name, another process may claim the record
    return decode(key.record, item) if item.get("claimed_by") == value_of(own) else None


def store_held(key: Key[Any], due_at: datetime | None, changes: Mapping[str, Any], *, is_finished: bool) -> bool:
    """Store the result for a record that is held until `due_at`. A finished record leaves the index.

    Return False, and change nothing, when the claim was lost.
    """
    stored = update(
        key,
        changes,
        remove=("due_at", "due_lane") if is_finished else (),
        condition="#due_at = :held",
        compared={"held": due_at},
        otherwise=NotHeldError(),
    )
    return _if_held(key, stored) is not None


def _if_held(key: Key[R], write: Write) -> R | None:
    """Execute a write that requires a claim, and return the changed record; None when the claim was lost."""
    try:
        return decode(key.record, write_one(write))
    except NotHeldError:
        return None
