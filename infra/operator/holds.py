"""Holds: the order of a court or the police stops the erasure of the transactions that it names.

The audit has each hold under the object `holds`: reference, end, author and IDs. A mark in each transaction has the
reference as well, so the conditions of an erasure that runs meanwhile see it. The audit comes first when a hold is
placed, and last when it is lifted: a killed run holds too much, never too little, and can be repeated.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import partial

from chalicelib.domain import business_days
from chalicelib.record import Record
from chalicelib.store import audit, transactions
from chalicelib.store.audit import OPERATOR, Act
from chalicelib.store.optimistic_writes import ChangedMeanwhileError, retry_on_change
from chalicelib.store.table import AlreadyExistsError, update, write_one

OBJECT = "holds"
HOLD, LIFT = "hold", "lift"
AT_ONCE = 1000  # IDs in one entry of the audit
REFERENCE, UNTIL, AUTHOR, ID = "reference", "until", "by", "transaction"


class Hold(Record):
    """A hold that is not lifted."""

    reference: str
    placed: tuple[str, ...]  # time and author of each command
    until: date | None
    ids: frozenset[str]

    def is_over(self, now: datetime) -> bool:
        """Return whether its last day is over in every zone."""
        return self.until is not None and business_days.is_over(self.until, now)


def all_holds() -> list[Hold]:
    """List the holds that are not lifted, the oldest first."""
    found: dict[str, Hold] = {}
    for entry in audit.of(OBJECT):
        facts = _facts(entry.fields)
        reference = facts[REFERENCE][0]
        if entry.kind == LIFT:
            found.pop(reference, None)
            continue
        before = found.get(reference)
        until = date.fromisoformat(facts[UNTIL][0]) if UNTIL in facts else None
        placed = (*(before.placed if before else ()), f"{entry.at.partition('#')[0]} by {facts[AUTHOR][0]}")
        ids = frozenset(facts[ID]) | (before.ids if before else frozenset())
        found[reference] = Hold(reference, placed, until, ids)
    return list(found.values())


def by_transaction() -> Mapping[str, set[str]]:
    """Return the references of the holds on each held transaction."""
    held: defaultdict[str, set[str]] = defaultdict(set)
    for hold in all_holds():
        for one in hold.ids:
            held[one].add(hold.reference)
    return held


def place(reference: str, ids: Sequence[str], until: date | None, author: str, now: datetime) -> None:
    """Hold transactions. A later hold with the same reference adds to it, and decides when it ends."""
    common = [f"{REFERENCE}={reference}", f"{AUTHOR}={author}", *([f"{UNTIL}={until}"] if until else [])]
    for start in range(0, len(ids), AT_ONCE):
        named = [f"{ID}={one}" for one in ids[start : start + AT_ONCE]]
        audit.store(OBJECT, Act(HOLD, OPERATOR, now), [*common, *named])
    for one in ids:
        with suppress(AlreadyExistsError):  # the record is lost: the audit still names it
            mark = {"reference": frozenset({reference})}
            write_one(
                update(transactions.key(one), "ADD #holds :reference", mark, condition="attribute_exists(#phase)")
            )


def lift(hold: Hold, author: str, now: datetime) -> None:
    """End a hold."""
    for one in sorted(hold.ids):
        retry_on_change(partial(_remove_mark, hold.reference, one))
    fields = [f"{REFERENCE}={hold.reference}", f"{AUTHOR}={author}"]
    audit.store(OBJECT, Act(LIFT, OPERATOR, now), fields)


def _remove_mark(reference: str, transaction_id: str) -> None:
    """Remove a mark. Raise ChangedMeanwhileError if another one came or went."""
    record = transactions.get(transaction_id)
    if record is None or reference not in record.holds:
        return
    left, before = record.holds - {reference}, {"before": record.holds}
    expression, values = ("SET #holds = :left", {"left": left, **before}) if left else ("REMOVE #holds", before)
    error = ChangedMeanwhileError()
    write_one(update(transactions.key(record.id), expression, values, condition="#holds = :before", otherwise=error))


def _facts(fields: Iterable[str]) -> dict[str, list[str]]:
    facts: defaultdict[str, list[str]] = defaultdict(list)
    for field in fields:
        name, _, value = field.partition("=")
        facts[name].append(value)
    return facts
