"""Unique names: a TID within its merchant, a merchant's MID at its bank, the number of a till's offline sale."""

import hashlib
from datetime import timedelta

from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, Finding, ServiceError
from chalicelib.record import Record
from chalicelib.store.table import Key, Write, put_new, update

TABLE = "sequences"
NUMBERS_KEPT_FOR = timedelta(days=366)  # a till reports an offline sale within a year


class UniqueName(Record):
    """A used name, and the ID of its holder."""

    name: str
    holder: int


def tid_key(client_id: int, tid: str) -> Key[UniqueName]:
    """Return the key of a terminal's name (TID), unique within its merchant. Blanks around it do not count."""
    return Key(TABLE, UniqueName, {"name": f"tid#{client_id}#{tid.strip()}"})


def register_tid(client_id: int, tid: str, terminal_id: int) -> Write:
    """Register the name of a new terminal; raise 308 when another terminal of the merchant has it."""
    name = UniqueName(str(tid_key(client_id, tid).key["name"]), terminal_id)
    return put_new(TABLE, name, "name", ServiceError(ErrorCode.TID_TAKEN))


def mid_key(mid: str) -> Key[UniqueName]:
    """Return the key of a merchant's number at its bank (MID). Banks add blanks around it, and may ignore case."""
    digest = hashlib.sha256(mid.strip().upper().encode()).hexdigest()  # a key has at most 2,048 bytes
    return Key(TABLE, UniqueName, {"name": f"mid#{digest}"})


MID_TAKEN = Finding("back_retailer_id", ErrorCode.TID_TAKEN.code, "Another merchant has this number at its bank.")


def register_mid(mid: str, client_id: int, *, moves: bool) -> Write:
    """Register the merchant's number at its bank (MID); raise 308 when another merchant has it.

    With `moves` it becomes this merchant's.
    """
    return update(
        mid_key(mid),
        {"holder": client_id},
        condition=None if moves else "attribute_not_exists(#holder) OR #holder = :holder",
        otherwise=ServiceError(ErrorCode.TID_TAKEN, MID_TAKEN.message, validations=(MID_TAKEN,)),
    )


class NumberOfOfflineSale(Record):
    """The transaction that has a till's number and queue ID. Its name is a digest, because both may name a person."""

    name: str
    sale: str


class SoldTwiceError(Exception):
    """Another offline sale of the merchant has the same number and queue ID."""


def register_offline_sale(sale: Transaction) -> list[Write]:
    """Register the till's number and queue ID of an offline sale, if it has both.

    The transaction raises SoldTwiceError when another sale has them, but not when the same sale is stored again.
    """
    queue_id = sale.particulars.offline_queue_id
    if queue_id is None or not sale.invoice:
        return []
    digest = hashlib.sha256(f"{sale.invoice}\n{queue_id}".encode()).hexdigest()
    expires_at = int((sale.created_at + NUMBERS_KEPT_FOR).timestamp())
    write = update(
        Key(TABLE, NumberOfOfflineSale, {"name": f"offline#{sale.client_id}#{digest}"}),
        {"sale": sale.id, "expires_at": expires_at},
        condition="attribute_not_exists(#sale) OR #sale = :sale",
        otherwise=SoldTwiceError(),
    )
    return [write]
