"""Faults, which one message may meet: the bank's behaviour in the cases of section 9, and whatever a test injects."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from infra.bank.codec import Message, Value, encode, framed
from infra.bank.entries import PARTIAL

Step = bytes | float  # bytes to send, seconds to wait
Script = Callable[[Message], Sequence[Step]]


@dataclass(frozen=True)
class Timing:
    """The times the bank takes, in seconds. Tests shorten them."""

    silence: float = 20
    late: float = 25
    segment: float = 1.5
    outage: float = 45
    idle: float = 60
    handshake: float = 10


def whole(answer: Message) -> bytes:
    """Return the frame of an answer."""
    return framed(encode(answer.mti, answer.fields))


def _rightly(answer: Message) -> Sequence[Step]:
    return [whole(answer)]


@dataclass(frozen=True)
class Fault:
    """The bank's treatment of one message. Unless it says otherwise, all is right.

    `code` is answered and nothing carried out, whatever the bank would have ruled; `10` of a purchase carries out half.
    """

    name: str
    script: Script = _rightly  # what is sent, given the right answer
    carries_out: bool = True
    code: str | None = None
    closes: bool = False  # the connection, after the script

    @property
    def is_carried_out(self) -> bool:
        """Return whether the bank does what the message says, all or half of it."""
        return self.carries_out and self.code in {None, PARTIAL}


Hook = Callable[[Message], Fault | None]  # it may wait: the bank has the whole message, and acts on it later


def lost(*, carries_out: bool = True) -> Fault:
    """Return the fault of a connection that is closed without an answer."""
    return Fault("lost", lambda _: [], carries_out=carries_out, closes=True)


def silent(seconds: float, *, carries_out: bool = True) -> Fault:
    """Return the fault of an answer that never comes on a connection that stays open."""
    return Fault("silent", lambda _: [seconds], carries_out=carries_out, closes=True)


def late(seconds: float) -> Fault:
    """Return the fault of a right answer after so many seconds."""
    return Fault("late", lambda answer: [seconds, whole(answer)])


def refused(code: str) -> Fault:
    """Return the fault of a code, with nothing carried out (`10` of a purchase: half of it)."""
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


def one_less() -> Fault:
    """Return the fault of an answer with the amount one less."""
    return changed(f4=lambda amount: f"{int(amount) - 1:012}")


def segments(seconds: float) -> Fault:
    """Return the fault, which is none, of an answer that comes in two segments."""
    return Fault("segments", lambda answer: [whole(answer)[:21], seconds, whole(answer)[21:]])


def dripping(seconds: float) -> Fault:
    """Return the fault of an answer of which a byte comes each so many seconds."""
    return Fault("dripping", lambda answer: [step for byte in whole(answer) for step in (seconds, bytes([byte]))])


def twice() -> Fault:
    """Return the fault of an answer that is sent twice."""
    return Fault("twice", lambda answer: [whole(answer) * 2])


def half() -> Fault:
    """Return the fault of half an answer, and the end of the connection."""
    return Fault("half", lambda answer: [whole(answer)[: len(whole(answer)) // 2]], closes=True)


def wrong_header(seconds: float) -> Fault:
    """Return the fault of a length header that is 200 too many, and then silence."""

    def script(answer: Message) -> Sequence[Step]:
        frame = whole(answer)
        return [(int.from_bytes(frame[:2], "big") + 200).to_bytes(2, "big") + frame[2:], seconds]

    return Fault("wrong header", script, closes=True)


def times(count: int, fault: Fault, mti: str = "", **fields: str) -> Hook:
    """Return a hook that does this to the first `count` messages of the MTI with these fields: `f37=rrn`."""
    wanted = {int(name.removeprefix("f")): value for name, value in fields.items()}
    lock, left = threading.Lock(), [count]

    def hook(message: Message) -> Fault | None:
        if not message.mti.startswith(mti) or any(message.text(n) != value for n, value in wanted.items()):
            return None
        with lock:
            left[0] -= 1
            return fault if left[0] >= 0 else None

    return hook
