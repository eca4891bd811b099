"""A server that does to each request what the test wrote down for it, byte by byte."""

import contextlib
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.local import ports


@dataclass
class Request:
    """A request as it arrived, and on which connection."""

    head: str
    body: bytes
    connection: int

    def header(self, name: str) -> str:
        lines = dict(line.split(": ", 1) for line in self.head.split("\r\n")[1:])
        return {key.lower(): value for key, value in lines.items()}[name]

    @property
    def length(self) -> int:
        return int(self.header("content-length")) if "content-length" in self.head.lower() else 0

    @property
    def parameters(self) -> Any:
        return json.loads(self.body)


Step = Callable[[socket.socket], bool]  # whether the connection stays open


@dataclass
class Scripted:
    """A server that takes one step for each request; the last one for ever."""

    steps: Sequence[Step]
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    url: str = ""
    host: str = ""
    port: int = 0
    _open: list[socket.socket] = field(default_factory=list)

    def answer(self, sock: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError), sock:
            while request := _read(sock, number):
                step = self.steps[min(len(self.requests), len(self.steps) - 1)]
                self.requests.append(request)
                if not step(sock):
                    return

    def accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock = listener.accept()[0]
                self._open.append(sock)
                number, self.connections = self.connections, self.connections + 1
                threading.Thread(target=self.answer, args=(sock, number), daemon=True).start()

    def close(self) -> None:
        """Close every connection, as a peer does with those that wait too long."""
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


@contextlib.contextmanager
def scripted(*steps: Step) -> Iterator[Scripted]:
    """A server with these steps, until it ends."""
    with socket.create_server((ports.HOST, 0), backlog=128) as listener:
        server = Scripted(steps, host=ports.HOST, port=listener.getsockname()[1])
        server.url = f"http://{server.host}:{server.port}"
        thread = threading.Thread(target=server.accept, args=(listener,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join(timeout=5)


def _read(sock: socket.socket, number: int) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        received = sock.recv(65536)
        if not received:
            return None
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    request = Request(head.decode(), body, number)
    while len(request.body) < request.length:
        request.body += sock.recv(65536)
    return request


def sends(data: bytes, *, stays: bool = True) -> Step:
    """Send these bytes."""

    def step(sock: socket.socket) -> bool:
        sock.sendall(data)
        return stays

    return step


def http(status: int, body: bytes, **headers: str) -> bytes:
    """An answer of HTTP in bytes."""
    names = {"Content-Type": "application/x-amz-json-1.0", "Content-Length": str(len(body))}
    names |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in names.items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + body


def answers(content: Any, status: int = 200, *, crc: bool = True, **headers: str) -> Step:
    """Answer with JSON, under the checksum DynamoDB sends."""
    body = json.dumps(content).encode()
    checksum = {"x_amz_crc32": str(zlib.crc32(body))} if crc else {}
    return sends(http(status, body, **{**checksum, **headers}))


def refuses(code: str, status: int = 400, **more: Any) -> Step:
    """Answer with an error."""
    return answers({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "Because.", **more}, status)


def cancels(*codes: str) -> Step:
    """Cancel a transaction, with a reason for each write."""
    reasons = [{"Code": code, **({} if code == "None" else {"Message": "Because."})} for code in codes]
    return refuses("TransactionCanceledException", CancellationReasons=reasons)


def cuts(_: socket.socket) -> bool:
    """Close the connection without a word."""
    return False


def silent(sock: socket.socket) -> bool:
    """Wait until the client gives up."""
    return bool(sock.recv(1))
