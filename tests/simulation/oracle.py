"""What a scenario comes to by its requests, its acquirers' books and the contract, without any rule of the service.

The service only says which transactions it stored, and in which phase. Everything else is computed here a second time:
who took what, on which day, what moved, which page shows it. So a rule that the service has wrong is not wrong twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from tests.simulation.clients import BY_CARD, LAST, SECTIONS, TENDERS, Seen, name_of
from tests.simulation.payments import GIVEN_BACK, TAKEN
from tests.simulation.scenario import TOWN, Scenario
from tests.simulation.scenario_script import OWNER, Act
from tests.simulation.visibility import transactions

ZONE = timedelta(hours=2)  # that the shops are ahead of UTC
SKEW = timedelta(seconds=4)  # between two clocks at the most
TO_FINISH = timedelta(hours=1)  # that a reversal has at the least, before its Deadline
STATES = {  # State and Substate of each phase (contract, section 7); of a payment reversed in full: REVERSED
    "sent": (200, 201),
    "unknown": (200, 201),
    "rejected": (200, 202),
    "owed": (400, 401),
    "approved": (400, 411),
    "declined": (400, 412),
    "auto_cancelling": (400, 403),
    "auto_cancelled": (400, 404),
    "cancelling": (500, 503),
    "returning": (500, 505),
    "given_back": (500, 502),
}
REVERSED = (500, 502)
CANCELS = frozenset({1, 3})  # ReverseMode


@dataclass(frozen=True)
class Entry:
    """A payment or a reversal that is stored. `earliest` and `latest` say when it was made, in local time.

    `paid` is the local time that a till without connection names. Amounts are minor units; `moved` is below zero when
    money was given back.
    """

    id: str
    original: str | None
    merchant: int
    agent: int
    tender: tuple[int, str]
    amount: int
    moved: int
    phase: str
    earliest: datetime
    latest: datetime
    ext_id: str | None = None
    paid: datetime | None = None
    invoice: str | None = None  # the number that the till gave an offline sale
    receipts: frozenset[str | None] = frozenset()  # the addresses of the requests that may have made it
    notes: frozenset[str | None] = frozenset()

    @property
    def days(self) -> frozenset[date]:
        """The days that it may count for: one, unless it was made around midnight."""
        return frozenset(at.date() for at in self.times())

    def times(self) -> tuple[datetime, datetime]:
        """Return the first and the last moment that it may count for. Nothing counts for the future."""
        paid = self.paid or self.latest
        return min(paid, self.earliest), min(paid, self.latest)


@lru_cache(maxsize=1)
def entries(scenario: Scenario) -> dict[str, Entry]:
    """Return everything that is stored, as its requests say it has to be."""
    every = [one for one in scenario.clients.seen if one.kind in {"pay", "sign", "reverse"} and one.body]
    known = {name_of(seen): _id_of(seen) for seen in every if _id_of(seen)}
    asked: dict[str, list[Seen]] = {}
    nameless: list[Seen] = []
    for seen in every:
        found = _id_of(seen) or known.get(name_of(seen))
        (asked.setdefault(found, []) if found else nameless).append(seen)
    expected = {}
    for stored in transactions(scenario).values():
        candidates = asked.get(stored.id, []) + [one for one in nameless if _may_have_made(one, stored)]
        own = [one for one in candidates if TOWN.people.by_name[one.act.client].id == stored.agent.id]
        if own:
            expected[stored.id] = _entry(scenario, stored, own)
    return expected


def _id_of(seen: Seen) -> str | None:
    """Return the ID of the transaction that a request was about, if the client knows it."""
    view = seen.answer.get("Transaction")
    if isinstance(view, dict):
        return str(view["ID"])
    return seen.act.facts["id"] if seen.kind != "reverse" and seen.act.facts["named"] == "id" else None


def _may_have_made(seen: Seen, stored: Any) -> bool:
    """Return whether a request whose answer was lost may have made this transaction."""
    is_reversal = seen.kind == "reverse"
    if is_reversal is not (stored.original.id is not None):
        return False
    if is_reversal:
        asked = seen.body["BasicReverseTran"]
        is_of_it = asked["TransactionID"] == stored.original.id and asked["ReverseMode"] == stored.original.mode
        return is_of_it and _wanted(seen) in {None, stored.amount_minor}
    return tender_of(seen) == (stored.input_type, stored.acquirer) and _wanted(seen) == stored.amount_minor


def _wanted(seen: Seen) -> int | None:
    facts = seen.act.facts
    return None if seen.kind == "reverse" and facts["mode"] == "cancel" else facts.get("amount")


def tender_of(seen: Seen) -> tuple[int, str]:
    """Return the InputType and the AcquirerCode of a payment's request."""
    return TENDERS.get(seen.act.facts["way"], BY_CARD)


def _entry(scenario: Scenario, stored: Any, own: Sequence[Seen]) -> Entry:
    first = max(own, key=lambda one: (_may_have_made(one, stored), _ext_id(one) == stored.particulars.ext_id))
    original = transactions(scenario).get(stored.original.id or "")
    is_reversal = original is not None
    wanted = _wanted(first)
    amount = wanted if wanted is not None else stored.amount_minor
    moved = 0
    if stored.phase in TAKEN and not is_reversal:
        moved = amount
    elif stored.phase == GIVEN_BACK:
        moved = -amount
    began = scenario.began + ZONE
    return Entry(
        id=stored.id,
        original=stored.original.id,
        merchant=TOWN.people.by_name[first.act.client].merchant_id,
        agent=TOWN.people.by_name[first.act.client].id,
        tender=(original.input_type, original.acquirer) if original else tender_of(first),
        amount=amount,
        moved=moved,
        phase=stored.phase,
        earliest=began + timedelta(seconds=min(one.asked_at for one in own)) - SKEW,
        latest=began + timedelta(seconds=scenario.begun[stored.id]) + SKEW,
        ext_id=_ext_id(first),
        paid=None if is_reversal else paid_of(first),
        invoice=None if is_reversal else _offline(first).get("Invoice"),
        receipts=frozenset(one.act.facts.get("receipt") for one in own),
        notes=frozenset(one.act.facts.get("note") for one in own),
    )


def _ext_id(seen: Seen) -> str | None:
    return seen.act.facts["ext_id"] if seen.kind != "reverse" else None


def paid_of(seen: Seen) -> datetime | None:
    """Return when a till without connection says that it was paid: it says so in the zone of its request."""
    named = _offline(seen)
    zone = timedelta(hours=seen.body["GMT"])
    return datetime.fromisoformat(f"{named['Paid']}+00:00") - zone + ZONE if named else None


def _offline(seen: Seen) -> dict[str, Any]:
    named: dict[str, Any] = seen.body["BasicTran"].get("OfflineTran", {})
    return named if named.get("OfflineMode") else {}


def dates(scenario: Scenario) -> dict[str, str]:
    """Return the Date of each transaction that the last list shows, which `lists_are_whole` checks."""
    last = [seen for seen in scenario.clients.seen if seen.act.number == LAST and seen.status == 200]
    return {view["ID"]: view["Date"] for seen in last for name in SECTIONS for view in seen.answer[name]}


def of_merchant(scenario: Scenario, merchant: int) -> list[Entry]:
    """Return the entries of a merchant."""
    return [one for one in entries(scenario).values() if one.merchant == merchant]


def end_of_day(local: datetime) -> datetime:
    """Return the end of a local day, in UTC."""
    return local.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1) - ZONE


def deadlines_of(one: Entry) -> frozenset[datetime]:
    """Return the Deadlines that it may have: the end of the day, for a reversal of the day in which its hour ends."""
    more = TO_FINISH if one.original else timedelta()
    return frozenset(end_of_day(at + more) for at in (one.earliest, one.latest))


def state_of(one: Entry, every: Iterable[Entry]) -> tuple[int, int]:
    """Return the State and Substate in the end."""
    is_reversed = one.phase in TAKEN and given_back(one, every)[0] == one.amount
    return REVERSED if is_reversed else STATES[one.phase]


def given_back(one: Entry, every: Iterable[Entry]) -> tuple[int, int]:
    """Return what was given back of a payment in the end: the amount, and the number of reversals."""
    done = [-other.moved for other in every if other.original == one.id and other.moved]
    return sum(done), len(done)


def counts_at(one: Entry, shown: datetime) -> datetime:
    """Return the local time under which it counts: the shown one, which is checked; nothing is in the future."""
    return min(shown.replace(tzinfo=UTC), one.latest - SKEW) if one.paid else shown


def is_listed(one: Entry, act: Act) -> bool:
    """Return whether the owner's list shows it, by the filter of its request."""
    wanted = act.facts.get("filter", {})
    return one.merchant == TOWN.people.by_name[OWNER].merchant_id and all(
        {
            "InputType": one.tender[0],
            "AcquirerCode": one.tender[1],
            "AccountID": one.agent,
            "ExtID": one.ext_id,
        }[name]
        == value
        for name, value in wanted.items()
    )
