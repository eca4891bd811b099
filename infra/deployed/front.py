"""The HTTP server in front of the gateway."""

import contextlib
import http.client
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Self

from infra.deployed.gateway import MAX_BODY_BYTES, Gateway
from infra.deployed.gateway_responses import Kind
from infra.deployed.requests import Reply, Request
from infra.ports import HOST

IDLE_SECONDS = 60
MAX_SENT_TOO_MUCH = 64 * 1024 * 1024


class Front(ThreadingTCPServer):
    """A gateway on HTTP, for `with`; port 0 takes a free one. Raises OSError when the port is in use."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, gateway: Gateway, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.gateway = gateway
        self.url = f"http://{HOST}:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error, unless the client closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Front
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True

    def __getattr__(self, name: str) -> object:
        """Return one handler for every method (http.server looks for do_GET and so on): the gateway decides."""
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)

    def _handle(self) -> None:
        try:
            body = self._body()
        except ValueError:
            self._refuse(Kind.BAD_REQUEST_BODY)
            return
        if body is None:
            self._refuse(Kind.REQUEST_TOO_LARGE)
            return
        headers = tuple((name, str(value)) for name, value in self.headers.items())
        self._write(self.server.gateway.answer(Request(self.command, self.path, headers, body, self.client_address[0])))

    def _body(self) -> bytes | None:
        """Return the body, whole or in chunks; None if it is too large. ValueError for one without end."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunks()
        digits = self.headers.get("Content-Length", "0")
        if not (digits.isascii() and digits.isdigit()):
            raise ValueError(digits)
        if len(digits.lstrip("0")) > len(str(MAX_BODY_BYTES)) or int(digits) > MAX_BODY_BYTES:
            return None
        body = self.rfile.read(int(digits))
        if len(body) < int(digits):
            raise ValueError(digits)
        return body

    def _chunks(self) -> bytes | None:
        content = b""
        while size := int(self.rfile.readline(32).split(b";")[0], 16):
            if size < 0 or len(content) + size > MAX_BODY_BYTES:
                return None
            content += self.rfile.read(size)
            self.rfile.readline(3)
        while self.rfile.readline(65536).strip():
            pass  # trailers
        return content

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what http.server does not take for a request."""
        del code, message, explain
        self._refuse(Kind.BAD_REQUEST_BODY)

    def _refuse(self, kind: Kind) -> None:
        """Answer a request that was not read to its end, and close the connection."""
        self.close_connection = True
        self._write(self.server.gateway.refuse(kind))
        with contextlib.suppress(OSError):
            # Closing with unread data would reset the connection, and the answer could be lost.
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            left = MAX_SENT_TOO_MUCH
            while left > 0 and (chunk := self.connection.recv(65536)):
                left -= len(chunk)

    def _write(self, reply: Reply) -> None:
        lines = [f"HTTP/1.1 {reply.status} {http.client.responses.get(reply.status, '')}"]
        lines += [f"{name}: {value}" for name, value in reply.headers]
        lines += [f"Content-Length: {len(reply.body)}", f"Date: {self.date_time_string()}"]
        lines += [f"Connection: {'close' if self.close_connection else 'keep-alive'}", "", ""]
        head = "\r\n".join(lines).encode("latin-1", "replace")
        self.wfile.write(head if self.command == "HEAD" else head + reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing: the service logs each request itself."""
