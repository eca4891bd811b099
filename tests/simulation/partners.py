"""The partner of a scenario: an insurer that fills in the fields of a product, and what may be told of it."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from chalicelib.gateways.https import FailedError, Reply
from infra.demo import partner as demo_partner
from tests.simulation.clients import FIELDS, Seen
from tests.simulation.environment import PARTNER_SECONDS
from tests.simulation.faults import Faults
from tests.simulation.scheduler import Scheduler

TROUBLE = {"down": 1.0, "lost": 1.0, "busy": 1.0, "mixed up": 1.0, "dies": 0.5}
OFTEN = 20.0  # times as many faults as at the store: few scenarios have a partner
NONSENSE = (b"<html>", b"[]", b'{"PreparedFields": [{"Code": "", "Value": 5}]}', b"{}")
REFUSED, UNAVAILABLE = 202, 902


class Call(NamedTuple):
    """A request that the partner got, and what it meant to answer."""

    task: str
    body: dict[str, Any]
    trouble: str | None
    is_signed: bool


class Scenario(Protocol):
    """What the rule needs of a scenario."""

    partner: "Partner"
    faults: Faults

    @property
    def clients(self) -> Any:
        """Who asked for what."""


class Partner:
    """An insurer, written from the description of the interface (`infra.demo.partner`), with its bad days."""

    def __init__(self, scheduler: Scheduler, faults: Faults, trace: Callable[[str], None] | None = None) -> None:
        self._scheduler, self._faults, self._trace = scheduler, faults, trace
        self.calls: list[Call] = []

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Reply:
        """Answer a request, or fail to."""
        task = self._scheduler.current
        assert task is not None
        trouble = self._faults.draw("partner", TROUBLE, more=OFTEN)
        self._faults.happen(trouble)
        asked, sent_at = json.loads(body), headers["X-Timestamp"]
        is_signed = seconds == PARTNER_SECONDS and demo_partner.is_signed(sent_at, headers["X-Signature"], body)
        self.calls.append(Call(task.name, asked, trouble, is_signed))
        if trouble == "down":
            raise FailedError(trouble)
        self._scheduler.pause(seconds if trouble == "lost" else task.chance.uniform(0.05, 2))
        if trouble == "lost":
            raise FailedError(trouble)
        status, answer = (503, {}) if trouble == "busy" else demo_partner.answer(asked) if is_signed else (401, {})
        content = task.chance.choice(NONSENSE) if trouble == "mixed up" else json.dumps(answer).encode()
        if self._trace is not None:
            self._trace(f"the partner is asked {asked['PrepareFields']} -> {status} {content.decode()[:80]}")
        return Reply(200 if trouble == "mixed up" else status, content)


def partners_fill_in_fields(scenario: Scenario) -> Iterator[str]:
    """The fields of a product are the partner's answer. Each request to the partner is signed."""
    for call in scenario.partner.calls:
        if not call.is_signed and call.task not in scenario.faults.frozen:
            yield f"the partner was asked by {call.task} without a signature of now, or not for as long as it may take"
    for seen in scenario.clients.seen:
        if seen.kind == "prepare" and seen.status and (wrong := _wrong(seen, scenario.partner.calls)):
            yield f"{seen.act.name} was answered {seen.status}/{seen.error}: {wrong}"


def _wrong(seen: Seen, calls: list[Call]) -> str | None:
    """Return what is wrong with an answer."""
    of_this = [call for call in calls if call.task.startswith(f"{seen.act.name}.")]
    asked: Any = seen.body["PrepareFields"]
    given = [{**one, "Value": one["Value"] or None} for one in asked]  # an empty text is no value
    status, expected = demo_partner.answer({**seen.body, "PrepareFields": given})
    if seen.status == 200:
        is_told = status == 200 and seen.answer["PreparedFields"] == expected["PreparedFields"]
        return None if of_this and is_told else f"the partner says {status} {expected}"
    if seen.error == REFUSED:
        names = [problem["Name"] for problem in expected.get("Problems", ())]
        fields = [name for number, name in enumerate(FIELDS) if f"[{number}]" in str(seen.answer["Validations"])]
        return None if fields and fields == names else f"the partner says {status} {expected}"
    if seen.error == UNAVAILABLE:
        return None if any(call.trouble or not call.is_signed for call in of_this) else "the partner was well"
    return None
