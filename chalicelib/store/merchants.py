"""Merchants by ID."""

from chalicelib.domain.merchant import Merchant
from chalicelib.store import audit
from chalicelib.store.audit import Act, changed_fields, filled_fields
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, commit, put_new, replace_record

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
        replace_record(key(after.id), after, ChangedMeanwhileError()),
        audit.write(f"merchant#{after.id}", act, changed_fields(before, after)),
    )
