"""Hosts for tests: they read one message of each connection and then do what a test chooses, byte by byte."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from chalicelib import outside
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.settings.iso8583 import Host, usual
from tests.gateways.iso8583.requests import CODEC, an_answer

Behaviour = Callable[[socket.socket, bytes], None]


@dataclass
class Running:
    """A running host: its port, the messages it got, the errors of handshakes, and the number of connections."""

    port: int
    got: list[bytes] = field(default_factory=list)
    connections: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def settings(self) -> Host:
        return Host("127.0.0.1", self.port, "123456", tls=False, ca=None, dialect=usual())

    def with_tls(self, ca: Path | str | None, name: str = "127.0.0.1") -> Host:
        return replace(self.settings, host=name, tls=True, ca=None if ca is None else str(ca))


@contextlib.contextmanager
def a_host(behaviour: Behaviour, *, tls: ssl.SSLContext | None = None) -> Iterator[Running]:
    """Run a host until the block ends."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        host = Running(listening.getsockname()[1])

        def serve() -> None:
            with contextlib.suppress(OSError):  # the listening socket is closed: the test is over
                while True:
                    sock, _ = listening.accept()
                    host.connections += 1
                    threading.Thread(target=_serve_one, args=(host, sock, behaviour, tls), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield host
        host.over.set()
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def paying_at(behaviour: Behaviour) -> Iterator[Running]:
    """Until it ends, the acquirer of the stage is this host."""
    with a_host(behaviour) as host, outside.given(acquirers={"SANDBOX": lambda: Iso8583(host.settings)}):
        yield host


def _serve_one(host: Running, sock: socket.socket, behaviour: Behaviour, tls: ssl.SSLContext | None) -> None:
    with contextlib.suppress(OSError), sock:
        sock.settimeout(10)
        wire = tls.wrap_socket(sock, server_side=True) if tls else sock
        with wire:
            message = _exactly(wire, int.from_bytes(_exactly(wire, 2)))
            host.got.append(message)
            behaviour(wire, message)


def _exactly(sock: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = sock.recv(size - len(found))
        if not part:
            raise ConnectionError
        found += part
    return found


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(2) + message


def answer_to(message: bytes, **changes: str | None) -> bytes:
    """Return the approval of a message with its length; `f39="51"` changes a field."""
    return framed(CODEC.encode(an_answer(CODEC.decode(message), **changes)))


def answers(**changes: str | None) -> Behaviour:
    """Answer with an approval, some of its fields changed."""
    return lambda sock, message: sock.sendall(answer_to(message, **changes))


def sends(*parts: bytes) -> Behaviour:
    """Send these bytes and close the connection."""

    def behaviour(sock: socket.socket, _: bytes) -> None:
        for part in parts:
            sock.sendall(part)

    return behaviour


def stays_silent(sock: socket.socket, _: bytes) -> None:
    """Send nothing until the other side closes."""
    sock.recv(1)


def closes(_: socket.socket, __: bytes) -> None:
    """Close without an answer."""


def resets(sock: socket.socket, _: bytes) -> None:
    """Break the connection off."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
