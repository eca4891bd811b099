"""API Gateway in front of the service, simulated locally: routing, the authorizer, and the gateway's own answers.

The gateway's own answers are made from the `GatewayResponses` that are deployed, so they are the same.
"""

import base64
import json
import re
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from chalice.app import Chalice
from chalice.config import Config
from chalice.local import (
    InvalidAuthorizerError,
    LambdaContext,
    LocalChalice,
    LocalGateway,
    LocalGatewayAuthorizer,
    NotAuthorizedError,
)

from chalicelib import cors
from chalicelib.errors import ErrorCode, envelope
from chalicelib.settings import settings
from chalicelib.web import STATUS_OF
from infra import compression, resources

LAMBDA_TIMEOUT_SECONDS = 29
REQUEST_ID = "x-amzn-RequestId"


@dataclass(frozen=True)
class Request:
    """One HTTP request. `source` is the address of the client."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None
    source: str


@dataclass(frozen=True)
class Reply:
    """One HTTP response. A header may have several values."""

    status: int
    headers: Mapping[str, str | list[str]]
    body: bytes


def gateway_response(kind: str, *, context: Mapping[str, Any] | None = None, message: str | None = None) -> Reply:
    """Return the gateway response of this type.

    `context` is the authorizer's; `message` replaces the usual one where the local server knows the problem better.
    """
    response = resources.gateway_responses()[kind]
    text = re.sub(
        r"\$context\.authorizer\.(\w+)",
        lambda name: json.dumps(_context_text((context or {}).get(name[1], "")))[1:-1],
        response["ResponseTemplates"]["application/json"],
    )
    try:
        body = json.loads(text)
    except ValueError:  # a denial without the required code and message
        return gateway_response("AUTHORIZER_CONFIGURATION_ERROR")
    if message:
        body["ErrorMessage"] = message
    headers = response.get("ResponseParameters", {}).get("Headers", {})
    own = {name: value.strip("'") for name, value in headers.items()}
    return _json(int(response["StatusCode"]), body, own | _readable())


def _readable() -> dict[str, str]:
    """Return what lets a page read an answer of the gateway itself, which cannot look its origin up in a list."""
    allowed = settings().allowed_origins
    return cors.readable_by(allowed[0] if len(allowed) == 1 else "*") if allowed else {}


def _error_reply(error: ErrorCode, headers: Mapping[str, str | list[str]]) -> Reply:
    """Return a refusal for which there is no gateway response."""
    return _json(STATUS_OF[error], envelope(error.code, error.message), headers)


def _json(status: int, body: Mapping[str, Any], headers: Mapping[str, str | list[str]]) -> Reply:
    return Reply(status, {"Content-Type": "application/json", **headers}, json.dumps(body).encode())


def _context_text(value: object) -> str:
    """Return a value of the authorizer's context as API Gateway passes it on: as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _DeniedError(Exception):
    """A denial: the policy the authorizer returned does not allow the call."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        super().__init__("denied")
        self.context = context


class _Authorizer(LocalGatewayAuthorizer):
    """Chalice's local authorizer, made to pass on the context of a denial."""

    def _check_can_invoke_view_function(self, arn: str, auth_result: dict[str, Any]) -> bool:
        if not super()._check_can_invoke_view_function(arn, auth_result):
            raise _DeniedError(auth_result.get("context") or {})
        return True

    def _prepare_authorizer_event(
        self, arn: str, lambda_event: dict[str, Any], lambda_context: LambdaContext
    ) -> dict[str, Any]:
        """Return the event of an authorizer of requests (type REQUEST), whose identity source is the header."""
        del lambda_context
        if not lambda_event["headers"].get("authorization", "").strip():
            raise NotAuthorizedError({})
        context = lambda_event["requestContext"]
        return {
            "type": "REQUEST",
            "methodArn": arn,
            "resource": context["resourcePath"],
            "path": context["path"],
            "httpMethod": context["httpMethod"],
            "headers": lambda_event["headers"],
            "multiValueQueryStringParameters": lambda_event["multiValueQueryStringParameters"],
            "pathParameters": lambda_event["pathParameters"],
            "stageVariables": lambda_event["stageVariables"],
            "requestContext": context,
        }

    def _update_lambda_event(self, lambda_event: dict[str, Any], auth_result: dict[str, Any]) -> dict[str, Any]:
        # API Gateway makes text of every value: a function that needs a number must fail here, and not only there.
        context = {name: _context_text(value) for name, value in (auth_result.get("context") or {}).items()}
        event: dict[str, Any] = super()._update_lambda_event(lambda_event, {**auth_result, "context": context})
        return event


class _ThreadSafeChalice(LocalChalice):
    """An app whose threads share neither the request (done by Chalice) nor the Lambda context (done here)."""

    _LOCAL = threading.local()

    @property
    def lambda_context(self) -> LambdaContext:
        context: LambdaContext = self._LOCAL.context
        return context

    @lambda_context.setter
    def lambda_context(self, value: LambdaContext) -> None:
        self._LOCAL.context = value


def make_thread_safe(app: Chalice) -> Chalice:
    """Make the app safe to be called by several threads, and return it; a second time changes nothing."""
    if not isinstance(app, _ThreadSafeChalice):
        app.__class__ = type("IsolatedChalice", (_ThreadSafeChalice, type(app)), {})
    return app


class Gateway(LocalGateway):
    """Chalice's local gateway, made to answer every request, and its own refusals as `GatewayResponses` says."""

    def __init__(self, app: Chalice) -> None:
        config = Config.create(chalice_stage="local", app_name=app.app_name, lambda_timeout=LAMBDA_TIMEOUT_SECONDS)
        super().__init__(make_thread_safe(app), config)
        self._authorizer = _Authorizer(app)

    def answer(self, request: Request) -> Reply:
        """Return the answer to a request, whatever happens, with the ID that the app logs for the request."""
        context = self._generate_lambda_context()
        reply = self._answer(request, context)
        headers = {REQUEST_ID: context.aws_request_id, **reply.headers}
        if not compression.applies(request.headers, reply.body):
            return replace(reply, headers=headers)
        return replace(reply, headers=headers | compression.HEADERS, body=compression.compressed(reply.body))

    def _answer(self, request: Request, context: LambdaContext) -> Reply:
        method, path = request.method, request.path
        try:
            event = self._generate_lambda_event(method, path, dict(request.headers), request.body)
        except ValueError:
            return gateway_response("MISSING_AUTHENTICATION_TOKEN")
        resource = event["requestContext"]["resourcePath"]
        if method not in self._app_object.routes[resource]:
            return self._refuse_method(request, resource)
        event["requestContext"] |= {
            "requestId": context.aws_request_id,
            "path": urlsplit(path).path,
            "identity": {"sourceIp": request.source},
        }
        if refusal := self._authorize(path, event, context):
            return refusal
        try:
            return _reply(self._app_object(event, context))
        except Exception:  # noqa: BLE001  a crash of the function is an answer of the gateway
            traceback.print_exc()
            return gateway_response("INTEGRATION_FAILURE")

    def _refuse_method(self, request: Request, resource: str) -> Reply:
        """Answer as the mock integration of the template does: it takes no other media type than JSON."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        media_type = headers.get("content-type", "").split(";")[0].strip().lower()
        if media_type not in {"", "application/json"}:
            return gateway_response("UNSUPPORTED_MEDIA_TYPE")
        allowed = ", ".join(sorted(self._app_object.routes[resource]))
        answered: dict[str, str | list[str]] = {"Allow": allowed}
        cors.mark(answered, headers.get("origin"))
        if request.method == "OPTIONS" and headers.get("origin") in settings().allowed_origins:
            return Reply(HTTPStatus.NO_CONTENT, answered | cors.permission(allowed), b"")
        return _error_reply(ErrorCode.METHOD_NOT_ALLOWED, answered)

    def _authorize(self, path: str, event: dict[str, Any], context: LambdaContext) -> Reply | None:
        """Call the authorizer, which puts its context in the event; return an answer if it does not allow the call."""
        try:
            self._authorizer.authorize(path, event, context)
        except _DeniedError as denied:
            return gateway_response("ACCESS_DENIED", context=denied.context)
        except NotAuthorizedError:
            return gateway_response("UNAUTHORIZED")
        except InvalidAuthorizerError:
            return gateway_response("AUTHORIZER_CONFIGURATION_ERROR")
        except Exception:  # noqa: BLE001  an exception of the authorizer is an answer of the gateway
            traceback.print_exc()
            return gateway_response("AUTHORIZER_FAILURE")
        return None


def _reply(response: dict[str, Any]) -> Reply:
    body = response["body"] or ""
    return Reply(
        status=response["statusCode"],
        headers={"Content-Type": "application/json", **response["headers"], **response["multiValueHeaders"]},
        body=base64.b64decode(body) if response.get("isBase64Encoded") else _encoded(body),
    )


def _encoded(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body
