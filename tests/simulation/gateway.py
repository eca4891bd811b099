"""The gateway of a scenario: instances of the API and of its authorizer, remembered policies, and 29 seconds.

Events and policies are those of Chalice's local gateway, and the gateway's own answers those of the template.
"""

import importlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chalice.local import LambdaContext, LambdaEventConverter, LocalARNBuilder, RouteMatcher

from chalicelib.errors import ErrorCode, ServiceError
from infra.local.gateway import Authorizer, Kind, Refused
from tests.simulation.environment import Instance
from tests.simulation.faults import Faults
from tests.simulation.scheduler import DiedError, Scheduler, Task

GATEWAY_SECONDS, API_SECONDS, AUTHORIZER_SECONDS, SWEEP_SECONDS = 29.0, 29.0, 5.0, 58.0
POLICY_SECONDS = 60.0
SHARE_OF_KNOWN = 0.9  # of calls that meet a process that was there before
MOST_AHEAD = 1.5  # seconds that a clock is ahead or behind
PUBLIC = ("/api/v1/payment/statusPublic/", "/api/v1/user/login/session")  # the beginnings of paths
CONTEXT = LambdaContext("simulated", memory_size=1024)


class Request(NamedTuple):
    """A request; the names of its headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    source: str
    id: str

    def event(self) -> dict[str, Any]:
        """Return the event that a function gets."""
        event = EVENTS.create_lambda_event(self.method, self.path, dict(self.headers))
        event["requestContext"]["requestId"] = self.id
        event["requestContext"]["identity"]["sourceIp"] = self.source
        return {**event, "body": self.body.decode() or None}


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Call:
    """A request on its way, and its answer once there is one."""

    request: Request
    reply: Reply | None = None
    waits: Task | None = None


@dataclass
class Gateway:
    """The gateway and the processes behind it."""

    scheduler: Scheduler
    faults: Faults
    trace: Callable[[str], None] | None = None
    policies: dict[str, tuple[float, Any]] = field(default_factory=dict)
    instances: dict[str, list[Instance]] = field(default_factory=dict)
    replies: list[tuple[Request, Reply]] = field(default_factory=list)
    _numbers: Any = field(default_factory=itertools.count)

    def ask(self, request: Request, patience: float) -> Reply | None:
        """Return the answer; None when whoever asks does not wait so long."""
        scheduler, task = self.scheduler, self.scheduler.current
        assert task is not None
        call = Call(request, waits=task)
        scheduler.spawn(f"{task.name}.{request.id}", lambda: self._serve(call))
        until = scheduler.now + min(patience, GATEWAY_SECONDS)
        while call.reply is None and scheduler.now < until:
            scheduler.park(until)
        call.waits = None
        if call.reply is None and patience > GATEWAY_SECONDS:
            return _reply(Refused(Kind.INTEGRATION_TIMEOUT))
        return call.reply

    def run_job(self, name: str, job: Callable[[], Any]) -> Any:
        """Run a function that answers no request in an instance of it; return its result, None when it failed."""
        return self._invoked(name, SWEEP_SECONDS, job)

    def _serve(self, call: Call) -> None:
        try:
            reply = self._answered(call)
        except Refused as refusal:
            reply = _reply(refusal)
        call.reply = reply
        self.replies.append((call.request, reply))
        if call.waits is not None:
            self.scheduler.wake(call.waits)

    def _answered(self, call: Call) -> Reply:
        event = call.request.event()
        if not call.request.path.startswith(PUBLIC):
            event["requestContext"]["authorizer"] = self._authorized(call.request, event)
        answer = self._invoked("api", API_SECONDS, lambda: APP.app(event, CONTEXT))
        if answer is None:
            raise Refused(Kind.INTEGRATION_FAILURE)
        return Reply(answer["statusCode"], answer["headers"], answer["body"].encode())

    def _authorized(self, request: Request, event: dict[str, Any]) -> Mapping[str, str]:
        """Return the context of an authorized caller. API Gateway remembers a policy for a minute."""
        header, arn = request.headers.get("authorization", ""), ARNS.build_arn(request.method, request.path)
        until, policy = self.policies.get(header, (0.0, None))
        if policy is None or self.scheduler.now >= until:
            asked = {**event, "type": "REQUEST", "methodArn": arn}
            policy = self._invoked("authorizer", AUTHORIZER_SECONDS, lambda: AUTHORIZER.authorizer(asked, CONTEXT))
            if policy is None:
                raise Refused(Kind.AUTHORIZER_FAILURE)
            self.policies[header] = (self.scheduler.now + POLICY_SECONDS, policy)
        if not POLICIES.allows(arn, policy):
            raise Refused(Kind.ACCESS_DENIED, policy["context"])
        return dict(policy["context"])

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


def _reply(refusal: Refused) -> Reply:
    return Reply(refusal.CODE, refusal.headers, refusal.body or b"")


def a_request(method: str, resource: str, authorization: str | None, body: Any, number: str, **more: Any) -> Request:
    """Return a request; `more` are variables of the path, an Idempotency-Key, a query, a device."""
    key, source, query = more.pop("key", None), more.pop("source", "203.0.113.7"), more.pop("query", "")
    device = more.pop("device", None)
    headers = {"content-type": "application/json", "host": "payments.example"}
    given = {"authorization": authorization, "idempotency-key": key, "user-agent": device}
    headers |= {name: value for name, value in given.items() if value}
    path = resource
    for name, value in more.items():
        path = path.replace(f"{{{name}}}", str(value))
    content = b"" if body is None else json.dumps(body).encode()
    return Request(method, path + query, headers, content, source, number)


APP = importlib.import_module("app")
AUTHORIZER = importlib.import_module("chalicelib.authorizer")
EVENTS, ARNS = LambdaEventConverter(RouteMatcher(list(APP.app.routes))), LocalARNBuilder()
POLICIES = Authorizer(APP.app)
