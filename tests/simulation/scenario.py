"""One scenario: from a seed to all requests, all answers and the stored records."""

import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from chalicelib.domain import message_limits
from chalicelib.domain.card import VERIFIED, CardData
from chalicelib.domain.outbox import RECEIPT, NotSentError, Outbox
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.https import Reply
from chalicelib.services import deliveries, linked_cards, outbox, payment_sweep
from chalicelib.store import agents, merchants, terminals
from chalicelib.store import linked_cards as linked_card_records
from chalicelib.store import message_limits as counters
from chalicelib.store.due_records import PAGE
from chalicelib.store.table import AlreadyExistsError, Key, read, update, write_one
from infra.stack import resources
from infra.stack.resources import STACK
from tests.simulation import environment
from tests.simulation.account_acts import add_accounts
from tests.simulation.acquirers import Acquirer, Host
from tests.simulation.actors import FACE, ZONE, People, a_town, token_of
from tests.simulation.bucket import Bucket
from tests.simulation.clients import PAN, Clients
from tests.simulation.environment import MORNING, PAYMENTS, present
from tests.simulation.erasure_acts import Erasure, add_erasures, erase_until_done
from tests.simulation.faults import Faults
from tests.simulation.gateway import Gateway
from tests.simulation.later_receipts import Message, add_receipts, message_of
from tests.simulation.partners import Partner
from tests.simulation.scenario_script import AT_STRIPE, CARD, CARDS, DEADLINE, OWNER, PENDING, Act, Script
from tests.simulation.scheduler import Scheduler
from tests.simulation.shop_acts import add_shops, add_taxes
from tests.simulation.store import Change, Store
from tests.simulation.streams import Streams
from tests.simulation.stripe import AtStripe
from tests.simulation.tables import Table
from tests.simulation.webhook_changes import add_changes, add_resent
from tests.simulation.webhooks import Webhooks
from tests.simulation.wire import Wire

MINUTE, HOUR = 60.0, 3600.0
SWEEPS, APART = 6, 8 * MINUTE  # while things go wrong
QUIET_AFTER = 3 * HOUR  # after which nothing goes wrong any more
OUTBOX, EVENTS = "sweep of the outbox", "sweep of events"
AFTERWARDS = {  # minutes
    PAYMENTS: (1.5, 30, 610, 630, 1200, 1230, 1260),
    OUTBOX: (3, 400, 640, 1290),
    EVENTS: (1, 7, 40, 200, 640, 1290),
}
SWEPT = {PAYMENTS: "transactions", OUTBOX: "outbox"}  # the tables
EXPIRIES = (40 * MINUTE, QUIET_AFTER, 20 * HOUR)
LAST_LIST = 1300 * MINUTE
# The Deadline is the end of the day, at 22:00 UTC: hours away, or soon; and the month may end with it.
SHORTLY_BEFORE = timedelta(hours=15) - timedelta(seconds=DEADLINE)
DAYS_TO_THE_END_OF_MARCH = timedelta(days=17)
BEGINNINGS = (timedelta(), timedelta(), timedelta(hours=14, minutes=30), timedelta(days=17, hours=14.8))
EACH_MINUTE = 25  # minutes in which the sweep of payments comes as it should
SILENT_UNTIL = 1215 * MINUTE  # of peace: after the Deadline of whatever began before, and a sweep
SHARE_OF_TWICE = 0.2  # of the jobs
SHARE_WITH_THREADS = 0.25  # at the sweep of payments
AT_STRIPE_FROM, AT_STRIPE_TO = 0.04, 0.2  # a sixth of the scenarios pay cards there; most seeds of proofs.json do not
BAD = "A RECORD THAT NOBODY CAN READ"
MOST_BEHIND = 2.0  # seconds until an index sees a write


class Scenario:
    """The scenario of one seed. `needed` are the faults that may happen, `only` the acts that are left; None: any."""

    def __init__(
        self,
        seed: str,
        needed: Iterable[str] | None = None,
        only: Iterable[int] | None = None,
        *,
        traced: bool = False,
    ) -> None:
        self.seed, self._only = seed, None if only is None else frozenset(only)
        self.timeline: list[tuple[float, str, str]] = []
        self.clocks: dict[str, float] = {}  # of the processes in the timeline: by how many seconds they are fast
        self.scheduler = Scheduler(seed)
        chance = random.Random(f"{seed}/life")  # noqa: S311  the order of a test, not a secret
        script = Script(seed)
        script.acts()
        for word, add in ADDITIONS.items():
            add(script, random.Random(f"{seed}/{word}"))  # noqa: S311  see above
        acts, self.around, self.theme = script.every(), script.around, script.theme
        if AT_STRIPE_FROM <= random.Random(f"{seed}/stripe").random() < AT_STRIPE_TO:  # noqa: S311  see above
            acts = [_at_stripe(act) for act in acts]
        self.acts = [act for act in acts if self._only is None or act.number in self._only]
        late = chance.choice((SHORTLY_BEFORE, SHORTLY_BEFORE + DAYS_TO_THE_END_OF_MARCH))
        begins = BEGINNINGS[-1:] if self.around.ends_month else BEGINNINGS
        self.began = MORNING + (late if self.around.begins_before_deadline else chance.choice(begins))
        self.faults = Faults(self.scheduler, chance, None if needed is None else frozenset(needed))
        behind = chance.choice((0.0, 0.02, MOST_BEHIND))
        self.store = TOWN.store.copy(lambda: self.scheduler.now, lambda: behind)
        trace = self._trace if traced else None
        self.faults.trace = trace
        paged: Any = InSmallPages(self.store) if self.around.has_small_pages else self.store
        self.wire = Wire(self.scheduler, paged, self.faults, trace)
        self.exchange = self.wire.exchange
        self.acquirers: dict[str, Acquirer] = {
            "SANDBOX": Acquirer(self.scheduler, self.faults, trace=trace),
            "ISO8583": Host(self.scheduler, self.faults, trace=trace),
            "STRIPE": AtStripe(self.scheduler, self.faults, trace=trace),
        }
        self.partner = Partner(self.scheduler, self.faults, trace)
        self.gateway = Gateway(self.scheduler, self.faults, trace)
        self.log: list[tuple[str, Any]] = []
        self.defects: list[tuple[float, str, Any]] = []  # in the log: when, at whose request, and what
        self.delivered: list[tuple[str, str]] = []
        self.clients = Clients(self.scheduler, self.gateway, TOWN.people.copy(), trace)
        self.refused: set[str] = set()  # faults by which a message was not taken
        self.files = Bucket(lambda: self.scheduler.now, self._call_of_bucket)
        self.erasures: list[Erasure] = []
        self.delivered_at: dict[tuple[str, str], float] = {}  # messages and addresses: the last time
        self.unresolved: list[str] = []  # payments that waited in vain for an acquirer that says nothing
        self.removed: dict[int, float] = {}  # cards, and since when
        self.begun: dict[str, float] = {}  # when each transaction was stored
        self.decided: dict[str, float] = {}  # when it got its outcome
        self.messages: dict[str, Message] = {}  # receipts, by their IDs
        self.left: dict[str, int] = {}  # of the limits that were spent: the rest
        self.price_lists: list[tuple[float, int]] = []  # of the owner: when each was stored, and the act with its item
        self.closed: list[tuple[str, float, float]] = []  # the merchant or terminals, blocked from when to when
        self._chance = chance
        self.has_threads = random.Random(f"{seed}/threads").random() < SHARE_WITH_THREADS  # noqa: S311  see above
        self.webhooks: Webhooks | None = None
        if script.has_webhooks:
            merchant_id = TOWN.people.by_name["owner"].merchant_id
            self.webhooks = Webhooks(self.scheduler, self.faults, merchant_id, trace)
            self.webhooks.hooks, self.webhooks.resent = self.clients.hooks, self.clients.resent

    def run(self) -> None:
        """Run it."""
        present.scenario = self
        environment.use_page_size(self.around.page_size)
        self.store.watched.append(self._note_times)
        jobs = self._jobs()
        self._bring_about()
        for act in self.acts:
            self.scheduler.spawn(act.name, self._doing(act), act.at)
        for number in range(SWEEPS):
            for name in jobs:
                if self._chance.random() < 0.75:  # some are late, some do not come at all, some come twice
                    self._schedule(name, number)
        for at in EXPIRIES:
            self.scheduler.spawn(f"expiry {at:.0f}", self._expire, at)
        self.scheduler.spawn("peace", self._end_of_faults, QUIET_AFTER)
        self._add_last(jobs, QUIET_AFTER + 2 * HOUR)
        try:
            self.scheduler.run()
        finally:
            self.scheduler.abandon()

    def _add_last(self, jobs: Iterable[str], peace: float) -> None:
        """Add what comes when nothing goes wrong any more: sweeps until all is finished, one in vain, and the lists."""
        for name in jobs:
            if self.around.has_reports:
                self.scheduler.spawn(f"idle {name}", self._run(name, JOBS[name]), peace + LAST_LIST - MINUTE)
            for number, minutes in enumerate(AFTERWARDS[name]):
                run = self._run_if_any(name, JOBS[name]) if number else self._run(name, JOBS[name])
                self.scheduler.spawn(f"last {name} {number}", run, peace + minutes * MINUTE)
        end = peace + LAST_LIST
        wanted = self.around.filter if self.around.has_reports else None
        kinds, day = {act.kind for act in self.acts}, f"{self.began + timedelta(hours=ZONE):%Y-%m-%d}"
        for act in self.clients.last_acts(wanted, kinds, day):
            if self._only is None or act.number in self._only:
                self.scheduler.spawn(act.name, self._doing(act), end)

    def _bring_about(self) -> None:
        """Apply the conditions of the script."""
        around, faults = self.around, self.faults
        for name, acquirer in self.acquirers.items():
            acquirer.tokens = set(map(token_of, CARDS))
            for spans, planned, what in (
                (acquirer.outages, around.outages, "is down"),
                (acquirer.losses, around.losses, "loses what is sent and answered"),
                (acquirer.one_way, around.one_way, "takes no reversals"),
                (acquirer.stalls, around.stalls, "is asked by processes that stand still"),
                (acquirer.silences, around.silences, "takes what is sent, and answers nothing"),
            ):
                for whose, begin, end in planned:
                    if (name if name != "STRIPE" else "SANDBOX") == whose and faults.is_planned(
                        f"{name} {what} from {begin:.0f} to {end:.0f} s"
                    ):
                        spans.append((begin, end))
        if around.is_mute and faults.is_planned("SANDBOX answers no inquiries"):
            self._set_mute(is_mute=True)
            silent_until = QUIET_AFTER + 2 * HOUR + SILENT_UNTIL
            self.scheduler.spawn("inquiries", self._end_of_silence, silent_until)
            for minutes in range(1, 13):  # of an acquirer that is silent a run tries one transaction
                at = silent_until - minutes * MINUTE
                self.scheduler.spawn(f"last {PAYMENTS} but {minutes}", self._run(PAYMENTS, JOBS[PAYMENTS]), at)
        if around.is_unlucky:
            faults.at_acquirers *= 2
            faults.share = max(faults.share, 0.02)
        if around.is_quiet:
            faults.share = 0.0
        faults.is_slow |= around.is_slow
        self._add_extremes()

    def _set_mute(self, *, is_mute: bool) -> None:
        for name in ("SANDBOX", "STRIPE"):
            self.acquirers[name].is_mute = is_mute

    def _add_extremes(self) -> None:
        """Apply what few scripts want: sweeps of each minute, no store for a while, a record that nobody can read."""
        around, faults = self.around, self.faults
        for minute in range(1, EACH_MINUTE if around.is_silent else 1):
            self.scheduler.spawn(f"{PAYMENTS} of minute {minute}", self._run(PAYMENTS, JOBS[PAYMENTS]), minute * MINUTE)
        faults.without_store = [
            (kind, begin, end)
            for kind, begin, end in around.without_store
            if faults.is_planned(f"the store is {kind} from {begin:.0f} to {end:.0f} s")
        ]
        if around.has_bad_record and faults.is_planned("nobody can read a record"):
            item = {"id": {"S": BAD}, "due_lane": {"S": "SANDBOX"}, "due_at": {"S": "2026-03-01T00:00:00.000000Z"}}
            self.store.call("PutItem", {"TableName": f"{STACK}-transactions", "Item": item})

    def _note_times(self, change: Change) -> None:
        """Take a change of the store: a transaction that is new, or pending no longer."""
        before, after = change.before, change.after
        if after and not before and change.table.name == f"{STACK}-outbox" and after["kind"]["S"] == RECEIPT:
            self.messages[after["id"]["S"]] = message_of(after, self.scheduler.now)
        if after and change.table.name == f"{STACK}-pricelists":
            (item,) = after["items"]["L"]
            self.price_lists.append((self.scheduler.now, int(item["M"]["code"]["S"].removeprefix("item "))))
        if not after or change.table.name != f"{STACK}-transactions":
            return
        if not before:
            self.begun[after["id"]["S"]] = self.scheduler.now
        elif before["phase"]["S"] in PENDING and after["phase"]["S"] not in PENDING:
            self.decided[after["id"]["S"]] = self.scheduler.now

    def _end_of_silence(self) -> None:
        """Let the acquirer answer inquiries again: what it was asked about before its Deadline is decided by now."""
        self._set_mute(is_mute=False)
        for item in self.store.items(f"{STACK}-transactions"):
            is_payment = item["id"]["S"] != BAD and "original_id" not in item
            if is_payment and item["phase"]["S"] in PENDING:
                self.unresolved.append(item["id"]["S"])

    def _jobs(self) -> dict[str, Callable[[], None]]:
        """Return what is run by a schedule; connect what is stored to the functions at the streams."""
        if self.webhooks is None:
            return {name: job for name, job in JOBS.items() if name != EVENTS}
        self.webhooks.subscribe()
        self.store.watched += [self.webhooks.note, Streams(self.scheduler, self.gateway, self.faults).note]
        return JOBS

    def _doing(self, act: Act) -> Callable[[], None]:
        if act.kind in {"close", "open"}:
            return lambda: self.close(act)
        if act.kind == "erase":
            return lambda: erase_until_done(self, act)
        if act.client == "operator":
            return lambda: self.gateway.run_job("operator", partial(OPERATOR[act.kind], self, act))
        return lambda: self.clients.do(act)

    def link(self, act: Act) -> None:
        """Link a card to an agent, as the operator's command does."""
        owner = self.clients.people.by_name[act.facts["of"]]
        agent = read(agents.key(owner.id))
        if agent is None:
            return
        card = linked_cards.link(agent, CardData(Secret(PAN), FACE, "card.exp"), "a card", present.clock(), "SANDBOX")
        if card.status == VERIFIED:
            self.clients.people.cards["linked meanwhile"] = card.id

    def remove(self, act: Act) -> None:
        """Remove a linked card."""
        card = self.clients.people.cards[act.facts["card"]]
        write_one(update(linked_card_records.key(card), {"deleted": True}))
        self.removed[card] = self.scheduler.now

    def spend(self, act: Act) -> None:
        """Count all that a till may send on this day, or a merchant send again, but for a rest."""
        person = self.clients.people.by_name.get(act.facts["of"])
        owner = self.clients.people.by_name[OWNER]
        limit = message_limits.of_agent(person.id) if person else message_limits.of_resent_events(owner.merchant_id)
        key = counters.key(limit, message_limits.day_of(present.clock()))
        spent = {"count": limit.most - act.facts["left"]}
        with suppress(AlreadyExistsError):  # the day has begun
            write_one(update(key, spent, condition="attribute_not_exists(#count)"))
            self.left[act.facts["of"]] = act.facts["left"]

    def close(self, act: Act) -> None:
        """Block the merchant of the tills, or the terminal of one, or open it again; nothing goes wrong with that."""
        what, is_open = act.facts["what"], act.kind == "open"
        person = self.clients.people.by_name[OWNER if what == "merchant" else what]
        agent = read(agents.key(person.id))
        assert agent is not None
        key: Key[Any] = merchants.key(person.merchant_id)
        if what != "merchant":
            key = terminals.key(agent.terminal_id or 0)
        begun = self.scheduler.now
        write_one(update(key, {"state": int(is_open)}))
        self.closed = [(whose, begin, min(end, begun) if is_open else end) for whose, begin, end in self.closed]
        if not is_open:
            self.closed.append((what, self.scheduler.now, QUIET_AFTER))

    def _schedule(self, name: str, number: int) -> None:
        """Let a job run about its time, once or twice."""
        at = number * APART + self._chance.choice((0, 0.01, 30, 200))
        self.scheduler.spawn(f"{name} {number}", self._run_if_any(name, JOBS[name]), at)
        if self._chance.random() < SHARE_OF_TWICE:
            at += self._chance.choice((0, 0.005, 0.05))
            self.scheduler.spawn(f"{name} {number} again", self._run_if_any(name, JOBS[name]), at)

    def _run(self, name: str, job: Callable[[], None]) -> Callable[[], None]:
        return lambda: self.gateway.run_job(name, job)

    def _run_if_any(self, name: str, job: Callable[[], None]) -> Callable[[], None]:
        """Return a run of a sweep that is left out when its index is empty: then it reads that, and does nothing."""
        run = self._run(name, job)
        if name not in SWEPT:
            return run
        return lambda: run() if self.store.shows_any(f"{STACK}-{SWEPT[name]}", "due") else None

    def _expire(self) -> None:
        self.store.expire((self.began + timedelta(seconds=self.scheduler.now)).timestamp())

    def _end_of_faults(self) -> None:
        self.faults.is_over = True

    def note(self, event: str, facts: Any) -> None:
        """Take a line of the log."""
        self.log.append((event, facts))
        if event == "defect":
            task = self.scheduler.current
            self.defects.append((self.scheduler.now, task.name if task else "nobody", facts))

    def deliver(self, message: Outbox, to: str) -> str:
        """Deliver a message, or lose it."""
        fault = self.faults.draw("mail", {"not sent": 2.0, "dies": 1.0, "freezes": 0.5}, more=4)
        self.scheduler.pause(0.1)
        if fault == "not sent":
            self.refused.add(self.faults.happened[-1])
            reason = "Throttled"
            raise NotSentError(reason)
        self.delivered.append((message.id, to))
        self.delivered_at[message.id, to] = self.scheduler.now
        if self.faults.trace is not None:
            self._trace(f"message {message.id[:13]} is delivered to {to}")
        self.faults.happen(fault)
        return "a-message-id"

    def keep_picture(self, name: str, content: bytes) -> None:
        """Put a picture into the bucket, or fail to before or after it is there."""
        self.scheduler.pause(0.05)
        fault = self.faults.draw("files", {"unreachable": 1.0, "lost": 1.0, "dies": 0.5}, more=5)
        if fault != "unreachable":
            self.files[name] = content
        if fault in {"unreachable", "lost"}:
            raise ServiceError(ErrorCode.STORE_UNAVAILABLE)
        self.faults.happen(fault)

    def _call_of_bucket(self) -> None:
        """Let the operator's call of the bucket take its time, or fail before it has an effect."""
        self.scheduler.pause(0.05)
        fault = self.faults.draw("files", {"unreachable": 1.0, "dies": 0.5, "freezes": 0.3}, more=5)
        if fault == "unreachable":
            raise ServiceError(ErrorCode.STORE_UNAVAILABLE)
        self.faults.happen(fault)

    def post(self, url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Reply:
        """Call the partner, or a webhook."""
        if url == environment.PARTNER_URL:
            return self.partner.post(body, headers, seconds)
        assert self.webhooks is not None
        return self.webhooks.post(url, body, headers, seconds)

    def _trace(self, text: str) -> None:
        task = self.scheduler.current
        instance = ""
        if task is not None and task.instance is not None:
            instance = present.instance.name
            self.clocks[instance] = present.instance.ahead
        who = task.name.partition(".")[0] if task else ""
        self.timeline.append((self.scheduler.now, who, f"[{instance}] {text}" if instance else text))


def _at_stripe(act: Act) -> Act:
    return replace(act, facts={**act.facts, "way": AT_STRIPE}) if act.facts.get("way") == CARD else act


def _sweep_payments() -> None:
    payment_sweep.run(present.clock())


def _sweep_outbox() -> None:
    outbox.sweep(present.clock())


class InSmallPages:
    """A store in which a megabyte is two items: what has more of them comes in pages."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one call."""
        if operation == "Query" and parameters.get("Limit", PAGE) >= PAGE:  # a smaller one is what the caller wants
            parameters = {**parameters, "Limit": 2}
        return self._store.call(operation, parameters)

    def done_as(self, token: str | None) -> Any:
        """Return what was carried out under the token of a transaction."""
        return self._store.done_as(token)


def _sweep_events() -> None:
    deliveries.sweep(present.clock())


ADDITIONS: dict[str, Callable[[Script, random.Random], None]] = {  # each draws for itself
    "accounts": add_accounts,
    "erasures": add_erasures,
    "changes of webhooks": add_changes,
    "shops": add_shops,
    "taxes": add_taxes,
    "receipts later": add_receipts,
    "events sent again": add_resent,
}
OPERATOR: dict[str, Callable[[Scenario, Act], None]] = {
    "link": Scenario.link,
    "remove": Scenario.remove,
    "spend": Scenario.spend,
}
JOBS: dict[str, Callable[[], None]] = {PAYMENTS: _sweep_payments, OUTBOX: _sweep_outbox, EVENTS: _sweep_events}


class _Founding:
    """The scenario that creates the town. It has no clients and no faults."""

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
    """The people and the tables at the start of every scenario, created once for a process."""

    store: Store
    people: People
    is_founded = False

    def found(self) -> bool:
        """Make it, within `environment.simulated`, unless it is there; return whether it was made."""
        if self.is_founded:
            return False
        founding: Any = _Founding()
        present.scenario = founding
        environment.SETTING_UP.seed(0)
        self.people = a_town()
        self.store = founding.store
        self.is_founded = True
        return True


TOWN = _Town()

__all__ = ["TOWN", "Scenario"]
