"""Terminals by ID; their names are claimed, so a name leads to its terminal in one strong read."""

from chalicelib.domain.audit import Act, filled_fields
from chalicelib.domain.terminal import Terminal
from chalicelib.store import audit, sequences
from chalicelib.store.query import all_of
from chalicelib.store.table import Key, commit, put_new

TABLE = "terminals"


def key(terminal_id: int) -> Key[Terminal]:
    """Where the terminal is kept."""
    return Key(TABLE, Terminal, {"id": terminal_id})


def create(terminal: Terminal, act: Act) -> None:
    """Keep a new terminal; 308 when the merchant has one of this name."""
    commit(
        put_new(TABLE, terminal, "id"),
        sequences.claim_tid(terminal.client_id, terminal.tid, terminal.id),
        audit.write(f"terminal#{terminal.id}", act, filled_fields(terminal)),
    )


def of_merchant(client_id: int) -> list[Terminal]:
    """The merchant's terminals, by name."""
    return all_of(TABLE, Terminal, ("client_id", client_id), "by_client")
