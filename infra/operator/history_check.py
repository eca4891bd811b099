"""Compare transactions with their history: each was stored with its entries by one write.

An unreadable transaction is put together again from an entry, and one that contradicts its entries is named.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

from chalicelib.domain.history_entry import SEARCHED, HistoryEntry, entry_of
from chalicelib.domain.transaction import OWN_RECEIPT_NUMBER, Transaction
from chalicelib.iso_codes import currency
from chalicelib.store import history, transactions
from chalicelib.store.table import VERSION, AlreadyExistsError, Item, Value, decode, table_name, value_of, write_one
from infra.operator import items
from infra.operator.losses import entries_with
from infra.operator.records import UNREADABLE, differing, is_of_merchant, is_readable, version_of, wrong_attributes

T = TypeVar("T")

ATTRIBUTES = {"invoice": "invoice", "terminal_name": "terminal", "rrn": "rrn", "approval_code": "approval_code"}
HOUR = timedelta(hours=1)


def put_together(copy: str, merchant_id: int | None) -> Iterator[str]:
    """Write the wrong attributes of unreadable transactions from their history. Yield a line for each.

    A transaction that was not written since its copy is left to the comparison with the table `copy`.
    """
    for page in items.pages(table_name(transactions.TABLE)):
        wrong = {one["id"]["S"]: one for one in page if wrong_attributes(transactions.TABLE, one)}
        copies = items.items_at(transactions.TABLE, list(wrong.values()), name=copy)
        newer = {name: one for name, one in wrong.items() if _is_newer(one, copies.get(name))}
        for name, (client_id, entry) in (entries_with(newer) if newer else {}).items():
            mended = _mended(newer[name], client_id, entry)
            if mended and (merchant_id is None or is_of_merchant(transactions.TABLE, mended, merchant_id)):
                try:
                    write_one(items.put(transactions.TABLE, mended, newer[name]))
                except AlreadyExistsError:
                    continue
                names = ", ".join(wrong_attributes(transactions.TABLE, newer[name]))
                yield f"{name}: put together again from its history: {names}"


def _is_newer(item: Item, copied: Item | None) -> bool:
    return copied is None or (version_of(item) or 0) > (version_of(copied) or 0)


def _mended(item: Item, client_id: int, entry: HistoryEntry) -> Item | None:
    """Return the item with the values of its entry in place of its wrong attributes; None if some are unknown."""
    wrong, known = wrong_attributes(transactions.TABLE, item), _known(client_id, entry)
    mended = {**item, **{name: value_of(known[name]) for name in wrong if name in known}}
    if "gmt" in wrong:
        with suppress(*UNREADABLE):
            counts_at = decode(Transaction, {**mended, "gmt": value_of(0)}).counts_at
            mended["gmt"] = value_of(round((entry.at - counts_at.replace(tzinfo=None)) / HOUR))
    return None if wrong_attributes(transactions.TABLE, mended) else mended


def _known(client_id: int, entry: HistoryEntry) -> dict[str, Any]:
    """Return the values of a transaction's attributes that its entry has."""
    counter = entry.counter
    values = {
        "client_id": client_id,
        "phase": entry.phase,
        "input_type": counter.input_type,
        "acquirer": counter.acquirer,
        "currency": currency(counter.currency),
        "amount_minor": entry.amount_minor,
        "original_id": entry.original_id,
        "reverse_mode": counter.reverse_mode or None,
        "original_agent": entry.original_agent,
        "tax_amounts": entry.taxes or None,
        VERSION: 1,
        **{name: entry.text(of_entry) or None for name, of_entry in ATTRIBUTES.items()},
    }
    return {name: value for name, value in values.items() if value is not None}


# Transactions that contradict their history


def contradicting(merchant_id: int | None, copies: str) -> tuple[dict[str, str], list[str]]:
    """Return a line for each transaction that contradicts its history and does not equal its copy, by its ID.

    A transaction and its entries are stored by one write. So if each of them differs from it, the transaction or the
    entries were altered later. Neither is written. The lines after them are about transactions that share a receipt
    number, as after a damage of its counter.
    """
    doubtful: dict[str, str] = {}
    missing: dict[str, Transaction] = {}  # without an entry in its place
    numbers: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for page in pages_of_transactions(merchant_id):
        found, absent = dict[str, str](), dict[str, Transaction]()
        stored = items.items_at(history.TABLE, [entry for one in page for entry in entries_of(one)])
        for one in page:
            places = [items.name_of(history.TABLE, entry) for entry in entries_of(one)]
            seen = [entry for name in places if name in stored and (entry := _entry(stored[name]))]
            if not seen:
                absent[one.id] = one
            elif all(_contradictions(entry_of(one), entry) for entry in seen):
                found[one.id] = _contradiction(one, one.client_id, seen[0])
            if OWN_RECEIPT_NUMBER.fullmatch(one.invoice):
                numbers[one.client_id, one.invoice].append(one.id)
        doubtful |= _unlike_copy(found, copies)
        missing |= _unlike_copy(absent, copies)
    elsewhere = entries_with(missing) if missing else {}
    doubtful |= {
        name: _contradiction(missing[name], client_id, entry) for name, (client_id, entry) in elsewhere.items()
    }
    forged, sharing = _sharing(numbers.values(), missing, doubtful)
    lines = [f"{name}: {text}. Both are counted." for name, text in _unlike_copy(sharing, copies).items()]
    doubtful = forged | doubtful
    return {name: f"{name}: {text}. Compare them." for name, text in doubtful.items()}, lines


def _sharing(
    groups: Iterable[Sequence[str]], missing: Container[str], doubtful: Container[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return a text for each transaction that shares its receipt number, by its ID.

    The first ones may be forged: they have no entry in the history, and another one of their number has.
    """
    forged, genuine = dict[str, str](), dict[str, str]()
    for names in (names for names in groups if len(names) > 1):
        texts = {name: f"has the receipt number of {', '.join(one for one in names if one != name)}" for name in names}
        without = [name for name in names if name in missing]
        if 0 < len(without) < len(names):
            forged |= {name: f"{texts[name]}, and no entry in the history" for name in without}
        elif not any(name in doubtful for name in names):
            genuine |= texts
    return forged, genuine


def _unlike_copy(found: Mapping[str, T], copies: str) -> dict[str, T]:
    """Return those of the found transactions that do not equal their copies: a copy proves its transaction."""
    keys = [{"id": {"S": name}} for name in found]
    known = items.items_at(transactions.TABLE, keys, name=copies + transactions.TABLE)
    stored = items.items_at(transactions.TABLE, keys) if known else {}
    proved = {name for name, copied in known.items() if not differing(copied, stored.get(name, {}))}
    return {name: one for name, one in found.items() if name not in proved}


def _entry(item: Item) -> HistoryEntry | None:
    try:
        return history.entry_in(item)
    except UNREADABLE:
        return None


FACTS = ("at", "counter", "amount_minor")
TEXTS = ("client_product_code", "original_id", "original_agent", "taxes", *({*SEARCHED} - {"reverse_invoice"}))


def _contradictions(own: HistoryEntry, entry: HistoryEntry) -> list[str]:
    """Return the fields in which a stored entry contradicts its transaction's own one.

    A transaction from a copy may be pending again. An entry of an earlier release lacks fields.
    """
    names = [name for name in FACTS if getattr(own, name) != getattr(entry, name)]
    if own.phase is None:
        return names
    names += [name for name in TEXTS if getattr(entry, name) and getattr(entry, name) != getattr(own, name)]
    return names + ["phase"] * (entry.phase not in {None, own.phase})


def _contradiction(one: Transaction, client_id: int, entry: HistoryEntry) -> str:
    own = entry_of(one)
    names = sorted(_contradictions(own, entry) + ["client_id"] * (client_id != one.client_id))
    return (
        f"{_facts(own)} of merchant {one.client_id} in transactions, "
        f"{_facts(entry)} of merchant {client_id} in the history; different: {', '.join(names) or 'its place'}"
    )


def _facts(entry: HistoryEntry) -> str:
    counter = entry.counter
    kind = f"ReverseMode {counter.reverse_mode}, " if counter.reverse_mode else ""
    made = f"{kind}InputType {counter.input_type}, {counter.acquirer}, agent {counter.agent_id}"
    if entry.taxes:
        taxes = (f"{one.code} {one.tax_minor} of {one.gross_minor}" for one in entry.taxes)
        made += f", taxes in minor units: {'; '.join(taxes)}"
    return f"{entry.amount:f} {counter.currency} {entry.phase or 'without outcome'} ({made}, {entry.at:%Y-%m-%d %H:%M})"


# Both


def pages_of_transactions(merchant_id: int | None) -> Iterator[list[Transaction]]:
    """Yield the readable transactions of a merchant, or of all, page by page."""
    for page in items.pages(table_name(transactions.TABLE)):
        readable = (decode(Transaction, item) for item in page if is_readable(transactions.TABLE, item))
        yield [one for one in readable if merchant_id in (None, one.client_id)]


def entries_of(transaction: Transaction) -> list[dict[str, Value]]:
    """Return the items of a transaction's entries in the history."""
    return [write.parameters["Item"] for write in history.writes_for_completion(transaction)]
