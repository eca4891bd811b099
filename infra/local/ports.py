"""Ports of this machine for stages, engines and tests."""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

HOST = "127.0.0.1"
START_SECONDS = 60  # 3 on a quiet machine
PORTS = range(20_000, 30_000)  # below the ports that Linux (32768) and macOS (49152) give to outgoing connections
_numbers = itertools.count(os.getpid() * 101)  # processes start at different ports


def free_port() -> int:
    """Return a port that is free and that no outgoing connection takes."""
    while True:
        port = PORTS[next(_numbers) % len(PORTS)]
        with contextlib.suppress(OSError), socket.create_server((HOST, port)):
            return port


def begins_to_listen(port: int, child: subprocess.Popen[bytes]) -> bool:
    """Wait until something listens on the port. Return False if the child ended or took too long."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and child.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return True
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def running(port: int, *command: str, **settings: str) -> Iterator[None]:
    """Run a program that listens on the port, with these settings in its environment, until the block ends.

    Its output is dropped. End this process with one line if the program does not begin to listen.
    """
    null = subprocess.DEVNULL
    with subprocess.Popen(command, env={**os.environ, **settings}, stdout=null, stderr=null) as process:  # noqa: S603
        try:
            if not begins_to_listen(port, process):
                sys.exit(f"{' '.join(command)} did not start: nothing listens on port {port}.")
            yield
        finally:
            process.terminate()
