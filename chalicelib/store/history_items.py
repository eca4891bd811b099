"""Items of the history: an entry as the store holds it, and the filter expression of a list."""

from datetime import datetime
from typing import Any

from chalicelib.domain.history import SEARCHED, HistoryEntry
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.domain.transaction import Phase
from chalicelib.store.query import Filter, Item
from chalicelib.store.totals import counter_of, kind_text

ENTRY, IN_ORDER = "entry#", "time#"  # by agent, of all agents
BETWEEN = "\n"  # the addresses of a receipt: none holds it
WITHOUT_TEXTS = ("at", "kind", "taken_minor", "amount_minor")  # the attributes a page needs when no text is searched
EXPORTED = (  # the attributes an exported row needs
    *("at", "kind", "taken_minor", "amount_minor", "invoice", "reverse_invoice", "rrn", "approval_code", "card"),
    *("ext_id", "description", "terminal", "agent", "phase", "original_id", "exact"),
)


def values_of(entry: HistoryEntry) -> dict[str, Any]:
    """Return the attributes of an entry, without its key."""
    counter = entry.counter
    values = {
        "kind": kind_text(counter),
        "id": entry.id.casefold(),
        "taken_minor": entry.taken_minor or None,
        "amount_minor": None if entry.taken_minor else entry.amount_minor,
        "receipts": BETWEEN.join(entry.receipts) or None,
        "client_product_code": entry.client_product_code,
        "phase": entry.phase,
        "original_id": entry.original_id,
        "exact": dict(entry.exact) or None,
        **{name: getattr(entry, name) for name in SEARCHED},
    }
    return {name: value for name, value in values.items() if value is not None}


def entry_in(item: Item) -> HistoryEntry:
    """Return the entry an item holds."""
    order, first, second, transaction_id = item["at"]["S"].split("#", 3)
    at, agent_id = (first, second) if f"{order}#" == IN_ORDER else (second, first)
    taken = int(item["taken_minor"]["N"]) if "taken_minor" in item else 0
    receipts = item["receipts"]["S"].split(BETWEEN) if "receipts" in item else ()
    return HistoryEntry(
        id=transaction_id,
        at=datetime.fromisoformat(at),
        counter=counter_of(int(agent_id), item["kind"]["S"]),
        taken_minor=taken,
        amount_minor=int(item["amount_minor"]["N"]) if "amount_minor" in item else taken,
        receipts=tuple(receipts),
        client_product_code=item["client_product_code"]["S"] if "client_product_code" in item else None,
        phase=Phase(item["phase"]["S"]) if "phase" in item else None,
        original_id=item["original_id"]["S"] if "original_id" in item else None,
        exact={name: text["S"] for name, text in item["exact"]["M"].items()} if "exact" in item else {},
        **{name: item[name]["S"] for name in SEARCHED if name in item},
    )


def filter_for(wanted: HistoryFilter) -> Filter | None:
    """Return a filter that lets every matching entry through, and some others: `HistoryFilter.matches` decides."""
    parts: list[str] = []
    values: dict[str, Any] = {}
    if wanted.input_type is not None:
        parts.append("begins_with(#kind, :input_type)")
        values["input_type"] = f"{wanted.input_type}."
    if wanted.acquirer is not None:
        parts.append("contains(#kind, :acquirer)")
        values["acquirer"] = f".{wanted.acquirer}"
    for name in ("invoice", "original_invoice", "rrn", "client_product_code"):
        if getattr(wanted, name) is not None:
            parts.append(f"#{name} = :{name}")
            values[name] = getattr(wanted, name)
    if wanted.search is not None:
        anywhere, sought = _search_for(wanted.search)
        parts.append(f"({anywhere})")
        values |= sought
    return Filter(" AND ".join(parts), values) if parts else None


def _search_for(search: SearchText) -> tuple[str, dict[str, Any]]:
    """Return the part of a filter that finds a text, a telephone number or an amount; and its values."""
    parts = [f"contains(#{name}, :search)" for name in ("id", *SEARCHED, "receipts")]
    values: dict[str, Any] = {"search": search.text}
    if search.phone is not None:
        parts.append("contains(#receipts, :phone)")
        values["phone"] = search.phone
    amounts = {f"amount{number}": minor for number, minor in enumerate(search.amounts_minor)}
    if amounts:
        any_of = ", ".join(f":{name}" for name in amounts)
        parts += [f"#{name} IN ({any_of})" for name in ("taken_minor", "amount_minor")]
    return " OR ".join(parts), values | amounts
