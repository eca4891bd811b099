"""A request as a gateway gets it, its answer, and the events that Lambda gets for it.

https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
"""

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from infra.engines import ACCOUNT_ID, REGION

API_ID, STAGE_NAME = "local", "api"
# Of the connection, not of the request: API Gateway does not pass them on.
DROPPED = {"connection", "content-length", "expect", "keep-alive", "proxy-authenticate", "te", "transfer-encoding"}


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
    def path(self) -> str:
        """Return the path as it was sent: API Gateway does not decode it."""
        return urlsplit("//host" + self.target).path

    @cached_property
    def query(self) -> dict[str, list[str]]:
        """Return the values of each name in the query."""
        return grouped(parse_qsl(urlsplit("//host" + self.target).query, keep_blank_values=True))

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


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the values by name."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _last(values: Mapping[str, list[str]]) -> dict[str, str] | None:
    return {name: each[-1] for name, each in values.items()} or None


def _common(request: Request, match: Match) -> dict[str, Any]:
    """Return what both events have."""
    forwarded = [(name, value) for name, value in request.headers if name.lower() not in DROPPED]
    headers = grouped([*forwarded, ("X-Forwarded-For", request.source), ("X-Forwarded-Proto", "https")])
    now = time.time()
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


def proxy_event(request: Request, match: Match, authorizer: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the event of an AWS_PROXY integration; a body is text, since the API has no binary types."""
    event = _common(request, match)
    if authorizer is not None:
        event["requestContext"]["authorizer"] = dict(authorizer)
    body = request.body.decode(errors="replace") if request.body else None
    return {**event, "body": body, "isBase64Encoded": False}


def authorizer_event(request: Request, match: Match) -> dict[str, Any]:
    """Return the event of an authorizer of requests (type REQUEST)."""
    return {"type": "REQUEST", "methodArn": method_arn(request), **_common(request, match)}


def method_arn(request: Request) -> str:
    """Return what a policy must allow for this request."""
    return f"arn:aws:execute-api:{REGION}:{ACCOUNT_ID}:{API_ID}/{STAGE_NAME}/{request.method}{request.path}"
