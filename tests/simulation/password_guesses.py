"""The passwords at one login as a counter that locks: could what was answered have happened one after the other?

Ten wrong passwords in a row lock it for half an hour; a right one ends the count. Where attempts are at the same time,
any order of them will do that lies between the times at which each was asked for and answered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.simulation.clients import Change, Seen
from tests.simulation.scenario import Scenario

LOCK_AFTER, LOCK_SECONDS = 10, 30 * 60
SKEW = 4.0  # seconds between two clocks, and from the clock that is read to the write, at the most
NEVER = float("inf")
WRONG, RIGHT, LOCKED, UNLOCKED, NOTHING = "wrong", "right", "locked", "unlocked", "nothing"
# Who is blocked (103) was right as well.
BY_ERROR: dict[int, tuple[str, ...]] = {102: (WRONG,), 104: (LOCKED,), 0: (RIGHT,), 103: (RIGHT,)}
ANYTHING = (NOTHING, WRONG, RIGHT)


@dataclass(frozen=True)
class Attempt:
    """A password that was tried between two times, and what may have come of it."""

    name: str
    begin: float
    end: float
    may: tuple[str, ...]


class Count(NamedTuple):
    """Wrong passwords in a row; once they are ten, the times between which the lock began."""

    number: int = 0
    low: float = 0.0
    high: float = 0.0


def passwords_are_limited(scenario: Scenario) -> Iterator[str]:
    """After ten wrong passwords in a row a login is locked for half an hour, for the right one too."""
    for person in scenario.clients.people.by_name.values():
        tried = [one for one in scenario.clients.seen if _tries(one, person.name, scenario)]
        if not any(one.kind == "guess" for one in tried):
            continue
        is_told_exactly = not any(scenario.faults.met_by(one.act.name) for one in tried) and not scenario.faults.is_slow
        attempts = [_attempt(one, scenario.faults.number_met_by(one.act.name)) for one in tried]
        attempts += [
            _unlocking(one) for one in scenario.clients.changes if (one.till, one.what) == (person.name, "unlock")
        ]
        if wrong := first_impossible(attempts, is_told_exactly=is_told_exactly):
            yield f"{wrong} cannot have been answered so after the attempts before it"


def _tries(one: Seen, name: str, scenario: Scenario) -> bool:
    """Return whether a request may bring a password to the login of this person, right or wrong."""
    if one.act.client != name or one.kind == "status":
        return False
    if one.kind in {"guess", "sign in"}:
        return True
    if one.act.facts.get("signs") == "borrowed session":
        return True
    has_changed = any(change.till == name for change in scenario.clients.changes)
    return has_changed or one.act.facts.get("signs") not in {"key", "session", "token", "forged token", "expired token"}


def _attempt(one: Seen, faults: int) -> Attempt:
    """Return what may have come of an attempt: with each fault its write may have been repeated, and count again.

    Who is told 104 may have been counted before that, or have ended the count.
    """
    if one.kind not in {"guess", "sign in"}:  # the gateway may remember what the authorizer said before
        return Attempt(one.act.name, one.asked_at, NEVER, ANYTHING)
    if one.answered_at is None or one.status >= 500 or one.error not in BY_ERROR:
        return Attempt(one.act.name, one.asked_at, NEVER, ANYTHING)
    may = BY_ERROR[one.error]
    if faults and may == (LOCKED,):
        may += (RIGHT,) if one.kind == "sign in" else (WRONG,)
    if WRONG in may:
        may += tuple(f"{WRONG} {times}" for times in range(2, faults + 2))
    return Attempt(f"{one.act.name} ({one.error})", one.asked_at, one.answered_at, may)


def _unlocking(change: Change) -> Attempt:
    if change.done_at is None:
        return Attempt("unlocking", change.asked_at, NEVER, (NOTHING, UNLOCKED))
    return Attempt("unlocking", change.asked_at, change.done_at, (UNLOCKED,))


def first_impossible(attempts: Sequence[Attempt], *, is_told_exactly: bool = True) -> str | None:
    """Return the attempt that no order explains together with those that ended before it; None if there is none.

    Unless what was told is exact, a fault may have counted an attempt twice: then it may be locked early and late.
    """
    ordered = sorted(attempts, key=lambda one: one.end)
    low, high = 0, len(ordered)
    if _is_possible(ordered, is_told_exactly):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _is_possible(ordered[:middle], is_told_exactly):
            low = middle
        else:
            high = middle
    return ordered[high - 1].name


def _is_possible(attempts: Sequence[Attempt], is_exact: bool) -> bool:  # noqa: FBT001
    """Return whether there is an order. Of attempts that are alike the one that ends first comes first."""
    stack = [(frozenset(range(len(attempts))), Count())]
    tried = set()
    while stack:
        left, count = stack.pop()
        if all(NOTHING in attempts[number].may for number in left):
            return True
        if (left, count) in tried:
            continue
        tried.add((left, count))
        first_end = min(attempts[number].end for number in left)
        alike: set[tuple[str, ...]] = set()
        for number in sorted(left, key=lambda one: (attempts[one].end, attempts[one].begin)):
            one = attempts[number]
            if one.begin > first_end or one.may in alike:
                continue
            alike.add(one.may)
            stack.extend(
                (left - {number}, after)
                for what in one.may
                if (after := _after(count, what, one, is_exact)) is not None
            )
    return False


def _after(count: Count, what: str, one: Attempt, is_exact: bool) -> Count | None:  # noqa: FBT001
    """Return the count after an attempt; None where this cannot have come of it."""
    is_full = count.number >= LOCK_AFTER
    may_be_over = is_full and one.end >= count.low + LOCK_SECONDS - SKEW
    is_over = is_full and one.begin > count.high + LOCK_SECONDS + SKEW
    if what in {NOTHING, UNLOCKED}:
        return Count() if what == UNLOCKED else count
    if what == LOCKED:
        return None if is_exact and (not is_full or is_over) else count
    if is_full and not may_be_over:
        return None
    if what == RIGHT:
        return Count()
    times = int(what.rpartition(" ")[2]) if " " in what else 1
    number = min((0 if is_full else count.number) + times, LOCK_AFTER)
    return Count(number, one.begin, one.end) if number == LOCK_AFTER else Count(number)
