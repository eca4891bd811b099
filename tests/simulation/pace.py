"""How often something is done: who asks an acquirer, and what a sweep without work costs."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.simulation import oracle
from tests.simulation.environment import PAYMENTS
from tests.simulation.scenario import EVENTS, OUTBOX, Scenario

if TYPE_CHECKING:
    from tests.simulation.acquirers import Attempt

SHORTEST, LONGEST = 30.0, 900.0  # seconds between two requests of the sweep about one transaction
PART = 4  # a pause is a quarter of the time that the transaction is pending
AROUND = 15.0  # seconds between two clocks, and between a claim and its request
OPENS_AFTER, THREADS = 5, 3  # requests in a row without an answer; attempts at once
# Calls of the store by a sweep that finds nothing: a query for each of its lanes; of events also the webhooks.
MOST_IDLE_CALLS = {f"idle {PAYMENTS}": 4, f"idle {OUTBOX}": 2, f"idle {EVENTS}": 8}
OF_HOOK = 2  # calls for a webhook that the owner creates
SOON = 300.0  # seconds: the longest pause after ten minutes of silence, and two runs


def sweeps_keep_their_pauses(scenario: Scenario) -> Iterator[str]:
    """A sweep asks about a transaction after half a minute, then with longer pauses, up to 15 minutes."""
    if scenario.faults.frozen:
        return  # who stood still stores what it knew long ago
    for name, acquirer in scenario.acquirers.items():
        if not acquirer.can_inquire:
            continue  # a host gets its advice in each run, until it acknowledges it
        by_sweeps: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        for asked in acquirer.asked:
            if "sweep" in asked.task:
                by_sweeps[asked.about].append((asked.at, asked.task))
        for about, times in by_sweeps.items():
            begun, known = scenario.begun.get(about), oracle.entries(scenario).get(about)
            if begun is None or known is None:
                continue
            deadlines = [(one - scenario.began).total_seconds() for one in oracle.deadlines_of(known)]
            for (before, one), (after, other) in pairwise(sorted(times)):
                if one != other and all(_is_early(begun, deadline, before, after) for deadline in deadlines):
                    yield f"{name} was asked about {about[:8]} at {before:.0f} s, by {other} again at {after:.0f} s"


def _is_early(begun: float, deadline: float, before: float, after: float) -> bool:
    """Return whether a transaction was asked about again within its pause. At the Deadline it is always asked about."""
    if before < deadline + AROUND < after + 2 * AROUND:
        return False
    since = begun if before < deadline else deadline
    return after - before < min(max((before - since) / PART, SHORTEST), LONGEST) - AROUND


def silent_acquirers_are_spared(scenario: Scenario) -> Iterator[str]:
    """After five requests in a row without an answer, a run of the sweep sends at most one.

    The answers about a transaction count when its step ends: an early answer may count after a later silence.
    """
    for name, acquirer in scenario.acquirers.items():
        steps: defaultdict[tuple[str, str, str], list[Attempt]] = defaultdict(list)
        for one in acquirer.attempts if acquirer.can_inquire else ():
            if PAYMENTS in one.task:
                own = one.instance, one.task, one.about
                steps[own] = [*steps.pop(own, []), one]  # in the order of the last answers
        unanswered, is_open = defaultdict[str, int](int), dict[str, bool]()
        tried = defaultdict[str, set[str]](set)
        for (instance, task, about), attempts in steps.items():
            run = task.partition(".")[0]
            is_open.setdefault(run, unanswered[instance] >= OPENS_AFTER)
            for one in attempts:
                if one.is_answered:
                    unanswered[instance], is_open[run] = 0, False
                    tried[run].clear()
                else:
                    unanswered[instance] += 1
                    tried[run].add(about)
                most = 1 if is_open[run] else OPENS_AFTER + THREADS
                if unanswered[instance] > most and len(tried[run]) > most:
                    yield f"{name} did not answer, and {run} asked it about {len(tried[run])} transactions"


def acquirers_that_answer_again_are_asked_again(scenario: Scenario) -> Iterator[str]:
    """Work that waited for a silent acquirer is done soon after it answers again."""
    silences = scenario.around.silences
    if not silences or scenario.faults.share or len(scenario.faults.happened) > len(silences):
        return
    over = max(end for _, _, end in silences)
    for transaction, begun in scenario.begun.items():
        decided = scenario.decided.get(transaction)
        if begun < over and decided is not None and decided > over + SOON:
            yield f"{transaction} was decided at {decided:.0f} s, and its acquirer answered from {over:.0f} s on"


def idle_sweeps_cost_little(scenario: Scenario) -> Iterator[str]:
    """A sweep that finds nothing reads only the index of due work."""
    for task, calls in scenario.wire.calls.items():
        more = scenario.around.has_bad_record + OF_HOOK * len(scenario.clients.hooks)
        if calls > MOST_IDLE_CALLS.get(task, calls) + more:
            yield f"the {task} made {calls} calls of the store"
