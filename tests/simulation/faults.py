"""Faults by the seed: the faults of a scenario. Each has a name, so that the scenario can run again without it."""

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random

from tests.simulation.scheduler import DiedError, Scheduler

KINDS = (
    *("unreachable", "throttled", "conflict", "dies", "freezes", "part", "lost", "cut"),
    *("late", "down", "defect", "not sent", "busy", "mixed up"),
)
FREEZES = (3, 40, 90, 700, 7200)  # seconds: shorter than a request, longer than a gateway, than a claim, than hours
MOST = 0.5  # of the calls at one door fail at the most


class Faults:
    """The faults of one scenario. `needed` names those that may happen, None: any; `happened` those that did.

    A scenario has only some kinds of faults, so that faults of one kind meet more often.
    """

    def __init__(self, scheduler: Scheduler, chance: Random, needed: frozenset[str] | None = None) -> None:
        self._scheduler, self._needed = scheduler, needed
        self.happened: list[str] = []
        self.counts: Counter[str] = Counter()  # of each door and kind
        self.frozen: set[str] = set()  # the tasks that stood still
        self.trace: Callable[[str], None] | None = None
        self.is_over = False
        self.without_store: list[tuple[str, float, float]] = []  # when the store refuses or misses every call
        self.is_slow = chance.random() < 0.4
        self.share = chance.choice((0.0, 0.005, 0.02, 0.05))
        self.at_acquirers = 5.0  # times as many there: a payment has two calls of its acquirer, and twenty of the store
        likely = chance.choice((0.7, 0.7, 0.35))
        self.kinds = frozenset(kind for kind in KINDS if chance.random() < likely)

    def draw(self, door: str, weights: Mapping[str, float], more: float = 1.0) -> str | None:
        """Return the fault that happens at this door now, if one does; `more` makes any of them likelier."""
        task = self._scheduler.current
        if task is None or self.is_over or task.instance is None:
            return None
        drawn = task.chance.random()
        if drawn >= min(self.share * more, MOST):
            return None
        possible = {kind: weight for kind, weight in weights.items() if kind in self.kinds}
        if not possible:
            return None
        kind: str = task.chance.choices(list(possible), list(possible.values()))[0]
        task.faults += 1
        if not self._is_to_happen(f"{task.name}:{task.faults}", f"{door}: {kind}"):
            return None
        if kind == "freezes":
            self.frozen.add(task.name)
        return kind

    def outage_of_store(self, now: float) -> str | None:
        """Return the fault that every call of the store meets now, if there is one."""
        kinds = [kind for kind, begin, end in self.without_store if begin <= now < end]
        task = self._scheduler.current
        return kinds[0] if kinds and not self.is_over and task and task.instance else None

    def is_planned(self, name: str) -> bool:
        """Return whether a fault happens that no single call meets: an outage at a set time, a record gone bad."""
        return self._is_to_happen(name, name)

    def _is_to_happen(self, name: str, text: str) -> bool:
        if self._needed is not None and name not in self._needed:
            return False
        self.happened.append(name)
        self.counts[text] += 1
        if self.trace is not None:
            self.trace(f"!! {text}   ({name})")
        return True

    def met_by(self, task: str) -> bool:
        """Return whether a fault happened to what this client or job did."""
        return self.number_met_by(task) > 0

    def number_met_by(self, task: str) -> int:
        """Return how many faults happened to what this client or job did."""
        return sum(name.startswith((f"{task}.", f"{task}:")) for name in self.happened)

    def frozen_at(self, client: str) -> bool:
        """Return whether something that this client asked for stood still."""
        return any(task.startswith(f"{client}.") for task in self.frozen)

    def happen(self, kind: str | None) -> None:
        """Let the process of the present task die or stand still, if that is the fault."""
        if kind == "dies":
            raise DiedError
        if kind == "freezes":
            task = self._scheduler.current
            self._scheduler.pause(task.chance.choice(FREEZES) if task else 0)
