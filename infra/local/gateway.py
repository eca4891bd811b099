"""Chalice's local server as the gateway of the local stage: it answers as API Gateway answers for a deployed stage.

Chalice's own gateway finds the route, makes the event and calls the app. Added is what API Gateway does and Chalice's
gateway does not: refusals in the envelope of the service, an authorizer that gets the whole request, any method, bodies
in chunks, the limit of a body, compression. Not simulated: remembered policies, time limits, throttles, the web ACL.
"""

import contextlib
import gzip
import io
import json
import re
import socket
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from functools import cache, lru_cache, partial
from http import HTTPStatus
from typing import Any, Self, cast

from chalice.app import Chalice, Request
from chalice.config import Config
from chalice.local import (
    ChaliceRequestHandler,
    LambdaContext,
    LocalChalice,
    LocalDevServer,
    LocalGateway,
    LocalGatewayAuthorizer,
    LocalGatewayException,
    ThreadedHTTPServer,
)

from chalicelib import outside, web
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.settings import settings
from infra.local.faults import DROP, SLOW, Faults
from infra.local.ports import HOST
from infra.stack import cloudformation, resources, template

REQUEST_ID = "x-amzn-RequestId"
MAX_BODY_BYTES = 10 * 1024 * 1024  # the limit of API Gateway
MAX_DISCARD_SECONDS = 10
MAX_COMPARED = 200  # letters of an unknown path
IDLE_SECONDS = 60
COMPRESSED_FROM = 1024  # bytes of an answer: `minimum_compression_size` of .chalice/config.json
GZIP = re.compile(r"\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$).*)?", re.IGNORECASE)  # one that is not refused
CONTEXT_VARIABLE = re.compile(r"\$context\.authorizer\.(\w+)")

Event = dict[str, Any]
During = Callable[[], contextlib.AbstractContextManager[None]]  # the context of each request


# https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
Kind = Enum(
    "Kind",
    "ACCESS_DENIED API_CONFIGURATION_ERROR AUTHORIZER_CONFIGURATION_ERROR AUTHORIZER_FAILURE BAD_REQUEST_BODY"
    " INTEGRATION_FAILURE INTEGRATION_TIMEOUT MISSING_AUTHENTICATION_TOKEN REQUEST_TOO_LARGE UNAUTHORIZED",
)


class Refused(LocalGatewayException):
    """An answer of the gateway itself, by its type in `GatewayResponses` of the template.

    `context` is the authorizer's; `message` replaces the usual one.
    """

    def __init__(self, kind: Kind, context: Mapping[str, Any] | None = None, message: str | None = None) -> None:
        response = _responses(settings().allowed_origins)[kind.name]
        # As API Gateway does it: the inserted values are not escaped.
        text = CONTEXT_VARIABLE.sub(
            lambda name: str((context or {}).get(name[1], "")), response["ResponseTemplates"]["application/json"]
        )
        if message:
            text = json.dumps({**json.loads(text), "ErrorMessage": message})
        headers = response.get("ResponseParameters", {}).get("Headers", {})
        own = {name: value.strip("'") for name, value in headers.items()}
        super().__init__({REQUEST_ID: str(uuid.uuid4()), **own}, text.encode())
        self.kind, self.CODE = kind.name, int(response["StatusCode"])


@cache
def _responses(allowed_origins: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the gateway's own answers, as a stage has them that allows these origins."""
    responses = template.gateway_responses()
    found = cloudformation.resolved(resources.definition(), responses, AllowedOrigins=",".join(allowed_origins))
    return cast("Mapping[str, Any]", found)


class DroppedError(Exception):
    """The answer of a request that was carried out is lost."""


class Authorizer(LocalGatewayAuthorizer):
    """Chalice's, with the event of an authorizer of requests (type REQUEST), and refusals in the envelope."""

    def authorize(
        self, raw_path: str, lambda_event: Event, lambda_context: LambdaContext
    ) -> tuple[Event, LambdaContext]:
        """Add the authorizer's context to the event. Raise Refused."""
        entry = self._route_for_event(lambda_event)
        if entry is None or entry.authorizer is None:  # the app answers a method that the path lacks
            return lambda_event, lambda_context
        if not lambda_event["headers"].get("authorization", "").strip():
            raise Refused(Kind.UNAUTHORIZED)
        arn = self._arn_builder.build_arn(lambda_event["requestContext"]["httpMethod"], raw_path)
        try:
            guard: Any = entry.authorizer
            answer = guard({**lambda_event, "type": "REQUEST", "methodArn": arn, "body": None}, lambda_context)
        except Exception:  # noqa: BLE001  the gateway answers a crash of the function
            traceback.print_exc()
            raise Refused(Kind.AUTHORIZER_FAILURE, message=web.LOCAL_HINT) from None
        if not isinstance(answer, dict):
            raise Refused(Kind.AUTHORIZER_CONFIGURATION_ERROR)
        context = {name: _text(value) for name, value in (answer.get("context") or {}).items()}
        if not self.allows(arn, answer):  # a denial needs a code and a message
            raise Refused(Kind.ACCESS_DENIED if "code" in context else Kind.AUTHORIZER_CONFIGURATION_ERROR, context)
        lambda_event["requestContext"]["authorizer"] = {**context, "principalId": answer["principalId"]}
        return lambda_event, lambda_context

    def allows(self, arn: str, policy: Mapping[str, Any]) -> bool:
        """Return whether a policy allows a call."""
        allowed: bool = self._check_can_invoke_view_function(arn, dict(policy))
        return allowed


def _text(value: object) -> str:
    """Return a value of the authorizer's context as API Gateway passes it on."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Gateway(LocalGateway):
    """Chalice's gateway for the requests of one client, whose address is `source`, each in the context `during`."""

    def __init__(
        self,
        app: Chalice,
        config: Config,
        source: str = HOST,
        during: During = contextlib.nullcontext,
        faults: Faults | None = None,
    ) -> None:
        super().__init__(app, config)
        self._authorizer = Authorizer(app)
        self._source, self._during, self._faults = source, during, faults or Faults()
        self.several: Mapping[str, list[str]] = {}  # all values of each header of the next request

    def handle_request(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Event:
        """Return the answer of the app, with the ID of the request. Raise Refused, which has it too; DroppedError."""
        context, fault = self._generate_lambda_context(), self._faults.next_for(path)
        try:
            event = self._generate_lambda_event(method, path, dict(headers), body or None)
            event["multiValueHeaders"] = self.several or {name: [value] for name, value in headers.items()}
            event["requestContext"]["requestId"] = context.aws_request_id
            event["requestContext"]["identity"]["sourceIp"] = self._source
            if fault and (error := fault.error):
                answer: Event = _refused(Request(event, context), error)
            else:
                with self._during():
                    self._authorizer.authorize(path, event, context)
                    answer = self._app_object(event, context)
        except Refused as refusal:
            refusal.headers[REQUEST_ID] = context.aws_request_id
            raise
        except Exception:  # noqa: BLE001  the gateway answers a crash of the function
            traceback.print_exc()
            raise Refused(Kind.API_CONFIGURATION_ERROR) from None
        if fault and fault.Next == DROP:
            raise DroppedError
        if fault and fault.Next == SLOW:
            time.sleep(fault.Seconds)
        answer["headers"][REQUEST_ID] = context.aws_request_id
        content = (answer["body"] or "").encode()
        accepted = headers.get("accept-encoding", "").split(",")  # `*` does not count
        if len(content) >= COMPRESSED_FROM and any(GZIP.fullmatch(coding) for coding in accepted):
            answer["headers"]["Content-Encoding"] = "gzip"
            is_file = answer["headers"].get("Cache-Control", "no-store") != "no-store"
            content = (_compressed_file if is_file else _compressed)(content)
        return {**answer, "body": content}

    def _generate_lambda_event(self, *request: Any) -> Event:
        """Return Chalice's event. Raise Refused where Chalice's own answer would repeat the credential."""
        try:
            event: Event = super()._generate_lambda_event(*request)
        except ValueError:
            raise Refused(Kind.MISSING_AUTHENTICATION_TOKEN, message=self._nearby(*request[:2])) from None
        if not all(event["pathParameters"].values()):  # API Gateway takes no empty part of a path as a variable
            raise Refused(Kind.MISSING_AUTHENTICATION_TOKEN)
        return event

    def _nearby(self, method: str, address: str) -> str | None:
        """Return what to say about an unknown path that resembles one of the service."""
        path = address.partition("?")[0][:MAX_COMPARED]
        paths = [path for path, methods in self._app_object.routes.items() if method in methods]
        near = get_close_matches(path, paths, n=1)
        return f"{ErrorCode.UNKNOWN_PATH.message} The nearest is {method} {near[0]}." if near else None


def _refused(request: Request, error: ErrorCode) -> Event:
    """Return the service's answer with an error, as it gives and logs it."""
    message = f"An internal error; request {web.request_id_of(request)}." if error is ErrorCode.INTERNAL else None
    refusal = ServiceError(error, message, retry_after=1 if error is ErrorCode.THROTTLED else None)
    answer: Event = web.edge(request, lambda _: web.refuse(refusal)).to_dict()
    return answer


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


_compressed_file = lru_cache(maxsize=256)(_compressed)  # anybody may load one again and again


class _LineReader(io.BufferedReader):
    """A reader that remembers the last line, which names the header that was too long."""

    last = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        self.last = super().readline(size)
        return self.last


class Handler(ChaliceRequestHandler):
    """One connection: Chalice reads each request, gives it to the gateway, and answers in one write.

    Chalice drops the connection without an answer for a Content-Length that is no number, takes a body in chunks as
    none, and sends the answer to HEAD with its body.
    """

    server: "Http"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1  # separate writes of headers and body cost 44 ms

    def setup(self) -> None:
        """Give the connection a gateway that knows the client's address."""
        super().setup()
        self.lines = _LineReader(getattr(self, "rfile").detach())  # noqa: B009  mypy knows no type of it
        self.rfile: Any = self.lines
        during, faults = self.server.during, self.server.faults
        self.local_gateway: Any = Gateway(self.server.app, Config.create(), self.client_address[0], during, faults)

    def __getattr__(self, name: str) -> Any:
        """Return one handler for every method: http.server looks for `do_` and its name."""
        if name.startswith("do_"):
            return self._generic_handle
        raise AttributeError(name)

    def handle_one_request(self) -> None:
        """Answer a request. One that is refused before it is read to its end closes the connection."""
        try:
            super().handle_one_request()
        except DroppedError:
            self.close_connection = True
        except Refused as refusal:
            self.close_connection = True
            self._send_http_response(refusal.CODE, {**refusal.headers, "Connection": "close"}, refusal.body)
            self._discard()

    def _parse_payload(self) -> tuple[dict[str, Any], bytes]:
        """Return headers and body. The last of several headers counts, in lower case, as in the service's functions."""
        body = self._body()
        self.local_gateway.several = {
            name.lower(): [*map(str, self.headers.get_all(name, ()))] for name in self.headers
        }
        return {name.lower(): str(value) for name, value in self.headers.items()}, body

    def _send_http_response(self, code: int, headers: dict[str, Any], body: bytes | str | None) -> None:
        super()._send_http_response(code, headers, None if self.command == "HEAD" else body)

    def _body(self) -> bytes:
        """Return the body of a request. Raise Refused if its end is not known, or if it is too large."""
        length = self._length()
        if length is None:
            return self._chunks()
        body: bytes = self.rfile.read(length)
        if len(body) < length:
            raise Refused(Kind.BAD_REQUEST_BODY, message="The body is shorter than its Content-Length.")
        return body

    def _length(self) -> int | None:
        """Return the length of the body, and None if it comes in chunks. Raise Refused."""
        if "Transfer-Encoding" in self.headers:
            return None
        lengths = set(self.headers.get_all("Content-Length", ["0"]))
        digits = lengths.pop()
        if lengths or not (digits.isascii() and digits.isdigit()):
            raise Refused(Kind.BAD_REQUEST_BODY, message="The Content-Length is not a number.")
        # Compared as text first: int() refuses thousands of digits.
        if len(digits.lstrip("0")) > len(str(MAX_BODY_BYTES)) or int(digits) > MAX_BODY_BYTES:
            raise Refused(Kind.REQUEST_TOO_LARGE)
        return int(digits)

    def _chunks(self) -> bytes:
        content = b""
        try:
            while size := int(self.rfile.readline(32).split(b";")[0], 16):
                if size < 0 or len(content) + size > MAX_BODY_BYTES:
                    raise Refused(Kind.REQUEST_TOO_LARGE)
                content += self.rfile.read(size)
                self.rfile.readline(3)
        except ValueError:
            raise Refused(Kind.BAD_REQUEST_BODY, message="A chunk does not begin with its size.") from None
        while self.rfile.readline(65536).strip():
            pass  # trailers
        return content

    def handle_expect_100(self) -> bool:
        """Refuse before the body is sent, if the headers are reason enough."""
        self._length()
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what http.server refuses, such as a malformed request line."""
        del message, explain
        self.request_version = self.protocol_version  # HTTP/0.9, which a malformed line has, knows no headers
        if code != HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            raise Refused(Kind.BAD_REQUEST_BODY, message="The request line is malformed.")
        if self.lines.last[:14].lower() == b"authorization:":
            error = ErrorCode.BAD_CREDENTIAL
            raise Refused(Kind.ACCESS_DENIED, {"code": error.code, "message": error.message})
        raise Refused(Kind.BAD_REQUEST_BODY, message="The headers are too long or too many.")

    def _discard(self) -> None:
        """Read what the client still sends: closing with unread data would reset the connection and lose the answer."""
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            until = time.monotonic() + MAX_DISCARD_SECONDS
            while time.monotonic() < until and self.connection.recv(65536):
                pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Return the time of the stage for the header Date."""
        return str(super().date_time_string(timestamp or outside.now().timestamp()))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing: the service logs each request itself."""


class Http(ThreadedHTTPServer):
    """Chalice's threads, for many connections at once."""

    request_queue_size = 128
    app: Chalice
    during: During
    faults: Faults | None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error, unless the client closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Server(LocalDevServer):
    """An app on HTTP, for `with`; port 0 takes a free one. Making one raises OSError when the port is in use."""

    server: Http

    def __init__(
        self,
        app: Chalice,
        port: int = 0,
        during: During = contextlib.nullcontext,
        faults: Faults | None = None,
        host: str = HOST,
    ) -> None:
        if not isinstance(app, LocalChalice):  # each thread has its own `current_request`
            app.__class__ = type("LocalApp", (LocalChalice, type(app)), {})
        super().__init__(app, Config.create(), host, port, Handler, Http)
        self.server.app, self.server.during, self.server.faults = app, during, faults
        self.address: tuple[str, int] = (HOST, self.server.server_port)
        self.url = f"http://{HOST}:{self.server.server_port}"

    def close(self) -> None:
        """Close the port."""
        self.server.server_close()

    def __enter__(self) -> Self:
        threading.Thread(target=partial(self.server.serve_forever, poll_interval=0.05), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.close()
