"""The entries of the history as they are stored, compared with their transactions."""

from collections import defaultdict
from collections.abc import Iterable

from chalicelib.domain.history import entry_of
from chalicelib.domain.transaction import Transaction
from chalicelib.store import history
from chalicelib.store.history import ENTRY, IN_ORDER, values_of
from chalicelib.store.table import Item, items_of, range_of_prefix, value_of


def wrong_entries(client_id: int, month: str, transactions: Iterable[Transaction]) -> list[str]:
    """Return the IDs of transactions whose two entries, of their agent and of all, are missing or differ from them."""
    found: defaultdict[str, list[Item]] = defaultdict(list)
    for prefix in (ENTRY, IN_ORDER):
        for item in items_of(range_of_prefix(history.TABLE, ("month", f"{client_id}#{month}"), "at", prefix)):
            found[item["id"]["S"]].append({name: item[name] for name in item if name not in {"month", "at"}})
    return [one.id for one in transactions if found[one.id.casefold()] != [_attributes(one)] * 2]


def _attributes(transaction: Transaction) -> Item:
    return {name: value_of(value) for name, value in values_of(entry_of(transaction)).items()}
