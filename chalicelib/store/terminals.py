"""Terminals by ID."""

from chalicelib.domain.terminal import Terminal
from chalicelib.store.table import Key, list_records

TABLE = "terminals"


def key(terminal_id: int) -> Key[Terminal]:
    """Return the key of a terminal."""
    return Key(TABLE, Terminal, {"id": terminal_id})


def only_one(client_id: int) -> int | None:
    """Return the ID of the merchant's terminal, or None unless it has exactly one."""
    found = list_records(TABLE, Terminal, ("client_id", client_id), "by_client", most=2)
    return found[0].id if len(found) == 1 else None


def of_merchant(client_id: int) -> list[Terminal]:
    """List the merchant's terminals by name."""
    return list_records(TABLE, Terminal, ("client_id", client_id), "by_client")
