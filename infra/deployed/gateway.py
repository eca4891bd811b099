"""API Gateway, made from the API of the template alone: routes, authorizer, integrations, and its own answers."""

import gzip
import json
import re
from collections.abc import Mapping
from concurrent.futures import Future
from threading import Thread
from typing import Any

from infra.deployed.authorization import Authorizer
from infra.deployed.functions import THROTTLED, Function
from infra.deployed.gateway_responses import JSON, GatewayResponses, Kind, Refusal
from infra.deployed.instance import Outcome
from infra.deployed.requests import Match, Reply, Request, proxy_event
from infra.deployed.runtime_api import MAX_PAYLOAD_BYTES
from infra.deployed.velocity import rendered

MAX_BODY_BYTES = 10 * 1024 * 1024
INTEGRATION, ANY_METHOD = "x-amazon-apigateway-integration", "x-amazon-apigateway-any-method"
AUTHORIZER = "x-amazon-apigateway-authorizer"
TIMEOUT_MS = 29_000
METHODS = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}  # those that ANY stands for
# Headers of a function's answer that API Gateway renames.
# https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html
REMAPPED = {"authorization", "connection", "content-md5", "date", "proxy-authenticate", "server", "www-authenticate"}
GZIP = re.compile(r"\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$).*)?", re.IGNORECASE)  # one that is not refused
VARIABLE = re.compile(r"\{(\w+)\}")


class Gateway:
    """The API of a stage. `api` is the resource AWS::Serverless::Api of the template, without references."""

    def __init__(self, api: Mapping[str, Any], functions: Mapping[str, Function]) -> None:
        body = api["Properties"]["DefinitionBody"]
        self._functions = functions
        self._responses = GatewayResponses(api["Properties"]["GatewayResponses"])
        self._routes = _Routes(body["paths"])
        self._compressed_from: int = api["Properties"]["MinimumCompressionSize"]
        self.authorizers = {
            name: Authorizer(definition[AUTHORIZER], functions[_function_name(definition[AUTHORIZER]["authorizerUri"])])
            for name, definition in body["securityDefinitions"].items()
        }

    def answer(self, request: Request) -> Reply:
        """Return the answer to a request: of a function, of a mock, or of the gateway itself."""
        try:
            reply = self._compressed(self._answer(request), request)
        except Refusal as refusal:
            reply = self._responses.reply(refusal)
        return Reply(reply.status, (("x-amzn-RequestId", request.id), *reply.headers), reply.body)

    def refuse(self, kind: Kind) -> Reply:
        """Return the answer to a request that is refused before it is read."""
        return self._responses.reply(Refusal(kind))

    def _compressed(self, reply: Reply, request: Request) -> Reply:
        """Return an answer of an integration as it is sent to whom names a coding it takes; `*` names none."""
        if len(reply.body) < self._compressed_from or not _takes_gzip(request.header("Accept-Encoding")):
            return reply
        return Reply(reply.status, (*reply.headers, ("Content-Encoding", "gzip")), gzip.compress(reply.body, mtime=0))

    def _answer(self, request: Request) -> Reply:
        method, match = self._routes.find(request)
        context = None
        for name in (name for scheme in method.get("security", ()) for name in scheme):
            context = self.authorizers[name].authorize(request, match)
        if len(request.body) > MAX_BODY_BYTES:
            raise Refusal(Kind.REQUEST_TOO_LARGE)
        integration = method[INTEGRATION]
        if integration["type"] == "mock":
            return _mock(integration, request)
        event = json.dumps(proxy_event(request, match, context), ensure_ascii=False).encode()
        if len(event) > MAX_PAYLOAD_BYTES:
            raise Refusal(Kind.REQUEST_TOO_LARGE)
        function = self._functions[_function_name(integration["uri"])]
        return _proxied(_in_time(function, event, integration.get("timeoutInMillis", TIMEOUT_MS) / 1000))


class _Routes:
    """The paths of the definition: one without a variable goes before one with, segment by segment."""

    def __init__(self, paths: Mapping[str, Mapping[str, Any]]) -> None:
        by_variables = sorted(paths, key=lambda path: [bool(VARIABLE.search(part)) for part in path.split("/")])
        self._paths = [(re.compile(_pattern(path)), path, paths[path]) for path in by_variables]

    def find(self, request: Request) -> tuple[Mapping[str, Any], Match]:
        """Return the method of the definition that a request is for; Refusal where there is none."""
        path = request.path.removesuffix("/") or "/"
        for pattern, resource, methods in self._paths:
            if found := pattern.fullmatch(path):
                method = methods.get(request.method.lower()) or (
                    methods.get(ANY_METHOD) if request.method in METHODS else None
                )
                if method:
                    return method, Match(resource, found.groupdict())
                break
        raise Refusal(Kind.MISSING_AUTHENTICATION_TOKEN)


def _pattern(path: str) -> str:
    return "/".join(
        VARIABLE.sub(r"(?P<\1>[^/]+)", part) if VARIABLE.search(part) else re.escape(part) for part in path.split("/")
    )


def _function_name(uri: Any) -> str:
    found = re.search(r"\$\{(\w+)\.Arn\}", uri["Fn::Sub"] if isinstance(uri, dict) else uri)
    if found is None:
        message = f"No function in {uri}."
        raise ValueError(message)
    return found[1]


def _mock(integration: Mapping[str, Any], request: Request) -> Reply:
    """Return the answer of a mock integration; `never` refuses what no template is for."""
    media_type = request.header("Content-Type").split(";")[0].strip().lower() or JSON
    template = integration["requestTemplates"].get(media_type)
    if template is None:
        raise Refusal(Kind.UNSUPPORTED_MEDIA_TYPE)
    status = str(json.loads(template)["statusCode"])
    response = integration["responses"].get(status) or integration["responses"]["default"]
    prefix = "method.response.header."
    constants = response.get("responseParameters", {}).items()
    headers = {name.removeprefix(prefix): value.strip("'") for name, value in constants}
    override: dict[str, Any] = {"status": int(response["statusCode"]), "header": {}}
    parameters = {"header": dict(request.headers)}
    context = {"httpMethod": request.method, "responseOverride": override}
    body = rendered(
        response.get("responseTemplates", {}).get(JSON, ""),
        {"context": context, "input": {"params": lambda: parameters}},
    )
    sent = {"Content-Type": JSON, **headers, **override["header"]}
    return Reply(override["status"], tuple(sent.items()), body.encode())


def _takes_gzip(accepted: str) -> bool:
    return any(GZIP.fullmatch(coding) for coding in accepted.split(","))


def _in_time(function: Function, event: bytes, seconds: float) -> Outcome:
    """Return what the function answers within these seconds; it works on, though nobody waits any more."""
    answered: Future[Outcome] = Future()
    Thread(target=lambda: answered.set_result(function.invoke(event)), daemon=True).start()
    try:
        return answered.result(seconds)
    except TimeoutError:
        raise Refusal(Kind.INTEGRATION_TIMEOUT) from None


def _proxied(outcome: Outcome) -> Reply:
    """Return the response that a function gave; Refusal where API Gateway takes it for none."""
    if outcome.error == THROTTLED:
        raise Refusal(Kind.INTEGRATION_FAILURE)
    try:
        answer: Any = None if outcome.error else json.loads(outcome.payload)
        status, body = int(answer["statusCode"]), answer.get("body") or ""
        headers = [(name, str(value)) for name, value in (answer.get("headers") or {}).items()]
        several = answer.get("multiValueHeaders") or {}
        headers += [(name, str(value)) for name, values in several.items() for value in values]
        content = body.encode()  # also what is encoded in Base64: the API has no binary types
    except (ValueError, TypeError, KeyError, AttributeError):
        # A "malformed Lambda proxy response" is a "configuration error" in the gateway's own log.
        raise Refusal(Kind.API_CONFIGURATION_ERROR) from None
    if "content-type" not in {name.lower() for name, _ in headers}:
        headers.append(("Content-Type", JSON))
    return Reply(status, tuple((_remapped(name), value) for name, value in headers), content)


def _remapped(name: str) -> str:
    return f"x-amzn-Remapped-{name}" if name.lower() in REMAPPED else name
