"""The door to a running bank's books, for the person at this machine: HTTP on 127.0.0.1."""

import contextlib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import date
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from infra.bank import books
from infra.bank.bank import Bank
from infra.bank.server import HOST

LIST = "/list/"


class _Handler(BaseHTTPRequestHandler):
    timeout = 5

    def __init__(self, *arguments: Any, bank: Bank) -> None:
        self.bank = bank
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Answer /books and /list/YYYY-MM-DD."""
        status, kind, text = self._answer()
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self) -> tuple[int, str, str]:
        if self.path == "/books":
            return 200, "application/json", json.dumps(books.document(self.bank), indent=2) + "\n"
        with contextlib.suppress(ValueError):
            if self.path.startswith(LIST):
                day = date.fromisoformat(self.path.removeprefix(LIST))
                return 200, "text/csv", books.list_of(self.bank, day)
        return 404, "text/plain", f"There are /books and {LIST}YYYY-MM-DD.\n"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Log nothing."""


@contextlib.contextmanager
def serve(bank: Bank, port: int = 0) -> Iterator[str]:
    """Serve the books until the block ends; yield the URL. Raises OSError when the port is in use."""
    with ThreadingHTTPServer((HOST, port), partial(_Handler, bank=bank)) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_address[1]}"
        finally:
            server.shutdown()


def read(port: int, path: str) -> str:
    """Return what a running bank says. Raises OSError when none listens, or it does not know the path."""
    with urllib.request.urlopen(f"http://{HOST}:{port}{path}", timeout=10) as response:
        text: str = response.read().decode()
        return text
