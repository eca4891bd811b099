"""Unique names: the TID of a terminal within its merchant, and the MID of a merchant at its bank."""

import hashlib

from chalicelib.errors import Check, ErrorCode, Finding, ServiceError
from chalicelib.record import Record
from chalicelib.store.table import Key, Write, put_new, update

TABLE = "sequences"


class UniqueName(Record):
    """A used name, and the ID of its holder."""

    name: str
    holder: int


def tid_key(client_id: int, tid: str) -> Key[UniqueName]:
    """Return the key of a terminal's name (TID), unique within its merchant."""
    return Key(TABLE, UniqueName, {"name": f"tid#{client_id}#{tid}"})


def register_tid(client_id: int, tid: str, terminal_id: int) -> Write:
    """Register the name of a new terminal; raise 308 when another terminal of the merchant has it."""
    name = UniqueName(str(tid_key(client_id, tid).key["name"]), terminal_id)
    return put_new(TABLE, name, "name", ServiceError(ErrorCode.TID_TAKEN))


def register_mid(mid: str, client_id: int, *, moves: bool) -> Write:
    """Register the merchant's number at its bank (MID); raise 308 when another merchant has it.

    With `moves` it becomes this merchant's. Blanks at its end do not count, because the host adds them.
    """
    digest = hashlib.sha256(mid.rstrip().encode()).hexdigest()  # a key has at most 2,048 bytes
    key = Key(TABLE, UniqueName, {"name": f"mid#{digest}"})
    message = "Another merchant has this number at its bank."
    taken = Finding("back_retailer_id", Check.CONTRADICTION, message)
    return update(
        key,
        "SET #holder = :holder",
        {"holder": client_id},
        condition=None if moves else "attribute_not_exists(#holder) OR #holder = :holder",
        otherwise=ServiceError(ErrorCode.TID_TAKEN, message, validations=(taken,)),
    )
