"""Sockets that are connected to an address of AWS, over TLS where it is secure, within a time for all of it."""

import os
import socket
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from chalicelib.aws.endpoints import Endpoint

if TYPE_CHECKING:
    from ssl import SSLContext


def connected(endpoint: Endpoint, until: float) -> socket.socket:
    """Return a socket that is connected; raise OSError, or TimeoutError when the time is over."""
    plain = _dialled(endpoint, until)
    try:
        plain.settimeout(time_left(until))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return _tls().wrap_socket(plain, server_hostname=endpoint.host) if endpoint.is_secure else plain
    except BaseException:
        plain.close()
        raise


def time_left(until: float) -> float:
    """Return the seconds left, above zero; raise TimeoutError when there are none."""
    if (left := until - time.monotonic()) <= 0:
        raise TimeoutError
    return left


def _dialled(endpoint: Endpoint, until: float) -> socket.socket:
    """Return a socket that is connected to one of the addresses; together they get no longer than one."""
    error = OSError("no address")
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    for number, (family, kind, protocol, _, address) in enumerate(found):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(time_left(until) / (len(found) - number))
            sock.connect(address)
        except OSError as failure:
            error = failure
            sock.close()
        else:
            return sock
    raise error


@cache
def _tls() -> "SSLContext":
    """Return the context of all connections. Making one parses every certificate of the bundle."""
    import ssl  # noqa: PLC0415  a local stage needs none

    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        return ssl.create_default_context(cafile=bundle)
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        return ssl.create_default_context()
    found = find_spec("botocore")  # a Python whose own bundle is missing; this one is not imported, only read
    beside = Path(found.origin).with_name("cacert.pem") if found and found.origin else None
    return ssl.create_default_context(cafile=beside)
