"""Connections to AWS that stay open between requests. Each carries one request at a time."""

import atexit
import os
import socket
from collections import deque
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from typing import NamedTuple

from chalicelib import network, outside
from chalicelib.aws.endpoints import Endpoint
from chalicelib.aws.errors import TimedOutError, UnansweredError, UnreachableError
from chalicelib.network import BrokenAnswerError, Connection, Deadline

IDLE_MOST = 64  # idle connections to one address: a sweep has at most so many threads
IDLE_SECONDS = 60  # later the peer or a network may have dropped the connection without telling us
BODY_BYTES = 64 * 1024 * 1024  # DynamoDB's longest answer has 16 MB
SLOWEST = 64 * 1024  # bytes per second: a slower answer is too late


class Answer(NamedTuple):
    """An answer of any kind. Its headers' names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


# By host, port and use of TLS: the idle connections, with the start of their wait. That is the time of day, because a
# monotonic clock may stop while Lambda freezes the process.
_idle: dict[tuple[str, int, bool], deque[tuple[float, Connection]]] = {}


def exchange(
    endpoint: Endpoint, headers: Mapping[str, str], body: bytes, connect_seconds: float, read_seconds: float
) -> Answer:
    """POST a body and return the answer of any kind; raise UnansweredError when there is none.

    The connection is an idle one, else a new one, which may take `connect_seconds`. The answer may take `read_seconds`,
    and a long answer as much more as `SLOWEST` allows.
    """
    idle = _idle.setdefault(endpoint[:3], deque())
    connection = _waiting(idle) or _connected(endpoint, connect_seconds)
    is_kept = False
    try:
        response = connection.post("/", headers, body, Deadline(read_seconds, SLOWEST), BODY_BYTES)
        content = _body_of(response, connection)
        is_kept = connection.takes_another(response) and len(idle) < IDLE_MOST
    except TimeoutError:
        message = "no answer in time"
        raise TimedOutError(message) from None
    except OSError:
        message = "the connection was cut"
        raise UnansweredError(message) from None
    except (HTTPException, BrokenAnswerError):
        message = "the answer is damaged"
        raise UnansweredError(message) from None
    finally:
        if is_kept:
            idle.append((outside.now().timestamp(), connection))
        else:
            connection.close()
    return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, content)


def _body_of(response: HTTPResponse, connection: Connection) -> bytes:
    """Return the body of a response with a complete head that announces its length; else raise an error."""
    announced = response.headers.get("content-length")
    if connection.has_ended or announced not in {None, str(response.length)}:  # http.client accepts both
        raise HTTPException
    return network.body_of(response, BODY_BYTES)


def _waiting(idle: deque[tuple[float, Connection]]) -> Connection | None:
    """Return the usable connection with the shortest wait."""
    while True:
        try:
            since, connection = idle.pop()
        except IndexError:
            return None
        if outside.now().timestamp() - since <= IDLE_SECONDS and connection.is_silent():
            return connection
        connection.close()


def _connected(endpoint: Endpoint, seconds: float) -> Connection:
    try:
        context = network.tls(os.environ.get("AWS_CA_BUNDLE") or None) if endpoint.is_secure else None
        deadline = Deadline(seconds)
        addresses = network.look_up(endpoint.host, endpoint.port, deadline)
        sock = network.connect(addresses, endpoint.host, deadline, context)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except OSError as error:  # also raised by TLS and by the look-up of a name
        message = f"no connection to {endpoint.authority}"
        raise UnreachableError(message) from error
    return Connection(sock)


def _forget() -> None:
    """Close the idle connections at exit and after a fork: processes must not share connections."""
    for idle in _idle.values():
        while idle:
            idle.pop()[1].close()


os.register_at_fork(after_in_child=_forget)
atexit.register(_forget)
