"""Running lives by seed: what is broken in each, and a failing one made as short as it can be."""

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.simulation.clients import LAST
from tests.simulation.invariants import broken
from tests.simulation.life import Life

T = TypeVar("T")
MOST_TRIES = 250  # lives that are lived to make one shorter


@dataclass(frozen=True)
class Failure:
    """A life in which something that is always true is not."""

    seed: str
    rule: str
    what: str
    only: tuple[int, ...] | None = None  # the acts that are left
    spared: tuple[str, ...] = ()  # the faults that need not happen


def lived(
    seed: str, spared: Iterable[str] = (), only: Iterable[int] | None = None, *, traced: bool = False
) -> tuple[Life, list[tuple[str, str]]]:
    """Live a life, and return what is broken in it."""
    life = Life(seed, spared, None if only is None else frozenset(only), traced=traced)
    try:
        life.live()
    except Exception as failure:  # noqa: BLE001  whatever it is, it is what is wrong with this life
        where = traceback.extract_tb(failure.__traceback__)[-1]
        return life, [
            ("nothing_fails", f"{type(failure).__name__} at {where.filename.rpartition('/')[2]}:{where.lineno}")
        ]
    return life, broken(life)


def failure_of(seed: str) -> Failure | None:
    """Return what is broken first in the life of a seed; None if nothing is."""
    _, problems = lived(seed)
    return Failure(seed, *problems[0]) if problems else None


def shrunk(failure: Failure) -> Failure:
    """Return the same failure with as few acts and faults as are needed for it."""
    tries = 0

    def still_fails(only: Sequence[int], spared: Sequence[str]) -> list[str] | None:
        """Return the faults that happened, if the same rule is broken."""
        nonlocal tries
        tries += 1
        life, problems = lived(failure.seed, spared, only)
        return life.faults.happened if failure.rule in {rule for rule, _ in problems} else None

    life, _ = lived(failure.seed)
    acts = [LAST, *(act.number for act in life.acts)]
    acts = _fewest(acts, lambda left: tries < MOST_TRIES and still_fails(left, ()) is not None)
    happened = still_fails(acts, ()) or []
    needed = _fewest(
        happened,
        lambda left: tries < MOST_TRIES and still_fails(acts, [f for f in happened if f not in left]) is not None,
    )
    spared = tuple(fault for fault in happened if fault not in needed)
    _, problems = lived(failure.seed, spared, acts)
    what = next((what for rule, what in problems if rule == failure.rule), failure.what)
    return Failure(failure.seed, failure.rule, what, tuple(acts), spared)


def _fewest(parts: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return as few of the parts as it fails with: halves are left out, then smaller pieces (Zeller's ddmin)."""
    left, size = list(parts), max(len(parts) // 2, 1)
    while left:
        for begin in range(0, len(left), size):
            fewer = left[:begin] + left[begin + size :]
            if fails(fewer):
                left = fewer
                break
        else:
            if size == 1:
                return left
            size = max(size // 2, 1)
    return left


def told(failure: Failure) -> str:
    """Return a failure as a person reads it: who did what, at which time, and what was answered."""
    life, _ = lived(failure.seed, failure.spared, failure.only, traced=True)
    lines = [
        f"seed {failure.seed}: {failure.rule.replace('_', ' ')}? No: {failure.what}",
        "",
        "What its clients wanted:",
        *(f"  {act.at:>9.3f} s  {act.name}: {act.kind} {act.label}" for act in life.acts),
        "",
        "What happened (seconds, who, [which process of the service]):",
        *(f"  {at:>9.3f}  {who:<26} {text}" for at, who, text in life.timeline if _matters(who, text)),
    ]
    return "\n".join(lines)


def _matters(who: str, text: str) -> bool:
    """Return whether a line belongs to the story: a sweep that finds nothing does not."""
    return not (who.partition(" ")[0] in {"sweep", "last"} and text.endswith("-> 0 found"))
