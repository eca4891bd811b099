"""Small servers of the local stage over HTTP on 127.0.0.1: they answer a request whole, and log nothing."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from infra.local.ports import HOST


class Handler(BaseHTTPRequestHandler):
    """A handler of requests that writes each answer by `write`."""

    def write(self, status: int, kind: str, content: bytes) -> None:
        """Write an answer of this media type."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing."""


@contextlib.contextmanager
def serve(handler: Callable[..., Handler], port: int = 0) -> Iterator[str]:
    """Serve requests until the block ends; yield the URL. Raises OSError when the port is in use."""
    with ThreadingHTTPServer((HOST, port), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_address[1]}"
        finally:
            server.shutdown()
