"""Long scenarios with webhooks: many events, through everything that can go wrong.

Two tills pay all the time. One receiver is down for a third of the time, processes die at any call, records of the
streams come twice or not at all.
"""

import gc
import json
import random
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from typing import Any, NamedTuple

from tests.simulation import environment
from tests.simulation.clients import LAST
from tests.simulation.environment import present
from tests.simulation.faults import KINDS
from tests.simulation.scenario import AFTERWARDS, HOUR, MINUTE, TOWN, Scenario
from tests.simulation.scenario_script import AMOUNTS, AT_HOST, CARD, CASH, PARTS, TILLS, Act
from tests.simulation.webhooks import DOWN, RULES, Webhooks

PAYMENTS_EACH = 1000  # payments of a scenario: more would take too much memory
APART = 1.0  # seconds between two payments
SHARE = 0.0005  # of the calls at each door: a fault
REVERSED = 0.25  # of the payments
DOORS = {"stream: lost": "batches of records that came twice", "stream: unreachable": "batches that never came"}


class Found(NamedTuple):
    """The counts of a scenario, and its violations."""

    counts: Counter[str]
    violations: Sequence[str]


class LongScenario(Scenario):
    """A scenario of so many payments. `share` is that of faults, `down` of the time in which a receiver is down."""

    def __init__(self, seed: str, payments: int, share: float, down: float) -> None:
        super().__init__(seed)
        chance = random.Random(f"{seed}/payments")  # noqa: S311  the order of a test, not a secret
        self.scheduler.most_steps = 10_000 * payments
        self.faults.is_slow = False
        self.faults.share, self.faults.kinds = share, frozenset(KINDS)
        self.acts = list(_acts(chance, payments))
        self.lasts = payments * APART
        merchant_id = TOWN.people.by_name["owner"].merchant_id
        self.webhooks: Webhooks = Webhooks(self.scheduler, self.faults, merchant_id, down=down)

    def run(self) -> None:
        """Run it. The jobs run each minute, or late, or twice; at the end the faults stop, as in any scenario."""
        present.scenario = self
        jobs = self._jobs()
        for act in self.acts:
            self.scheduler.spawn(act.name, self._doing(act), act.at)
        for name, job in jobs.items():
            for minute in range(int(self.lasts / MINUTE) + 5):
                for number in range(self._chance.choice((0, 1, 1, 1, 1, 2))):
                    at = minute * MINUTE + self._chance.choice((0, 0, 0.01, 20))
                    self.scheduler.spawn(f"{name} {minute}.{number}", self._run(name, job), at)
            for number, minutes in enumerate(AFTERWARDS[name]):
                at = self.lasts + 2 * HOUR + minutes * MINUTE
                self.scheduler.spawn(f"last {name} {number}", self._run(name, job), at)
        self.scheduler.spawn("peace", self._end_of_faults, self.lasts + 5 * MINUTE)
        try:
            self.scheduler.run()
        finally:
            self.scheduler.abandon()


def _acts(chance: random.Random, payments: int) -> Iterator[Act]:
    """Yield what the tills want: payments of each kind, some of them given back in part or in whole."""
    for number in range(payments):
        at, way = chance.uniform(0, payments * APART), chance.choice((CASH, CASH, CARD, AT_HOST))
        usual: dict[str, Any] = {
            "way": way,
            "patience": 40.0,
            "attempts": 3,
            "pauses": [chance.choice((0.1, 1.0, 8.0)) for _ in range(3)],
            "signs": "key",
            "named": "id",
        }
        label, till = f"payment {number}", chance.choice(TILLS)
        wanted = {
            "amount": chance.choice(AMOUNTS),
            "receipt": None,
            "ext_id": None,
            "days_ago": 0,
            "gmt": 2,
            "invoice": None,
        }
        yield Act(number, at, till, "pay", label, {**usual, **wanted, "id": _an_id(chance)})
        if chance.random() < REVERSED:
            later = at + chance.uniform(1, 60)
            reversal = {"mode": chance.choice(("return", "cancel")), "amount": chance.choice(PARTS)}
            yield Act(LAST + number, later, till, "reverse", label, {**usual, **reversal, "id": _an_id(chance)})


def _an_id(chance: random.Random) -> str:
    return str(uuid.UUID(bytes=chance.randbytes(16), version=4)).upper()


def simulate(seed: str, payments: int, share: float, down: float) -> Found:
    """Run a scenario, and return what is found in the end; within `environment.simulated`."""
    scenario = LongScenario(seed, payments, share, down)
    scenario.run()
    webhooks = scenario.webhooks
    counts = Counter(
        {
            "scenarios": 1,
            "events": len(webhooks.made),
            "attempts": webhooks.calls,
            "processes that died": sum(n for kind, n in scenario.faults.counts.items() if kind.endswith(": dies")),
            **{name: scenario.faults.counts[door] for door, name in DOORS.items()},
            "events that a receiver got twice": sum(
                len(at) > 1 for got in webhooks.got.values() for at in got.values()
            ),
        }
    )
    return Found(counts, [f"scenario {seed}: {what}" for rule in RULES for what in rule(scenario)])


def live_one(wanted: tuple[str, int, float, float]) -> Found:
    """Run a scenario in this process."""
    with environment.simulated():
        TOWN.found()
        found = simulate(*wanted)
    gc.collect()  # the tables of a long scenario are large
    return found


def faulty(
    events: int, processes: int, payments: int = PAYMENTS_EACH, share: float = SHARE
) -> tuple[Counter[str], list[str]]:
    """Run scenarios until there were so many events; return the sums of the counts, and the violations."""
    total, violations = Counter[str](), list[str]()
    numbers = count(1)
    with ProcessPoolExecutor(processes) as pool:
        while total["events"] < events:
            wanted = [(str(next(numbers)), payments, share, DOWN) for _ in range(processes)]
            for found in pool.map(live_one, wanted):
                total.update(found.counts)
                violations += found.violations
    return total, violations


if __name__ == "__main__":
    found_in, wrong = faulty(int(sys.argv[1]), 1, payments=int(sys.argv[2]), share=0.004)
    print(json.dumps([found_in, wrong]))
