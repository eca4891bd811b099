"""The HTTP server of the local stage: Chalice's, made to answer every request, and without its delay of 44 ms."""

import contextlib
import http.client
import io
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from typing import Self

from chalice.app import Chalice
from chalice.local import ThreadedHTTPServer

from chalicelib.errors import ErrorCode
from infra.api_gateway import REQUEST_ID, Gateway, Reply, Request, gateway_response

MAX_BODY_BYTES = 10 * 1024 * 1024  # the limit of API Gateway
MAX_DISCARDED_BYTES = 64 * 1024 * 1024
MAX_DISCARD_SECONDS = 10
IDLE_SECONDS = 60


class _LineReader(io.BufferedReader):
    """A reader that remembers the last line, which names the header that was too long."""

    last = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        self.last = super().readline(size)
        return self.last


class Handler(BaseHTTPRequestHandler):
    """One connection: each request is read, given to `Gateway`, and answered in one write."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True  # and `_write` writes once: two writes, for headers and body, cost 44 ms

    def __init__(
        self,
        request: socket.socket,
        client_address: tuple[str, int],
        server: "Server",
        gateway: Gateway,
    ) -> None:
        self.gateway = gateway
        super().__init__(request, client_address, server)

    def setup(self) -> None:
        """Prepare the connection to be read through `_LineReader`."""
        super().setup()
        self.lines = _LineReader(self.rfile.detach())
        self.rfile = self.lines

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Return one handler for every method (http.server looks for do_GET and so on): the gateway decides."""
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)

    def _handle(self) -> None:
        if problem := self._framing_problem():
            self._refuse(problem)
            return
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length) if length else None
        if body is not None and len(body) < length:
            self._refuse(gateway_response("BAD_REQUEST_BODY", message="The body is shorter than its Content-Length."))
            return
        request = Request(self.command, self.path, dict(self.headers), body, self.client_address[0])
        self._write(self.gateway.answer(request))

    def _framing_problem(self) -> Reply | None:
        """Return a refusal if the end of the body is not known, or if the body is too large."""
        if "Transfer-Encoding" in self.headers:
            return gateway_response(
                "BAD_REQUEST_BODY", message="The body must come with a Content-Length, not in chunks."
            )
        lengths = set(self.headers.get_all("Content-Length", ["0"]))
        digits = lengths.pop()
        if lengths or not (digits.isascii() and digits.isdigit()):
            return gateway_response("BAD_REQUEST_BODY", message="The Content-Length is not a number.")
        # Compared as text first: int() refuses thousands of digits.
        if len(digits.lstrip("0")) > len(str(MAX_BODY_BYTES)) or int(digits) > MAX_BODY_BYTES:
            return gateway_response("REQUEST_TOO_LARGE")
        return None

    def handle_expect_100(self) -> bool:
        """Refuse before the body is sent, if the headers are reason enough."""
        if problem := self._framing_problem():
            self._refuse(problem)
            return False
        return super().handle_expect_100()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error of http.server (a malformed request line, too many headers) in the envelope of the service."""
        del message, explain
        if code != HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            self._refuse(gateway_response("BAD_REQUEST_BODY", message="The request line is malformed."))
        elif self.lines.last[:14].lower() == b"authorization:":
            error = ErrorCode.BAD_CREDENTIAL
            self._refuse(gateway_response("ACCESS_DENIED", context={"code": error.code, "message": error.message}))
        else:
            self._refuse(gateway_response("BAD_REQUEST_BODY", message="The headers are too long or too many."))

    def _refuse(self, reply: Reply) -> None:
        """Answer a request that was not read to its end, and close the connection."""
        self.close_connection = True
        self._write(reply)
        with contextlib.suppress(OSError):
            self._discard()

    def _discard(self) -> None:
        """Read what the client still sends: closing with unread data would reset the connection and lose the answer."""
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(1)
        until = time.monotonic() + MAX_DISCARD_SECONDS
        left = MAX_DISCARDED_BYTES
        while left > 0 and time.monotonic() < until and (chunk := self.connection.recv(65536)):
            left -= len(chunk)

    def _write(self, reply: Reply) -> None:
        headers = {
            REQUEST_ID: str(uuid.uuid4()),
            **reply.headers,
            "Content-Length": str(len(reply.body)),
            "Date": self.date_time_string(),
            "Connection": "close" if self.close_connection else "keep-alive",
        }
        lines = [f"HTTP/1.1 {reply.status} {http.client.responses.get(reply.status, '')}"]
        for name, value in headers.items():
            lines += [f"{name}: {item}" for item in ([value] if isinstance(value, str) else value)]
        head = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n"
        self.wfile.write(head if self.command == "HEAD" else head + reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing: the service logs each request itself."""


class Server(ThreadedHTTPServer):
    """The service on HTTP, started by `start` or by `with`. Making one raises OSError when the port is in use."""

    request_queue_size = 128

    def __init__(self, app: Chalice, host: str, port: int) -> None:
        super().__init__((host, port), partial(Handler, gateway=Gateway(app)))
        self.url = f"http://{host}:{self.server_address[1]}"

    def server_bind(self) -> None:
        """Bind, without http.server's look-up of the host's name, which may take seconds."""
        TCPServer.server_bind(self)

    def handle_error(self, request: object, client_address: object) -> None:
        """Print the error, unless the client closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def start(self) -> None:
        """Serve requests in a thread of their own."""
        threading.Thread(target=partial(self.serve_forever, poll_interval=0.05), daemon=True).start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
