"""Partners for tests: servers on this machine that send the answer a test chooses, byte by byte if needed."""

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Behaviour = Callable[[socket.socket], None]


@dataclass
class Server:
    """A running server: its port, the requests it has read, and the number of connections to it."""

    port: int
    seen: list[bytes] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/prepare?version=1"


@contextlib.contextmanager
def a_server(behaviour: Behaviour, *, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Server]:
    """Run a server that reads one request of each connection, runs the behaviour and closes the connection."""
    with socket.create_server(("127.0.0.1", port), backlog=16) as listening:
        server = Server(listening.getsockname()[1])

        def serve() -> None:
            with contextlib.suppress(OSError):  # the listening socket is closed: the test is over
                while True:
                    sock, _ = listening.accept()
                    server.connections += 1
                    threading.Thread(target=_serve_one, args=(server, sock, behaviour, tls), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def _serve_one(server: Server, sock: socket.socket, behaviour: Behaviour, tls: ssl.SSLContext | None) -> None:
    with contextlib.suppress(OSError), sock:
        sock.settimeout(10)
        wire = tls.wrap_socket(sock, server_side=True) if tls else sock
        with wire:
            server.seen.append(_request(wire))
            behaviour(wire)


def _request(sock: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        head += sock.recv(65536) or b"\r\n\r\n"
    head, _, body = head.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += sock.recv(65536)
    return head + b"\r\n\r\n" + body


def says(body: bytes | dict[str, Any], status: str = "200 OK", *headers: str, length: int | None = None) -> Behaviour:
    """Send a complete answer; `length` is a wrong Content-Length."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    announced = len(content) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {announced}", *headers]
    return sends("\r\n".join(lines).encode() + b"\r\n\r\n" + content)


def sends(*parts: bytes, pause: float = 0.0) -> Behaviour:
    """Send raw bytes, with a pause after each part."""

    def behaviour(sock: socket.socket) -> None:
        for part in parts:
            sock.sendall(part)
            time.sleep(pause)

    return behaviour


def repeats(first: bytes, then: bytes, pause: float = 0.0) -> Behaviour:
    """Send some bytes, and then other bytes until the other side closes the connection."""

    def behaviour(sock: socket.socket) -> None:
        sock.sendall(first)
        while True:
            sock.sendall(then)
            time.sleep(pause)

    return behaviour
