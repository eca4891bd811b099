"""The unique names of a terminal: its TID within its merchant, and the merchant's MID at its bank."""

import hashlib
from dataclasses import dataclass

from chalicelib.domain.terminal import Terminal
from chalicelib.errors import ErrorCode, Finding, ServiceError
from chalicelib.store.table import Key, Write, put_new, update

TABLE = "sequences"


@dataclass(frozen=True)
class UniqueName:
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


def register_names(terminal: Terminal, *, moves_mid: bool) -> list[Write]:
    """Register the TID and the MID of a new terminal. With `moves_mid`, the MID becomes its merchant's.

    Raise 308 when the merchant already has a terminal with this TID, or another merchant has the MID.
    """
    mid = (terminal.back_retailer_id or "").strip()
    tid = register_tid(terminal.client_id, terminal.tid, terminal.id)
    return [tid, *([register_mid(mid, terminal.client_id, moves=moves_mid)] if mid else [])]
