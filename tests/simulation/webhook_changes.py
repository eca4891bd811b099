"""Webhooks that their merchant creates, switches off and on, gives a new secret and deletes, while events are made."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

from tests.simulation.scenario_script import OWNER, Script

if TYPE_CHECKING:
    from tests.simulation.actors import Person
    from tests.simulation.clients import Clients
    from tests.simulation.scenario import Scenario
    from tests.simulation.scenario_script import Act

SHARE = 0.7  # of the scenarios with webhooks
THIRD = "https://third.example/"  # its receiver is always up; each webhook has an address of its own
SOME = ["payment.approved", "reversal.approved"]  # kinds of events
OF_MERCHANT = "/api/v1/merchant/{merchantId}/webhook"
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


KINDS: Mapping[str, Callable[["Clients", "Act", "Person"], None]] = {"webhook": change_webhook}


def changed_webhooks_get_their_events(scenario: "Scenario") -> Iterator[str]:
    """A webhook gets each event of its kinds since it was created or switched on, and no event of another kind."""
    webhooks = scenario.webhooks
    for hook in _hooks(scenario) if webhooks else ():
        assert webhooks is not None
        on_at = _on_at(hook)
        got = {event for _, event, _ in hook.calls}
        for event_id, item in webhooks.made.items():
            is_wanted = not hook.types or item["kind"]["S"] in hook.types
            if event_id in got and not is_wanted:
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


def _hooks(scenario: "Scenario") -> list[Hook]:
    return list(scenario.clients.hooks.values())


RULES = (changed_webhooks_get_their_events, silent_webhooks_get_nothing, changed_webhooks_are_signed)
