"""Terminals by ID; their names (TID) are registered, so one strong read finds a terminal by its name."""

from chalicelib.domain.audit import Act, filled_fields
from chalicelib.domain.terminal import Terminal
from chalicelib.store import audit, sequences
from chalicelib.store.query import list_records
from chalicelib.store.table import Key, commit, put_new

TABLE = "terminals"


def key(terminal_id: int) -> Key[Terminal]:
    """Return the key of a terminal."""
    return Key(TABLE, Terminal, {"id": terminal_id})


def create(terminal: Terminal, act: Act) -> None:
    """Store a new terminal; raise 308 when the merchant has one of this name."""
    commit(
        put_new(TABLE, terminal, "id"),
        sequences.register_tid(terminal.client_id, terminal.tid, terminal.id),
        audit.write(f"terminal#{terminal.id}", act, filled_fields(terminal)),
    )


def of_merchant(client_id: int) -> list[Terminal]:
    """List the merchant's terminals by name."""
    return list_records(TABLE, Terminal, ("client_id", client_id), "by_client")
