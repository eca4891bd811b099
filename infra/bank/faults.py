"""Faults of the bank: the cases of the interface's test host, by amount and card, and those that a test injects."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from infra.bank.codec import Message, Value, encode, framed
from infra.bank.ledger import APPROVED, PARTIAL, SIGNATURE, Entry, digest
from infra.bank.rules import PURCHASE

Step = bytes | float  # bytes to send, seconds to wait
Script = Callable[[Message], Sequence[Step]]


@dataclass(frozen=True)
class Timing:
    """The pauses of the bank, in seconds. Tests shorten them."""

    silence: float = 20
    late: float = 25
    segment: float = 1.5
    outage: float = 45
    idle: float = 60
    handshake: float = 10


def whole(answer: Message) -> bytes:
    """Return the frame of an answer."""
    return framed(encode(answer.mti, answer.fields))


@dataclass(frozen=True)
class Fault:
    """The bank's treatment of one message. The defaults mean: nothing goes wrong.

    With a `code` the bank answers it and carries out nothing; `10` of a purchase carries out half.
    """

    name: str
    script: Script = lambda answer: [whole(answer)]  # the bytes and pauses to send, given the right answer
    carries_out: bool = True
    code: str | None = None
    closes: bool = False  # the connection, after the script

    @property
    def is_carried_out(self) -> bool:
        """Return whether the bank carries out the message, all or half of it."""
        return self.carries_out and self.code in {None, PARTIAL}


Hook = Callable[[Message], Fault | None]  # it may wait: the bank acts on the message afterwards


def lost(*, carries_out: bool = True) -> Fault:
    """Return the fault of a connection that is closed without an answer."""
    return Fault("lost", lambda _: [], carries_out=carries_out, closes=True)


def silent(seconds: float, *, carries_out: bool = True) -> Fault:
    """Return the fault of an answer that never comes on a connection that stays open."""
    return Fault("silent", lambda _: [seconds], carries_out=carries_out, closes=True)


def late(seconds: float) -> Fault:
    """Return the fault of a right answer that comes after so many seconds."""
    return Fault("late", lambda answer: [seconds, whole(answer)])


def refused(code: str) -> Fault:
    """Return the fault of a refusal with this code (`10` of a purchase carries out half)."""
    return Fault(f"refused {code}", code=code)


def garbage() -> Fault:
    """Return the fault of bytes that do not decode, in a right frame."""
    return Fault("garbage", lambda _: [framed(b"\xff\x00" * 30)])


def changed(**fields: Callable[[str], str]) -> Fault:
    """Return the fault of other values in the answer: `changed(f37=str.lower)`."""
    by_number = {int(name.removeprefix("f")): change for name, change in fields.items()}

    def script(answer: Message) -> Sequence[Step]:
        values: dict[int, Value] = {n: change(answer.text(n)) for n, change in by_number.items() if answer.text(n)}
        return [whole(replace(answer, fields={**answer.fields, **values}))]

    return Fault("changed", script)


def another_rrn() -> Fault:
    """Return the fault of an answer that belongs to another payment."""
    return changed(f37=lambda rrn: rrn[1:] + ("A" if rrn[0] != "A" else "B"))


def another_stan() -> Fault:
    """Return the fault of an answer to another message."""
    return changed(f11=lambda stan: f"{int(stan) % 999_999 + 1:06}")


def segments(seconds: float) -> Fault:
    """Return the fault of an answer in two segments, which a right client does not notice."""
    return Fault("segments", lambda answer: [whole(answer)[:21], seconds, whole(answer)[21:]])


def twice() -> Fault:
    """Return the fault of an answer that is sent twice."""
    return Fault("twice", lambda answer: [whole(answer) * 2])


def half() -> Fault:
    """Return the fault of half an answer, and the end of the connection."""
    return Fault("half", lambda answer: [whole(answer)[: len(whole(answer)) // 2]], closes=True)


def wrong_header(seconds: float) -> Fault:
    """Return the fault of a length header that is 200 too high, and then silence."""

    def script(answer: Message) -> Sequence[Step]:
        frame = whole(answer)
        return [(int.from_bytes(frame[:2], "big") + 200).to_bytes(2, "big") + frame[2:], seconds]

    return Fault("wrong header", script, closes=True)


def times(count: int, fault: Fault, mti: str = "", **fields: str) -> Hook:
    """Return a hook that applies the fault to the first `count` messages of the MTI with these fields: `f37=rrn`."""
    wanted = {int(name.removeprefix("f")): value for name, value in fields.items()}
    lock, left = threading.Lock(), [count]

    def hook(message: Message) -> Fault | None:
        if not message.mti.startswith(mti) or any(message.text(n) != value for n, value in wanted.items()):
            return None
        with lock:
            left[0] -= 1
            return fault if left[0] >= 0 else None

    return hook


# The same numbers as in the service's sandbox.
CARDS: Mapping[str, str] = {
    "4000000000000002": "05",
    "4000000000009995": "51",
    "4000000000000069": "54",
    "4000000000000127": "82",
    "4000000000000119": "96",
    "4000000000009987": "41",
    "4000000000009979": "43",
    "4100000000000019": "59",
    "4000000000006975": "61",
    "4000000000000341": "05",
}
DECLINES: Mapping[int, str] = {cents: f"{cents:02}" for cents in (5, 14, 51, 54, 82, 91, 96)} | {
    65: "65",
    66: "70",
    81: "N7",
}
OF_PURCHASES: Mapping[int, str] = {8: SIGNATURE, 70: PARTIAL}
NOT_CARRIED_OUT = 69
ANSWERS_LOST_MINOR, LOST_ANSWERS = 6200, 3
OUTAGE_MINOR = 6300


class Cases:
    """The behaviour of the test host, by amount and card. `secret` is the key of the card digests."""

    def __init__(self, timing: Timing, secret: bytes) -> None:
        self._cards = {digest(pan, secret): code for pan, code in CARDS.items()}
        self._lost: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._faults = {
            67: lost(),
            68: silent(timing.silence),
            NOT_CARRIED_OUT: lost(carries_out=False),
            71: late(timing.late),
            72: garbage(),
            73: another_rrn(),
            74: segments(timing.segment),
            75: twice(),
            76: another_stan(),
            77: half(),
            78: wrong_header(timing.silence),
            79: changed(f4=lambda amount: f"{int(amount) - 1:012}"),
        }

    def code_of(self, entry: Entry) -> str:
        """Return the code of a purchase or refund that the rules allow."""
        cents = entry.amount_minor % 100
        if entry.kind == "purchase":
            return self._cards.get(entry.card) or OF_PURCHASES.get(cents) or DECLINES.get(cents, APPROVED)
        return DECLINES.get(cents, APPROVED)

    def fault_of(self, message: Message) -> Fault | None:
        """Return the fault of a well-formed request, by its amount; the cents of an advice have no fault."""
        amount_minor = int(message.text(4) or 0)
        if amount_minor == ANSWERS_LOST_MINOR and message.text(3) == PURCHASE and self._loses(message.text(37)):
            return lost()
        return self._faults.get(amount_minor % 100) if message.mti == "0200" else None

    def begins_outage(self, message: Message) -> bool:
        """Return whether the outage begins with this message."""
        return message.mti == "0200" and message.text(3) == PURCHASE and int(message.text(4)) == OUTAGE_MINOR

    def _loses(self, rrn: str) -> bool:
        with self._lock:
            self._lost[rrn] += 1
            return self._lost[rrn] <= LOST_ANSWERS
