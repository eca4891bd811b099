"""The bank: it reads a message, rules on it, keeps it, and says what is sent back."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from infra.bank import answers, faults
from infra.bank.cases import Cases
from infra.bank.checker import REFUSED, Checker
from infra.bank.codec import Message, NotAMessageError, decode
from infra.bank.entries import APPROVED, CARRIED_OUT, PARTIAL, Entry, digest, entry_of
from infra.bank.faults import Fault, Hook, Step, Timing
from infra.bank.journal import Journal
from infra.bank.ledger import FORMAT, Ledger
from infra.bank.rules import REQUESTS, problems_of

MOST_VIOLATIONS = 10_000


@dataclass(frozen=True)
class Reply:
    """The bytes that are sent on the connection, and whether it is closed then."""

    steps: Sequence[Step] = ()
    closes: bool = False


HANG_UP = Reply(closes=True)


class Bank:
    """A host. Threads call `reply` at once; `hooks` are asked, the first first, what goes wrong with a message."""

    def __init__(
        self,
        folder: Path | None = None,
        timing: Timing | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.timing = timing or Timing()
        self.clock = clock
        self.hooks: list[Hook] = []
        self.violations: list[str] = []
        self.ledger = Ledger()
        self.lock = threading.RLock()
        self._checker = Checker()
        self._outage_until: datetime | None = None
        self._journal = Journal(folder)
        self._cases = Cases(self.timing, self._journal.secret)
        for line in self._journal.read():
            if "violation" in line:
                self.violations.append(line["violation"])
            else:
                entry = Entry(**line)
                self.ledger.take(entry)
                self._checker.recall(entry)

    def close(self) -> None:
        """Let another bank have the folder."""
        self._journal.close()

    def reply(self, content: bytes) -> Reply:
        """Carry out the message of these bytes, and return what is to be sent."""
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
            return _sent(answers.refusal(message, FORMAT), hooked)
        if message.mti == "0800":
            return _sent(answers.refusal(message, APPROVED), hooked)
        return self._rule(message, hooked, now)

    def hang_up(self, violation: str) -> Reply:
        """Record what cannot be answered, and close the connection."""
        self._record(violation)
        return HANG_UP

    def held(self, pan: str, currency: str = "710") -> int:
        """Return what is held of a card, in minor units."""
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
                return _sent(answers.refusal(message, fault.code or FORMAT), fault)
            ruled = self.ledger.repeated(entry) or self._decide(message, entry, fault)
        goes_wrong = hooked or entry.kind == "advice" or ruled.code in CARRIED_OUT
        return _sent(answers.answer(message, ruled, now), fault if goes_wrong else None)

    def _decide(self, message: Message, entry: Entry, fault: Fault | None) -> Entry:
        """Rule on a message that is no repeat, keep the ruling, and then do it."""
        is_advice = entry.kind == "advice"
        refused = self.ledger.rule_on_advice(entry) if is_advice else self.ledger.refusal(entry)
        if refused in REFUSED:
            self._complain(message, REFUSED[refused])
        ruled = replace(entry, code=refused) if refused else self._approve(entry, fault)
        self._journal.write(ruled.document())
        self.ledger.take(ruled)
        return ruled

    def _approve(self, entry: Entry, fault: Fault | None) -> Entry:
        """Return the entry with the code of its card and cents, and with what an approved one has."""
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
