"""Connections that stay open between requests, each for one request at a time.

HTTP/1.1 as these services answer it is read here: a whole HTTP client would cost a function a tenth of its start.
"""

import atexit
import os
import select
import time
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from chalicelib.aws.endpoints import Endpoint
from chalicelib.aws.errors import TimedOutError, UnansweredError, UnreachableError
from chalicelib.aws.sockets import connected, time_left

IDLE_MOST = 64  # connections to one address that wait for a request: the threads of a sweep are the most there are
IDLE_SECONDS = 60  # then a peer or a network between may have forgotten it, without a sign that reaches us
HEAD_BYTES = 64 * 1024
BODY_BYTES = 64 * 1024 * 1024  # DynamoDB answers with 16 MB at most
DIGITS = 12  # of a length
CHUNK = 64 * 1024
SLOWEST = 64 * 1024  # bytes a second that keep an answer from being too late


class Answer(NamedTuple):
    """An answer, whatever it says; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _DamagedError(Exception):
    """An answer that is not in the form of HTTP."""


class _Connection:
    """One connection, and what of the present answer has arrived."""

    def __init__(self, endpoint: Endpoint, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._sock = connected(endpoint, self._until)
        self._arrived = bytearray()
        self._idle_since = time.time()
        self.is_kept = False  # whether it takes another request

    def close(self) -> None:
        self._sock.close()

    def wait_for_use(self) -> None:
        self._idle_since = time.time()  # by the clock on the wall: the other one may stand still in a frozen function

    def is_stale(self) -> bool:
        """Return whether the peer has closed it, or sent what nobody asked for, or it waited too long."""
        if time.time() - self._idle_since > IDLE_SECONDS:
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def ask(self, request: bytes, seconds: float) -> Answer:
        """Send a request and return the answer; it takes no longer than `seconds`, a long one as `SLOWEST` allows."""
        self.is_kept = False
        self._until = time.monotonic() + seconds
        self._sock.settimeout(seconds)
        self._sock.sendall(request)
        status = 0
        while status < 200:  # noqa: PLR2004  1xx: the answer follows
            version, status, headers = self._head()
        body = self._body(headers)
        closes = headers.get("connection", "keep-alive" if version == "HTTP/1.1" else "close").lower() == "close"
        self.is_kept = not (closes or self._arrived)
        return Answer(status, headers, body)

    def _head(self) -> tuple[str, int, dict[str, str]]:
        while (end := self._arrived.find(b"\r\n\r\n")) < 0:
            if len(self._arrived) > HEAD_BYTES:
                raise _DamagedError
            self._receive()
        first, *lines = self._take(end + 4)[:end].decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
            raise _DamagedError
        pairs = (line.partition(":") for line in lines)
        return version, int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _body(self, headers: dict[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._chunks()
        if "content-length" in headers:
            return self._exactly(_number(headers["content-length"], 10))
        headers["connection"] = "close"  # it ends where the connection ends
        try:
            while True:
                self._receive()
        except EOFError:
            return self._take(len(self._arrived))

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := _number(self._line().partition(";")[0], 16):
            body += self._exactly(size)
            if self._line() or len(body) > BODY_BYTES:
                raise _DamagedError
        while self._line():  # trailers say nothing here
            pass
        return bytes(body)

    def _line(self) -> str:
        while (end := self._arrived.find(b"\r\n")) < 0:
            if len(self._arrived) > HEAD_BYTES:
                raise _DamagedError
            self._receive()
        return self._take(end + 2)[:end].decode("latin-1")

    def _exactly(self, size: int) -> bytes:
        while len(self._arrived) < size:
            self._receive()
        return self._take(size)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._arrived[:size])
        del self._arrived[:size]
        return taken

    def _receive(self) -> None:
        self._sock.settimeout(time_left(self._until))
        received = self._sock.recv(CHUNK)
        if not received:
            raise EOFError
        self._arrived += received
        self._until += len(received) / SLOWEST
        if len(self._arrived) > HEAD_BYTES + BODY_BYTES:
            raise _DamagedError


def _number(text: str, base: int) -> int:
    """Return a length; it is not negative and not beyond what is read."""
    digits = "0123456789abcdef"[:base]
    text = text.strip().lower()
    if not 0 < len(text) <= DIGITS or text.strip(digits) or (number := int(text, base)) > BODY_BYTES:
        raise _DamagedError
    return number


_idle: dict[tuple[str, int, bool], deque[_Connection]] = {}


def exchange(
    endpoint: Endpoint, headers: Mapping[str, str], body: bytes, connect_seconds: float, read_seconds: float
) -> Answer:
    """POST a body and return the answer, whatever it says; raise UnansweredError when there is none.

    The connection is one that waited, else a new one, which gets `connect_seconds`.
    """
    idle = _idle.setdefault(endpoint[:3], deque())
    connection = _waiting(idle) or _connected(endpoint, connect_seconds)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST / HTTP/1.1\r\n{lines}content-length: {len(body)}\r\n\r\n"
    try:
        answer = connection.ask(head.encode() + body, read_seconds)
    except TimeoutError:
        message = "no answer in time"
        raise TimedOutError(message) from None
    except (OSError, EOFError):
        message = "the connection was cut"
        raise UnansweredError(message) from None
    except _DamagedError:
        message = "the answer is damaged"
        raise UnansweredError(message) from None
    finally:
        if connection.is_kept and len(idle) < IDLE_MOST:
            connection.wait_for_use()
            idle.append(connection)
        else:
            connection.close()
    return answer


def _waiting(idle: deque[_Connection]) -> _Connection | None:
    """Return the connection that waits the shortest and can be used."""
    while True:
        try:
            connection = idle.pop()
        except IndexError:
            return None
        if not connection.is_stale():
            return connection
        connection.close()


def _connected(endpoint: Endpoint, seconds: float) -> _Connection:
    try:
        return _Connection(endpoint, seconds)
    except OSError as error:  # what TLS and the look-up of a name raise, too
        message = f"no connection to {endpoint.authority}"
        raise UnreachableError(message) from error


def _forget() -> None:
    """Close what waits, at the end and after a fork: a process must not talk on the connections of another."""
    for idle in _idle.values():
        while idle:
            idle.pop().close()


os.register_at_fork(after_in_child=_forget)
atexit.register(_forget)
