"""The unique names of a terminal: its TID within its merchant, and the merchant's MID at its bank."""

import hashlib
from dataclasses import dataclass, replace

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.terminal import Terminal, canonical_mid
from chalicelib.errors import ErrorCode, Finding, ServiceError
from chalicelib.store import audit, merchant_changes, terminals
from chalicelib.store.audit import Act
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, commit, replace_record, update

TABLE = "sequences"


@dataclass(frozen=True)
class UniqueName:
    """A name, and the ID of its holder."""

    name: str
    holder: int


def tid_key(client_id: int, tid: str) -> Key[UniqueName]:
    """Return the key of a terminal's name (TID), unique within its merchant. Blanks around it do not count."""
    return Key(TABLE, UniqueName, {"name": f"tid#{client_id}#{tid.strip()}"})


FREE = 0  # the holder of a name that its terminal gave up


def register_tid(client_id: int, tid: str, terminal_id: int) -> Write:
    """Register the name of a terminal; raise 308 when another terminal of the merchant has it."""
    return update(
        tid_key(client_id, tid),
        {"holder": terminal_id},
        condition="attribute_not_exists(#holder) OR #holder = :free",
        compared={"free": FREE},
        otherwise=ServiceError(ErrorCode.TID_TAKEN),
    )


def change_terminal(before: Terminal, after: Terminal, act: Act, *also: Write) -> None:
    """Store the next version of a terminal and the writes in `also`. Another name of it frees the former one.

    Raise 308 when another terminal of the merchant has the name, and ChangedMeanwhileError when `before` is no longer
    the stored version.
    """
    changed = ChangedMeanwhileError()
    former = update(
        tid_key(before.client_id, before.tid),
        {"holder": FREE},
        condition="attribute_not_exists(#holder) OR #holder = :own",
        compared={"own": before.id},
        otherwise=changed,
    )
    is_renamed = after.tid.strip() != before.tid.strip()
    renamed = [register_tid(after.client_id, after.tid, after.id), former] if is_renamed else []
    entry = audit.change(f"terminal#{after.id}", act, before, after)
    commit(replace_record(terminals.key(after.id), after, changed), *renamed, *also, entry)


def mid_key(mid: str) -> Key[UniqueName]:
    """Return the key of a merchant's number at its bank (MID)."""
    digest = hashlib.sha256(canonical_mid(mid).encode()).hexdigest()  # a key has at most 2,048 bytes
    return Key(TABLE, UniqueName, {"name": f"mid#{digest}"})


MID_TAKEN = Finding("back_retailer_id", ErrorCode.TID_TAKEN.code, "Another merchant has this number at its bank.")


def register_mid(mid: str, client_id: int) -> Write:
    """Register the merchant's number at its bank (MID); raise 308 when another merchant has it."""
    return update(
        mid_key(mid),
        {"holder": client_id},
        condition="attribute_not_exists(#holder) OR #holder = :holder",
        otherwise=ServiceError(ErrorCode.TID_TAKEN, MID_TAKEN.message, validations=(MID_TAKEN,)),
    )


def move_mid(mid: str, loser: Merchant, winner: Merchant, act: Act) -> list[Write]:
    """Register the number at the bank (MID) of `loser` for `winner`.

    The record of `loser` has it among its lost numbers, so its terminals with this number take no card payments. Raise
    ChangedMeanwhileError when one of the merchants, or the holder, has changed.
    """
    number = frozenset({canonical_mid(mid)})
    lost = {"was": loser.id}
    holder = update(
        mid_key(mid),
        {"holder": winner.id},
        condition="#holder = :was",
        compared=lost,
        otherwise=ChangedMeanwhileError(),
    )
    loses = merchant_changes.next_version(loser, replace(loser, lost_mids=loser.lost_mids | number), act)
    has_again = replace(winner, lost_mids=winner.lost_mids - number)
    return [holder, *loses, *(merchant_changes.next_version(winner, has_again, act) if has_again != winner else ())]
