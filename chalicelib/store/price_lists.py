"""Price lists by merchant: one item for each list, which is replaced as a whole."""

from dataclasses import replace

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.price_list import PriceList
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import merchant_changes
from chalicelib.store.audit import Act
from chalicelib.store.table import Key, commit, put_new, replace_record

TABLE = "pricelists"


def key(client_id: int) -> Key[PriceList]:
    """Return the key of a merchant's price list."""
    return Key(TABLE, PriceList, {"client_id": client_id})


def put(new: PriceList, merchant: Merchant, act: Act) -> None:
    """Store the next version of a price list, and copy its version and taxes to the merchant, both or neither.

    Raise PRICE_LIST_CHANGED when another version is stored than the one before `new`, and ChangedMeanwhileError when
    the merchant has changed since it was read.
    """
    changed = ServiceError(ErrorCode.PRICE_LIST_CHANGED)
    if new.version == 1:
        write = put_new(TABLE, new, "client_id", changed)
    else:
        write = replace_record(key(new.client_id), replace(new, version=new.version - 1), changed)
    changed_at = new.former[0].until if new.former else None
    after = replace(merchant, price_list_version=new.version, taxes=new.taxes, taxes_changed_at=changed_at)
    commit(write, *merchant_changes.next_version(merchant, after, act))
