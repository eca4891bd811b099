"""A POST to a URL that a partner or a merchant gave: bounded in time, in bytes, and in where it may connect to."""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import cache
from itertools import cycle, islice
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from chalicelib.gateways.deadline import Address, Deadline, UnknownNameError, look_up
from chalicelib.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import ReadableBuffer, WriteableBuffer

ANSWER_BYTES = 256 * 1024
HEADERS_BYTES = 64 * 1024
ATTEMPTS = 3  # to connect; a request that was sent is never sent again
PAUSE_S = 0.1  # before the second attempt, twice that before the third


class FailedError(Exception):
    """A call without a usable response; the message is our own text and quotes nothing, so it may be logged."""


class Reply(Record):
    """A complete response."""

    status: int
    body: bytes


class _BoundedInput(io.RawIOBase):
    """The incoming bytes of a socket, limited in time and in number, in any framing and at any speed."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
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


class _BoundedSocket:
    """The part of a socket that http.client uses, under the deadline; the code that opened the socket closes it."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def sendall(self, data: "ReadableBuffer", /) -> None:
        view = memoryview(data)
        while view:
            self._sock.settimeout(self._deadline.left())
            view = view[self._sock.send(view) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedInput(self._sock, self._deadline))

    def close(self) -> None:
        pass


def post(  # noqa: PLR0913  what a call is made of
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    allowed: Callable[[str], bool],
    kept_bytes: int | None = None,
) -> Reply:
    """Send one POST and return the response, within `seconds` in all; a redirect is returned, not followed.

    The name is looked up once, and every address of it must be `allowed` (see `domain.address`). The connection goes to
    one of the addresses that were checked, even if the name resolves to others by then. With `kept_bytes` the status
    is what counts: no more of the body is read, and one that is late or broken off is as long as what came.
    """
    deadline = Deadline(seconds)
    target = urlsplit(url)
    try:
        addresses = _look_up(target, deadline)
        if not all(allowed(to[0]) for _, to in addresses):
            message = "its address is not public"
            raise FailedError(message)
        with closing(_connect(target, addresses, deadline)) as sock:
            response = _exchange(_BoundedSocket(sock, deadline), target, body, headers)
            content = _all_of(response) if kept_bytes is None else _beginning_of(response, kept_bytes)
            return Reply(response.status, content)
    except TimeoutError:
        message = "no answer in time"
    except ssl.SSLCertVerificationError:
        message = "its certificate is not valid"
    except (OSError, http.client.HTTPException, ValueError) as error:
        message = f"the exchange failed: {type(error).__name__}"  # the error's own text may quote the response
    raise FailedError(message)


def _look_up(target: SplitResult, deadline: Deadline) -> "Sequence[Address]":
    """Return the addresses of the name."""
    port = target.port or (443 if target.scheme == "https" else 80)
    try:
        return look_up(target.hostname or "", port, deadline)
    except UnknownNameError:
        message = "its name is not known"
    raise FailedError(message)


def _connect(target: SplitResult, addresses: "Sequence[Address]", deadline: Deadline) -> socket.socket:
    """Connect to one of the addresses; a failed attempt is followed by another one, at the next address."""
    failure: OSError = ConnectionError()
    for attempt, address in enumerate(islice(cycle(addresses), ATTEMPTS)):
        if attempt:
            time.sleep(min(PAUSE_S * attempt, deadline.left()))
        try:
            return _connect_once(target, address, deadline.left() / (ATTEMPTS - attempt))
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            failure = error
    raise failure


def _connect_once(target: SplitResult, address: Address, seconds: float) -> socket.socket:
    """Connect to one address; the certificate must be for the name."""
    family, to = address
    deadline = Deadline(seconds)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(deadline.left())
        sock.connect(to)
        if target.scheme == "https":
            sock.settimeout(deadline.left())
            return tls().wrap_socket(sock, server_hostname=target.hostname)
    except BaseException:
        with suppress(OSError):
            sock.close()
        raise
    return sock


@cache
def tls() -> ssl.SSLContext:
    """Return the TLS settings for partners: the system's authorities, a check of the name, TLS 1.2 or newer."""
    return ssl.create_default_context()


def _exchange(
    sock: _BoundedSocket, target: SplitResult, body: bytes, headers: Mapping[str, str]
) -> http.client.HTTPResponse:
    """Send the request and return the response as far as its body."""
    connection = http.client.HTTPConnection(target.hostname or "")
    connection.sock = sock  # it has all that http.client uses
    path = (target.path or "/") + (f"?{target.query}" if target.query else "")
    connection.request("POST", path, body, {"Host": target.netloc, "Connection": "close", **headers})
    return connection.getresponse()


def _all_of(response: http.client.HTTPResponse) -> bytes:
    content = response.read(ANSWER_BYTES + 1)
    if len(content) > ANSWER_BYTES or response.length:  # bytes of the announced length that did not arrive
        message = "the answer is too long, or was broken off"
        raise FailedError(message)
    return content


def _beginning_of(response: http.client.HTTPResponse, most: int) -> bytes:
    content = b""
    with suppress(OSError, http.client.HTTPException, ValueError, FailedError):
        while len(content) < most and (part := response.read1(most - len(content))):
            content += part
    return content
