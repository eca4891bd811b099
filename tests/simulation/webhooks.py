"""The webhooks of a scenario: an owner has two. The receiver of one is down for a third of the time."""

import hmac
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from chalicelib.domain import webhooks as webhooks_rules
from chalicelib.domain.deliveries import DeliveryState
from chalicelib.domain.phases import SHOWN, Phase
from chalicelib.gateways.https import FailedError, Reply
from chalicelib.store import merchants
from chalicelib.store.table import update, write_one
from infra.stack.resources import STACK
from tests.simulation.environment import present
from tests.simulation.erasure_acts import THANKS, Erasure
from tests.simulation.faults import Faults
from tests.simulation.scenario_script import OWNER
from tests.simulation.scheduler import Scheduler
from tests.simulation.store import Change, Store
from tests.simulation.values import Item
from tests.support.events import OF_PAYMENTS, OF_REVERSALS, SECRET, a_stored_hook

if TYPE_CHECKING:
    from tests.simulation.webhook_changes import Hook

FINE, FLAKY = "https://fine.example/events", "https://flaky.example/events"
DOWN, SPELL = 0.3, 100.0  # of the time; seconds of a spell
WAYS = ("refuses", "refuses", "fails", "fails", "hangs", "is slow", "loses its answer")
EVENTS, TRANSACTIONS = f"{STACK}-events", f"{STACK}-transactions"
TAKES = (0.01, 0.3)  # seconds
LONGEST = 60.0  # seconds that a request or a run may last, and two clocks differ
TOO_OLD = 300  # seconds: of a timestamp, as the published packages have it


class Scenario(Protocol):
    """What the rules need of a scenario."""

    faults: Faults
    store: Store
    erasures: list[Erasure]

    @property
    def webhooks(self) -> "Webhooks | None":
        """The webhooks of its owner, if there are any."""


class Webhooks:
    """The webhooks of one merchant, what its transactions came to, and what the receivers got of it."""

    def __init__(
        self,
        scheduler: Scheduler,
        faults: Faults,
        merchant_id: int,
        trace: Callable[[str], None] | None = None,
        down: float = DOWN,
    ) -> None:
        self._scheduler, self._faults, self._merchant_id = scheduler, faults, merchant_id
        self._trace, self._down = trace, down
        self.hooks: dict[str, Hook] = {}  # that the owner creates
        self.lasting: dict[str, str] = {}  # the URLs of those that are never changed, by their IDs
        self.resent: Counter[tuple[str, int | None]] = Counter()  # events and webhooks, None: all that take it
        self.reached: set[tuple[str, str]] = set()  # transactions and phases
        self.made: dict[str, Item] = {}  # events by their IDs
        self.stored_at: dict[str, float] = {}
        self.got: dict[str, dict[str, list[float]]] = {FINE: {}, FLAKY: {}}  # by URL and event, when it came
        self.wrong: list[str] = []
        self.calls = 0

    def subscribe(self) -> None:
        """Store them; the merchant's transactions make events from now on."""
        for url in (FINE, FLAKY):
            now = present.scenario.began - timedelta(days=1)
            hook = a_stored_hook(self._merchant_id, url, created_at=now, updated_at=now, on_since=now)
            self.lasting[str(hook.id)] = url
        key = merchants.key(self._merchant_id)
        write_one(update(key, {"events_until": webhooks_rules.ALWAYS}))

    def note(self, change: Change) -> None:
        """Take a change of the store: a phase that tells something was reached, an event was made."""
        name, item = change.table.name, change.after
        if item is not None and change.before is None and name == EVENTS and "kind" in item:
            self.made[item["id"]["S"]], self.stored_at[item["id"]["S"]] = item, self._scheduler.now
            at = (datetime.fromisoformat(item["at"]["S"]) - present.scenario.began).total_seconds()
            if not self._faults.frozen and abs(self._scheduler.now - at) > LONGEST:
                self.wrong.append(f"{item['id']['S']} of {at:.1f} s was stored at {self._scheduler.now:.1f} s")
        if item is None or name != TRANSACTIONS or item.get("client_id") != {"N": str(self._merchant_id)}:
            return
        phase = item["phase"]["S"]
        is_new = change.before is None or change.before["phase"]["S"] != phase
        if is_new and Phase(phase) in (OF_REVERSALS if "original_id" in item else OF_PAYMENTS):
            self.reached.add((item["id"]["S"], phase))

    def post(self, url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Reply:
        """Be the receiver that an event is sent to."""
        task = self._scheduler.current
        assert task is not None
        self.calls += 1
        self._faults.happen(self._faults.draw("webhook", {"dies": 1}, more=2))
        way = self._way(url)
        self._scheduler.pause(seconds if way == "hangs" else task.chance.uniform(*TAKES))
        if self._trace is not None:
            self._trace(f"{headers['webhook-id'][:12]} is sent to {url}{f', which {way}' if way else ''}")
        if way in {"refuses", "hangs"}:
            raise FailedError(way)
        if way == "fails":
            return Reply(503, b"")
        status = self._taken(url, body, headers)
        self._faults.happen(self._faults.draw("webhook", {"dies": 1}, more=2))
        if way == "is slow":
            self._scheduler.pause(3)
        if way == "loses its answer":
            raise FailedError(way)
        return Reply(status, THANKS)

    def _way(self, url: str) -> str | None:
        """Return what is wrong with a receiver now."""
        if url != FLAKY or self._faults.is_over:
            return None
        chance = self._scheduler.chance_of(f"spell {self._scheduler.now // SPELL:.0f}")
        return chance.choice(WAYS) if chance.random() < self._down else None

    def _taken(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Take an event as a shop does, that asks for the transaction at once; return the status of the answer."""
        event_id, sent_at = headers["webhook-id"], int(headers["webhook-timestamp"])
        signed, signatures = f"{event_id}.{sent_at}.".encode() + body, headers["webhook-signature"]
        if hook := self.hooks.get(url):
            right = [one for one in hook.secrets if _signature(signed, one) in signatures.split(" ")]
            hook.calls.append((self._scheduler.now, event_id, right))
        elif signatures != _signature(signed, SECRET.reveal()):
            self.wrong.append(f"{event_id} has a wrong signature")
        if abs(present.scenario.began.timestamp() + self._scheduler.now - sent_at) > TOO_OLD:
            return 400
        found = self.made.get(event_id)
        if found is None:
            self.wrong.append(f"{event_id} is not stored")
        elif found["kind"]["S"] != _kind_of(found) or f'"{found["kind"]["S"]}"'.encode() not in body:
            self.wrong.append(f"{event_id} is told as {found['kind']['S']}")
        elif _told(found) not in self.reached:
            self.wrong.append(f"{event_id} is newer than a look-up")
        elif f'"Substate":{SHOWN[Phase(found["phase"]["S"])].substate},'.encode() not in body:
            self.wrong.append(f"{event_id} tells another phase")
        if url in self.got:
            self.got[url].setdefault(event_id, []).append(self._scheduler.now)
        return 200


def _signature(signed: bytes, secret: str) -> str:
    """Return the signature that Standard Webhooks asks for."""
    key = b64decode(secret.removeprefix("whsec_"))
    return f"v1,{b64encode(hmac.new(key, signed, 'sha256').digest()).decode()}"


def _kind_of(event: Item) -> str:
    return (OF_REVERSALS if "original_id" in event else OF_PAYMENTS)[Phase(event["phase"]["S"])]


def _told(event: Item) -> tuple[str, str]:
    return event["transaction_id"]["S"], event["phase"]["S"]


def events_are_of_phases(scenario: Scenario) -> Iterator[str]:
    """Each phase that a transaction reached has one event, and there are no others."""
    if scenario.webhooks is None:
        return
    stored = Counter(_told(item) for item in scenario.store.items(EVENTS) if "kind" in item)
    for transaction, phase in sorted(scenario.webhooks.reached - stored.keys()):
        yield f"{transaction} was {phase}, and there is no event of it"
    for (transaction, phase), number in stored.items():
        if (transaction, phase) not in scenario.webhooks.reached:
            yield f"there is an event of {transaction} as {phase}, which it never was"
        if number > 1:
            yield f"there are {number} events of {transaction} as {phase}"


def events_arrive(scenario: Scenario) -> Iterator[str]:
    """When all faults have ended, each event has reached both receivers, not too often, and no delivery remains."""
    if scenario.webhooks is None:
        return
    for url, got in scenario.webhooks.got.items():
        for event_id in scenario.webhooks.made.keys() - got.keys():
            yield f"{event_id} never reached {url}"
        resent, (own,) = scenario.webhooks.resent, (one for one, its in scenario.webhooks.lasting.items() if its == url)
        faults = sum("events" in name or name.startswith(OWNER) for name in scenario.faults.happened)
        faults += len(scenario.erasures)  # an attempt during an erasure stores no answer, and is made again
        for event_id, times in got.items():
            most = 1 + resent[event_id, None] + resent[event_id, int(own)] + faults
            if url == FINE and len(times) > most and not scenario.faults.without_store:
                yield f"{event_id} reached {url} {len(times)} times"
    for item in scenario.store.items(EVENTS):
        if "kind" in item and "due_lane" in item:
            yield f"the event {item['place']['S']} is not begun"
        if item.get("webhook_id", {}).get("N") in scenario.webhooks.lasting and (
            item["state"]["S"] != DeliveryState.DELIVERED or {"due_at", "due_lane"} & item.keys()
        ):
            yield f"the delivery {item['place']['S']} is {item['state']['S']}"


def events_are_true(scenario: Scenario) -> Iterator[str]:
    """A receiver gets only signed, stored events, and none before a look-up shows its phase."""
    if scenario.webhooks is not None:
        yield from scenario.webhooks.wrong


RULES = (events_are_of_phases, events_arrive, events_are_true)
