"""Events under faults: a receiver that is down, a deliverer that dies anywhere, records that come twice.

The receivers are functions of this process, which look each transaction up as it is told; time is set, not waited for.
"""

import contextlib
import io
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

from chalicelib.domain import webhook
from chalicelib.domain.delivery import Attempt, State
from chalicelib.domain.event import Event, kind_of, spans
from chalicelib.domain.money import Currency
from chalicelib.domain.period import end_of_day
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import AgentSnapshot, InputType, Phase, Transaction
from chalicelib.domain.webhook import Webhook
from chalicelib.gateways import secrets
from chalicelib.gateways import webhooks as gateway
from chalicelib.services import deliveries, delivery_queues, event_stream, event_sweep
from chalicelib.services.webhooks import OWNER
from chalicelib.store import events, sequences, transactions, webhooks
from chalicelib.store.codec import encode
from chalicelib.store.table import AlreadyExistsError, put_new, write_one
from infra.bench_table import Table

DOWN, TWICE, LOST = 0.3, 0.2, 0.05  # of attempts, of records, of records
CRASHES = 0.01  # of steps, at the most
FEWER = 30  # divided by the events, where that is less: after each crash the sweep begins anew, and reads all events
BATCH = 10
STEP = timedelta(minutes=7)  # between two runs of the sweep
FINE, FLAKY = "https://fine.example/", "https://flaky.example/"
ENDS = (Phase.APPROVED, Phase.DECLINED, Phase.REJECTED, Phase.UNKNOWN)


class CrashError(BaseException):
    """The death of a process: no `except Exception` stops it."""


@dataclass
class World:
    """The events that were made, and what the receivers got."""

    random: random.Random
    made: dict[str, str] = field(default_factory=dict)  # the transaction of each event
    got: dict[str, Counter[str]] = field(default_factory=lambda: {FINE: Counter(), FLAKY: Counter()})
    at_once: set[str] = field(default_factory=set)  # what the fine receiver got without the sweep
    newer: list[str] = field(default_factory=list)  # events that a look-up did not know yet
    ahead: timedelta = timedelta()
    attempts: int = 0
    crashes: int = 0
    is_sweeping: bool = False
    dies: float = CRASHES
    shop: ThreadPoolExecutor = field(default_factory=ThreadPoolExecutor)  # not a part of the function that calls it

    def call(self, url: str, event_id: str, body: bytes, _: Sequence[Secret], now: datetime) -> Attempt:
        """Be both receivers: look the transaction up, as a shop does."""
        self.attempts += 1
        self.may_crash()
        if url == FLAKY and self.random.random() < DOWN:
            is_silent = self.random.random() < DOWN
            return Attempt(now, 10_000, reason="no answer in time") if is_silent else Attempt(now, 3, 503)
        stored = self.shop.submit(transactions.get, self.made.get(event_id, "")).result()
        if stored is None or f'"{kind_of(stored)}"' not in body.decode():
            self.newer.append(event_id)
        self.got[url][event_id] += 1
        if url == FINE and not self.is_sweeping:
            self.at_once.add(event_id)
        self.may_crash()
        return Attempt(now, 3, 200)

    def may_crash(self) -> None:
        """Let the process die here, now and then."""
        if self.random.random() < self.dies:
            self.crashes += 1
            raise CrashError

    def crashing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that may die before and after it did its work."""

        def run(*arguments: Any, **named: Any) -> Any:
            self.may_crash()
            result = function(*arguments, **named)
            self.may_crash()
            return result

        return run


def prove(count: int, seed: int) -> Table:
    """Make so many events and deliver them under faults; return what is wrong with what the receivers got."""
    world = World(random.Random(seed), dies=min(CRASHES, FEWER / count))  # noqa: S311  a seed, not a secret
    client_id = sequences.next_id("merchants")
    now = datetime.now(UTC)
    for url in (FINE, FLAKY):
        write_one(put_new(webhooks.TABLE, _webhook(client_id, url, now), "id"))
    with _faults(world), contextlib.redirect_stdout(io.StringIO()):
        for start in range(0, count, BATCH):
            _deliver(world, _make(world, client_id, min(BATCH, count - start)))
        runs = _sweep(world, client_id, now)
    missing = [sum(event_id not in got for event_id in world.made) for got in world.got.values()]
    invented = sum(event_id not in world.made for got in world.got.values() for event_id in got)
    twice = sum(number > 1 for got in world.got.values() for number in got.values())
    rows = [
        ("events", f"{len(world.made):,}"),
        ("attempts", f"{world.attempts:,}"),
        ("crashes", f"{world.crashes:,}"),
        ("runs of the sweep", f"{runs:,}"),
        ("missing at the fine receiver, at the flaky one", f"{missing[0]}, {missing[1]}"),
        ("for a phase that did not happen", f"{invented}"),
        ("newer than a look-up", f"{len(world.newer)}"),
        ("sent more than once", f"{twice:,}"),
        ("at the fine receiver at once", f"{len(world.at_once):,}"),
    ]
    return Table("events", ("", "number"), rows)


def _webhook(client_id: int, url: str, now: datetime) -> Webhook:
    number = sequences.next_id(webhooks.TABLE)
    sealed = secrets.seal(webhook.new_secret(bytes(32)), number, OWNER)
    return Webhook(client_id, number, url, sealed, now, now, now)


def _make(world: World, client_id: int, count: int) -> list[Event]:
    """Store transactions, some of them twice, and move some on; return the events of their phases."""
    made: list[Event] = []
    begun = datetime.now(UTC)
    for _ in range(count):
        payment = _payment(client_id, world.random.choice((Phase.APPROVED, Phase.SENT)))
        transactions.record(payment)
        with contextlib.suppress(AlreadyExistsError):
            transactions.record(payment)  # a repeated request: it makes nothing
        if payment.phase is Phase.SENT:
            after = replace(payment, phase=world.random.choice(ENDS))
            transactions.store_step(payment, after, datetime.now(UTC))
            with contextlib.suppress(transactions.PhaseChangedError):
                transactions.store_step(payment, replace(payment, phase=Phase.DECLINED), datetime.now(UTC))
    for span in spans(client_id, begun, datetime.now(UTC) + timedelta(seconds=1)):
        made += [event for event, _ in events.between(*span) if event.id not in world.made]
    world.made |= {event.id: event.transaction_id or "" for event in made}
    return made


def _payment(client_id: int, phase: Phase) -> Transaction:
    now = datetime.now(UTC)
    return Transaction(
        id=str(uuid.uuid4()).upper(),
        client_id=client_id,
        agent=AgentSnapshot(17, "till@shop.example", "Till 1", "+27829876543"),
        terminal_id=3,
        terminal_name="SHOP0001",
        phase=phase,
        input_type=InputType.CASH,
        acquirer="CASH",
        currency=Currency("ZAR", "710", 2),
        amount_minor=1230,
        created_at=now,
        deadline=end_of_day(now, 2),
        gmt=2,
        fingerprint="f",
        invoice="260314000001",
        raw_request="{}",
        makes_events=True,
    )


def _deliver(world: World, made: list[Event]) -> None:
    """Give the records of a batch to the function, some twice and some never; again when it died."""
    records = [(one.id, encode(one)) for one in made if world.random.random() > LOST]
    records += [one for one in records if world.random.random() < TWICE]
    world.random.shuffle(records)
    for _ in range(3):
        try:
            event_stream.deliver(records)
        except CrashError:
            continue
        return


def _sweep(world: World, client_id: int, began: datetime) -> int:
    """Run the sweep until nothing is left; return how many runs it took."""
    world.is_sweeping = True
    runs = 0
    while _is_left(client_id, began):
        world.ahead += STEP
        runs += 1
        with contextlib.suppress(CrashError):
            event_sweep.run(datetime.now(UTC) + world.ahead, seconds=1)
    return runs


def _is_left(client_id: int, began: datetime) -> bool:
    """Return whether an event is not delivered yet to both receivers."""
    both = 2
    return any(
        len(known) < both or any(one.state is State.PENDING for one in known)
        for span in spans(client_id, began - timedelta(seconds=1), datetime.now(UTC) + timedelta(seconds=1))
        for _, known in events.between(*span)
    )


@contextlib.contextmanager
def _faults(world: World) -> Iterator[None]:
    """Replace the receivers and the clock, and let the deliverer die anywhere."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + world.ahead

    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(gateway, "call", world.call))
        for module in (deliveries, delivery_queues, event_stream):
            stack.enter_context(patch.object(module, "datetime", Shifted))
        for name in ("begin", "claim", "store_attempt", "enqueue"):
            stack.enter_context(patch.object(events, name, world.crashing(getattr(events, name))))
        yield
