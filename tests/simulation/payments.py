"""The answers about a payment as observations, and its events, for `tests.simulation.linearizability`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from chalicelib.domain.transaction import Transaction
from tests.simulation.clients import Seen
from tests.simulation.linearizability import NEVER, Event, Observation, first_contradiction
from tests.simulation.scenario_script import STRANGER

STORED, DECIDED, COMPLETED = 0, 1, 2
PENDING_STATES = frozenset({(200, 201), (400, 403), (500, 503), (500, 505)})
AWAITING, PAID, REVERSED = (400, 401), (400, 411), (500, 502)
FINAL = {"rejected": (200, 202), "declined": (400, 412), "auto_cancelled": (400, 404), "given_back": REVERSED}
TAKEN, GIVEN_BACK = frozenset({"approved", "owed"}), "given_back"
SKEW = 3.0  # seconds between two clocks at the most
EXCEEDS, ALREADY, UNFINISHED, NOT_FOUND = 304, 305, 309, 568


@dataclass(frozen=True)
class Steps:
    """The events of one payment, and what they show."""

    payment: Transaction
    reversals: tuple[Transaction, ...]
    deadline: float  # of the payment, in seconds of the scenario
    signed: float = NEVER  # when a signature was first sent

    def events(self, begin: float) -> list[Event]:
        """Return them: of the payment, then two of each reversal."""
        stored = Event("it is stored", begin)
        decided = Event("it has its outcome", begin, frozenset({STORED}))
        first = self.signed if self.payment.completion.single_step else NEVER
        complete = max(begin, min(first, self.deadline - SKEW)) if self._is_owed else begin
        completed = Event("it is complete", complete, frozenset({DECIDED}))
        found = [stored, decided, completed]
        for reversal in self.reversals:
            found.append(Event(f"{reversal.id[:8]} is reserved", begin, frozenset({DECIDED})))
            found.append(Event(f"{reversal.id[:8]} has its outcome", begin, frozenset({len(found) - 1})))
        return found

    def number_of(self, reversal: int, *, outcome: bool) -> int:
        """Return the number of an event of a reversal."""
        return 3 + 2 * reversal + outcome

    def shows(self, happened: frozenset[int], state: tuple[int, int], reversed_minor: int, count: int) -> bool:
        """Return whether an observer sees this state and these amounts."""
        return (
            STORED in happened and state in self.states(happened) and self._amounts(happened) == (reversed_minor, count)
        )

    def states(self, happened: frozenset[int]) -> frozenset[tuple[int, int]]:
        """Return the states that an observer may see."""
        if DECIDED not in happened:
            return PENDING_STATES
        if self.payment.phase not in TAKEN:
            return frozenset({FINAL[self.payment.phase]})
        if self._refunded(happened) == self.payment.amount_minor:
            return frozenset({REVERSED})
        if self.payment.phase == "approved" and COMPLETED in happened:
            return frozenset({PAID})
        return frozenset({AWAITING}) if self._is_owed else frozenset({PAID})

    @property
    def _is_owed(self) -> bool:
        """Return whether a signature or a second step is owed."""
        return self.payment.completion.signature_required or not self.payment.completion.single_step

    def _refunded(self, happened: frozenset[int]) -> int:
        done = (r for n, r in enumerate(self.reversals) if self.number_of(n, outcome=True) in happened)
        return sum(r.amount_minor for r in done if r.phase == GIVEN_BACK)

    def _amounts(self, happened: frozenset[int]) -> tuple[int, int]:
        held = [
            reversal
            for number, reversal in enumerate(self.reversals)
            if self.number_of(number, outcome=False) in happened
            and (self.number_of(number, outcome=True) not in happened or reversal.phase == GIVEN_BACK)
        ]
        return sum(reversal.amount_minor for reversal in held), len(held)

    def offers(self, happened: frozenset[int], shown: tuple[bool, bool, bool], begin: float, end: float) -> bool:
        """Return whether it was shown rightly that it may be cancelled, returned, and returned in part."""
        is_open = DECIDED in happened and self.payment.phase in TAKEN and self.remaining(happened) > 0
        may_cancel = is_open and self._amounts(happened)[1] == 0
        cancels = {may_cancel} if end < self.deadline - SKEW else {False}
        if begin < self.deadline + SKEW <= end + 2 * SKEW:
            cancels |= {may_cancel}
        return shown[0] in cancels and shown[1:] == (is_open, is_open)

    def remaining(self, happened: frozenset[int]) -> int:
        """Return what may still be reversed."""
        return self.payment.amount_minor - self._amounts(happened)[0]


def contradictions(seen: Sequence[Seen], stored: Mapping[str, Transaction], began: datetime) -> Iterator[str]:
    """Yield the answers about each payment that do not go together."""
    names = {one.payment for one in seen if one.payment}
    for name in sorted(names | {one.id for one in stored.values() if one.original.id is None}):
        about = [one for one in seen if one.payment == name and one.answered_at is not None]
        payment = stored.get(name)
        if payment is None:
            for one in about:
                if _view(one, name) is not None:
                    yield f"{one.act.name} was told of {name}, which is not stored"
            continue
        reversals = tuple(one for one in stored.values() if one.original.id == name)
        labels = {one.act.label for one in about}
        signed = min((one.asked_at for one in seen if one.kind == "sign" and one.act.label in labels), default=NEVER)
        steps = Steps(payment, reversals, (payment.deadline - began).total_seconds(), signed)
        begin = min((one.asked_at for one in seen if one.kind == "pay"), default=0.0)
        observations = [found for one in about for found in _observed(one, steps)]
        if wrong := first_contradiction(steps.events(begin), observations):
            yield f"the answers about {name} contradict each other. No order of what happened explains: {wrong}"


def _view(one: Seen, name: str) -> dict[str, object] | None:
    if one.kind == "status" and one.status == 200:
        return None
    view = one.answer.get("Transaction")
    listed = one.answer.get("Transactions")
    if view is None and isinstance(listed, list):
        view = next((each for each in listed if each["ID"] == name), None)
    return view if isinstance(view, dict) else None


def _observed(one: Seen, steps: Steps) -> Iterator[Observation]:
    """Yield what an answer says of the payment."""
    end = one.answered_at if one.answered_at is not None else NEVER
    view = _view(one, steps.payment.id)
    text = f"{one.act.name} {one.kind} {one.asked_at:.3f}-{end:.3f} s, {one.status}/{one.error}"
    if one.kind == "status" and one.status == 200:
        yield Observation(f"{text}, of everybody's", one.asked_at, end, _public(one, steps))
    if view is not None and view["ID"] == steps.payment.id:
        state, amounts = state_of(view), (minor(view["AmountRvs"]), int(str(view["CountRvs"])))
        offered = _offered(view)
        may = [
            name for name, is_so in zip(("cancelled", "returned", "returned in part"), offered, strict=True) if is_so
        ]
        text += f" was shown {state[0]}/{state[1]}, {amounts[0]} reversed in {amounts[1]}, may be: {may or 'nothing'}"
        yield Observation(
            text,
            one.asked_at,
            end,
            lambda happened: (
                steps.shows(happened, state, *amounts) and steps.offers(happened, offered, one.asked_at, end)
            ),
        )
    elif view is not None:
        yield from _of_reversal(one, view, steps, text, end)
    elif one.kind == "reverse" and one.error in {EXCEEDS, ALREADY, UNFINISHED} and one.status:
        yield Observation(text, one.asked_at, end, lambda happened: _refused(one, steps, happened))
    elif one.kind in {"look", "reverse"} and one.error == NOT_FOUND and one.act.client != STRANGER:
        yield Observation(text, one.asked_at, end, lambda happened: STORED not in happened)


def _public(one: Seen, steps: Steps) -> Callable[[frozenset[int]], bool]:
    """Return whether what anybody is told of a payment fits: nothing before it is stored, then its state."""
    told = one.answer["Transaction"]
    if told is None:
        return lambda happened: STORED not in happened
    return lambda happened: STORED in happened and state_of(told) in steps.states(happened)


def _of_reversal(one: Seen, view: dict[str, object], steps: Steps, text: str, end: float) -> Iterator[Observation]:
    found = [number for number, reversal in enumerate(steps.reversals) if reversal.id == view["ID"]]
    if not found:
        yield Observation(f"{text}: a reversal that is not stored", one.asked_at, end, lambda _: False)
        return
    number, state = found[0], state_of(view)
    reversal = steps.reversals[number]
    reserved, decided = (steps.number_of(number, outcome=outcome) for outcome in (False, True))

    def fits(happened: frozenset[int]) -> bool:
        if decided in happened:
            return state == FINAL[reversal.phase]
        return reserved in happened and state in PENDING_STATES

    yield Observation(f"{text} was shown its reversal {state[0]}/{state[1]}", one.asked_at, end, fits)


def _refused(one: Seen, steps: Steps, happened: frozenset[int]) -> bool:
    if STORED not in happened:
        return False
    if one.error == UNFINISHED:
        return DECIDED not in happened
    basic = one.body["BasicReverseTran"]
    remaining = steps.remaining(happened)
    if one.error == ALREADY:
        return DECIDED in happened and remaining == 0
    wanted = minor(basic["Amount"]) if "Amount" in basic else 0
    return DECIDED in happened and (remaining == 0 or wanted > remaining)


def state_of(view: dict[str, object]) -> tuple[int, int]:
    """Return the State and Substate that are shown."""
    return int(str(view["State"])), int(str(view["Substate"]))


def _offered(view: dict[str, object]) -> tuple[bool, bool, bool]:
    both = ("CanCancel", "CanReturn", "CanReturnPartial"), ("CanCancelCNP", "CanReturnCNP", "CanReturnCNPpartial")
    present, absent = ([bool(view[name]) for name in names] for names in both)
    return tuple(map(any, zip(present, absent, strict=True)))  # type: ignore[return-value]  # there are three


def minor(amount: object) -> int:
    """Return an amount of an answer in minor units."""
    return int(Decimal(str(amount)) * 100)
