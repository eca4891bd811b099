"""One end of the time for everything an exchange with another machine takes."""

import queue
import socket
import time
from collections.abc import Sequence
from threading import Thread
from typing import Any

Address = tuple[int, tuple[Any, ...]]  # the family, and the address for the socket


class UnknownNameError(OSError):
    """A name that leads to no address."""


class Deadline:
    """The end of the time for everything: looking the name up, connecting, sending, reading."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, above zero; raise TimeoutError when there are none."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def look_up(name: str, port: int, deadline: Deadline) -> Sequence[Address]:
    """Return the addresses of a name, IPv4 first: a Lambda function outside a VPC has no IPv6."""
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def resolve() -> None:  # in a thread, because the system's resolver takes no time limit
        try:
            results.put(socket.getaddrinfo(name, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            results.put(error)

    Thread(target=resolve, daemon=True).start()
    try:
        found = results.get(timeout=deadline.left())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(found, Exception):
        raise UnknownNameError
    return sorted({(int(family), to) for family, _, _, _, to in found})
