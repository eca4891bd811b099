"""Webhooks that their merchant creates, changes and deletes while events are made, and events that it sends again."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

from tests.simulation.scenario_script import OWNER, STRANGER, TILLS, Script, soon

if TYPE_CHECKING:
    from tests.simulation.actors import Person
    from tests.simulation.clients import Clients, Seen
    from tests.simulation.scenario import Scenario
    from tests.simulation.scenario_script import Act

SHARE, SHARE_OF_RESENT = 0.7, 0.7  # of the scenarios with webhooks
SHARE_OF_SPENT, LATE = 0.3, (11_000.0, 40_000.0)  # seconds: after all faults
THIRD = "https://third.example/"  # its receiver is always up; each webhook has an address of its own
SOME = ["payment.approved", "reversal.approved"]  # kinds of events
OF_MERCHANT = "/api/v1/merchant/{merchantId}/webhook"
OF_EVENT = "/api/v1/merchant/{merchantId}/event"
SPENT, RESENT_EVENTS, REFUSED = 402, "resent events", frozenset({151, 571, *range(101, 109)})
CREATE, OFF, ON, ROTATE, DELETE = "create", "off", "on", "rotate", "delete"
BODIES: Mapping[str, dict[str, Any]] = {OFF: {"State": 0}, ON: {"State": 1}, ROTATE: {"RotateSecret": True}, DELETE: {}}
AROUND, TAKES = 5.0, 60.0  # seconds: two clocks and an index; an attempt in progress
BOTH_SIGN = 24 * 3600.0  # seconds after a rotation


@dataclass
class Step:
    """A change of a webhook. It is done when it was answered so."""

    what: str
    asked_at: float
    done_at: float | None = None
    secret: str | None = None  # that the answer has


@dataclass
class Hook:
    """A webhook, by its address: what its merchant did with it, and what its receiver got."""

    types: list[str] | None
    id: int | None = None
    steps: list[Step] = field(default_factory=list)
    calls: list[tuple[float, str, list[str]]] = field(default_factory=list)  # when, the event, the secrets that signed

    def done(self, *whats: str) -> list[Step]:
        """Return the changes of these kinds that are done."""
        return [one for one in self.steps if one.what in whats and one.done_at is not None]

    @property
    def secrets(self) -> list[str]:
        """The secrets that its merchant knows."""
        return [one.secret for one in self.steps if one.secret]


def add_changes(script: Script, chance: Random) -> None:
    """Let the owner create a webhook and change it, in a scenario with webhooks."""
    is_closed = any(act.kind == "close" for act in script.every())
    if not script.has_webhooks or is_closed or chance.random() >= SHARE:
        return
    at, name = chance.uniform(0, 60), "webhook 1"
    facts = {"attempts": 1, "patience": 40.0, "signs": "key"}
    types = {"types": chance.choice((None, None, SOME))}
    script.add(chance, at, OWNER, "webhook", name, {**facts, **types, "what": CREATE})
    for what in chance.choice(
        ((ROTATE,), (ROTATE, OFF), (OFF, ON), (OFF, ON, ROTATE), (ROTATE, DELETE), (DELETE,), ())
    ):
        at += chance.choice((chance.uniform(0, 5), chance.uniform(5, 60), chance.uniform(60, 600)))
        script.add(chance, at, OWNER, "webhook", name, {**facts, "what": what})


def add_resent(script: Script, chance: Random) -> None:
    """Let the owner send events again, to every webhook or to one, and now and then more than it may on a day."""
    is_closed = any(act.kind == "close" for act in script.every())
    if not script.has_webhooks or is_closed or chance.random() >= SHARE_OF_RESENT:
        return
    if chance.random() < SHARE_OF_SPENT:
        script.add(chance, 0, "operator", "spend", facts={"of": RESENT_EVENTS, "left": chance.choice((0, 1, 2))})
    at = chance.uniform(0, 600)
    for _ in range(chance.choice((1, 2, 3, 4))):
        facts: dict[str, Any] = {"which": chance.choice((0, 0, 0, 1, 2)), "to": chance.choice((None, None, 0, 1, 2))}
        client = chance.choice((*[OWNER] * 5, STRANGER, TILLS[0]))
        script.add(chance, at, client, "resend", facts={**facts, "signs": "key"})
        at += chance.choice((0.0, chance.uniform(0, 0.05), soon(chance), chance.uniform(*LATE)))


def resend_event(clients: "Clients", act: "Act", person: "Person") -> None:
    """List the events and send one of the newest again. Others know the IDs of events from their owner."""
    if person.name == OWNER:
        seen = list_events(clients, act, person)
        for one in seen.answer["Events"] if seen and seen.status == 200 else ():
            webhooks = clients.events.setdefault(one["ID"], [])
            webhooks += [row["WebhookID"] for row in one["Deliveries"] if row["WebhookID"] not in webhooks]
    if not clients.events:
        return
    event = sorted(clients.events)[-1 - act.facts["which"] % len(clients.events)]
    webhooks, to = clients.events[event], act.facts["to"]
    body = {} if to is None or not webhooks else {"WebhookID": webhooks[to % len(webhooks)]}
    path, place = f"{OF_EVENT}/{{eventId}}/resend", {"merchantId": person.merchant_id, "eventId": event}
    clients.repeatedly(act, person, "POST", path, body, **place)
    asked = [seen for seen in clients.seen if seen.act is act and seen.about and not 400 <= seen.status < 500]
    clients.resent[event, body.get("WebhookID")] += len(asked)


def list_events(clients: "Clients", act: "Act", person: "Person") -> "Seen | None":
    """List the events of the scenario."""
    body = {"Period": {"From": "2026-03-01"}}
    return clients.repeatedly(act, person, "POST", f"{OF_EVENT}/list", body, merchantId=person.merchant_id)


def change_webhook(clients: "Clients", act: "Act", person: "Person") -> None:
    """Create a webhook, or change it."""
    what, url = act.facts["what"], THIRD + act.label.replace(" ", "-")
    step = Step(what, clients.scheduler.now)
    if what == CREATE:
        hook = clients.hooks[url] = Hook(act.facts["types"])
        body = {"Url": url, **({"Types": hook.types} if hook.types else {})}
        place: dict[str, Any] = {}
    else:
        hook = clients.hooks.get(url, Hook(None))
        if hook.id is None:
            return
        body, place = BODIES[what], {"webhookId": hook.id}
    hook.steps.append(step)
    path = OF_MERCHANT + ("/create" if what == CREATE else f"/{{webhookId}}/{'delete' if what == DELETE else 'update'}")
    seen = clients.repeatedly(act, person, "POST", path, body, merchantId=person.merchant_id, **place)
    if seen is not None and seen.status == 200:
        step.done_at, view = clients.scheduler.now, seen.answer.get("Webhook") or {}
        step.secret = view.get("Secret")
        hook.id = hook.id or view["ID"]


KINDS: Mapping[str, Callable[["Clients", "Act", "Person"], Any]] = {
    "webhook": change_webhook,
    "resend": resend_event,
    "events": list_events,
}


def changed_webhooks_get_their_events(scenario: "Scenario") -> Iterator[str]:
    """A webhook gets each event of its kinds since it was created or switched on, and no event of another kind."""
    webhooks = scenario.webhooks
    for hook in _hooks(scenario) if webhooks else ():
        assert webhooks is not None
        on_at = _on_at(hook)
        got = {event for _, event, _ in hook.calls}
        for event_id, item in webhooks.made.items():
            is_wanted = not hook.types or item["kind"]["S"] in hook.types
            if event_id in got and not is_wanted and not scenario.clients.resent[event_id, hook.id]:
                yield f"{event_id} reached a webhook that takes only {hook.types}"
            at = (datetime.fromisoformat(item["at"]["S"]) - scenario.began).total_seconds()  # it may be stored later
            is_new = on_at is not None and on_at + AROUND < at
            if event_id not in got and is_wanted and is_new:
                yield f"{event_id} never reached the webhook {hook.id}"


def _on_at(hook: Hook) -> float | None:
    """Return since when a webhook was on until the end. None if it was not, or nobody knows."""
    last = max(hook.done(CREATE, ON), key=lambda one: one.asked_at, default=None)
    ends = [one.done_at for one in hook.steps if one.what in {OFF, DELETE}]
    return last.done_at if last and all(at is not None and at < last.asked_at for at in ends) else None


def silent_webhooks_get_nothing(scenario: "Scenario") -> Iterator[str]:
    """A webhook that was switched off or deleted gets no event, except from an attempt in progress."""
    for hook in _hooks(scenario) if not scenario.faults.frozen else ():
        ons = [one for one in hook.steps if one.what == ON]
        for step in hook.done(OFF, DELETE):
            later = [one.asked_at for one in ons if one.done_at is None or one.done_at > step.asked_at]
            for at, event, _ in hook.calls:
                if (step.done_at or 0) + TAKES < at < min(later, default=math.inf):
                    yield f"{event} reached the webhook {hook.id} at {at:.1f} s: {step.what} at {step.done_at:.1f} s"


def changed_webhooks_are_signed(scenario: "Scenario") -> Iterator[str]:
    """Each event is signed with the secret of its webhook, for a day after a rotation with the old one as well."""
    for hook in _hooks(scenario):
        first = hook.secrets[:1]
        created_at = min((one.done_at or 0 for one in hook.done(CREATE)), default=0)
        rotated = [one for one in hook.steps if one.what == ROTATE]
        for at, event, signed in hook.calls:
            if not first or at < created_at:  # the receiver does not know the secret yet
                continue
            begun = [one for one in rotated if one.asked_at < at + AROUND]
            done = [one for one in hook.done(ROTATE) if (one.done_at or 0) + TAKES < at]
            wanted = {*first, *(one.secret for one in done if one.secret)}
            if begun and begun[0].asked_at + BOTH_SIGN - AROUND < at:
                wanted -= set(first)
            if not wanted <= set(signed) and not scenario.faults.frozen:
                yield f"{event} reached the webhook {hook.id} at {at:.1f} s with {len(signed)} right signatures"


def resent_events_arrive(scenario: "Scenario") -> Iterator[str]:
    """An event that its merchant sends again reaches each webhook that is named, or takes its kind."""
    webhooks = scenario.webhooks
    for seen in _resent(scenario) if webhooks else ():
        assert webhooks is not None
        event = seen.about or ""
        if seen.act.client != OWNER and 0 < seen.status < 500 and seen.error not in REFUSED:
            yield f"{seen.act.name} was answered {seen.status}/{seen.error} about another's event"
        if seen.status != 200:
            continue
        named, kind = seen.body.get("WebhookID"), webhooks.made[event]["kind"]["S"]
        times = {int(number): webhooks.got[url].get(event, []) for number, url in webhooks.lasting.items()}
        for hook in _hooks(scenario):
            on_at, is_wanted = _on_at(hook), named or not hook.types or kind in hook.types
            if hook.id is not None and on_at is not None and on_at + AROUND < seen.asked_at and is_wanted:
                times[hook.id] = [at for at, one, _ in hook.calls if one == event]
        for number in times.keys() & ({named} if named else times.keys()):
            if not any(at >= seen.asked_at for at in times[number]):
                yield f"{event} was sent again at {seen.asked_at:.1f} s, and never reached the webhook {number}"


def resent_events_have_a_limit(scenario: "Scenario") -> Iterator[str]:
    """A merchant sends at most 200 events again on a day, and is refused none before."""
    acts = [act for act in scenario.acts if act.kind == "spend" and act.facts["of"] == RESENT_EVENTS]
    today = [seen for seen in _resent(scenario) if seen.act.client == OWNER and _is_first_day(scenario, seen)]
    done = sum(seen.status == 200 for seen in today)
    if done > scenario.left.get(RESENT_EVENTS, done):
        yield f"{done} events were sent again, and {scenario.left[RESENT_EVENTS]} were left"
    for seen in today:
        before = sum(one.asked_at <= (seen.answered_at or 0) for one in today)
        if seen.error == SPENT and (not acts or before <= acts[0].facts["left"]):
            yield f"{seen.act.name} may send no event again, after {before}"


def _is_first_day(scenario: "Scenario", seen: "Seen") -> bool:
    """Return whether a request was made and answered on the day on which the scenario begins, in UTC."""
    end = scenario.began + timedelta(seconds=(seen.answered_at or seen.asked_at) + AROUND)
    return end.date() == scenario.began.date()


def _resent(scenario: "Scenario") -> "list[Seen]":
    return [seen for seen in scenario.clients.seen if seen.kind == "resend" and seen.about]


def events_are_listed(scenario: "Scenario") -> Iterator[str]:
    """The last list shows each event once, the newest first, delivered to each webhook that was always on."""
    webhooks = scenario.webhooks
    for seen in scenario.clients.seen if webhooks else ():
        if seen.kind != "events":
            continue
        if seen.status != 200:
            yield f"the last events were answered {seen.status}/{seen.error}"
            continue
        assert webhooks is not None
        rows = seen.answer["Events"]
        if sorted(row["ID"] for row in rows) != sorted(webhooks.made):
            yield f"the last list of events has {len(rows)}, and {len(webhooks.made)} were made"
        if any(after["Timestamp"] > before["Timestamp"] for before, after in pairwise(rows)):
            yield "the last list of events has another order"
        for row in rows:
            states = {str(one["WebhookID"]): one["State"] for one in row["Deliveries"]}
            if any(states.get(number) != "delivered" for number in webhooks.lasting):
                yield f"the last list of events shows {row['ID']} as {states}"


def _hooks(scenario: "Scenario") -> list[Hook]:
    return list(scenario.clients.hooks.values())


RULES = (
    changed_webhooks_get_their_events,
    silent_webhooks_get_nothing,
    changed_webhooks_are_signed,
    resent_events_arrive,
    resent_events_have_a_limit,
    events_are_listed,
)
