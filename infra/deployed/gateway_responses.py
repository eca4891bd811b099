"""Answers that API Gateway gives itself, as `GatewayResponses` of the template says.

https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from infra.deployed.requests import Reply


class Kind(StrEnum):
    """The types of gateway responses that occur here, with the status each has where the template says nothing."""

    status: int

    def __new__(cls, name: str, status: int) -> Self:
        """Make a member from its name and status."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.status = status
        return member

    ACCESS_DENIED = "ACCESS_DENIED", 403
    API_CONFIGURATION_ERROR = "API_CONFIGURATION_ERROR", 500
    AUTHORIZER_CONFIGURATION_ERROR = "AUTHORIZER_CONFIGURATION_ERROR", 500
    AUTHORIZER_FAILURE = "AUTHORIZER_FAILURE", 500
    BAD_REQUEST_BODY = "BAD_REQUEST_BODY", 400
    INTEGRATION_FAILURE = "INTEGRATION_FAILURE", 504
    INTEGRATION_TIMEOUT = "INTEGRATION_TIMEOUT", 504
    MISSING_AUTHENTICATION_TOKEN = "MISSING_AUTHENTICATION_TOKEN", 403
    REQUEST_TOO_LARGE = "REQUEST_TOO_LARGE", 413
    UNAUTHORIZED = "UNAUTHORIZED", 401
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE", 415


JSON = "application/json"
VARIABLE = re.compile(r"\$context\.authorizer\.(\w+)")


class Refusal(Exception):  # noqa: N818  it is an answer
    """A request that the gateway answers itself; `context` is the authorizer's."""

    def __init__(self, kind: Kind, context: Mapping[str, Any] | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.context = context or {}


class GatewayResponses:
    """The responses of one API."""

    def __init__(self, responses: Mapping[str, Any]) -> None:
        self._responses = responses

    def reply(self, refusal: Refusal) -> Reply:
        """Return the answer to a request that is refused."""
        status = refusal.kind.status
        response = self._responses.get(refusal.kind) or self._responses.get(f"DEFAULT_{status // 100}XX") or {}
        template = response.get("ResponseTemplates", {}).get(JSON, '{"message":"Refused"}')
        # As API Gateway does it: what is inserted is not made JSON.
        body = VARIABLE.sub(lambda name: context_text(refusal.context.get(name[1], "")), template)
        headers = response.get("ResponseParameters", {}).get("Headers", {})
        own = tuple((name, value.strip("'")) for name, value in headers.items())
        return Reply(int(response.get("StatusCode", status)), (("Content-Type", JSON), *own), body.encode())


def context_text(value: object) -> str:
    """Return a value of the authorizer's context as API Gateway passes it on: as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
