"""Payments and reversals that `restore` brings back: nothing may be given back twice.

A payment carries the sums of its reversals. One that comes back gets the sums of the reversals that the table has, or
gets from the copy. A reversal that comes back is written together with its payment, whose sums are never lowered.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import reduce

from chalicelib.domain.phases import PENDING, Phase
from chalicelib.domain.transaction import Reversals, Transaction
from chalicelib.store import transactions
from chalicelib.store.table import (
    BATCH,
    PART_OF,
    AlreadyExistsError,
    Item,
    UnreadableError,
    commit,
    decode,
    encode,
    table_name,
)
from infra.operator import items

TABLE = transactions.TABLE
SUMS = "reversals_"  # the attributes of the sums
COUNTED = PENDING | {Phase.REVERSAL_APPROVED}


class Payments:
    """The reversals of the payments that come back, and of those whose reversals do.

    The versions of the payments are read before the reversals. So a new reversal is among them, or it changes the
    version, and the write is refused.
    """

    def __init__(self, copy: str, damaged: Sequence[tuple[Item, Item | None]]) -> None:
        self._as_read = {key["id"]["S"]: present for key, present in damaged}
        self._original: dict[str, str] = {}
        self._reversals: defaultdict[str, list[Transaction]] = defaultdict(list)
        self._unsure = set[str]()  # payments with an unreadable reversal
        for start in range(0, len(damaged), BATCH):
            keys = [key for key, _ in damaged[start : start + BATCH]]
            for name, copied in items.items_at(TABLE, keys, name=copy).items():
                if "original_id" in copied:
                    self._original[name] = copied["original_id"]["S"]
                    self._add(copied)
        originals = [transactions.key(one).wire() for one in {*self._original.values()} - self._as_read.keys()]
        for name, item in items.items_at(TABLE, originals).items():
            self._as_read[name] = items.as_read(TABLE, item)
        for page in items.pages(table_name(TABLE)):
            for item in page:
                if item["id"]["S"] not in self._original and item.get("original_id", {}).get("S") in self._as_read:
                    self._add(item)

    def _add(self, item: Item) -> None:
        payment_id = item["original_id"]["S"]
        try:
            self._reversals[payment_id].append(decode(Transaction, item))
        except UnreadableError:
            self._unsure.add(payment_id)

    def is_reversal(self, transaction_id: str) -> bool:
        """Return whether a damaged transaction is a reversal."""
        return transaction_id in self._original

    def write(self, copied: Item, present: Item | None) -> str | None:
        """Write the copy of a transaction, if it is as it was compared. Return a line if it cannot be written."""
        name = copied["id"]["S"]
        if PART_OF in copied:
            commit(items.put(TABLE, copied, present))
            return None
        if name not in self._original:
            whole = self._with_sums(copied, lowers=True)
            if whole != copied:
                whole = items.raised(whole, present)
            commit(items.put(TABLE, whole, present))
            self._as_read[name] = items.as_read(TABLE, whole)
            return None
        payment_id = self._original[name]
        payment = items.items_at(TABLE, [transactions.key(payment_id).wire()]).get(payment_id)
        if payment is None:
            return f"not written: its payment {payment_id} is missing"
        if items.as_read(TABLE, payment) != self._as_read.get(payment_id):
            raise AlreadyExistsError
        whole = self._with_sums(payment, lowers=False)
        if whole != payment:
            whole = items.raised(whole, payment)
        commit(items.put(TABLE, copied, present), items.put(TABLE, whole, payment))
        self._as_read[payment_id] = items.as_read(TABLE, whole)
        return None

    def _with_sums(self, item: Item, *, lowers: bool) -> Item:
        """Return the item of a payment with the sums of its reversals.

        A stored sum may be higher, because of a lost reversal. It is lowered only for a payment that comes back.
        """
        payment = decode(Transaction, item)
        sums = _sums_of(self._reversals[payment.id])
        if not lowers or payment.id in self._unsure:
            sums = _highest(payment.reversals, sums)
        if sums == payment.reversals:
            return item
        others = {name: value for name, value in item.items() if not name.startswith(SUMS)}
        values = encode(replace(payment, reversals=sums))
        return others | {name: value for name, value in values.items() if name.startswith(SUMS)}


def _sums_of(reversals: Sequence[Transaction]) -> Reversals:
    in_order = sorted(reversals, key=lambda one: one.created_at)
    counted = [one for one in in_order if one.phase in COUNTED]
    approved = [one for one in counted if not one.is_pending]
    given_back = reduce(transactions.added, (one.original.gives_back or {} for one in counted), dict[str, Decimal]())
    return Reversals(
        amount_minor=sum(one.amount_minor for one in counted),
        reserved_minor=sum(one.amount_minor for one in counted if one.is_pending),
        count=len(counted),
        latest_id=approved[-1].id if approved else None,
        latest_invoice=approved[-1].invoice if approved else None,
        requested_id=in_order[-1].id if in_order else None,
        given_back=given_back or None,
    )


def _highest(stored: Reversals, known: Reversals) -> Reversals:
    one, other = stored.given_back or {}, known.given_back or {}
    given_back = {name: max(one.get(name, Decimal()), other.get(name, Decimal())) for name in one.keys() | other.keys()}
    numbers = ("amount_minor", "reserved_minor", "count")
    highest = {name: max(getattr(stored, name), getattr(known, name)) for name in numbers}
    return replace(stored, **highest, given_back=given_back or None)
