"""The gateway of a scenario: instances of the API and of its authorizer, remembered policies, and 29 seconds.

Events and policies are those of `infra.api_gateway.gateway`, and the gateway's own answers those of the template.
"""

import importlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.errors import ErrorCode, ServiceError
from infra.api_gateway.gateway import (
    GatewayResponses,
    Kind,
    Match,
    Policy,
    Refusal,
    Reply,
    Request,
    authorizer_event,
    method_arn,
    policy_of,
    proxy_event,
)
from infra.stack import resources
from tests.simulation.environment import Instance
from tests.simulation.faults import Faults
from tests.simulation.scheduler import DiedError, Scheduler, Task

GATEWAY_SECONDS, API_SECONDS, AUTHORIZER_SECONDS, SWEEP_SECONDS = 29.0, 29.0, 5.0, 58.0
POLICY_SECONDS = 60.0
SHARE_OF_KNOWN = 0.9  # of calls that meet a process that was there before
MOST_AHEAD = 1.5  # seconds that a clock is ahead or behind
RESPONSES = GatewayResponses(resources.gateway_responses())
PUBLIC = "/api/v1/payment/statusPublic/{tranId}"


class Context:
    """The part of Lambda's context that the app reads."""

    aws_request_id = "simulated"


@dataclass
class Call:
    """A request on its way, and its answer once there is one."""

    request: Request
    match: Match
    reply: Reply | None = None
    waits: Task | None = None


@dataclass
class Gateway:
    """The gateway and the processes behind it."""

    scheduler: Scheduler
    faults: Faults
    trace: Callable[[str], None] | None = None
    policies: dict[str, tuple[float, Policy]] = field(default_factory=dict)
    instances: dict[str, list[Instance]] = field(default_factory=dict)
    responses: GatewayResponses = field(default_factory=lambda: RESPONSES)
    replies: list[tuple[Request, Reply]] = field(default_factory=list)
    _numbers: Any = field(default_factory=itertools.count)

    def ask(self, request: Request, match: Match, patience: float) -> Reply | None:
        """Return the answer; None when whoever asks does not wait so long."""
        scheduler, task = self.scheduler, self.scheduler.current
        assert task is not None
        call = Call(request, match, waits=task)
        scheduler.spawn(f"{task.name}.{request.id}", lambda: self._serve(call))
        until = scheduler.now + min(patience, GATEWAY_SECONDS)
        while call.reply is None and scheduler.now < until:
            scheduler.park(until)
        call.waits = None
        if call.reply is None and patience > GATEWAY_SECONDS:
            return self.responses.reply(Refusal(Kind.INTEGRATION_TIMEOUT))
        return call.reply

    def run_job(self, name: str, job: Callable[[], Any]) -> Any:
        """Run a function that answers no request in an instance of it; return its result, None when it failed."""
        return self._invoked(name, SWEEP_SECONDS, job)

    def _serve(self, call: Call) -> None:
        try:
            reply = self._answered(call)
        except Refusal as refusal:
            reply = self.responses.reply(refusal)
        call.reply = reply
        self.replies.append((call.request, reply))
        if call.waits is not None:
            self.scheduler.wake(call.waits)

    def _answered(self, call: Call) -> Reply:
        context = None
        if call.match.resource != PUBLIC and not call.match.resource.endswith("login/session"):
            context = self._authorized(call)
        event = proxy_event(call.request, call.match, context)
        answer = self._invoked("api", API_SECONDS, lambda: APP.app(event, Context()))
        if answer is None:
            raise Refusal(Kind.INTEGRATION_FAILURE)
        headers = tuple((name, str(value)) for name, value in answer["headers"].items())
        return Reply(answer["statusCode"], headers, answer["body"].encode())

    def _authorized(self, call: Call) -> Mapping[str, str]:
        header = call.request.header("Authorization")
        until, policy = self.policies.get(header, (0.0, None))
        if policy is None or self.scheduler.now >= until:
            policy = self._asked(call)
            self.policies[header] = (self.scheduler.now + POLICY_SECONDS, policy)
        if not policy.allows(method_arn(call.request)):
            raise Refusal(Kind.ACCESS_DENIED, policy.context)
        return policy.context

    def _asked(self, call: Call) -> Policy:
        event = authorizer_event(call.request, call.match)
        answer = self._invoked("authorizer", AUTHORIZER_SECONDS, lambda: AUTHORIZER.authorizer(event, Context()))
        if answer is None:
            raise Refusal(Kind.AUTHORIZER_FAILURE)
        return policy_of(answer, 0)

    def _invoked(self, function: str, seconds: float, handler: Callable[[], Any]) -> Any:
        """Return what a function answers; None when its process dies, fails, or takes longer than it may."""
        task = self.scheduler.current
        assert task is not None
        instance = self._instance(function)
        instance.is_busy, task.instance, began = True, instance, self.scheduler.now
        before, task.chance = task.chance, self.scheduler.chance_of(f"{task.name}/{function}")
        try:
            answer = handler()
        except DiedError:
            instance.is_dead = True
            answer = None
        except ServiceError as refusal:  # an outage, which the authorizer and the sweeps leave to Lambda
            if refusal.error is not ErrorCode.STORE_UNAVAILABLE:
                raise
            answer = None
        finally:
            instance.is_busy, task.instance, task.chance = False, None, before
        if instance.is_dead:
            self.instances[function].remove(instance)
        return answer if self.scheduler.now - began <= seconds else None

    def _instance(self, function: str) -> Instance:
        task = self.scheduler.current
        assert task is not None
        known = self.instances.setdefault(function, [])
        idle = [instance for instance in known if not instance.is_busy]
        drawn, ahead = task.chance.random() / SHARE_OF_KNOWN, task.chance.uniform(-MOST_AHEAD, MOST_AHEAD)
        if idle and drawn < 1:
            return idle[int(drawn * len(idle))]
        instance = Instance(f"{function} {next(self._numbers) + 1}", ahead)
        self.instances[function].append(instance)
        return instance


def a_request(
    method: str, resource: str, authorization: str | None, body: Any, number: str, **more: Any
) -> tuple[Request, Match]:
    """Return a request and what it is for; `more` are variables of the path, an Idempotency-Key, a query, a device."""
    key, source, query = more.pop("key", None), more.pop("source", "203.0.113.7"), more.pop("query", "")
    device = more.pop("device", None)
    headers = [("Content-Type", "application/json"), ("Host", "payments.example")]
    if authorization:
        headers.append(("Authorization", authorization))
    if key:
        headers.append(("Idempotency-Key", key))
    if device:
        headers.append(("User-Agent", device))
    path = resource
    for name, value in more.items():
        path = path.replace(f"{{{name}}}", str(value))
    content = b"" if body is None else json.dumps(body).encode()
    parameters = {name: str(value) for name, value in more.items()}
    return Request(method, path + query, tuple(headers), content, source, number), Match(resource, parameters)


APP = importlib.import_module("app")
AUTHORIZER = importlib.import_module("chalicelib.authorizer")
