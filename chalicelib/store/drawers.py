"""Drawers by merchant, the latest one of each agent, late closes, and the requests that acted on them.

The ID of a drawer begins with the time of its opening, so a range of drawers is a period. Cash is in the items of
`receipt_numbers`: opening and closing require that these are as they were read, so each sale is in one drawer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from chalicelib.domain import cash
from chalicelib.domain.cash import Cash
from chalicelib.domain.drawer import CLOSE, Drawer, LatestDrawer
from chalicelib.domain.guid import time_part
from chalicelib.domain.periods import Period
from chalicelib.store import audit, receipt_numbers
from chalicelib.store.audit import Act
from chalicelib.store.ranges import Range, item_pages, items_of, range_of_prefix
from chalicelib.store.receipt_numbers import MONTH, OFFLINE, MonthNumbers, NumberTakenError
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, check, commit, decode, put_new, readable, replace_record

TABLE, REQUESTS = "drawers", OFFLINE
DRAWER, AGENT = "drawer#", "agent#"  # before the ID of a drawer, and before an agent
CLOSED = "closed#"  # before the time of a close and the ID of its drawer
REQUESTS_KEPT_FOR = timedelta(days=30)


@dataclass(frozen=True)
class DrawerRequest:
    """A request that acted on a drawer, under its Idempotency-Key. The digest stands for its content."""

    name: str
    digest: str
    drawer_id: str
    expires_at: int  # epoch seconds: the table's TTL


@dataclass(frozen=True)
class LateClose:
    """The close of a drawer on a later day than its opening: a period of closes is a range, too."""

    client_id: int
    place: str
    drawer_id: str


def key(client_id: int, drawer_id: str) -> Key[Drawer]:
    """Return the key of a drawer."""
    return Key(TABLE, Drawer, {"client_id": client_id, "place": f"{DRAWER}{drawer_id}"})


def latest_key(client_id: int, agent_id: int) -> Key[LatestDrawer]:
    """Return the key of an agent's latest drawer."""
    return Key(TABLE, LatestDrawer, {"client_id": client_id, "place": f"{AGENT}{agent_id}"})


def request_key(request_id: str) -> Key[DrawerRequest]:
    """Return the key of a request."""
    return Key(REQUESTS, DrawerRequest, {"name": f"drawer#{request_id}"})


def put_request(own: Key[DrawerRequest], digest: str, drawer: Drawer, now: datetime) -> Write:
    """Return the write of a request under its key. Its transaction raises AlreadyExistsError for a used key."""
    expires_at = int((now + REQUESTS_KEPT_FOR).timestamp())
    return put_new(REQUESTS, DrawerRequest(own.key["name"], digest, drawer.id, expires_at), "name")


Months = Mapping[str, MonthNumbers | None]  # an agent's numbers by month (2026-03), as they were read


def open_new(drawer: Drawer, latest: LatestDrawer, before: LatestDrawer | None, months: Months, *also: Write) -> None:
    """Store a new drawer as the latest one of its agent, after the one `before`.

    Raise ChangedMeanwhileError when another drawer was opened since `before` was read, or cash moved since `months`
    were.
    """
    changed = ChangedMeanwhileError()
    own = latest_key(latest.client_id, latest.agent_id)
    place = (
        put_new(TABLE, latest, "place", changed)
        if before is None
        else replace_record(own, replace(latest, version=before.version), changed)
    )
    same = (_check_same(drawer, month, numbers) for month, numbers in months.items())
    commit(*also, put_new(TABLE, drawer, "place", changed), place, *same)


def change(after: Drawer, *also: Write) -> None:
    """Store a drawer after a movement. Raise ChangedMeanwhileError unless it is as it was read."""
    commit(*also, _replacement(after))


def late_close(drawer: Drawer, at: datetime) -> Write:
    """Return the write of a close on a later day than the opening."""
    found = LateClose(drawer.client_id, f"{CLOSED}{time_part(at)}#{drawer.id}", drawer.id)
    return put_new(TABLE, found, "place", ChangedMeanwhileError())


def close(after: Drawer, latest: LatestDrawer, months: Months, *also: Write) -> None:
    """Store a closed drawer, and take its cash out of that of its agent.

    Raise ChangedMeanwhileError unless all are as they were read.
    """
    own = latest_key(latest.client_id, latest.agent_id)
    counted = replace(latest, before=None, counted_minor=after.sum_of(CLOSE))
    freed = replace_record(own, counted, ChangedMeanwhileError())
    taken = (_without(month, numbers, after) for month, numbers in months.items())
    commit(*also, _replacement(after), freed, *taken)


def _without(month: str, numbers: MonthNumbers | None, drawer: Drawer) -> Write:
    """Return the write that takes the cash of a drawer out of an agent's numbers."""
    if numbers is None:
        return _check_same(drawer, month, None)
    held = cash.of_month(drawer.cash or {}, month)
    return receipt_numbers.store(with_cash(numbers, cash.added(cash_of(numbers), held, -1)))


def _check_same(drawer: Drawer, month: str, numbers: MonthNumbers | None) -> Write:
    """Return the check that the numbers of a drawer's agent are those that were read."""
    own, taken = receipt_numbers.key_in(drawer.client_id, drawer.agent_id, month), NumberTakenError()
    if numbers is None:
        return check(own, "attribute_not_exists(#place)", {}, taken)
    return check(own, "#version = :as_read", {"as_read": numbers.version}, taken)


def cash_of(numbers: MonthNumbers) -> Cash:
    """Return the cash in an agent's numbers of a month."""
    _, month, _ = numbers.place.split("#")
    return {f"{name[0]}{month}-{name[1:]}": number for name, number in numbers.cash.items()}


def with_cash(numbers: MonthNumbers, moved: Cash) -> MonthNumbers:
    """Return the numbers of a month with other cash, of this month."""
    return replace(numbers, cash={f"{name[0]}{name[cash.DAY_OF_MONTH :]}": one for name, one in moved.items()})


def agent_of(numbers: MonthNumbers) -> int:
    """Return the agent that has numbers."""
    return int(numbers.place.rpartition("#")[-1])


def audited(drawer: Drawer, act: Act, entered: Iterable[str]) -> Write:
    """Return the entry of an act in the audit, which names the fields that were entered."""
    return audit.write(f"drawer#{drawer.client_id}#{drawer.id}", act, entered)


def _replacement(drawer: Drawer) -> Write:
    return replace_record(key(drawer.client_id, drawer.id), drawer, ChangedMeanwhileError())


def of_agents(client_id: int) -> list[LatestDrawer]:
    """List the latest drawer of each agent of a merchant."""
    span = range_of_prefix(TABLE, ("client_id", client_id), "place", AGENT)
    return list(readable(TABLE, items_of(span), partial(decode, LatestDrawer)))


def opened(client_id: int, begin: datetime, end: datetime) -> Iterator[list[Drawer]]:
    """Yield the drawers that were opened from `begin` to before `end`, oldest first: a list for each call."""
    low, high = (f"{DRAWER}{time_part(at)}" for at in (begin, end))
    for page in item_pages(Range(TABLE, ("client_id", client_id), "place", low, high)):
        yield list(readable(TABLE, page, partial(decode, Drawer)))


def closed_late(client_id: int, begin: datetime, end: datetime) -> Iterator[list[LateClose]]:
    """Yield the late closes from `begin` to before `end`, oldest first: a list for each call."""
    low, high = (f"{CLOSED}{time_part(at)}" for at in (begin, end))
    for page in item_pages(Range(TABLE, ("client_id", client_id), "place", low, high)):
        yield list(readable(TABLE, page, partial(decode, LateClose)))


def of_merchant(client_id: int) -> Iterator[Drawer]:
    """Yield all drawers of a merchant."""
    span = range_of_prefix(TABLE, ("client_id", client_id), "place", DRAWER)
    return readable(TABLE, items_of(span), partial(decode, Drawer))


def months(client_id: int, period: Period) -> Iterator[list[MonthNumbers]]:
    """Yield the cash of all agents in the months of a period: a list for each call."""
    low, high = (f"{MONTH}{month}#" for month in (period.months[0], period.months[-1]))
    for page in item_pages(Range(TABLE, ("client_id", client_id), "place", low, f"{high}~")):
        yield list(readable(TABLE, page, partial(decode, MonthNumbers)))
