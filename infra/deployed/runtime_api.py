"""Lambda's Runtime API, as far as AWS's runtime client uses it: the door through which an instance gets its work.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

from infra.ports import HOST

if TYPE_CHECKING:
    from infra.deployed.instance import Instance

VERSION = "/2018-06-01/runtime"
MAX_PAYLOAD_BYTES = 6 * 1024 * 1024  # of a request and of an answer


class RuntimeApi:
    """The door of one instance, on a port of its own."""

    def __init__(self, instance: "Instance") -> None:
        self._instance = instance
        self._listener = socket.create_server((HOST, 0))
        self.address = f"{HOST}:{self._listener.getsockname()[1]}"

    def start(self) -> None:
        """Take connections, in a thread of its own."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection, address), daemon=True).start()

    def _serve(self, connection: socket.socket, address: tuple[str, int]) -> None:
        with connection:
            try:
                _Handler(connection, address, None, instance=self._instance)
            except OSError:
                return  # the process was killed


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: object, instance: "Instance") -> None:
        self._instance = instance
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answer with the next request of the instance."""
        invocation = self._instance.next() if self.path == f"{VERSION}/invocation/next" else None
        if invocation is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(int(invocation.deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self._instance.arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(invocation.deadline):08x}-{invocation.id.replace('-', '')[:24]}",
        }
        self._write(HTTPStatus.OK, headers, invocation.payload)

    def do_POST(self) -> None:
        """Take an answer of the instance, or its error."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        kind = self.path.rpartition("/")[2]
        accepted = True
        if kind in {"response", "error"} and self.path.startswith(f"{VERSION}/invocation/"):
            error = None if kind == "response" else "Unhandled"
            if len(body) > MAX_PAYLOAD_BYTES:
                body, error = b"", "Function.ResponseSizeTooLarge"
            accepted = self._instance.answer(self.path.split("/")[-2], body, error)
        status = HTTPStatus.ACCEPTED if accepted else HTTPStatus.BAD_REQUEST
        self._write(status, {}, b'{"status": "OK"}')

    def _write(self, status: HTTPStatus, headers: dict[str, str], body: bytes) -> None:
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", "Content-Type: application/json"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}", "", ""]
        self.wfile.write("\r\n".join(lines).encode() + body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing."""
