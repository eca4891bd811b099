"""API Gateway, built from the API in the template: routes, events, the authorizer, integrations and its own answers.

`make run` calls functions in its own process (`infra.api_gateway.in_process`). `make deployed` calls those of
the zip through Lambda's Runtime API (`infra.deployed`). Throttles, the web ACL and the network are not simulated.
"""

import gzip
import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from chalicelib import outside
from chalicelib.domain.request_time import GATEWAY_SECONDS
from infra.stack.resources import ACCOUNT_ID, REGION
from infra.stack.template import ANY_METHOD, INTEGRATION

API_ID, STAGE_NAME = "local", "api"
REQUEST_ID = "x-amzn-RequestId"
JSON = "application/json"
# These headers concern the connection, not the request: API Gateway does not pass them on.
DROPPED = {"connection", "content-length", "expect", "keep-alive", "proxy-authenticate", "te", "transfer-encoding"}
AUTHORIZER = "x-amazon-apigateway-authorizer"
TIMEOUT_MS = GATEWAY_SECONDS * 1000
METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}  # those that ANY stands for
# Headers of a function's answer that API Gateway renames.
# https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html
REMAPPED = {"authorization", "connection", "content-md5", "date", "proxy-authenticate", "server", "www-authenticate"}
GZIP = re.compile(r"\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$).*)?", re.IGNORECASE)  # one that is not refused
PATH_VARIABLE = re.compile(r"\{(\w+)\}")
CONTEXT_VARIABLE = re.compile(r"\$context\.authorizer\.(\w+)")
IDENTITY_HEADER = re.compile(r"method\.request\.header\.([\w-]+)")
INVOKE = "execute-api:Invoke"
MAX_REMEMBERED = 10_000

# A function receives an event and the seconds that the gateway waits. It returns its answer, or raises Refusal.
Function = Callable[[dict[str, Any], float], Any]


@dataclass(frozen=True)
class Request:
    """One HTTP request; `target` is the path with the query, `source` the address of the client."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    source: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @cached_property
    def _url(self) -> SplitResult:
        try:
            return urlsplit(f"//host{self.target}" if self.target.startswith("/") else self.target)
        except ValueError:  # no URL: no route has its path
            return urlsplit("")

    @property
    def path(self) -> str:
        """Return the path as it was sent: API Gateway does not decode it."""
        return self._url.path

    @cached_property
    def query(self) -> dict[str, list[str]]:
        """Return the values of each name in the query."""
        return _grouped(parse_qsl(self._url.query, keep_blank_values=True))

    def header(self, name: str) -> str:
        """Return the last value of a header, or nothing."""
        return next((value for key, value in reversed(self.headers) if key.lower() == name.lower()), "")


@dataclass(frozen=True)
class Reply:
    """An HTTP response; a header may occur several times."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class Match:
    """The path of the template that a request is for, with the values of its variables."""

    resource: str
    parameters: Mapping[str, str]


def proxy_event(request: Request, match: Match, authorizer: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the event of an AWS_PROXY integration; a body is text, since the API has no binary types.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
    """
    event = _common(request, match)
    if authorizer is not None:
        event["requestContext"]["authorizer"] = dict(authorizer)
    body = request.body.decode(errors="replace") if request.body else None
    return {**event, "body": body, "isBase64Encoded": False}


def authorizer_event(request: Request, match: Match) -> dict[str, Any]:
    """Return the event of an authorizer of requests (type REQUEST)."""
    return {"type": "REQUEST", "methodArn": method_arn(request), **_common(request, match)}


def method_arn(request: Request) -> str:
    """Return the ARN that a policy must allow for this request."""
    return f"arn:aws:execute-api:{REGION}:{ACCOUNT_ID}:{API_ID}/{STAGE_NAME}/{request.method}{request.path}"


def _common(request: Request, match: Match) -> dict[str, Any]:
    """Return the fields that both kinds of event have."""
    forwarded = [(name, value) for name, value in request.headers if name.lower() not in DROPPED]
    headers = _grouped([*forwarded, ("X-Forwarded-For", request.source), ("X-Forwarded-Proto", "https")])
    now = outside.now().timestamp()
    return {
        "resource": match.resource,
        "path": request.path,
        "httpMethod": request.method,
        "headers": _last(headers),
        "multiValueHeaders": headers,
        "queryStringParameters": _last(request.query),
        "multiValueQueryStringParameters": request.query or None,
        "pathParameters": dict(match.parameters) or None,
        "stageVariables": None,
        "requestContext": {
            "accountId": ACCOUNT_ID,
            "apiId": API_ID,
            "domainName": request.header("Host"),
            "httpMethod": request.method,
            "identity": {"sourceIp": request.source, "userAgent": request.header("User-Agent") or None},
            "path": request.path,
            "protocol": "HTTP/1.1",
            "requestId": request.id,
            "requestTime": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "requestTimeEpoch": int(now * 1000),
            "resourceId": f"{abs(hash(match.resource)):x}"[:6],
            "resourcePath": match.resource,
            "stage": STAGE_NAME,
        },
    }


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _last(values: Mapping[str, list[str]]) -> dict[str, str] | None:
    return {name: each[-1] for name, each in values.items()} or None


class Kind(StrEnum):
    """The types of gateway responses that occur here.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
    """

    @staticmethod
    def _generate_next_value_(name: str, *_: object) -> str:
        return name

    ACCESS_DENIED = auto()
    API_CONFIGURATION_ERROR = auto()
    AUTHORIZER_CONFIGURATION_ERROR = auto()
    AUTHORIZER_FAILURE = auto()
    BAD_REQUEST_BODY = auto()
    INTEGRATION_FAILURE = auto()
    INTEGRATION_TIMEOUT = auto()
    MISSING_AUTHENTICATION_TOKEN = auto()
    REQUEST_TOO_LARGE = auto()
    UNAUTHORIZED = auto()


class Refusal(Exception):  # noqa: N818  it is an answer
    """A request that the gateway answers itself; `context` is the authorizer's, `message` replaces the usual one."""

    def __init__(self, kind: Kind, context: Mapping[str, Any] | None = None, message: str | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.context = context or {}
        self.message = message


class GatewayResponses:
    """The gateway's own answers, from `GatewayResponses` of the template, which has every type."""

    def __init__(self, responses: Mapping[str, Any]) -> None:
        self._responses = responses

    def reply(self, refusal: Refusal) -> Reply:
        """Return the answer to a request that is refused."""
        response = self._responses[refusal.kind]
        # As API Gateway does it: the inserted values are not escaped.
        body = CONTEXT_VARIABLE.sub(
            lambda name: _context_text(refusal.context.get(name[1], "")), response["ResponseTemplates"][JSON]
        )
        try:
            content = json.loads(body)
        except ValueError:  # a denial without the required code and message
            return self.reply(Refusal(Kind.AUTHORIZER_CONFIGURATION_ERROR))
        if refusal.message:
            body = json.dumps({**content, "ErrorMessage": refusal.message})
        headers = response.get("ResponseParameters", {}).get("Headers", {})
        own = tuple((name, value.strip("'")) for name, value in headers.items())
        return Reply(int(response["StatusCode"]), (("Content-Type", JSON), *own), body.encode())


def _context_text(value: object) -> str:
    """Return a value of the authorizer's context as API Gateway passes it on: as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Policy:
    """An answer of the authorizer."""

    statements: tuple[Mapping[str, Any], ...]
    context: Mapping[str, str]

    def allows(self, arn: str) -> bool:
        """Return whether a statement allows the call and none denies it."""
        effects = {statement["Effect"] for statement in self.statements if _covers(statement, arn)}
        return effects == {"Allow"}


def policy_of(answer: Any, latency_ms: float) -> Policy:
    """Return the answer of an authorizer as a policy. Raises Refusal if API Gateway would not understand it."""
    try:
        statements = tuple(answer["policyDocument"]["Statement"])
        context = dict(answer.get("context") or {})
        principal = answer["principalId"]
        well_formed = all(isinstance(value, str | int | float) for value in context.values())
    except (TypeError, KeyError, ValueError):
        well_formed = False
    if not well_formed:
        raise Refusal(Kind.AUTHORIZER_CONFIGURATION_ERROR)
    texts = {name: _context_text(value) for name, value in context.items()}
    own = {"principalId": str(principal), "integrationLatency": str(int(latency_ms))}
    return Policy(statements, {**texts, **own})


def _covers(statement: Mapping[str, Any], arn: str) -> bool:
    actions, resources = _listed(statement.get("Action")), _listed(statement.get("Resource"))
    return any(_matches(action, INVOKE) for action in actions) and any(_matches(one, arn) for one in resources)


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value or ""]


def _matches(pattern: str, text: str) -> bool:
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, text, re.DOTALL) is not None


class Authorizer:
    """A Lambda authorizer of requests: its policies are used again for `seconds`. `clock` returns seconds.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
    """

    def __init__(
        self, identity_source: str, function: Function, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._names = IDENTITY_HEADER.findall(identity_source)
        self._function, self._seconds, self._clock = function, seconds, clock
        self._remembered: dict[tuple[str, ...], tuple[float, Policy]] = {}
        self._lock = threading.Lock()

    def authorize(self, request: Request, match: Match) -> Mapping[str, str]:
        """Return the context of an authorized caller. Raises Refusal."""
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
        """Forget all policies."""
        with self._lock:
            self._remembered.clear()

    def _asked(self, request: Request, match: Match) -> Policy:
        began = time.perf_counter()
        try:
            answer = self._function(authorizer_event(request, match), TIMEOUT_MS / 1000)
        except Refusal:
            raise Refusal(Kind.AUTHORIZER_FAILURE) from None
        return policy_of(answer, (time.perf_counter() - began) * 1000)

    def _recalled(self, identity: tuple[str, ...]) -> Policy | None:
        with self._lock:
            until, policy = self._remembered.get(identity, (0.0, None))
        return policy if self._clock() < until else None

    def _remember(self, identity: tuple[str, ...], policy: Policy) -> None:
        with self._lock:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            if self._seconds:
                self._remembered[identity] = (self._clock() + self._seconds, policy)


class Gateway:
    """The API of a stage. `api` is the resource AWS::Serverless::Api of the template, without references.

    With `in_process` the functions run in this process, and developers see their behaviour unchanged: each request
    calls the authorizer, bodies are passed on as bytes, headers are not renamed, and 405 answers any method.
    """

    def __init__(self, api: Mapping[str, Any], functions: Mapping[str, Function], *, in_process: bool = False) -> None:
        properties = api["Properties"]
        self.in_process = in_process
        self._functions = functions
        self._responses = GatewayResponses(properties["GatewayResponses"])
        self._compressed_from: int = properties["MinimumCompressionSize"]
        paths = properties["DefinitionBody"]["paths"]
        # Segment by segment, a fixed path goes before one with a variable.
        by_variables = sorted(paths, key=lambda path: [bool(PATH_VARIABLE.search(part)) for part in path.split("/")])
        self._paths = [(re.compile(_pattern(path)), path, paths[path]) for path in by_variables]
        self.authorizers = {
            name: self._authorizer(one[AUTHORIZER])
            for name, one in properties["DefinitionBody"]["securityDefinitions"].items()
        }

    def _authorizer(self, definition: Mapping[str, Any]) -> Authorizer:
        seconds = 0 if self.in_process else definition.get("authorizerResultTtlInSeconds", 300)
        function = self._functions[_function_name(definition["authorizerUri"])]
        return Authorizer(definition["identitySource"], function, seconds)

    def answer(self, request: Request) -> Reply:
        """Return the answer to a request, from a function or from the gateway itself."""
        try:
            reply = self._compressed(self._answer(request), request)
        except Refusal as refusal:
            reply = self._responses.reply(refusal)
        return Reply(reply.status, ((REQUEST_ID, request.id), *reply.headers), reply.body)

    def refuse(self, refusal: Refusal) -> Reply:
        """Return the answer to a request that is refused before it is read to its end."""
        reply = self._responses.reply(refusal)
        return Reply(reply.status, ((REQUEST_ID, str(uuid.uuid4())), *reply.headers), reply.body)

    def _answer(self, request: Request) -> Reply:
        method, match = self._found(request)
        context = None
        for name in (name for scheme in method.get("security", ()) for name in scheme):
            context = self.authorizers[name].authorize(request, match)
        integration = method[INTEGRATION]
        event = proxy_event(request, match, context)
        if self.in_process:
            event["body"] = request.body or None
        function = self._functions[_function_name(integration["uri"])]
        return self._proxied(function(event, integration.get("timeoutInMillis", TIMEOUT_MS) / 1000))

    def _found(self, request: Request) -> tuple[Mapping[str, Any], Match]:
        """Return the method of the template that a request is for. Raises Refusal if there is none."""
        path = request.path.removesuffix("/") or "/"
        for pattern, resource, methods in self._paths:
            if found := pattern.fullmatch(path):
                is_known = request.method in METHODS
                method = (methods.get(request.method.lower()) if is_known else None) or (
                    methods.get(ANY_METHOD) if is_known or self.in_process else None
                )
                if method:
                    return method, Match(resource, found.groupdict())
                break
        raise Refusal(Kind.MISSING_AUTHENTICATION_TOKEN)

    def _proxied(self, answer: Any) -> Reply:
        """Return the response of a function. Raises Refusal if API Gateway would not understand it."""
        try:
            status, body = int(answer["statusCode"]), answer.get("body") or ""
            headers = [(name, str(value)) for name, value in (answer.get("headers") or {}).items()]
            several = answer.get("multiValueHeaders") or {}
            headers += [(name, str(value)) for name, values in several.items() for value in values]
            content = body.encode()  # Base64 is not decoded: the API has no binary types
        except (ValueError, TypeError, KeyError, AttributeError):
            # A "malformed Lambda proxy response" is a "configuration error" in the gateway's own log.
            raise Refusal(Kind.API_CONFIGURATION_ERROR) from None
        if "content-type" not in {name.lower() for name, _ in headers}:
            headers.append(("Content-Type", JSON))
        return Reply(status, tuple((self._renamed(name), value) for name, value in headers), content)

    def _renamed(self, name: str) -> str:
        return f"x-amzn-Remapped-{name}" if name.lower() in REMAPPED and not self.in_process else name

    def _compressed(self, reply: Reply, request: Request) -> Reply:
        """Return an integration's answer, compressed for a client that accepts gzip; `*` does not count."""
        accepted = request.header("Accept-Encoding").split(",")
        if len(reply.body) < self._compressed_from or not any(GZIP.fullmatch(coding) for coding in accepted):
            return reply
        return Reply(reply.status, (*reply.headers, ("Content-Encoding", "gzip")), gzip.compress(reply.body, mtime=0))


def _pattern(path: str) -> str:
    return "/".join(
        PATH_VARIABLE.sub(r"(?P<\1>[^/]+)", part) if PATH_VARIABLE.search(part) else re.escape(part)
        for part in path.split("/")
    )


def _function_name(uri: Any) -> str:
    found = re.search(r"\$\{(\w+)\.Arn\}", uri["Fn::Sub"] if isinstance(uri, dict) else uri)
    if found is None:
        message = f"No function in {uri}."
        raise ValueError(message)
    return found[1]
