"""Receivers of webhooks on this machine: their calls, the answers a test chooses, and the check of a signature."""

import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TOLERANCE_SECONDS = 300  # difference of a timestamp: as in the published packages


@dataclass(frozen=True)
class Call:
    """One call of a webhook."""

    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


Answer = Callable[[Call], int]  # the status; it may wait


@dataclass
class Receiver:
    """A running receiver: its URL and the calls it got."""

    url: str
    calls: list[Call] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return [call.event_id for call in self.calls]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a connection beyond the queue waits for a second


@contextlib.contextmanager
def a_receiver(
    answer: Answer = lambda _: 200, *, host: str = "127.0.0.1", port: int = 0, body: bytes = b"thanks"
) -> Iterator[Receiver]:
    """Run a receiver that answers each call with the status that `answer` returns, and this body."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            call = Call(
                {name.lower(): value for name, value in self.headers.items()},
                self.rfile.read(int(self.headers["Content-Length"])),
            )
            receiver.calls.append(call)
            status = answer(call)
            with contextlib.suppress(OSError):  # the caller waits no longer
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with _Server((host, port), Handler) as server:
        receiver = Receiver(f"http://{host}:{server.server_port}/events")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield receiver
        server.shutdown()


def problem_of(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> str | None:
    """Check a request as Standard Webhooks does. Return its problem, or None if it is genuine and recent."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs((now or time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
        return "its timestamp is not of now"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    given = headers.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in given):
        return "its signature is wrong"
    return None
