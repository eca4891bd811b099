"""Scenarios by seed: their violations, and the shortening of a scenario that fails."""

import gc
import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.simulation import environment, oracle, webhooks
from tests.simulation.call_descriptions import PHASES, short
from tests.simulation.clients import LAST
from tests.simulation.invariants import INVARIANTS, violations
from tests.simulation.scenario import TOWN, Scenario
from tests.simulation.scenario_script import Act
from tests.simulation.visibility import transactions

T = TypeVar("T")
MEANINGS = {rule.__name__: (rule.__doc__ or "").partition("\n")[0] for rule in (*INVARIANTS, *webhooks.RULES)}
GARBAGE = 20_000  # objects, of about ten scenarios, before a garbage collection
MOST_TRIES = 250  # scenarios to shorten one


@dataclass(frozen=True)
class Failure:
    """A scenario that violates an invariant."""

    seed: str
    rule: str
    what: str
    only: tuple[int, ...] | None = None  # the acts that are left
    needed: tuple[str, ...] | None = None  # the faults that have to happen


def simulate(
    seed: str, needed: Iterable[str] | None = None, only: Iterable[int] | None = None, *, traced: bool = False
) -> tuple[Scenario, list[tuple[str, str]]]:
    """Run a scenario; return it and its violations."""
    scenario = Scenario(seed, needed, None if only is None else frozenset(only), traced=traced)
    try:
        scenario.run()
    except Exception as failure:  # noqa: BLE001  any exception is a violation
        where = traceback.extract_tb(failure.__traceback__)[-1]
        place = f"{where.name} in {where.filename.rpartition('/')[2]}:{where.lineno}"
        doing = scenario.scheduler.failed_task or "the scenario"
        return scenario, [("nothing_fails", f"{doing} met {type(failure).__name__}: {failure}, raised by {place}")]
    return scenario, violations(scenario)


def simulate_some(seeds: Sequence[int]) -> tuple[int, Failure | None]:
    """Run these seeds in this process until one fails; return the number of scenarios, and the failure."""
    with environment.simulated():
        if TOWN.found():
            gc.freeze()  # the garbage collector skips the common start of the scenarios
            gc.set_threshold(GARBAGE)
        for number, seed in enumerate(seeds):
            if failure := failure_of(str(seed)):
                return number + 1, failure
    return len(seeds), None


def rules_violated(seed: str) -> list[str]:
    """Return the invariants that the scenario of a seed violates."""
    with environment.simulated():
        TOWN.found()
        _, problems = simulate(seed)
    return [rule for rule, _ in problems]


def failure_of(seed: str) -> Failure | None:
    """Return the first violation in the scenario of a seed, or None."""
    _, problems = simulate(seed)
    return Failure(seed, *problems[0]) if problems else None


def shrunk(failure: Failure) -> Failure:
    """Return the same failure with as few acts and faults as are needed for it."""
    tries = 0

    def still_fails(only: Sequence[int], needed: Sequence[str] | None) -> list[str] | None:
        """Return the faults that happened, if the same invariant is violated."""
        nonlocal tries
        tries += 1
        scenario, problems = simulate(failure.seed, needed, only)
        return scenario.faults.happened if failure.rule in {rule for rule, _ in problems} else None

    scenario, _ = simulate(failure.seed)
    acts = [LAST, *(act.number for act in scenario.acts)]
    acts = _fewest(acts, lambda left: tries < MOST_TRIES and still_fails(left, None) is not None)
    happened = still_fails(acts, None) or []
    needed = _fewest(happened, lambda left: tries < MOST_TRIES and still_fails(acts, left) is not None)
    _, problems = simulate(failure.seed, needed, acts)
    what = next((what for rule, what in problems if rule == failure.rule), failure.what)
    return Failure(failure.seed, failure.rule, what, tuple(acts), tuple(needed))


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
    scenario, _ = simulate(failure.seed, failure.needed, failure.only, traced=True)
    story = [(at, who, short(text, scenario.began)) for at, who, text in scenario.timeline if _matters(who, text)]
    lines = [
        f"seed {failure.seed}: {failure.rule.replace('_', ' ')}? No: {failure.what}",
        f"The violated invariant: {MEANINGS.get(failure.rule, 'No exception leaves the service.')}",
        "",
        *_circumstances(scenario),
        "",
        "What its clients wanted:",
        *(f"  {act.at:>9.3f} s  {act.name}: {act.kind} {act.label}{_wish(act)}" for act in scenario.acts),
        "",
        "What happened (seconds, who, [which process of the service]; !! is what goes wrong, -> what came of it):",
        *(f"  {at:>9.3f}  {who:<26} {text}" for at, who, text in story),
        "",
        "What the acquirers took and gave back, at whose request:",
        *(f"  {at:>9.3f}  {who:<26} {text}" for at, who, text in _moved(scenario)),
        "",
        "What is stored in the end:",
        *(f"  {line}" for line in _stored(scenario)),
    ]
    text = "\n".join(lines)
    phases = [f"  {name}: {meaning}" for name, meaning in PHASES.items() if re.search(rf"\b{name}\b", text)]
    return "\n".join([text, *(["", "The phases of a payment or a reversal:", *phases] if phases else ())])


def _moved(scenario: Scenario) -> list[tuple[float, str, str]]:
    return sorted(moved for one in scenario.acquirers.values() for moved in one.moved)


def _stored(scenario: Scenario) -> list[str]:
    """Return what every payment and reversal came to."""
    found = []
    for one in sorted(transactions(scenario).values(), key=lambda each: each.created_at):
        name = f"reversal {one.id[:8]} of {one.original.id[:8]}" if one.original.id else f"payment {one.id[:8]}"
        taken = one.reversals
        given_back = f", {taken.amount_minor} reversed in {taken.count}" if taken.count or taken.amount_minor else ""
        found.append(f"{name}: {one.phase}, {one.amount_minor}{given_back}")
    return found


def _circumstances(scenario: Scenario) -> list[str]:
    """Return the time and the theme of a scenario, and the errors of its clocks."""
    there = scenario.began + oracle.ZONE
    until = oracle.end_of_day(there)
    clients = scenario.clients
    ids = [f"{name} is {one[:8]}" for name, one in clients.payments.items()]
    ids += [f"the last reversal of {name} is {one[:8]}" for name, one in clients.reversals.items()]
    clocks = [f"{name} {ahead:+.1f}" for name, ahead in scenario.clocks.items()]
    return [
        f"The scenario begins on {scenario.began:%Y-%m-%d at %H:%M:%S} UTC, at {there:%H:%M} where the shops are.",
        f"Their day ends after {(until - scenario.began).total_seconds():.0f} s: that is the Deadline of its payments.",
        f"All times are seconds since it began, money is in cents. Its theme is: {scenario.theme}.",
        *([f"By their IDs: {', '.join(ids)}."] if ids else ()),
        *([f"Clocks, seconds fast (+) or slow (-): {', '.join(clocks)}."] if clocks else ()),
    ]


def _wish(act: Act) -> str:
    """Return what else a client wants to be so."""
    facts = act.facts
    named = facts.get("named")
    told = {
        "pay": (facts.get("way"), facts.get("amount"), named),
        "sign": (facts.get("way"), facts.get("amount"), named, f"picture {facts.get('picture')}"),
        "reverse": (facts["mode"], facts.get("amount") or "all that remains", named) if "mode" in facts else (),
        "change": (facts.get("what"), facts.get("till")),
        "account": (facts["signs"],) if "signs" in facts else (),
        "look": ("for its last reversal",) if facts.get("is_of_reversal") else (),
    }.get(act.kind, ())
    names = {"id": "under an ID", "key": "under a key", "nothing": "without ID or key", "time": "with the till's time"}
    wishes = ", ".join(names.get(str(wish), str(wish)) for wish in told if wish is not None)
    return f" ({wishes})" if wishes else ""


def _matters(who: str, text: str) -> bool:
    """Return whether a line belongs to the story: a sweep that finds nothing does not."""
    return not (who.partition(" ")[0] in {"sweep", "last"} and text.endswith("-> 0 found"))
