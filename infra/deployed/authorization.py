"""A Lambda authorizer of requests, as API Gateway calls it: what it returned is used again until its time is over.

https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.deployed.functions import Function
from infra.deployed.gateway_responses import Kind, Refusal, context_text
from infra.deployed.requests import Match, Request, authorizer_event, method_arn

IDENTITY_HEADER = re.compile(r"method\.request\.header\.([\w-]+)")
INVOKE = "execute-api:Invoke"
MAX_REMEMBERED = 10_000


@dataclass(frozen=True)
class _Policy:
    """An answer of the authorizer."""

    statements: tuple[Mapping[str, Any], ...]
    context: Mapping[str, str]

    def allows(self, arn: str) -> bool:
        """Return whether a statement allows the call and none denies it."""
        effects = {statement["Effect"] for statement in self.statements if _covers(statement, arn)}
        return effects == {"Allow"}


class Authorizer:
    """The authorizer of an API. `clock` returns seconds."""

    def __init__(
        self, definition: Mapping[str, Any], function: Function, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._function, self._clock = function, clock
        self._names = IDENTITY_HEADER.findall(definition["identitySource"])
        self._seconds = definition.get("authorizerResultTtlInSeconds", 300)
        self._remembered: dict[tuple[str, ...], tuple[float, _Policy]] = {}
        self._lock = threading.Lock()

    def authorize(self, request: Request, match: Match) -> Mapping[str, str]:
        """Return the context of a caller who may make the request; Refusal otherwise."""
        identity = tuple(request.header(name).strip() for name in self._names)
        if not all(identity):
            raise Refusal(Kind.UNAUTHORIZED)
        policy = self._recalled(identity)
        if policy is None:
            policy = self._asked(request, match)
            self._remember(identity, policy)
        if not policy.allows(method_arn(request)):
            raise Refusal(Kind.ACCESS_DENIED, policy.context)
        return policy.context

    def forget(self) -> None:
        """Use no policy again."""
        with self._lock:
            self._remembered.clear()

    def _asked(self, request: Request, match: Match) -> _Policy:
        outcome = self._function.invoke(authorizer_event(request, match))
        if outcome.error:
            raise Refusal(Kind.AUTHORIZER_FAILURE)
        return _policy_of(json.loads(outcome.payload), outcome.cost.wall_ms)

    def _recalled(self, identity: tuple[str, ...]) -> _Policy | None:
        with self._lock:
            until, policy = self._remembered.get(identity, (0.0, None))
        return policy if self._clock() < until else None

    def _remember(self, identity: tuple[str, ...], policy: _Policy) -> None:
        with self._lock:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            if self._seconds:
                self._remembered[identity] = (self._clock() + self._seconds, policy)


def _policy_of(answer: Any, latency_ms: float) -> _Policy:
    """Return the answer of an authorizer as a policy; Refusal where API Gateway would not understand it."""
    try:
        statements = tuple(answer["policyDocument"]["Statement"])
        context = dict(answer.get("context") or {})
        principal = answer["principalId"]
        well_formed = all(isinstance(value, str | int | float) for value in context.values())
    except (TypeError, KeyError, ValueError):
        well_formed = False
    if not well_formed:
        raise Refusal(Kind.AUTHORIZER_CONFIGURATION_ERROR)
    texts = {name: context_text(value) for name, value in context.items()}
    own = {"principalId": str(principal), "integrationLatency": str(int(latency_ms))}
    return _Policy(statements, {**texts, **own})


def _covers(statement: Mapping[str, Any], arn: str) -> bool:
    actions, resources = _listed(statement.get("Action")), _listed(statement.get("Resource"))
    return any(_matches(action, INVOKE) for action in actions) and any(_matches(one, arn) for one in resources)


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value or ""]


def _matches(pattern: str, text: str) -> bool:
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, text, re.DOTALL) is not None
