"""Writes of merchants and terminals, each with its entry in the audit. Payments load none of this."""

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.terminal import Terminal
from chalicelib.store import audit
from chalicelib.store.audit import Act, filled_fields
from chalicelib.store.merchants import TABLE, key
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Write, commit, put_new, replace_record
from chalicelib.store.terminals import TABLE as TERMINALS


def create(merchant: Merchant, act: Act, *also: Write) -> None:
    """Store a new merchant and the writes in `also`."""
    commit(put_new(TABLE, merchant, "id"), audit.write(f"merchant#{merchant.id}", act, filled_fields(merchant)), *also)


def change(before: Merchant, after: Merchant, act: Act) -> None:
    """Store the next version of a merchant; raise ChangedMeanwhileError when `before` is no longer the stored one."""
    commit(*next_version(before, after, act))


def next_version(before: Merchant, after: Merchant, act: Act) -> tuple[Write, Write]:
    """Return the writes of the next version, for a transaction with other writes."""
    return (
        replace_record(key(after.id), after, ChangedMeanwhileError()),
        audit.change(f"merchant#{after.id}", act, before, after),
    )


def create_terminal(terminal: Terminal, act: Act, *also: Write) -> None:
    """Store a new terminal and the writes in `also`, which register its unique names."""
    entry = audit.write(f"terminal#{terminal.id}", act, filled_fields(terminal))
    commit(put_new(TERMINALS, terminal, "id"), *also, entry)
