"""Terminals by ID. Their names (TID) are registered, which makes them unique in their merchant."""

from chalicelib.domain.terminal import Terminal
from chalicelib.store import audit, unique_names
from chalicelib.store.audit import Act, filled_fields
from chalicelib.store.table import Key, commit, list_records, put_new

TABLE = "terminals"


def key(terminal_id: int) -> Key[Terminal]:
    """Return the key of a terminal."""
    return Key(TABLE, Terminal, {"id": terminal_id})


def create(terminal: Terminal, act: Act, *, moves_mid: bool) -> None:
    """Store a new terminal.

    Raise 308 when the merchant already has one with this name, or another merchant has its MID. `moves_mid`: the MID
    becomes this merchant's.
    """
    mid = (terminal.back_retailer_id or "").strip()
    commit(
        put_new(TABLE, terminal, "id"),
        unique_names.register_tid(terminal.client_id, terminal.tid, terminal.id),
        *([unique_names.register_mid(mid, terminal.client_id, moves=moves_mid)] if mid else []),
        audit.write(f"terminal#{terminal.id}", act, filled_fields(terminal)),
    )


def only_one(client_id: int) -> int | None:
    """Return the ID of the merchant's terminal, or None unless it has exactly one."""
    found = list_records(TABLE, Terminal, ("client_id", client_id), "by_client", most=2)
    return found[0].id if len(found) == 1 else None


def of_merchant(client_id: int) -> list[Terminal]:
    """List the merchant's terminals by name."""
    return list_records(TABLE, Terminal, ("client_id", client_id), "by_client")
