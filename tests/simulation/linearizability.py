"""Whether what was answered about one payment could have happened one thing after the other (Wing & Gong, 1993).

A payment goes through events: it is stored, it has its outcome, an amount is reserved, a reversal has its outcome. When
each happened is not known; what became of it in the end is. An observation is an answer about the payment, and when it
was asked for and came. The answers are linearizable when there is an order of events and observations in
which each observation shows what the events before it made, and none stands before another that had ended when it was
asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Shown = tuple[object, ...]
NEVER = float("inf")


@dataclass(frozen=True)
class Event:
    """A step that happened once, not before `begin`, and behind others (their numbers)."""

    name: str
    begin: float
    after: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Observation:
    """An answer: what was shown, between `begin` and `end`; `fits` says whether the events so far show it."""

    name: str
    begin: float
    end: float
    fits: Callable[[frozenset[int]], bool]


def first_contradiction(events: Sequence[Event], observations: Sequence[Observation]) -> str | None:
    """Return the name of the observation that no order explains, after all that one explains; None if there is none."""
    ordered = sorted(observations, key=lambda one: one.end)
    low, high = 0, len(ordered)
    if _is_explained(events, ordered):
        return None
    while high - low > 1:  # the first that cannot be explained together with those that ended before it
        middle = (low + high) // 2
        if _is_explained(events, ordered[:middle]):
            low = middle
        else:
            high = middle
    return ordered[high - 1].name


def _is_explained(events: Sequence[Event], observations: Sequence[Observation]) -> bool:
    """Return whether there is such an order: a search that tries each step that may be next, and nothing twice."""
    every = frozenset(range(len(observations)))
    tried: set[tuple[frozenset[int], frozenset[int]]] = set()
    stack = [(frozenset[int](), every)]
    while stack:
        happened, left = stack.pop()
        if not left:
            return True
        if (happened, left) in tried:
            continue
        tried.add((happened, left))
        first_end = min(observations[number].end for number in left)
        for number, event in enumerate(events):
            if number not in happened and event.begin <= first_end and event.after <= happened:
                stack.append((happened | {number}, left))
        fitting = [n for n in left if observations[n].begin <= first_end and observations[n].fits(happened)]
        if fitting:
            # What fits now may as well be taken now: an observation changes nothing.
            stack.append((happened, left - set(fitting)))
    return False
