"""Receivers of webhooks on this machine: what they got, and the answers a test chooses."""

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


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
def a_receiver(answer: Answer = lambda _: 200, *, port: int = 0, body: bytes = b"thanks") -> Iterator[Receiver]:
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

    with _Server(("127.0.0.1", port), Handler) as server:
        receiver = Receiver(f"http://127.0.0.1:{server.server_port}/events")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield receiver
        server.shutdown()
