"""The bank's ledger: one entry for each message, and the decisions by sections 4 and 5 of the interface.

An entry has all that repeats and the books need. Of a card it has only a digest.
"""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from infra.bank.codec import Message
from infra.bank.rules import ORIGINAL, PURCHASE, REPLACEMENT, kind_of

APPROVED, SIGNATURE, PARTIAL = "00", "08", "10"
IN_FULL = frozenset({APPROVED, SIGNATURE})
CARRIED_OUT = frozenset({APPROVED, SIGNATURE, PARTIAL})

Key = tuple[str, str, str, str]  # 42, 41, STAN, and the time or the day of field 7


@dataclass(frozen=True)
class Entry:
    """One message, with the decision of the bank."""

    at: str  # time of receipt, UTC, ISO 8601
    kind: str  # purchase, refund, advice
    code: str  # 39
    processing: str
    amount_minor: int
    time: str  # field 7
    stan: str
    local_time: str
    local_date: str
    institution: str
    rrn: str
    tid: str
    mid: str
    currency: str
    taken_minor: int = 0  # the moved amount: less than the requested amount if field 39 is 10
    approval: str = ""
    number: str = ""  # field 63
    card: str = ""  # a keyed digest
    original_stan: str = ""
    original_time: str = ""
    remains_minor: int | None = None  # field 95
    content: str = ""  # of an advice, a digest of all but its MTI

    @property
    def key(self) -> Key:
        """Return the fields by which an advice or a refund names this entry."""
        return (self.mid, self.tid, self.stan, self.time)

    @property
    def day_key(self) -> Key:
        """Return the fields that no other message may have on this day."""
        return (self.mid, self.tid, self.stan, self.time[:4])

    @property
    def original_key(self) -> Key:
        """Return the key of the entry that a refund or an advice is for."""
        return (self.mid, self.tid, self.original_stan, self.original_time)

    @property
    def received(self) -> datetime:
        """Return the time of receipt."""
        return datetime.fromisoformat(self.at)

    def document(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return asdict(self)


def entry_of(message: Message, now: datetime, secret: bytes) -> Entry:
    """Return the entry of a well-formed 0200, 0420 or 0421, without a decision."""
    original = ORIGINAL.fullmatch(message.text(90))
    replacement = REPLACEMENT.fullmatch(message.text(95))
    kind = kind_of(message)
    return Entry(
        at=now.isoformat(),
        kind=kind,
        code="",
        processing=message.text(3),
        amount_minor=int(message.text(4)),
        time=message.text(7),
        stan=message.text(11),
        local_time=message.text(12),
        local_date=message.text(13),
        institution=message.text(32),
        rrn=message.text(37),
        tid=message.text(41),
        mid=message.text(42),
        currency=message.text(49),
        card=digest(message.text(2), secret) if 2 in message.fields else "",
        original_stan=original["stan"] if original else "",
        original_time=original["time"] if original else "",
        remains_minor=int(replacement["remains"]) if replacement else None,
        content=_content(message) if kind == "advice" else "",
    )


def digest(pan: str, secret: bytes) -> str:
    """Return the digest that stands for a card. Without the bank's secret nobody can find the number from it."""
    return hmac.new(secret, pan.encode(), hashlib.sha256).hexdigest()[:16]


def _content(message: Message) -> str:
    return hashlib.sha256(repr(sorted(message.fields.items())).encode()).hexdigest()[:32]


REFUNDED_FOR, ADVISED_FOR = timedelta(days=365), timedelta(days=30)
RRN_KEPT_FOR = timedelta(days=400)
STAN_KEPT_FOR = timedelta(days=300)  # field 7 has no year

INVALID, TOO_MUCH, OTHER_CARD, NO_ORIGINAL, FORMAT, TOO_LATE, USED = "12", "13", "14", "25", "30", "68", "94"


@dataclass
class Account:
    """A purchase or refund: the received `entry`, and its present state."""

    entry: Entry
    left_minor: int  # of a purchase the amount after advices, of a refund the amount given back
    refunded_minor: int = 0
    is_reversed: bool = False

    @property
    def held_minor(self) -> int:
        """Return the part of a purchase that its card still holds."""
        return self.left_minor - self.refunded_minor


class Ledger:
    """The received purchases, refunds and advices. Only one thread at a time may use it: `Bank` has the lock."""

    def __init__(self) -> None:
        self.accounts: dict[Key, Account] = {}
        self.advices: dict[Key, Entry] = {}
        self.remembered: dict[Key, Entry] = {}  # reversals that came before their originals
        self._stans: dict[Key, Entry] = {}
        self._rrns: dict[str, Entry] = {}
        self.approvals = 0

    def refusal(self, entry: Entry) -> str | None:
        """Return the code that refuses an 0200, or None if the rules allow it."""
        if self.uses(entry):
            return USED
        if entry.key in self.remembered:
            return TOO_LATE
        return None if entry.kind == "purchase" else self._refuse_refund(entry)

    def rule_on_advice(self, entry: Entry) -> str:
        """Return the code of an advice that is not a repeat."""
        if self.uses(entry):
            return USED if entry.day_key not in self.advices else FORMAT  # a repeat with other content
        account = self.accounts.get(entry.original_key)
        original = account.entry if account else self.remembered.get(entry.original_key)
        is_part_of_refund = entry.processing != PURCHASE and entry.remains_minor is not None
        if is_part_of_refund or (original and _names_another(entry, original)):
            return FORMAT
        if account is None or account.is_reversed or account.entry.code not in CARRIED_OUT:
            return APPROVED
        if entry.received - account.entry.received > ADVISED_FOR or account.refunded_minor:
            return INVALID
        is_above = entry.remains_minor is not None and entry.remains_minor > account.left_minor
        return TOO_MUCH if is_above else APPROVED

    def repeated(self, entry: Entry) -> Entry | None:
        """Return the decision on the advice that this one repeats: everything but the MTI is the same."""
        earlier = self.advices.get(entry.day_key)
        return earlier if earlier and earlier.content == entry.content else None

    def uses(self, entry: Entry) -> list[str]:
        """List the parts of the entry's identity that were used before: its STAN, its RRN."""
        found = []
        stan, rrn = self._stans.get(entry.day_key), self._rrns.get(entry.rrn)
        if stan and entry.received - stan.received < STAN_KEPT_FOR:
            found.append("STAN")
        if entry.kind != "advice" and rrn and entry.received - rrn.received < RRN_KEPT_FOR:
            found.append("RRN")
        return found

    def take(self, entry: Entry) -> None:
        """Carry out the decision on an entry. Its repeats are recognized from now on."""
        if entry.kind == "advice":
            self._take_advice(entry)
            return
        if entry.code == USED:
            return
        self._stans[entry.day_key] = entry
        self._rrns[entry.rrn] = entry
        self.accounts[entry.key] = Account(entry, entry.taken_minor)
        self.approvals += entry.code in CARRIED_OUT
        if entry.kind == "refund" and entry.code in CARRIED_OUT:
            self.accounts[entry.original_key].refunded_minor += entry.taken_minor

    def held(self) -> dict[tuple[str, str], int]:
        """Return the amount held of each card (its digest) in each currency, in minor units."""
        books: dict[tuple[str, str], int] = defaultdict(int)
        for account in self.accounts.values():
            if account.entry.kind == "purchase" and account.entry.code in CARRIED_OUT:
                books[account.entry.card, account.entry.currency] += account.held_minor
        return dict(books)

    def standing(self) -> Iterable[Account]:
        """List the purchases and refunds that were carried out and not reversed, in order of receipt."""
        for account in self.accounts.values():
            if account.entry.code in CARRIED_OUT and not account.is_reversed:
                yield account

    def _refuse_refund(self, entry: Entry) -> str | None:
        account = self.accounts.get(entry.original_key)
        if account is None or account.entry.kind != "purchase":
            return NO_ORIGINAL
        purchase = account.entry
        if entry.received - purchase.received > REFUNDED_FOR:
            return NO_ORIGINAL
        if purchase.code not in IN_FULL or account.is_reversed or entry.currency != purchase.currency:
            return INVALID
        if entry.amount_minor > account.held_minor:
            return TOO_MUCH
        return OTHER_CARD if entry.card and entry.card != purchase.card else None

    def _take_advice(self, entry: Entry) -> None:
        if entry.day_key in self._stans:
            return
        self._stans[entry.day_key] = self.advices[entry.day_key] = entry
        account = self.accounts.get(entry.original_key)
        if entry.code != APPROVED:
            return
        if account is None:
            self.remembered.setdefault(entry.original_key, entry)
        elif account.entry.code in CARRIED_OUT and not account.is_reversed:
            if account.entry.kind == "refund":
                self.accounts[account.entry.original_key].refunded_minor -= account.left_minor
            account.left_minor = entry.remains_minor or 0
            account.is_reversed = not account.left_minor


def _names_another(advice: Entry, original: Entry) -> bool:
    """Return whether field 37, 3, 4 or 49 differs from the original, or from the first advice without one."""
    return (advice.rrn, advice.processing, advice.amount_minor, advice.currency) != (
        original.rrn,
        original.processing,
        original.amount_minor,
        original.currency,
    )
