"""The bank's entry of a message: enough to answer a repeat and to keep books, and nothing of a card but a digest."""

import hashlib
import hmac
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from infra.bank.codec import Message
from infra.bank.rules import ORIGINAL, REPLACEMENT, kind_of

APPROVED, SIGNATURE, PARTIAL = "00", "08", "10"
IN_FULL = frozenset({APPROVED, SIGNATURE})
CARRIED_OUT = frozenset({APPROVED, SIGNATURE, PARTIAL})

Key = tuple[str, str, str, str]  # 42, 41, STAN, and the time or the day of field 7


@dataclass(frozen=True)
class Entry:
    """One message that the bank has ruled on."""

    at: str  # when it came, UTC, ISO 8601
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
    taken_minor: int = 0  # what a purchase or refund moved: less than its amount with 39 = 10
    approval: str = ""
    number: str = ""  # field 63
    card: str = ""  # a keyed digest
    original_stan: str = ""
    original_time: str = ""
    remains_minor: int | None = None  # field 95
    content: str = ""  # of an advice, a digest of all but its MTI

    @property
    def key(self) -> Key:
        """Return the facts by which an advice or a refund names it."""
        return (self.mid, self.tid, self.stan, self.time)

    @property
    def day_key(self) -> Key:
        """Return the facts that nothing else may have on this day."""
        return (self.mid, self.tid, self.stan, self.time[:4])

    @property
    def original_key(self) -> Key:
        """Return the key of the entry that a refund or an advice is for."""
        return (self.mid, self.tid, self.original_stan, self.original_time)

    @property
    def received(self) -> datetime:
        """Return the instant at which it came."""
        return datetime.fromisoformat(self.at)

    def document(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return asdict(self)


def entry_of(message: Message, now: datetime, secret: bytes) -> Entry:
    """Return the entry of a well-formed 0200, 0420 or 0421 that nobody has ruled on yet."""
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
    """Return what the bank knows a card by: nobody without the bank's secret can find the number from it."""
    return hmac.new(secret, pan.encode(), hashlib.sha256).hexdigest()[:16]


def _content(message: Message) -> str:
    return hashlib.sha256(repr(sorted(message.fields.items())).encode()).hexdigest()[:32]
