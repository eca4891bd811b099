"""Merchants by ID."""

from dataclasses import dataclass

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.taxes import FormerTax
from chalicelib.store.table import Key, read

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
