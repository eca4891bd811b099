"""The HTTP server in front of the gateway. It answers even a malformed request in the service's envelope."""

import contextlib
import http.client
import io
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Self

from chalicelib import outside
from chalicelib.errors import ErrorCode
from infra.api_gateway.gateway import Gateway, Kind, Refusal, Reply, Request
from infra.local.ports import HOST

MAX_BODY_BYTES = 10 * 1024 * 1024  # the limit of API Gateway
MAX_DISCARDED_BYTES = 64 * 1024 * 1024
MAX_DISCARD_SECONDS = 10
IDLE_SECONDS = 60

During = Callable[[], contextlib.AbstractContextManager[None]]  # the context of each request


class Server(ThreadingTCPServer):
    """A gateway on HTTP, for `with`; port 0 takes a free one. Making one raises OSError when the port is in use."""

    server_address: tuple[str, int]
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(
        self, gateway: Gateway, port: int = 0, host: str = HOST, during: During = contextlib.nullcontext
    ) -> None:
        super().__init__((host, port), Handler)
        self.gateway, self.during = gateway, during
        self.url = f"http://{host}:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error, unless the client closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def __enter__(self) -> Self:
        threading.Thread(target=partial(self.serve_forever, poll_interval=0.05), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _LineReader(io.BufferedReader):
    """A reader that remembers the last line, which names the header that was too long."""

    last = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        self.last = super().readline(size)
        return self.last


class Handler(BaseHTTPRequestHandler):
    """One connection: each request is read, given to the gateway, and answered in one write."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True  # `_write` also writes once: separate writes of headers and body cost 44 ms

    def setup(self) -> None:
        """Prepare the connection to be read through `_LineReader`."""
        super().setup()
        self.lines = _LineReader(self.rfile.detach())
        self.rfile = self.lines

    def __getattr__(self, name: str) -> object:
        """Return one handler for every method (http.server looks for do_GET and so on): the gateway decides."""
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)

    def _handle(self) -> None:
        try:
            self._check_framing()
            body = self._chunks() if self._is_chunked() else self._body()
        except Refusal as refusal:
            self._refuse(refusal)
            return
        headers = tuple((name, str(value)) for name, value in self.headers.items())
        request = Request(self.command, self.path, headers, body, self.client_address[0])
        with self.server.during():
            reply = self.server.gateway.answer(request)
        self._write(reply)

    def _check_framing(self) -> None:
        """Refuse a request if the end of its body is not known, or if the body is too large."""
        if self._is_chunked():
            if self.server.gateway.in_process:
                raise Refusal(Kind.BAD_REQUEST_BODY, message="The body must come with a Content-Length, not in chunks.")
            return
        lengths = set(self.headers.get_all("Content-Length", ["0"]))
        digits = lengths.pop()
        if lengths or not (digits.isascii() and digits.isdigit()):
            raise Refusal(Kind.BAD_REQUEST_BODY, message="The Content-Length is not a number.")
        # Compared as text first: int() refuses thousands of digits.
        if len(digits.lstrip("0")) > len(str(MAX_BODY_BYTES)) or int(digits) > MAX_BODY_BYTES:
            raise Refusal(Kind.REQUEST_TOO_LARGE)

    def _is_chunked(self) -> bool:
        return "Transfer-Encoding" in self.headers

    def _body(self) -> bytes:
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length) if length else b""
        if len(body) < length:
            raise Refusal(Kind.BAD_REQUEST_BODY, message="The body is shorter than its Content-Length.")
        return body

    def _chunks(self) -> bytes:
        content = b""
        try:
            while size := int(self.rfile.readline(32).split(b";")[0], 16):
                if size < 0 or len(content) + size > MAX_BODY_BYTES:
                    raise Refusal(Kind.REQUEST_TOO_LARGE)
                content += self.rfile.read(size)
                self.rfile.readline(3)
        except ValueError:
            raise Refusal(Kind.BAD_REQUEST_BODY, message="A chunk does not begin with its size.") from None
        while self.rfile.readline(65536).strip():
            pass  # trailers
        return content

    def handle_expect_100(self) -> bool:
        """Refuse before the body is sent, if the headers are reason enough."""
        try:
            self._check_framing()
        except Refusal as refusal:
            self._refuse(refusal)
            return False
        return super().handle_expect_100()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error of http.server, such as a malformed request line, in the envelope of the service."""
        del message, explain
        if code != HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            self._refuse(Refusal(Kind.BAD_REQUEST_BODY, message="The request line is malformed."))
        elif self.lines.last[:14].lower() == b"authorization:":
            error = ErrorCode.BAD_CREDENTIAL
            self._refuse(Refusal(Kind.ACCESS_DENIED, {"code": error.code, "message": error.message}))
        else:
            self._refuse(Refusal(Kind.BAD_REQUEST_BODY, message="The headers are too long or too many."))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer a request that was not read to its end, and close the connection."""
        self.close_connection = True
        self._write(self.server.gateway.refuse(refusal))
        with contextlib.suppress(OSError):
            self._discard()

    def _discard(self) -> None:
        """Read the rest of the request: closing with unread data would reset the connection and lose the answer."""
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(1)
        until = time.monotonic() + MAX_DISCARD_SECONDS
        left = MAX_DISCARDED_BYTES
        while left > 0 and time.monotonic() < until and (chunk := self.connection.recv(65536)):
            left -= len(chunk)

    def _write(self, reply: Reply) -> None:
        lines = [f"HTTP/1.1 {reply.status} {http.client.responses.get(reply.status, '')}"]
        lines += [f"{name}: {value}" for name, value in reply.headers]
        lines += [f"Content-Length: {len(reply.body)}", f"Date: {self.date_time_string(outside.now().timestamp())}"]
        lines += [f"Connection: {'close' if self.close_connection else 'keep-alive'}", "", ""]
        head = "\r\n".join(lines).encode("latin-1", "replace")
        self.wfile.write(head if self.command == "HEAD" else head + reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing: the service logs each request itself."""
