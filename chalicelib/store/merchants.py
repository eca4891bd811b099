"""Merchants and terminals by ID. The names of terminals (TID) are registered, which makes them unique."""

from chalicelib.domain.merchant import Merchant, Terminal
from chalicelib.store import audit, unique_names
from chalicelib.store.audit import Act, changed_fields, filled_fields
from chalicelib.store.optimistic_writes import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, commit, list_records, put_new, replace_record

TABLE = "merchants"


def key(merchant_id: int) -> Key[Merchant]:
    """Return the key of a merchant."""
    return Key(TABLE, Merchant, {"id": merchant_id})


def create(merchant: Merchant, act: Act, *also: Write) -> None:
    """Store a new merchant and the writes in `also`."""
    commit(put_new(TABLE, merchant, "id"), audit.write(f"merchant#{merchant.id}", act, filled_fields(merchant)), *also)


def change(before: Merchant, after: Merchant, act: Act) -> None:
    """Store the next version of a merchant; raise ChangedMeanwhileError when `before` is no longer the stored one."""
    commit(*next_version(before, after, act))


def next_version(before: Merchant, after: Merchant, act: Act) -> tuple[Write, Write]:
    """Return the writes of the next version, for a transaction with other writes."""
    return (
        replace_record(key(after.id), after, version=before.version, otherwise=ChangedMeanwhileError()),
        audit.write(f"merchant#{after.id}", act, changed_fields(before, after)),
    )


TERMINALS = "terminals"


def terminal_key(terminal_id: int) -> Key[Terminal]:
    """Return the key of a terminal."""
    return Key(TERMINALS, Terminal, {"id": terminal_id})


def create_terminal(terminal: Terminal, act: Act, *, moves_mid: bool) -> None:
    """Store a new terminal.

    Raise 308 when the merchant already has one with this name, or another merchant has its MID. `moves_mid`: the MID
    becomes this merchant's.
    """
    mid = (terminal.back_retailer_id or "").strip()
    commit(
        put_new(TERMINALS, terminal, "id"),
        unique_names.register_tid(terminal.client_id, terminal.tid, terminal.id),
        *([unique_names.register_mid(mid, terminal.client_id, moves=moves_mid)] if mid else []),
        audit.write(f"terminal#{terminal.id}", act, filled_fields(terminal)),
    )


def only_terminal(client_id: int) -> int | None:
    """Return the ID of the merchant's terminal, or None unless it has exactly one."""
    found = list_records(TERMINALS, Terminal, ("client_id", client_id), "by_client", most=2)
    return found[0].id if len(found) == 1 else None


def terminals_of_merchant(client_id: int) -> list[Terminal]:
    """List the merchant's terminals by name."""
    return list_records(TERMINALS, Terminal, ("client_id", client_id), "by_client")
