"""The rules by which `restore` finds damage: how each table is read, and which values only grow in its records.

A damaged item is missing, unreadable for the store, older than its copy, or altered. An altered item differs from its
copy in facts that never change. Records have no common version, so each table names its marks: values that only grow.
An item with a greater mark was written after the copy, and stays.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from chalicelib.domain import outbox as messages
from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.card import LinkedCard
from chalicelib.domain.deliveries import Delivery, DeliveryState
from chalicelib.domain.drawer import Count
from chalicelib.domain.events import Event
from chalicelib.domain.merchant import Merchant, Terminal
from chalicelib.domain.outbox import Outbox, SendingRequest
from chalicelib.domain.password_lock import FailedAttempts
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.price_list import PriceList
from chalicelib.domain.sessions import Session
from chalicelib.domain.transaction import Transaction
from chalicelib.domain.webhooks import Webhook
from chalicelib.errors import ServiceError
from chalicelib.gateways.acquirers.sandbox import TABLE as SANDBOX
from chalicelib.gateways.acquirers.sandbox import SandboxRecord, SandboxToken
from chalicelib.store import (
    agents,
    audit,
    drawers,
    events,
    linked_cards,
    merchants,
    outbox,
    password_lock,
    price_lists,
    sequences,
    sessions,
    transactions,
)
from chalicelib.store import webhooks as webhooks_store
from chalicelib.store.audit import Audit
from chalicelib.store.auth_account_calls import LastCall
from chalicelib.store.aws_retries import is_dropped
from chalicelib.store.message_limits import Counter
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.sequences import LastId
from chalicelib.store.table import Item, Value, decode, encode, read
from chalicelib.store.unique_names import NumberOfOfflineSale, UniqueName
from chalicelib.store.wrong_cards import WrongCards

LEAP, LEAP_OF_STANS = 1000, 10_000  # numbers that may have been given since the copy, and must not be given again
STAN = "stan#"
TTL = "expires_at"
UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, IndexError)

Marks = Mapping[str, Any]


class Damage(StrEnum):
    """The damage of an item, in the words of the output. Contradictory items stay as they are."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    OLDER = "older than the copy"
    ALTERED = "altered"
    CONTRADICTORY = "newer and older at once"
    NO_COPY = "unreadable, also in the copy"
    DELETED = "deleted since"


STAYS = frozenset({Damage.CONTRADICTORY, Damage.NO_COPY, Damage.DELETED})


class Rule(NamedTuple):
    """How a table is read, the marks of a record, and the attributes that differ only in a damaged item.

    With `lasts`, these attributes never change, so they are also compared in an item that is newer than its copy.
    """

    record_of: Callable[[Item], Any]
    marks: Callable[[Any], Marks]
    fixed: Callable[[Item], Mapping[str, Value]]
    lasts: bool = False


def damage_of(table: str, copied: Item, present: Item | None) -> Damage | None:
    """Return the damage of an item compared with its copy; None for a sound one."""
    rule = RULES[table]
    try:
        wanted = rule.marks(rule.record_of(copied))
    except UNREADABLE:
        return Damage.NO_COPY if present is None or not is_readable(table, present) else None
    if present is None:
        return Damage.MISSING
    try:
        found = rule.marks(rule.record_of(present))
    except UNREADABLE:
        return Damage.UNREADABLE
    is_older, is_newer = _is_behind(found, wanted), _is_behind(wanted, found)
    if table == transactions.TABLE and not _may_follow(copied, present):
        return Damage.ALTERED
    if is_older:
        return Damage.CONTRADICTORY if is_newer else Damage.OLDER
    is_altered = (rule.lasts or not is_newer) and rule.fixed(copied) != rule.fixed(present)
    return Damage.ALTERED if is_altered else None


def repaired(table: str, copied: Item, present: Item | None, damage: Damage) -> Item:
    """Return the item to write back: the copy, or a newer item with the copy's attributes that never change."""
    rule = RULES[table]
    if damage is not Damage.ALTERED or present is None or not rule.lasts or not _may_follow(copied, present):
        return copied
    if not _is_behind(*(rule.marks(rule.record_of(item)) for item in (copied, present))):
        return copied
    lasting = rule.fixed(copied)
    newer = {name: value for name, value in present.items() if name not in lasting}
    return newer | {name: value for name, value in lasting.items() if value}


def _may_follow(copied: Item, present: Item) -> bool:
    """Return whether the phases of two items of a transaction may follow one another, in either order."""
    one, other = Phase(copied["phase"]["S"]), Phase(present["phase"]["S"])
    return one == other or other in following(one) or one in following(other)


def is_readable(table: str, item: Item) -> bool:
    """Return whether the store can read an item."""
    try:
        RULES[table].record_of(item)
    except UNREADABLE:
        return False
    return True


def _is_behind(one: Marks, other: Marks) -> bool:
    """Return whether a mark is missing or less than in the other marks."""
    return any(value is not None and (one.get(name) is None or one[name] < value) for name, value in other.items())


def adapted(table: str, copied: Item, at: datetime, now: datetime) -> Item:
    """Return the item to write back for a copy of the time `at`: nothing is sent twice, and no number given twice.

    - A message that was due since may have been sent: it is given up. One that waits for a later attempt stays.
    - An unfinished payment or reversal is resolved by the sweep, without event and receipt: both may have been sent.
    - A sequence leaps over the numbers that may have been given since.
    """
    if table == outbox.TABLE and "due_at" in copied:
        entry = decode(Outbox, copied)
        if entry.due_at and entry.due_at <= max(now, at + messages.HELD_FOR):
            return encode(messages.given_up(entry, now))
    if table == transactions.TABLE and TRANSITIONS[Phase(copied["phase"]["S"])]:
        return {name: value for name, value in copied.items() if name not in {"makes_events", "receipt"}}
    if table == sequences.TABLE and "N" in copied.get("last", {}):
        leap = LEAP_OF_STANS if copied["name"]["S"].startswith(STAN) else LEAP
        return {**copied, "last": {"N": str(int(copied["last"]["N"]) + leap)}}
    return copied


def is_of_merchant(table: str, item: Item, merchant_id: int) -> bool:
    """Return whether an item belongs to one merchant. An unreadable item, or one without owner, belongs to none."""
    return _answer(lambda: _is_of_merchant(table, item, merchant_id))


def _answer(question: Callable[[], bool]) -> bool:
    """Return the answer of a question to other tables: False if one is dropped, or its item unreadable."""
    try:
        return question()
    except UNREADABLE:
        return False
    except ServiceError as refusal:
        if not is_dropped(refusal.__cause__):
            raise
        return False


def _is_of_merchant(table: str, item: Item, merchant_id: int) -> bool:
    owner = str(merchant_id)
    if table == merchants.TABLE:
        return bool(item["id"]["N"] == owner)
    if "client_id" in item:
        return bool(item["client_id"]["N"] == owner)
    if table == sequences.TABLE:
        return _is_sequence_of(item, merchant_id)
    if table == sessions.TABLE:
        return _is_agent_of(int(item["agent_id"]["N"]), merchant_id)
    is_event = table == events.TABLE and item["day"]["S"].startswith(f"{owner}#")
    return is_event or (table == audit.TABLE and _is_object_of(item["object"]["S"], merchant_id))


def _is_sequence_of(item: Item, merchant_id: int) -> bool:
    """Return whether an item is a merchant's. The last numbers of a terminal (`stan#`) and of IDs are nobody's."""
    kind, _, rest = item["name"]["S"].partition("#")
    if kind == "mid":
        return bool(item["holder"]["N"] == str(merchant_id))
    if kind == "asked":
        return _is_agent_of(int(rest), merchant_id)
    return kind in {"receipts", "tid"} and rest.startswith(f"{merchant_id}#")


def _is_object_of(name: str, merchant_id: int) -> bool:
    """Return whether the object of an audit entry ("agent#17") belongs to the merchant. A deleted one does not."""
    kind, _, number = name.partition("#")
    if kind in {"merchant", "drawer"}:
        return number.partition("#")[0] == str(merchant_id)
    if kind == "agent":
        return _is_agent_of(int(number), merchant_id)
    if kind == "terminal":
        terminal = read(merchants.terminal_key(int(number)))
        return terminal is not None and terminal.client_id == merchant_id
    return kind == "webhook" and read(webhooks_store.key(merchant_id, int(number))) is not None


def _is_agent_of(agent_id: int, merchant_id: int) -> bool:
    agent = read(agents.key(agent_id))
    return agent is not None and agent.client_id == merchant_id


def is_deleted_since(table: str, copied: Item, at: datetime) -> bool:
    """Return whether the audit says that an item was deleted after its copy: a webhook, or an old e-mail's login."""
    return _answer(lambda: _is_deleted_since(table, copied, at))


def _is_deleted_since(table: str, copied: Item, at: datetime) -> bool:
    since = at.isoformat(timespec="microseconds")
    if table == webhooks_store.TABLE:
        return any(one.kind == "delete" and one.at > since for one in audit.of(f"webhook#{copied['id']['N']}"))
    if table == agents.LOGINS and "agent_id" in copied:
        changes = (one for one in audit.of(f"agent#{copied['agent_id']['N']}") if one.kind != "create")
        return any("email" in one.fields and one.at > since for one in changes)
    return False


def following(phase: Phase) -> frozenset[Phase]:
    """Return every phase that may come after this one."""
    return TRANSITIONS[phase].union(*map(following, TRANSITIONS[phase]))


def _marks_of_transaction(one: Transaction) -> Marks:
    return {  # the reserved amount does not only grow: `recount` takes it from the reversals
        "phase": -len(following(one.phase)),
        "refunded": one.refunded_minor,
        "signature": None if one.pictures.signature_key is None else 1,
        "requested": None if one.reversals.requested_id is None else 1,
    }


def _marks_of_login(one: Login | FailedAttempts) -> Marks:
    if isinstance(one, FailedAttempts):
        return {}
    return {"version": one.credential_version, "logon": one.last_logon}


def _login_of(item: Item) -> Login | FailedAttempts:
    return decode(FailedAttempts if item["email"]["S"].startswith(password_lock.UNKNOWN) else Login, item)  # type: ignore[return-value]


def _item_of_events(item: Item) -> Any:
    if "cursor" in item["place"]["S"]:  # of an earlier release: nothing reads it
        return None
    return decode(Event if "kind" in item else Delivery, item)


def _marks_of_events(one: Any) -> Marks:
    if not isinstance(one, Delivery):
        return {}
    is_finished = one.state is not DeliveryState.PENDING
    return {"delivery": (one.began_at, one.attempts, is_finished)}


def _item_of_sequences(item: Item) -> Any:
    kinds = {"receipts": MonthNumbers, "tid": UniqueName, "mid": UniqueName, "asked": LastCall}
    kinds |= {"cards": WrongCards, "messages": Counter, "offline": NumberOfOfflineSale, "later": SendingRequest}
    kind, separator, _ = item["name"]["S"].partition("#")
    record = kinds.get(kind, LastId) if separator else LastId  # "cards" are IDs, "cards#…" wrong cards
    if record in {LastId, MonthNumbers} and "last" not in item:  # its default is for a missing record
        raise KeyError(*item)
    return decode(record, item)


def _marks_of_sequences(one: Any) -> Marks:
    if isinstance(one, MonthNumbers):
        return one.last
    names = ("last", "at", "wrong", "count")
    return {name: getattr(one, name) for name in names if hasattr(one, name) and not isinstance(one, Counter)}


def _sandbox_record(item: Item) -> Any:
    return decode(SandboxToken if "amount_minor" not in item else SandboxRecord, item)


def _read_as(record: type) -> Callable[[Item], Any]:
    return lambda item: decode(record, item)


def _all_but(*names: str) -> Callable[[Item], Mapping[str, Value]]:
    return lambda item: {name: value for name, value in item.items() if name not in names}


def _only(*names: str) -> Callable[[Item], Mapping[str, Value]]:
    return lambda item: {name: item.get(name, {}) for name in names}


def _version(one: Any) -> Marks:
    return {"version": one.version}


_OF_TRANSACTION = (
    "client_id",
    "taker",
    "input_type",
    "acquirer",
    "currency",
    "amount_minor",
    "created_at",
    "fingerprint",
    "tax_amounts",
    "gives_back",
)
_NOTHING = _only()

# In the order of restoring: the audit knows deletions, and agents know their merchants. The history is not among them:
# `recount` writes it from the transactions.
RULES: Mapping[str, Rule] = {
    audit.TABLE: Rule(_read_as(Audit), lambda _: {}, _all_but()),
    merchants.TABLE: Rule(_read_as(Merchant), _version, _all_but()),
    agents.TABLE: Rule(_read_as(Agent), _version, _all_but()),
    merchants.TERMINALS: Rule(_read_as(Terminal), _version, _all_but()),
    agents.LOGINS: Rule(_login_of, _marks_of_login, _only("agent_id", "client_id")),
    sessions.TABLE: Rule(
        _read_as(Session), lambda one: {"used": one.used_at, "ended": one.ended}, _only("agent_id", "opened_at")
    ),
    linked_cards.TABLE: Rule(
        _read_as(LinkedCard),
        lambda one: {"updated": one.updated_at, "count": one.transaction_count},
        _all_but("transaction_count"),
    ),
    drawers.TABLE: Rule(_read_as(Count), _version, _all_but("note")),  # an erasure replaces it
    price_lists.TABLE: Rule(_read_as(PriceList), _version, _all_but()),
    webhooks_store.TABLE: Rule(_read_as(Webhook), _version, _all_but(*webhooks_store.NOTED)),
    sequences.TABLE: Rule(_item_of_sequences, _marks_of_sequences, _NOTHING),
    SANDBOX: Rule(
        _sandbox_record,
        lambda one: {"reversed": getattr(one, "reversed_minor", 0)},
        _all_but("reversed_minor"),
    ),
    transactions.TABLE: Rule(_read_as(Transaction), _marks_of_transaction, _only(*_OF_TRANSACTION), lasts=True),
    events.TABLE: Rule(_item_of_events, _marks_of_events, _only("kind", "transaction_id", "webhook_id")),
    outbox.TABLE: Rule(
        _read_as(Outbox),
        lambda one: {"finished": bool(one.sent_at or one.given_up_at), "attempts": one.attempts},
        _only("kind", "client_id", "transaction_id"),
    ),
}
