"""Faults by the seed: which happen in a life, and that each has a name, so that a life can be run again without it."""

from collections.abc import Callable, Mapping
from random import Random

from tests.simulation.scheduler import DiedError, Scheduler

KINDS = (
    *("unreachable", "throttled", "conflict", "dies", "freezes", "part", "lost", "cut"),
    *("declined", "late", "down", "defect", "not sent"),
)
FREEZES = (3, 40, 90, 700, 7200)  # seconds: shorter than a request, longer than a gateway, than a claim, than hours


class Faults:
    """The faults of one life. `spared` names those that do not happen; `happened` those that did."""

    def __init__(self, scheduler: Scheduler, chance: Random, spared: frozenset[str] = frozenset()) -> None:
        self._scheduler, self._spared = scheduler, spared
        self.happened: list[str] = []
        self.frozen: set[str] = set()  # the tasks that stood still
        self.trace: Callable[[str], None] | None = None
        self.is_over = False
        self.is_slow = chance.random() < 0.4
        self.share = chance.choice((0.0, 0.005, 0.02, 0.06))
        self._kinds = frozenset(kind for kind in KINDS if chance.random() < 0.6)

    def draw(self, door: str, weights: Mapping[str, float], more: float = 1.0) -> str | None:
        """Return the fault that happens at this door now, if one does; `more` makes any of them likelier."""
        task = self._scheduler.current
        if task is None or self.is_over or task.instance is None:
            return None
        drawn = task.chance.random()
        if drawn >= self.share * more:
            return None
        kind: str = task.chance.choices(list(weights), list(weights.values()))[0]
        task.faults += 1
        name = f"{task.name}:{task.faults}"
        if kind not in self._kinds or name in self._spared:
            return None
        if kind == "freezes":
            self.frozen.add(task.name)
        self.happened.append(name)
        if self.trace is not None:
            self.trace(f"!! {door}: {kind}   ({name})")
        return kind

    def happen(self, kind: str | None) -> None:
        """Let the process of the present task die or stand still, if that is the fault."""
        if kind == "dies":
            raise DiedError
        if kind == "freezes":
            task = self._scheduler.current
            self._scheduler.pause(task.chance.choice(FREEZES) if task else 0)
