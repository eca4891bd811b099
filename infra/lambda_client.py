"""A client that calls the app as Lambda does behind the authorizer: events in, answers out."""

import contextlib
import io
import json
import sys
from http import HTTPStatus
from typing import Any

from chalice.app import Chalice

from chalicelib.domain.agent import Caller


class Context:
    """The part of Lambda's context that the app reads."""

    aws_request_id = "bench"


class LambdaClient:
    """The app, called on behalf of one agent."""

    def __init__(self, app: Chalice, caller: Caller) -> None:
        self._app = app
        self._authorizer_context = {
            "agent": str(caller.agent_id),
            "client": str(caller.client_id),
            "version": str(caller.credential_version),
            "terminal": "" if caller.terminal_id is None else str(caller.terminal_id),
        }

    def call(self, method: str, resource: str, body: Any = None, **path_parameters: str) -> Any:
        """Send one request and return the body of the answer; exit if the answer is an error."""
        event = {
            "requestContext": {
                "httpMethod": method,
                "resourcePath": resource,
                "path": resource,
                "authorizer": self._authorizer_context,
                "identity": {"sourceIp": "127.0.0.1"},
            },
            "headers": {"content-type": "application/json"},
            "pathParameters": path_parameters or None,
            "multiValueQueryStringParameters": None,
            "stageVariables": {},
            "body": None if body is None else json.dumps(body),
        }
        with contextlib.redirect_stdout(io.StringIO()):
            answer = self._app(event, Context())
        if answer["statusCode"] != HTTPStatus.OK:
            sys.exit(answer["body"])
        return answer["body"]
