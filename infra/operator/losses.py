"""The losses that `restore` cannot repair, named one by one: objects and transactions made after the copy.

Each loss is known from a second place that outlived it: the audit, the history, a receipt or an event.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime

from chalicelib.domain.history_entry import HistoryEntry
from chalicelib.store import agents, audit, events, history, merchants, outbox, transactions
from chalicelib.store import webhooks as webhooks_store
from chalicelib.store.audit import Audit
from chalicelib.store.table import Item, decode, table_name
from infra.operator import items
from infra.operator.records import UNREADABLE, is_of_merchant

# The tables of the objects in the audit ("agent#17"), by the first word of the object.
OBJECTS = {
    "merchant": merchants.TABLE,
    "agent": agents.TABLE,
    "terminal": merchants.TERMINALS,
    "webhook": webhooks_store.TABLE,
}


def lost_objects(chosen: Iterable[str], copies: str, at: datetime, merchant_id: int | None) -> list[str]:
    """Return a line for each object that only the audit has since `at`, or that only its table has.

    A lost object does not say its merchant. With `merchant_id`, only that merchant itself is named.
    """
    wanted = {kind: table for kind, table in OBJECTS.items() if table in chosen}
    if merchant_id is not None:
        wanted = {kind: table for kind, table in wanted.items() if kind == "merchant"}
    stored, copied = (
        {
            f"{kind}#{item['id']['N']}"
            for kind, table in wanted.items()
            for page in items.pages(beginning + table)
            for item in page
        }
        for beginning in (table_name(""), copies)
    )
    created, deleted, known = dict[str, Audit](), set[str](), copied
    for entry in _audit():
        if entry.kind == "create":
            known.add(entry.object)
        if entry.kind == "create" and entry.at > at.isoformat(timespec="microseconds"):
            created.setdefault(entry.object, entry)
        elif entry.kind == "delete" and entry.object.startswith("webhook#"):  # the merchant has an entry as well
            deleted.add(entry.object)
    lost = sorted(created.keys() - stored - deleted, key=lambda name: created[name].at)
    forged = sorted(f"{name.replace('#', ' ')}: neither the copy nor the audit knows it" for name in stored - known)
    return forged + [
        f"lost {name.replace('#', ' ')}: created at {created[name].at[:19]} UTC by {_author(created[name])}"
        for name in lost
        if name.partition("#")[0] in wanted and merchant_id in (None, int(name.partition("#")[2]))
    ]


def _audit() -> Iterator[Audit]:
    for page in items.pages(table_name(audit.TABLE)):
        for item in page:
            try:
                yield decode(Audit, item)
            except UNREADABLE:
                continue  # `restore` names it among the unreadable items


def _author(entry: Audit) -> str:
    return "a command" if entry.by == audit.OPERATOR else f"agent {entry.by}"


def lost_line(client_id: int, entry: HistoryEntry) -> str:
    """Return the line of a transaction that only the history has, with its phase."""
    counter = entry.counter
    kind = "reversal" if counter.reverse_mode else "payment"
    of = f" of {entry.original_id}" if entry.original_id else ""
    at = f"{entry.at:%Y-%m-%d %H:%M:%S} of the merchant's zone"
    made = f"{entry.amount:f} {counter.currency} at {counter.acquirer}, {at}"
    shown = {name: entry.exact.get(name) or getattr(entry, name) or "-" for name in ("rrn", "invoice")}
    return (
        f"lost {kind} of merchant {client_id}: {entry.id}{of}  {entry.phase or 'without outcome'}, {made}, "
        f"RRN {shown['rrn']}, receipt {shown['invoice']}"
    )


def entries_with(ids: Container[str]) -> dict[str, tuple[int, HistoryEntry]]:
    """Return the merchant and the entry of each of these transactions that the history has anywhere."""
    return {
        entry.id: (client_id, entry)
        for page in items.pages(table_name(history.TABLE))
        for client_id, entry in _entries(page)
        if entry.id in ids
    }


def of_lost_merchants() -> list[str]:
    """Return a line for each transaction in the history that is lost with its merchant. Nothing is deleted."""
    stored = {int(item["id"]["N"]) for page in items.pages(table_name(merchants.TABLE)) for item in page}
    lost: list[str] = []
    for page in items.pages(table_name(history.TABLE)):
        found = {entry.id: (client_id, entry) for client_id, entry in _entries(page) if client_id not in stored}
        known = items.items_at(transactions.TABLE, [{"id": {"S": one}} for one in found])
        lost += [lost_line(*one) for name, one in found.items() if name not in known]
    return lost


def _entries(page: Sequence[Item]) -> Iterator[tuple[int, HistoryEntry]]:
    """Yield the entries by time of a page with their merchants: each transaction has one of them."""
    for item in page:
        if not item["at"]["S"].startswith(history.IN_ORDER):
            continue
        try:
            yield int(item["month"]["S"].partition("#")[0]), history.entry_in(item)
        except UNREADABLE:
            continue  # it is written again, or deleted, with its month


def lost_without_entry(chosen: Sequence[str], merchant_id: int | None, named: Sequence[str]) -> list[str]:
    """Return a line for each lost transaction that only its receipt or its event still has."""
    lost: dict[str, str] = {}
    tables = (outbox.TABLE, events.TABLE) if transactions.TABLE in chosen else ()
    for table in tables:
        for page in items.pages(table_name(table)):
            own = {
                name
                for one in page
                if (name := one.get("transaction_id", {}).get("S"))
                and (merchant_id is None or is_of_merchant(table, one, merchant_id))
            }
            stored = items.items_at(transactions.TABLE, [{"id": {"S": one}} for one in own])
            lost |= dict.fromkeys(own - stored.keys(), table)
    return [
        f"lost transaction: {transaction_id}, which is still in the table {table}"
        for transaction_id, table in lost.items()
        if not any(transaction_id in line for line in named)
    ]
