"""The bank on TCP: TLS or plain, a length header before each message, several connections at once."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Self

from infra.bank.bank import Bank, Reply
from infra.bank.codec import HEADER_BYTES, MAX_BYTES, MIN_BYTES

HOST = "127.0.0.1"


class _Handler(BaseRequestHandler):
    """One connection: a request, its answer, and the next request."""

    server: "Server"
    request: socket.socket

    def handle(self) -> None:
        """Serve until either side closes, or nothing comes for the idle time."""
        with contextlib.suppress(OSError), self._secured() as connection, self.server.counted(connection):
            while (content := self._receive(connection)) is not None:
                if not self._send(connection, self._reply(content)):
                    return

    def _secured(self) -> socket.socket:
        """Return the connection after the TLS handshake, which one thread waits for and no other."""
        connection = self.request
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.server.tls:
            connection.settimeout(self.server.bank.timing.handshake)
            connection = self.server.tls.wrap_socket(connection, server_side=True)
        return connection

    def _receive(self, connection: socket.socket) -> bytes | None:
        """Return the next message, empty when its header is wrong; None at the end of the connection."""
        connection.settimeout(self.server.bank.timing.idle)
        header = _exactly(connection, HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            return None
        size = int.from_bytes(header, "big")
        if not MIN_BYTES <= size <= MAX_BYTES:
            return b""
        content = _exactly(connection, size)
        return content if len(content) == size else None

    def _reply(self, content: bytes) -> Reply:
        bank = self.server.bank
        return bank.reply(content) if content else bank.hang_up("a length header that no message has")

    def _send(self, connection: socket.socket, reply: Reply) -> bool:
        """Send the steps of a reply; return whether the connection goes on."""
        for step in reply.steps:
            if isinstance(step, bytes):
                connection.sendall(step)
            elif self.server.ended.wait(step):
                return False
        return not reply.closes


class Server(ThreadingTCPServer):
    """A bank that listens, for `with`. Leaving it closes every connection at once, as the end of a process does."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, bank: Bank, host: str = HOST, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        super().__init__((host, port), _Handler)
        self.bank = bank
        self.tls = tls
        self.ended = threading.Event()
        self.host, self.port = str(self.server_address[0]), int(self.server_address[1])
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def counted(self, connection: socket.socket) -> Iterator[None]:
        """Know the connection until the block ends."""
        with self._lock:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(connection)

    def start(self) -> None:
        """Serve in a thread of its own."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        """Stop listening, and close every connection."""
        self.ended.set()
        self.shutdown()
        self.server_close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes, however many segments they come in; fewer at the end of the connection."""
    content = b""
    while len(content) < size and (more := connection.recv(size - len(content))):
        content += more
    return content
