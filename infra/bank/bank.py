"""The bank: it decodes a message, checks it, decides on it, writes the decision to its journal, and answers."""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from infra.bank import faults
from infra.bank.codec import Message, NotAMessageError, Value, decode
from infra.bank.faults import Cases, Fault, Hook, Step, Timing
from infra.bank.ledger import APPROVED, CARRIED_OUT, FORMAT, PARTIAL, Entry, Key, Ledger, digest, entry_of
from infra.bank.rules import REQUESTS, elements, problems_of

ANSWER_TO = {"0200": "0210", "0420": "0430", "0421": "0430", "0800": "0810"}
ECHOED: Mapping[str, tuple[int, ...]] = {
    "0210": (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49),
    "0430": (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49, 90, 95),
    "0810": (7, 11, 32, 70),
}
CVV2_MATCHED = "8701M"
AUTHENTICATION = bytes.fromhex("1122334455667788")  # a constant in place of a signature with the card's key
DECLINED_TEXT = "DECLINED"


def refusal(message: Message, code: str) -> Message:
    """Return an answer with the code and the readable fields of the request, and nothing else."""
    mti = ANSWER_TO[message.mti]
    echoed = {number: message.fields[number] for number in ECHOED[mti] if message.readable(number)}
    return Message(mti, {**echoed, 39: code})


def answer(message: Message, entry: Entry, now: datetime) -> Message:
    """Return the answer to a well-formed request, by the decision of the entry."""
    plain = refusal(message, entry.code)
    if plain.mti != "0210":
        return plain
    fields: dict[int, Value] = {**plain.fields, 15: f"{now:%m%d}"}
    if entry.code == PARTIAL:
        fields[4] = f"{entry.taken_minor:012}"
    if entry.code in CARRIED_OUT:
        fields |= {38: entry.approval, 63: entry.number}
    else:
        fields[44] = DECLINED_TEXT
    if "92" in (elements(message.text(48)) or {}):
        fields[48] = CVV2_MATCHED
    if 55 in message.fields:
        fields[55] = issuer_data(entry.code)
    return Message(plain.mti, fields)


def issuer_data(code: str) -> bytes:
    """Return field 55 of the answer to a chip: the code for the card (8A), and the issuer's authentication (91)."""
    text = code.encode()
    signed = AUTHENTICATION + text
    return b"\x8a" + bytes([len(text)]) + text + b"\x91" + bytes([len(signed)]) + signed


# A correct service never gets these answers: it knows its own books.
REFUSED = {
    "12": "it cannot be done with that purchase",
    "13": "the amount is above the remainder",
    "14": "the card is not that of the purchase",
    "25": "it names a purchase that is unknown",
    "30": "it is not the message of its original, or of the one it repeats",
    "94": "it was used before",
}


class Checker:
    """The received messages, carried out or dropped. Only one thread at a time may use it."""

    def __init__(self) -> None:
        self._by_stan: dict[Key, Entry] = {}
        self._requests: dict[str, Entry] = {}  # 0200s by RRN
        self._by_key: dict[Key, Entry] = {}  # 0200s by the key that an advice names

    def observe(self, message: Message, entry: Entry) -> list[str]:
        """List the problems of a well-formed message, given the earlier messages."""
        found = []
        earlier = self._by_stan.get(entry.day_key)
        if entry.kind == "advice":
            if earlier and earlier.content == entry.content and message.mti == "0420":
                found.append("an advice is sent again as 0421, not as 0420")
            found += self._against_original(entry)
        elif entry.rrn in self._requests:
            found.append("an 0200 with this RRN was sent before")
        if earlier and (entry.kind != "advice" or earlier.content != entry.content):
            found.append("another message had this STAN on this day, or it is a repeat that differs")
        self.recall(entry)
        return found

    def recall(self, entry: Entry) -> None:
        """Remember a message."""
        self._by_stan.setdefault(entry.day_key, entry)
        if entry.kind != "advice":
            self._requests.setdefault(entry.rrn, entry)
            self._by_key.setdefault(entry.key, entry)

    def _against_original(self, advice: Entry) -> list[str]:
        original = self._by_key.get(advice.original_key)
        if original is None:  # never sent or never received: the page allows both
            return []
        kept = ("rrn", "processing", "amount_minor", "currency", "local_time", "local_date", "institution")
        wrong = [name for name in kept if getattr(advice, name) != getattr(original, name)]
        return [f"its {', '.join(wrong)} is not that of its original"] if wrong else []


SECRET_BYTES = 32


class FolderInUseError(Exception):
    """Another bank has the folder."""


class Journal:
    """Lines that are written before the bank acts on them. Without a folder nothing is stored."""

    def __init__(self, folder: Path | None) -> None:
        self._file: Any = None
        self._lines: list[dict[str, Any]] = []
        self.secret = secrets.token_bytes(SECRET_BYTES)
        if folder:
            self._open(folder)

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the lines that an earlier bank wrote. A second call yields none."""
        yield from self._lines
        self._lines = []

    def write(self, line: dict[str, Any]) -> None:
        """Hand a line to the operating system, so that it survives the end of this process."""
        if self._file:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()

    def close(self) -> None:
        """Close the folder, for another bank."""
        if self._file:
            self._file.close()
            self._file = None

    def _open(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = open(folder / "journal.jsonl", "ab+", opener=partial(os.open, mode=0o600))  # noqa: SIM115  Path.open has no opener
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            message = f"{folder} is in use by another bank. End it, or take another folder."
            raise FolderInUseError(message) from None
        self.secret = self._kept_secret(folder / "secret")
        self._file.seek(0)
        content = self._file.read()
        kept, _, _unfinished = content.rpartition(
            b"\n"
        )  # a bank that was killed while writing a line did not act on it
        self._file.truncate(len(kept) + 1 if kept else 0)
        self._lines = [json.loads(line) for line in kept.split(b"\n") if line]

    def _kept_secret(self, path: Path) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            if len(secret := path.read_bytes()) == SECRET_BYTES:
                return secret
        path.touch(mode=0o600)
        path.write_bytes(self.secret)
        return self.secret


MOST_VIOLATIONS = 10_000


@dataclass(frozen=True)
class Reply:
    """The bytes to send on the connection, and whether to close it then."""

    steps: Sequence[Step] = ()
    closes: bool = False


HANG_UP = Reply(closes=True)


class Bank:
    """A host. Several threads may call `reply`. The first fault of the `hooks` applies."""

    def __init__(
        self,
        folder: Path | None = None,
        timing: Timing | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.timing = timing or Timing()
        self.clock = clock
        self.hooks: list[Hook] = []
        self.lock = threading.RLock()
        self._journal = Journal(folder)
        self.forget()
        for line in self._journal.read():
            if "violation" in line:
                self.violations.append(line["violation"])
            else:
                entry = Entry(**line)
                self.ledger.take(entry)
                self._checker.recall(entry)

    def forget(self) -> None:
        """Begin again without any message of before. What is in the folder stays."""
        with self.lock:
            self.violations: list[str] = []
            self.ledger = Ledger()
            self._checker = Checker()
            self._outage_until: datetime | None = None
            self._cases = Cases(self.timing, self._journal.secret)

    def close(self) -> None:
        """Release the folder for another bank."""
        self._journal.close()

    def reply(self, content: bytes) -> Reply:
        """Carry out the message of these bytes, and return the reply."""
        now = self.clock()
        with self.lock:
            if self._outage_until and now < self._outage_until:
                return HANG_UP
        try:
            message = decode(content)
        except NotAMessageError as reason:
            return self.hang_up(f"bytes that are no message: {reason.wrong}")
        if message.mti not in REQUESTS:
            return self.hang_up("an MTI that the page does not have")
        hooked = next((fault for hook in self.hooks if (fault := hook(message))), None)
        problems = problems_of(message, now)
        for problem in problems:
            self._complain(message, problem)
        if problems:
            return _sent(refusal(message, FORMAT), hooked)
        if message.mti == "0800":
            return _sent(refusal(message, APPROVED), hooked)
        return self._rule(message, hooked, now)

    def hang_up(self, violation: str) -> Reply:
        """Record a violation that has no answer, and close the connection."""
        self._record(violation)
        return HANG_UP

    def held(self, pan: str, currency: str = "710") -> int:
        """Return the amount held of a card, in minor units."""
        with self.lock:
            return self.ledger.held().get((digest(pan, self._journal.secret), currency), 0)

    def _rule(self, message: Message, hooked: Fault | None, now: datetime) -> Reply:
        with self.lock:
            entry = entry_of(message, now, self._journal.secret)
            for problem in self._checker.observe(message, entry):
                self._complain(message, problem)
            if hooked is None and self._cases.begins_outage(message):
                self._outage_until = now + timedelta(seconds=self.timing.outage)
                return HANG_UP
            fault = hooked or self._cases.fault_of(message)
            if fault and not fault.is_carried_out:
                return _sent(refusal(message, fault.code or FORMAT), fault)
            ruled = self.ledger.repeated(entry) or self._decide(message, entry, fault)
        goes_wrong = hooked or entry.kind == "advice" or ruled.code in CARRIED_OUT
        return _sent(answer(message, ruled, now), fault if goes_wrong else None)

    def _decide(self, message: Message, entry: Entry, fault: Fault | None) -> Entry:
        """Decide on a message that is not a repeat, write the decision to the journal, then carry it out."""
        is_advice = entry.kind == "advice"
        refused = self.ledger.rule_on_advice(entry) if is_advice else self.ledger.refusal(entry)
        if refused in REFUSED:
            self._complain(message, REFUSED[refused])
        ruled = replace(entry, code=refused) if refused else self._approve(entry, fault)
        self._journal.write(ruled.document())
        self.ledger.take(ruled)
        return ruled

    def _approve(self, entry: Entry, fault: Fault | None) -> Entry:
        """Return the entry with the code of its card and cents. An approved one gets an approval code and a number."""
        code = (fault and fault.code) or self._cases.code_of(entry)
        if code not in CARRIED_OUT:
            return replace(entry, code=code)
        taken_minor = entry.amount_minor // 2 if code == PARTIAL else entry.amount_minor
        approval = f"{int(hashlib.sha256(entry.rrn.encode()).hexdigest(), 16) % 1_000_000:06}"
        number = f"HOST{self.ledger.approvals + 1:012}"
        return replace(entry, code=code, taken_minor=taken_minor, approval=approval, number=number)

    def _complain(self, message: Message, problem: str) -> None:
        self._record(f"{message.mti} {message.text(37) or '-'}: {problem}")

    def _record(self, violation: str) -> None:
        with self.lock:
            if len(self.violations) < MOST_VIOLATIONS:
                self._journal.write({"violation": violation})
                self.violations.append(violation)


def _sent(answer: Message, fault: Fault | None) -> Reply:
    return Reply(fault.script(answer), fault.closes) if fault else Reply([faults.whole(answer)])
