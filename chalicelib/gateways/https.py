"""A POST to an address somebody else named: bounded in time, in bytes, and in where it may lead."""

import http.client
import io
import queue
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from chalicelib.domain.partner import is_public

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import ReadableBuffer, WriteableBuffer

ANSWER_BYTES = 256 * 1024
HEADERS_BYTES = 64 * 1024
ATTEMPTS = 3  # to connect; what was sent is never sent again
PAUSE_S = 0.1  # before the second attempt, twice that before the third

Address = tuple[int, tuple[Any, ...]]  # the family, and what the socket connects to


class FailedError(Exception):
    """No usable answer. The message says why in words of ours, so it may be logged."""


@dataclass(frozen=True)
class Reply:
    """An answer, whole."""

    status: int
    body: bytes


class _Deadline:
    """When everything must be over: looking the name up, connecting, sending, reading."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, above zero; TimeoutError when there are none."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class _Incoming(io.RawIOBase):
    """What comes in, until time is up or too much has come, however it is framed and however slowly it drips."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock, self._deadline = sock, deadline
        self._bytes_left = HEADERS_BYTES + ANSWER_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        self._bytes_left -= count
        if self._bytes_left < 0:
            message = "the answer is too long"
            raise FailedError(message)
        return count


class _Wire:
    """The part of a socket http.client uses, under the deadline. Who opened the socket closes it."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def sendall(self, data: "ReadableBuffer", /) -> None:
        view = memoryview(data)
        while view:
            self._sock.settimeout(self._deadline.left())
            view = view[self._sock.send(view) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self._sock, self._deadline))

    def close(self) -> None:
        pass


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float, public_only: bool) -> Reply:
    """The answer to one POST, within `seconds` in all; redirects are answers, they are not followed.

    The name is looked up once, every address it has is checked (unless `public_only` is off), and the connection goes
    to one of the very addresses that were checked, whatever the name would resolve to by then.
    """
    deadline = _Deadline(seconds)
    target = urlsplit(url)
    try:
        addresses = _addresses(target, deadline)
        if public_only and not all(is_public(to[0]) for _, to in addresses):
            message = "its address is not public"
            raise FailedError(message)
        with closing(_connected(target, addresses, deadline)) as sock:
            return _exchanged(_Wire(sock, deadline), target, body, headers)
    except TimeoutError:
        message = "no answer in time"
    except ssl.SSLCertVerificationError:
        message = "its certificate is not valid"
    except (OSError, http.client.HTTPException, ValueError) as error:
        message = f"the exchange failed: {type(error).__name__}"  # its text may quote what the other side sent
    raise FailedError(message)


def _addresses(target: SplitResult, deadline: _Deadline) -> "Sequence[Address]":
    """Where the name leads, IPv4 first: a function outside a VPC has no other."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    port = target.port or (443 if target.scheme == "https" else 80)

    def look_up() -> None:  # a thread, because nothing bounds the system's resolver
        try:
            answers.put(socket.getaddrinfo(target.hostname, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            answers.put(error)

    Thread(target=look_up, daemon=True).start()
    try:
        found = answers.get(timeout=deadline.left())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        message = "its name is not known"
        raise FailedError(message)
    return sorted({(int(family), to) for family, _, _, _, to in found})


def _connected(target: SplitResult, addresses: "Sequence[Address]", deadline: _Deadline) -> socket.socket:
    """A connection to one of the addresses; a failed attempt is followed by another, at the next address in turn."""
    failure: OSError = ConnectionError()
    for attempt, address in enumerate(islice(cycle(addresses), ATTEMPTS)):
        if attempt:
            time.sleep(min(PAUSE_S * attempt, deadline.left()))
        try:
            return _connection(target, address, deadline.left() / (ATTEMPTS - attempt))
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            failure = error
    raise failure


def _connection(target: SplitResult, address: Address, seconds: float) -> socket.socket:
    """One attempt: the address is the checked one, the name is what the certificate must be for."""
    family, to = address
    until = _Deadline(seconds)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(until.left())
        sock.connect(to)
        if target.scheme == "https":
            sock.settimeout(until.left())
            return tls().wrap_socket(sock, server_hostname=target.hostname)
    except BaseException:
        with suppress(OSError):
            sock.close()
        raise
    return sock


@cache
def tls() -> ssl.SSLContext:
    """How partners are known: the system's authorities, the name checked, TLS 1.2 or newer."""
    return ssl.create_default_context()


def _exchanged(wire: _Wire, target: SplitResult, body: bytes, headers: Mapping[str, str]) -> Reply:
    connection = http.client.HTTPConnection(target.hostname or "")
    connection.sock = wire  # all it uses of a socket
    path = (target.path or "/") + (f"?{target.query}" if target.query else "")
    connection.request("POST", path, body, {"Host": target.netloc, "Connection": "close", **headers})
    response = connection.getresponse()
    content = response.read(ANSWER_BYTES + 1)
    if len(content) > ANSWER_BYTES or response.length:  # what is left of the announced length
        message = "the answer is too long, or was broken off"
        raise FailedError(message)
    return Reply(response.status, content)
