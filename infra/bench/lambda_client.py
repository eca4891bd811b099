"""A client that calls the app as Lambda does behind the authorizer: events in, answers out."""

import contextlib
import io
import json
import sys
from http import HTTPStatus
from typing import Any

from chalice.app import Chalice

from chalicelib.domain.agent import Caller
from infra.api_gateway.gateway import Match, Request, proxy_event
from infra.api_gateway.in_process import Context


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
        content = b"" if body is None else json.dumps(body).encode()
        request = Request(method, resource, (("content-type", "application/json"),), content, "127.0.0.1", "bench")
        event = proxy_event(request, Match(resource, path_parameters), self._authorizer_context)
        with contextlib.redirect_stdout(io.StringIO()):
            answer = self._app(event, Context("bench"))
        if answer["statusCode"] != HTTPStatus.OK:
            sys.exit(answer["body"])
        return answer["body"]
