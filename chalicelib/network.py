"""Connections to other machines, and HTTP over them, with one deadline and a limit on bytes."""

import http.client
import io
import queue
import socket
import ssl
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from chalicelib import outside

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_BYTES = 64 * 1024
BUFFER_BYTES = 64 * 1024
SHORT_BYTES, SHORT_PARTS, SHORT_PAUSE_S = 512, 100, 0.01  # after so many short parts of an answer, pause before each
PAUSE_S = 0.1  # before the second of several attempts to connect; twice as long before the third

Address = tuple[int, tuple[Any, ...]]  # the family, and the address for the socket


class UnknownNameError(OSError):
    """The name has no address."""


class BrokenAnswerError(Exception):
    """The answer is too long or was cut off. The message is our own text and quotes nothing."""


class Deadline:
    """The end of the time for everything: looking the name up, connecting, sending, reading."""

    def __init__(self, seconds: float) -> None:
        self._at = outside.current.elapsed() + seconds

    def left(self) -> float:
        """Return the seconds left, above zero; raise TimeoutError when none are left."""
        left = self._at - outside.current.elapsed()
        if left <= 0:
            raise TimeoutError
        return left


def look_up(name: str, port: int, deadline: Deadline) -> Sequence[Address]:
    """Return the addresses of a name, IPv4 first, because a Lambda function outside a VPC has no IPv6."""
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def resolve() -> None:  # in a thread, because the system's resolver has no time limit
        try:
            results.put(outside.current.look_up(name, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            results.put(error)

    Thread(target=resolve, daemon=True).start()
    try:
        found = results.get(timeout=deadline.left())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        raise UnknownNameError
    addresses = dict.fromkeys((int(family), to) for family, _, _, _, to in found)
    return sorted(addresses, key=lambda address: address[0])  # within a family, the resolver's order spreads the load


def connect(
    addresses: Sequence[Address],
    name: str,
    deadline: Deadline,
    context: ssl.SSLContext | None,
    *,
    attempts: int | None = None,
) -> socket.socket:
    """Connect to one of the addresses. With a context, also make the TLS handshake for the name.

    A failed attempt continues with the next address, except after an invalid certificate. Each address is tried once,
    or the addresses in turn, with pauses, up to `attempts`. An attempt gets an equal part of the remaining time. With
    `attempts` this includes the handshake, which otherwise may take all the remaining time.
    """
    failure: OSError = ConnectionError()
    most = attempts or len(addresses)
    for number, address in enumerate(islice(cycle(addresses), most)):
        if attempts:
            outside.current.pause(min(PAUSE_S * number, deadline.left()))
        part = Deadline(deadline.left() / (most - number))
        try:
            return _connected(address, name, part, part if attempts else deadline, context)
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            failure = error
    raise failure


def _connected(
    address: Address, name: str, connecting: Deadline, handshake: Deadline, context: ssl.SSLContext | None
) -> socket.socket:
    family, to = address
    sock: socket.socket = outside.current.open_socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(connecting.left())
        sock.connect(to)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is None:
            return sock
        sock.settimeout(handshake.left())
        return context.wrap_socket(sock, server_hostname=name)
    except BaseException:
        sock.close()
        raise


@outside.made_once
def tls() -> ssl.SSLContext:
    """Return the TLS settings: the authorities of the system, a check of the name, TLS 1.2 or newer.

    Creating them parses every certificate, so they are created once.
    """
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        return ssl.create_default_context()
    found = find_spec("botocore")  # the system has no authorities; botocore's are found without importing it
    return ssl.create_default_context(
        cafile=Path(found.origin).with_name("cacert.pem") if found and found.origin else None
    )


class _Incoming(io.RawIOBase):
    """The bytes that arrive on a socket, in any framing, limited in time and number."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.deadline, self.bytes_left = Deadline(0), 0
        self.short_parts = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        if self.short_parts > SHORT_PARTS:  # a peer that sends byte by byte would cost a second of processor time
            outside.current.pause(min(SHORT_PAUSE_S, self.deadline.left()))
        self._sock.settimeout(self.deadline.left())
        count = self._sock.recv_into(buffer)
        self.short_parts += count < SHORT_BYTES
        self.bytes_left -= count
        if self.bytes_left < 0:
            message = "the answer is too long"
            raise BrokenAnswerError(message)
        return count


class Connection:
    """HTTP over a socket, for one request."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._incoming = sock, _Incoming(sock)

    def send(  # noqa: PLR0913, PLR0917  each argument is needed and independent
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, deadline: Deadline, most_bytes: int
    ) -> http.client.HTTPResponse:
        """Send a request and return the response up to its body, which may have `most_bytes`.

        The headers must name the host. Raise OSError, HTTPException, ValueError or BrokenAnswerError.
        """
        self._incoming.deadline, self._incoming.bytes_left = deadline, HEAD_BYTES + most_bytes
        unsent = memoryview(_head(method, path, headers, len(body)) + body)  # one write, unlike http.client
        while unsent:
            self._sock.settimeout(deadline.left())
            unsent = unsent[self._sock.send(unsent) :]
        response = http.client.HTTPResponse(self, method=method)  # type: ignore[arg-type]  # it needs `makefile` only
        response.begin()
        return response

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the reader of the answer."""
        return io.BufferedReader(self._incoming, BUFFER_BYTES)

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()


def _head(method: str, path: str, headers: Mapping[str, str], length: int) -> bytes:
    """Return the head of a request; raise ValueError if it contains a line break or another control character."""
    fields = [f"{name}: {value}" for name, value in headers.items()]
    lines = [f"{method} {path} HTTP/1.1", *fields, f"Content-Length: {length}", "", ""]
    if not all(map(str.isprintable, lines)):
        message = "a control character in the head of a request"
        raise ValueError(message)
    return "\r\n".join(lines).encode()


def body_of(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    """Return the whole body; raise BrokenAnswerError when it is too long, or shorter than announced."""
    content = response.read(most_bytes + 1) if (response.length or 0) <= most_bytes else b""
    if len(content) > most_bytes or response.length:  # `length`: announced bytes that did not arrive
        message = "the answer is too long, or was broken off"
        raise BrokenAnswerError(message)
    return content
