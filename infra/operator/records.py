"""The stored records: how the items of each table are read, whose they are, and how they differ from their copies."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum

from chalicelib.domain import outbox as messages
from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.card import LinkedCard
from chalicelib.domain.deliveries import Delivery
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
from chalicelib.gateways.acquirers import sandbox
from chalicelib.record import Record
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
from chalicelib.store.table import (
    MALFORMED,
    VERSION,
    Item,
    UnreadableError,
    Value,
    attributes_of_class,
    decode,
    encode,
    malformed,
    read,
)
from chalicelib.store.unique_names import NumberOfOfflineSale, UniqueName
from chalicelib.store.wrong_cards import WrongCards

LEAP, LEAP_OF_STANS = 1000, 10_000  # numbers that may have been given since the copy, and must not be given again
STAN = "stan#"
TTL = "expires_at"
UNREADABLE = (UnreadableError, *MALFORMED)
SEQUENCES: Mapping[str, type] = {
    "receipts": MonthNumbers,
    "tid": UniqueName,
    "mid": UniqueName,
    "asked": LastCall,
    "cards": WrongCards,
    "messages": Counter,
    "offline": NumberOfOfflineSale,
    "later": SendingRequest,
}


def _class_of_sequence(item: Item) -> type:
    kind, separator, _ = item["name"]["S"].partition("#")
    return SEQUENCES.get(kind, LastId) if separator else LastId  # "cards" are IDs, "cards#…" wrong cards


def _class_of_login(item: Item) -> type:
    return FailedAttempts if item["email"]["S"].startswith(password_lock.UNKNOWN) else Login


# The class of an item in each table, in the order of restoring: the audit knows deletions, and agents their merchants.
# The history is not among them: `recount` writes it from the transactions.
CLASSES: Mapping[str, Callable[[Item], type]] = {
    audit.TABLE: lambda _: Audit,
    merchants.TABLE: lambda _: Merchant,
    agents.TABLE: lambda _: Agent,
    merchants.TERMINALS: lambda _: Terminal,
    agents.LOGINS: _class_of_login,
    sessions.TABLE: lambda _: Session,
    linked_cards.TABLE: lambda _: LinkedCard,
    drawers.TABLE: lambda _: Count,
    price_lists.TABLE: lambda _: PriceList,
    webhooks_store.TABLE: lambda _: Webhook,
    sequences.TABLE: _class_of_sequence,
    sandbox.TABLE: lambda item: sandbox.SandboxRecord if "amount_minor" in item else sandbox.SandboxToken,
    transactions.TABLE: lambda _: Transaction,
    events.TABLE: lambda item: Event if "kind" in item else Delivery,
    outbox.TABLE: lambda _: Outbox,
}


def wrong_attributes(table: str, item: Item) -> list[str]:
    """Return the names of the attributes that make an item unreadable; none of a readable one."""
    if table == events.TABLE and "cursor" in item["place"]["S"]:  # of an earlier release: nothing reads it
        return []
    record = CLASSES[table](item)
    wrong = malformed(record, item)
    if "last" in attributes_of_class(record) and "last" not in item:  # its default is for a missing record
        wrong.append("last")
    return wrong if version_of(item) is not None else [*wrong, VERSION]


def is_readable(table: str, item: Item) -> bool:
    """Return whether the store can read an item."""
    return not wrong_attributes(table, item)


def version_of(item: Item) -> int | None:
    """Return the version of an item, None for a value that cannot be one."""
    text = item.get(VERSION, {"N": "0"}).get("N", "")
    return int(text) if text.isdecimal() else None


class State(StrEnum):
    """How an item differs from its copy, in the words of the output."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    ALTERED = "altered"
    OLDER = "older than the copy"
    NEWER = "newer than the copy, stays"
    DELETED = "deleted since, stays"
    NO_COPY = "unreadable, also in the copy"


GETS_THE_COPY = frozenset({State.MISSING, State.UNREADABLE, State.ALTERED, State.OLDER})


class Difference(Record):
    """An item that differs from its copy, and the names of the attributes that do."""

    copied: Item
    present: Item | None
    state: State
    names: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Return whether nothing was written since the copy: the item still has its version."""
        return self.present is not None and 0 < (version_of(self.copied) or 0) == version_of(self.present)


def difference(table: str, copied: Item, present: Item | None, at: datetime) -> Difference | None:
    """Return how an item differs from its copy of the time `at`; None if it does not.

    The rule is the same for every table. An item whose version is above its copy's was written since and stays. Any
    other one gets the whole copy.
    """
    names = differing(copied, present or {})
    if not names:
        return None
    if wrong := wrong_attributes(table, copied):
        is_sound = present is not None and not wrong_attributes(table, present)
        return None if is_sound else Difference(copied, present, State.NO_COPY, tuple(wrong))
    if is_deleted_since(table, copied, at):
        return Difference(copied, present, State.NEWER if present else State.DELETED, ())
    if present is None:
        return Difference(copied, None, State.MISSING, ())
    if wrong := wrong_attributes(table, present):
        return Difference(copied, present, State.UNREADABLE, tuple(wrong))
    return Difference(copied, present, _state(table, copied, present, names), tuple(names))


def _state(table: str, copied: Item, present: Item, names: list[str]) -> State:
    """Return the state of a readable item. One with nothing but another version was not written: its version was.

    A login is different: each change of its agent writes it, usually with the values that it had.
    """
    newer_by = (version_of(present) or 0) - (version_of(copied) or 0)
    if newer_by == 0 or (names == [VERSION] and table != agents.LOGINS):
        return State.ALTERED
    return State.NEWER if newer_by > 0 else State.OLDER


def differing(one: Item, other: Item) -> list[str]:
    """Return the names of the attributes in which two items differ. A set has no order."""
    return sorted(name for name in one.keys() | other.keys() if _plain(one.get(name)) != _plain(other.get(name)))


def _plain(value: Value | None) -> Value | None:
    return {"SS": sorted(value["SS"])} if value and "SS" in value else value


def to_write(table: str, found: Difference, at: datetime, now: datetime) -> Item:
    """Return the item that is written for a copy of the time `at`: the copy, if nothing can have been written since.

    Otherwise nothing is sent twice, and no number given twice. A changed copy has the next version, so it stays.

    - A message that was due since may have been sent: it is given up. One that waits for a later attempt stays.
    - An unfinished payment or reversal is resolved by the sweep, without event and receipt: both may have been sent.
    - A sequence leaps over the numbers that may have been given since. Receipt numbers do not: `receipt_counters`.
    """
    copied, changed = found.copied, dict(found.copied)
    if found.is_exact:
        return copied
    if table == outbox.TABLE and "due_at" in copied:
        entry = decode(Outbox, copied)
        if entry.due_at and entry.due_at <= max(now, at + messages.HELD_FOR):
            changed = encode(messages.given_up(entry, now))
    elif table == transactions.TABLE and TRANSITIONS[Phase(copied["phase"]["S"])]:
        changed = {name: value for name, value in copied.items() if name not in {"makes_events", "receipt"}}
    elif table == sequences.TABLE and "N" in copied.get("last", {}):
        leap = LEAP_OF_STANS if copied["name"]["S"].startswith(STAN) else LEAP
        changed["last"] = {"N": str(int(copied["last"]["N"]) + leap)}
    return copied if changed == copied else changed | {VERSION: {"N": str((version_of(copied) or 0) + 1)}}


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
    """Return whether the audit says that an item was deleted after its copy: a webhook, or a login."""
    return _answer(lambda: _is_deleted_since(table, copied, at))


def _is_deleted_since(table: str, copied: Item, at: datetime) -> bool:
    since = at.isoformat(timespec="microseconds")
    if table == webhooks_store.TABLE:
        return any(one.kind == "delete" and one.at > since for one in audit.of(f"webhook#{copied['id']['N']}"))
    if table == agents.LOGINS and "agent_id" in copied:
        changes = (one for one in audit.of(f"agent#{copied['agent_id']['N']}") if one.kind != "create")
        return any((one.kind == "delete" or "email" in one.fields) and one.at > since for one in changes)
    return False
