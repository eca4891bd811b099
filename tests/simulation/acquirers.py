"""The acquirers of a scenario: one that can be inquired, and a host that cannot, with books of their own.

They keep the contract of `Acquirer`. What may go wrong is between them and the service: no connection, a lost answer, a
request that arrives late, an outage of hours, a defect of the adapter, inquiries that nobody answers any more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from chalicelib.domain.acquirer import (
    PARTIAL,
    TOO_LATE,
    AcquirerAnswer,
    AnswerLostError,
    AuthorizationRequest,
    InquiryRequest,
    LinkAnswer,
    LinkRequest,
    ReversalKind,
    ReversalRequest,
    Reversed,
    UnreachableError,
    text_of_code,
)
from chalicelib.domain.kinds import KINDS, InputType
from tests.simulation.environment import Instance
from tests.simulation.faults import Faults
from tests.simulation.scheduler import Scheduler, Task

DECLINED, SIGNED, TOO_MUCH, NO_CARD, NOT_FOUND = 5, 8, 13, 14, 25  # cents of an amount, and response codes
LEFT_OUT = 100  # minor units that are missing in what is approved in part
VERBS = {
    ReversalKind.CANCEL: "cancel",
    ReversalKind.RETURN: "return",
    ReversalKind.AUTOMATIC: "reverse automatically",
    ReversalKind.AUTOMATIC_OF_RETURN: "undo the return of",
}
AUTOMATIC = frozenset({ReversalKind.AUTOMATIC, ReversalKind.AUTOMATIC_OF_RETURN})
WEIGHTS = {"unreachable": 1.0, "lost": 1.5, "late": 1.0, "dies": 0.7, "freezes": 0.7, "defect": 0.3, "down": 0.4}
SHARE_OF_SLOW = 0.2
MOSTLY = 0.6  # of the requests while an acquirer has trouble
OUTAGES = (30, 600, 10_000)  # seconds
NOTHING: Mapping[str, Any] = {}
BUSY = 96  # the response code of a malfunction
INSTEAD = {"busy": 0.5, "mixed up": 0.3}  # nothing is carried out, and an answer comes all the same
SHARE_OF_CARDS_DECLINED = 0.3  # that are to be linked
T = TypeVar("T")


@dataclass
class Entry:
    """A payment or a reversal in an acquirer's books."""

    amount_minor: int
    answer: AcquirerAnswer
    original: Any = None  # of a reversal: the key of its payment
    reversed_minor: int = 0
    is_cancelled: bool = False
    is_partial: bool = False  # it took less than the amount, and says so
    link_id: str | None = None  # the token it was paid with


class Asked(NamedTuple):
    """A request for the outcome of a transaction, or for its automatic reversal."""

    at: float
    task: str
    about: str


class Attempt(NamedTuple):
    """A request to the acquirer: when, about what, by which task of which process, and whether it was answered."""

    at: float
    about: str
    task: str
    instance: str
    is_answered: bool


@dataclass
class Acquirer:
    """An acquirer that can be inquired. `books` are by reference."""

    scheduler: Scheduler
    faults: Faults
    name: str = "Simulated"
    quiet: timedelta = timedelta(seconds=60)
    can_inquire: bool = True
    links_cards: bool = True
    institution: str = ""
    takes: frozenset[InputType] = frozenset(kind for kind, facts in KINDS.items() if facts.acquirer is None)
    books: dict[Any, Entry] = field(default_factory=dict)
    trace: Callable[[str], None] | None = None
    down_until: float = 0.0
    outages: list[tuple[float, float]] = field(default_factory=list)  # at set times
    losses: list[tuple[float, float]] = field(default_factory=list)  # of answers and requests, at set times
    stalls: list[tuple[float, float]] = field(default_factory=list)  # of those who ask, at set times
    one_way: list[tuple[float, float]] = field(default_factory=list)  # outages of reversals alone
    silences: list[tuple[float, float]] = field(default_factory=list)  # nothing is answered, at set times
    is_mute: bool = False  # inquiries are not answered
    attempts: list[Attempt] = field(default_factory=list)
    moved: list[tuple[float, str, str]] = field(default_factory=list)  # money: when, at whose request, and what
    tokens: set[str] = field(default_factory=set)  # of the cards that are linked
    unknown_tokens: list[str] = field(default_factory=list)  # that somebody paid with
    asked: list[Asked] = field(default_factory=list)
    sent: set[Any] = field(default_factory=set)  # the reversals that were requested
    unmarked: list[str] = field(default_factory=list)  # those that were repeated and did not say so
    moved_by_inquiries: list[str] = field(default_factory=list)
    mixed_up: set[str] = field(default_factory=set)  # the references of those that got an answer about something else

    def refuse(self, _: Any) -> tuple[()]:
        """Take everything."""
        return ()

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Take a payment, or decline it."""
        key = self.key_of_payment(request)
        answer = self._asked(f"authorize {request.reference[:8]}", lambda: self._authorized(key, request), within_s)
        return self._known(answer)

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Give back, or decline."""
        text = f"{VERBS[request.kind]} {request.amount_minor} of {request.original[:8]}, as {request.reference[:8]}"
        if request.kind in AUTOMATIC:
            self._note(request.original)
        key, task = self.key_of_reversal(request), self.scheduler.current
        if not self.can_inquire and key in self.sent and not request.is_repeat and task is not None:
            self.unmarked.append(f"{request.reference} by {task.name}")
        self.sent.add(key)
        if _is_in(self.one_way, self.scheduler.now) and not self.faults.is_over:
            self._tell(text, "no connection")
            raise UnreachableError
        about_another = Reversed("another payment", request.amount_minor)
        if ord(request.reference[-1]) % 2:
            about_another = Reversed(request.original, request.amount_minor + 1)
        instead: dict[str, AcquirerAnswer | None] = {"mixed up": AcquirerAnswer(0, "Approved", reverses=about_another)}
        if request.kind in AUTOMATIC:  # any other reversal that is answered so is declined
            instead["busy"] = AcquirerAnswer(BUSY, text_of_code(BUSY))
        answer = self._known(self._asked(text, lambda: self._reversed(request), within_s, instead=instead))
        if answer.reverses is about_another:
            self.mixed_up.add(request.reference)
        return answer

    def inquire(self, request: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        """Return the answer that was given before."""
        reference = request.reference
        self._note(reference)
        if self.is_mute:
            self._tell(f"inquire {reference[:8]}", "no answer")
            raise UnreachableError
        return self._asked(f"inquire {reference[:8]}", lambda: self._inquired(reference), within_s, changes=False)

    def link(self, request: LinkRequest, within_s: float) -> LinkAnswer:
        """Exchange a card for a token."""
        return self._asked(f"link a card under {request.reference}", lambda: self._linked(request), within_s)

    def taken(self, key: Any) -> tuple[int, int] | None:
        """Return what a payment took and what was given back of it; None where it took nothing, or was cancelled."""
        entry = self.books.get(key)
        if entry is None or not (entry.answer.is_approved or entry.is_partial) or entry.is_cancelled:
            return None
        return entry.amount_minor - (LEFT_OUT if entry.is_partial else 0), entry.reversed_minor

    def key_of_payment(self, request: AuthorizationRequest) -> Any:
        """Return what the acquirer knows a payment by."""
        return request.reference

    def key_of_original(self, request: ReversalRequest) -> Any:
        """Return what the acquirer knows the payment of a reversal by."""
        return request.original

    def key_of_reversal(self, request: ReversalRequest) -> Any:
        """Return what the acquirer knows a reversal by."""
        return request.reference

    @staticmethod
    def _known(answer: AcquirerAnswer | None) -> AcquirerAnswer:
        if answer is None:
            raise AnswerLostError
        return answer

    def _note(self, about: str) -> None:
        task = self.scheduler.current
        self.asked.append(Asked(self.scheduler.now, task.name if task else "", about))

    def _is_down(self) -> bool:
        now = self.scheduler.now
        return not self.faults.is_over and (now < self.down_until or _is_in(self.outages, now))

    def _fault(self, task: Task, weights: Mapping[str, float]) -> str | None:
        """Return what goes wrong with a request: by chance, or because much goes wrong at this time."""
        faults, now = self.faults, self.scheduler.now
        fault = faults.draw(self.name, weights, more=faults.at_acquirers)
        if fault is not None or faults.is_over or task.instance is None:
            return fault
        if _is_in(self.stalls, now) and task.chance.random() < MOSTLY:
            faults.frozen.add(task.name)
            return "freezes"
        is_lost = _is_in(self.losses, now) and task.chance.random() < MOSTLY
        return task.chance.choice(("lost", "late")) if is_lost else None

    def _asked(self, text: str, carry_out: Callable[[], T], within_s: float, **more: Any) -> T:
        """Carry out a request, and note whether it was answered."""
        task = self.scheduler.current
        about = self.asked[-1].about if self.asked and task and self.asked[-1].task == task.name else text
        at, who = self.scheduler.now, task.instance if task is not None else None

        def note(*, is_answered: bool) -> None:
            if task is not None and isinstance(who, Instance):
                self.attempts.append(Attempt(at, about, task.name, who.name, is_answered))

        try:
            answer: T = self._exchanged(text, carry_out, within_s, **more)
        except (AnswerLostError, UnreachableError):
            note(is_answered=False)
            raise
        note(is_answered=True)
        return answer

    def _connect(self, text: str, within_s: float, task: Task, *, is_refused: bool) -> None:
        """Raise what becomes of a request that nobody takes."""
        if _is_in(self.silences, self.scheduler.now) and not self.faults.is_over:
            self.scheduler.pause(within_s)
            self._tell(text, "no answer")
            raise AnswerLostError
        if is_refused or self._is_down():
            self.scheduler.pause(task.chance.uniform(0.01, 1))
            self._tell(text, "no connection")
            raise UnreachableError

    def _exchanged(
        self,
        text: str,
        carry_out: Callable[[], T],
        within_s: float,
        *,
        changes: bool = True,
        instead: Mapping[str, T] = NOTHING,
    ) -> T:
        """Carry out a request, with what may go wrong on the way; `instead` are answers of faults, by their names."""
        scheduler, faults = self.scheduler, self.faults
        task = scheduler.current
        if task is None:
            return carry_out()
        weights = {**WEIGHTS, **{name: INSTEAD[name] for name in instead}}
        fault = self._fault(task, weights)
        if fault in {"dies", "freezes"} and task.chance.random() < 0.5:
            faults.happen(fault)  # before it connects: much may be otherwise when it goes on
            fault = self._fault(task, weights)
        if fault == "down":
            self.down_until = scheduler.now + task.chance.choice(OUTAGES)
        self._connect(text, within_s, task, is_refused=fault == "unreachable")
        delay = task.chance.uniform(0.02, 1.5)
        if self.faults.is_slow and task.chance.random() < SHARE_OF_SLOW:
            delay = task.chance.uniform(1, within_s)
        if fault == "late" and changes:
            arrives = task.chance.uniform(0, max(self.quiet.total_seconds() - 1, 0.1))
            scheduler.spawn(
                f"{task.name}.late{task.faults}", lambda: self._tell(text, carry_out()), scheduler.now + arrives
            )
            scheduler.pause(within_s)
            raise AnswerLostError
        scheduler.pause(delay)
        if fault is not None and fault in instead:
            self._tell(text, instead[fault])
            return instead[fault]
        answer = carry_out()
        self._tell(text, answer)
        faults.happen(fault)
        if fault in {"lost", "late"}:
            scheduler.pause(max(within_s - delay, 0))
            raise AnswerLostError
        if fault == "defect":
            message = "a defect of the adapter: 4111111111111111"
            raise RuntimeError(message)
        scheduler.pause(task.chance.uniform(0.02, 0.5))
        return answer

    def _tell(self, text: str, answer: Any) -> None:
        if self.trace is not None:
            shown = f"{answer.code} {answer.message}" if isinstance(answer, AcquirerAnswer) else answer or "not known"
            self.trace(f"{self.name} is asked to {text} -> {shown}")

    def _authorized(self, key: Any, request: AuthorizationRequest) -> AcquirerAnswer | None:
        known = self.books.get(key)
        if known is not None:
            return known.answer if known.amount_minor else AcquirerAnswer(TOO_LATE, "Too late")
        cents = request.amount_minor % 100
        code = cents if cents in {DECLINED, PARTIAL} else 0
        if request.card is None and request.link_id not in self.tokens:
            self.unknown_tokens.append(request.link_id or "none")
            code = NO_CARD
        text = None if request.card is None else f"PAID WITH {request.card.pan.reveal()}"  # hosts do write that
        is_signed = cents == SIGNED
        answer = AcquirerAnswer(
            code, text_of_code(code), "A1", "123456789012", signature_required=is_signed, additional_fields=text
        )
        self.books[key] = Entry(request.amount_minor, answer, is_partial=code == PARTIAL, link_id=request.link_id)
        if not code or code == PARTIAL:
            self._move(f"takes {request.amount_minor} for {request.reference[:8]}")
        return answer

    def _move(self, text: str) -> None:
        task = self.scheduler.current
        self.moved.append((self.scheduler.now, task.name if task else "", f"{self.name} {text}"))

    def _linked(self, request: LinkRequest) -> LinkAnswer:
        task = self.scheduler.current
        if task is not None and task.chance.random() < SHARE_OF_CARDS_DECLINED:
            return LinkAnswer(DECLINED, text_of_code(DECLINED), request.card.details)
        token = f"token of {request.reference}"
        self.tokens.add(token)
        return LinkAnswer(0, "Approved", request.card.details, token, 1)

    def _reversed(self, request: ReversalRequest) -> AcquirerAnswer | None:
        key = self.key_of_reversal(request)
        known = self.books.get(key)
        if known is not None:
            return known.answer
        answer = self._given_back(request)
        self.books[key] = Entry(request.amount_minor, answer, original=self.key_of_original(request))
        return answer

    def _given_back(self, request: ReversalRequest) -> AcquirerAnswer:
        proof = Reversed(request.original, request.amount_minor)
        original = self.books.get(self.key_of_original(request))
        if request.kind in AUTOMATIC or original is None:
            if original is None:  # it has not arrived, and is declined should it arrive
                late = Entry(0, AcquirerAnswer(TOO_LATE, "Too late"), is_cancelled=True)
                self.books[self.key_of_original(request)] = late
            elif original.is_cancelled:  # under another reference: this is another reversal, of what is no more
                return AcquirerAnswer(NOT_FOUND, text_of_code(NOT_FOUND))
            else:
                original.is_cancelled = True
                self._move(f"undoes all of {request.original[:8]}")
            return AcquirerAnswer(0, "Approved", reverses=proof)
        if not original.answer.is_approved:
            return AcquirerAnswer(0, "Approved", reverses=proof)
        if request.amount_minor % 100 == DECLINED:
            return AcquirerAnswer(DECLINED, "Declined", reverses=proof)
        if original.is_cancelled or original.reversed_minor + request.amount_minor > original.amount_minor:
            return AcquirerAnswer(TOO_MUCH, "Invalid amount", reverses=proof)
        original.reversed_minor += request.amount_minor
        self._move(f"gives {request.amount_minor} back of {request.original[:8]}")
        return AcquirerAnswer(0, "Approved", approval_code="B2", reverses=proof)

    def _inquired(self, reference: str) -> AcquirerAnswer | None:
        entry = self.books.get(reference)
        return None if entry is None or not entry.amount_minor else entry.answer


def _is_in(spans: list[tuple[float, float]], now: float) -> bool:
    return any(begin <= now < end for begin, end in spans)


@dataclass
class Host(Acquirer):
    """A host that cannot be inquired: it knows a message by its RRN and its trace."""

    name: str = "Host"
    quiet: timedelta = timedelta(0)
    can_inquire: bool = False
    institution: str = "123456"
    takes: frozenset[InputType] = frozenset({InputType.MANUAL_ENTRY, InputType.MAGNETIC_STRIPE, InputType.CHIP})

    def key_of_payment(self, request: AuthorizationRequest) -> Any:
        """Return RRN and number of the message."""
        assert request.message is not None
        return request.message.rrn, request.message.trace.stan

    def key_of_original(self, request: ReversalRequest) -> Any:
        """Return RRN and number of the message that is reversed."""
        assert request.message is not None
        assert request.original_trace is not None
        return request.message.rrn, request.original_trace.stan

    def key_of_reversal(self, request: ReversalRequest) -> Any:
        """Return RRN and number of the message."""
        assert request.message is not None
        return request.message.rrn, request.message.trace.stan

    def inquire(self, request: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        """Know no inquiries."""
        del request, within_s
        message = "a host that cannot be inquired was"
        raise AssertionError(message)

    def _authorized(self, key: Any, request: AuthorizationRequest) -> AcquirerAnswer | None:
        if key in self.books and self.books[key].amount_minor:
            return None  # it is not carried out again, and the answer decides nothing
        return super()._authorized(key, request)

    def _reversed(self, request: ReversalRequest) -> AcquirerAnswer | None:
        if request.kind is ReversalKind.RETURN:
            return self._returned(request)
        if request.kind is ReversalKind.AUTOMATIC_OF_RETURN:
            return self._return_undone(request)
        return super()._reversed(request)

    def _returned(self, request: ReversalRequest) -> AcquirerAnswer | None:
        key = self.key_of_reversal(request)
        if key in self.books:
            undone = not self.books[key].amount_minor
            return AcquirerAnswer(TOO_LATE, "Too late") if undone else None
        payment = self._payment_of(request)
        answer = AcquirerAnswer(NOT_FOUND, "Original transaction not found")
        if payment is not None and payment.answer.is_approved and not payment.is_cancelled:
            over = payment.reversed_minor + request.amount_minor > payment.amount_minor
            code = TOO_MUCH if over else DECLINED if request.amount_minor % 100 == DECLINED else 0
            answer = AcquirerAnswer(code, "Approved" if not code else "Declined", reverses=_proof(request))
            if not code:
                payment.reversed_minor += request.amount_minor
                self._move(f"gives {request.amount_minor} back of {request.original[:8]}")
        self.books[key] = Entry(request.amount_minor, answer, original=payment)
        return answer

    def _payment_of(self, request: ReversalRequest) -> Entry | None:
        """Return the payment of a return, whose message has an RRN of its own."""
        assert request.original_trace is not None
        stan = request.original_trace.stan
        found = [entry for (_, number), entry in self.books.items() if number == stan and entry.original is None]
        return found[0] if found else None

    def _return_undone(self, request: ReversalRequest) -> AcquirerAnswer:
        own, undone = self.key_of_reversal(request), self.key_of_original(request)
        if own not in self.books:
            entry = self.books.get(undone)
            if entry is None:
                self.books[undone] = Entry(0, AcquirerAnswer(TOO_LATE, "Too late"))
            elif entry.answer.is_approved and not entry.is_cancelled:
                entry.is_cancelled = True
                entry.original.reversed_minor -= entry.amount_minor
                self._move(f"undoes the return {request.original[:8]}")
            self.books[own] = Entry(
                request.amount_minor, AcquirerAnswer(0, "Approved", reverses=_proof(request)), undone
            )
        return self.books[own].answer


def _proof(request: ReversalRequest) -> Reversed:
    return Reversed(request.original, request.amount_minor)
