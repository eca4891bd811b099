"""Merchants by ID."""

from dataclasses import dataclass

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.taxes import FormerTax
from chalicelib.store import audit
from chalicelib.store.audit import Act, filled_fields
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, commit, put_new, read, replace_record

TABLE = "merchants"


def key(merchant_id: int) -> Key[Merchant]:
    """Return the key of a merchant."""
    return Key(TABLE, Merchant, {"id": merchant_id})


@dataclass(frozen=True)
class _FormerTaxes:
    """The part of a merchant's price list that an earlier sale needs."""

    former: tuple[FormerTax, ...] = ()


def former_taxes(merchant_id: int) -> tuple[FormerTax, ...]:
    """Return the taxes that a merchant's price list took away or changed. `price_lists` stores them."""
    found = read(Key("pricelists", _FormerTaxes, {"client_id": merchant_id}))
    return found.former if found else ()


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
