"""One life of the service: from a seed to everything that was asked, answered and stored."""

import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from chalicelib.aws.connections import Answer
from chalicelib.domain.outbox import NotSentError, Outbox
from chalicelib.services import outbox, payment_sweep
from infra import resources
from infra.engines import STACK
from tests.simulation import environment
from tests.simulation.acquirers import Acquirer, Host
from tests.simulation.clients import Clients
from tests.simulation.environment import MORNING, present
from tests.simulation.faults import Faults
from tests.simulation.gateway import Gateway
from tests.simulation.people import People, a_town
from tests.simulation.scheduler import Scheduler
from tests.simulation.script import Act, Script
from tests.simulation.store import Store
from tests.simulation.tables import Table
from tests.simulation.wire import Wire

MINUTE, HOUR = 60.0, 3600.0
SWEEPS, APART = 6, 8 * MINUTE  # while things go wrong
QUIET_AFTER = 3 * HOUR  # after which nothing goes wrong any more
PAYMENTS, OUTBOX = "sweep of payments", "sweep of the outbox"
AFTERWARDS = {PAYMENTS: (1.5, 30, 610, 630, 1200, 1230, 1260), OUTBOX: (3, 400, 640, 1290)}  # minutes
EXPIRIES = (40 * MINUTE, QUIET_AFTER, 20 * HOUR)
LAST_LIST = 1300 * MINUTE
# The Deadline is the end of the day, at 22:00 UTC: hours away, or soon; and the month may end with it.
BEGINNINGS = (
    timedelta(),
    timedelta(hours=14, minutes=30),
    timedelta(hours=14, minutes=55),
    timedelta(days=17, hours=14.8),
)
MOST_BEHIND = 2.0  # seconds until an index sees a write


class Life:
    """The life of one seed. `spared` are faults that do not happen, `only` the acts that are left."""

    def __init__(
        self, seed: str, spared: Iterable[str] = (), only: Iterable[int] | None = None, *, traced: bool = False
    ) -> None:
        self.seed, self._only = seed, None if only is None else frozenset(only)
        self.timeline: list[tuple[float, str, str]] = []
        self.scheduler = Scheduler(seed)
        chance = random.Random(f"{seed}/life")  # noqa: S311  the order of a test, not a secret
        self.began = MORNING + chance.choice(BEGINNINGS)
        self.faults = Faults(self.scheduler, chance, frozenset(spared))
        behind = chance.choice((0.0, 0.02, MOST_BEHIND))
        self.store = TOWN.store.copy(lambda: self.scheduler.now, lambda: behind)
        trace = self._trace if traced else None
        self.faults.trace = trace
        self.exchange = Wire(self.scheduler, self.store, self.faults, trace).exchange
        self.acquirers: dict[str, Acquirer] = {
            "SANDBOX": Acquirer(self.scheduler, self.faults, trace=trace),
            "ISO8583": Host(self.scheduler, self.faults, trace=trace),
        }
        self.gateway = Gateway(self.scheduler, self.faults, trace)
        self.log: list[tuple[str, Any]] = []
        self.delivered: list[tuple[str, str]] = []
        self.clients = Clients(self.scheduler, self.gateway, TOWN.people.copy(), trace)
        self.acts = [act for act in Script(seed).acts() if self._only is None or act.number in self._only]
        self._chance = chance

    def live(self) -> None:
        """Live it."""
        present.life = self
        for act in self.acts:
            self.scheduler.spawn(act.name, self._doing(act), act.at)
        for number in range(SWEEPS):
            for name, job in JOBS.items():
                if self._chance.random() < 0.75:  # some are late, some do not come at all, some come twice
                    at = number * APART + self._chance.choice((0, 0.01, 30, 200))
                    self.scheduler.spawn(f"{name} {number}", self._run(name, job), at)
        for at in EXPIRIES:
            self.scheduler.spawn(f"expiry {at:.0f}", self._expire, at)
        self.scheduler.spawn("peace", self._end_of_faults, QUIET_AFTER)
        peace = QUIET_AFTER + 2 * HOUR
        for name, times in AFTERWARDS.items():
            for number, minutes in enumerate(times):
                self.scheduler.spawn(f"last {name} {number}", self._run(name, JOBS[name]), peace + minutes * MINUTE)
        end = peace + LAST_LIST
        for act in self.clients.last_acts():
            if self._only is None or act.number in self._only:
                self.scheduler.spawn(act.name, self._doing(act), end)
        try:
            self.scheduler.run()
        finally:
            self.scheduler.abandon()

    def _doing(self, act: Act) -> Callable[[], None]:
        return lambda: self.clients.do(act)

    def _run(self, name: str, job: Callable[[], None]) -> Callable[[], None]:
        return lambda: self.gateway.run_job(name, job)

    def _expire(self) -> None:
        self.store.expire((self.began + timedelta(seconds=self.scheduler.now)).timestamp())

    def _end_of_faults(self) -> None:
        self.faults.is_over = True

    def note(self, event: str, facts: Any) -> None:
        """Take a line of the log."""
        self.log.append((event, facts))

    def deliver(self, message: Outbox, to: str) -> str:
        """Deliver a message, or lose it."""
        fault = self.faults.draw("mail", {"not sent": 2.0, "dies": 1.0, "freezes": 0.5}, more=4)
        self.scheduler.pause(0.1)
        if fault == "not sent":
            reason = "Throttled"
            raise NotSentError(reason)
        self.delivered.append((message.id, to))
        if self.faults.trace is not None:
            self._trace(f"message {message.id[:13]} is delivered to {to}")
        self.faults.happen(fault)
        return "a-message-id"

    def _trace(self, text: str) -> None:
        task = self.scheduler.current
        instance = present.instance.name if task is not None and task.instance is not None else ""
        who = task.name.partition(".")[0] if task else ""
        self.timeline.append((self.scheduler.now, who, f"[{instance}] {text}" if instance else text))


def _sweep_payments() -> None:
    payment_sweep.run(present.clock())


def _sweep_outbox() -> None:
    outbox.deliver_due(present.clock())


JOBS: dict[str, Callable[[], None]] = {PAYMENTS: _sweep_payments, OUTBOX: _sweep_outbox}


class _Founding:
    """The life in which the town is founded: nobody else is there, and nothing goes wrong."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("founding")
        self.began = MORNING
        ttl = {name: spec["AttributeName"] for name, spec in resources.ttl_specifications(STACK).items()}
        tables = [Table(one, ttl.get(one["TableName"])) for one in resources.create_table_arguments(STACK)]
        self.store = Store(tables, lambda: self.scheduler.now)
        self.exchange = Wire(self.scheduler, self.store, Faults(self.scheduler, random.Random(0))).exchange  # noqa: S311
        self.log: list[Any] = []

    def note(self, event: str, facts: Any) -> None:
        """Take a line of the log."""
        self.log.append((event, facts))


class _Town:
    """The people and the tables that every life begins with: made once for a process."""

    store: Store
    people: People

    def found(self) -> None:
        """Make it, within `environment.simulated`."""
        founding: Any = _Founding()
        present.life = founding
        environment.SETTING_UP.seed(0)
        self.people = a_town()
        self.store = founding.store


TOWN = _Town()

__all__ = ["TOWN", "Answer", "Life"]
