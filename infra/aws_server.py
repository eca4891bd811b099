"""The AWS of this process, on HTTP, for `chalice local`, `infra.operator` and the AWS CLI in another process."""

import contextlib
import http.client
import io
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from infra.engines import ENDPOINT, LOCK

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PASSED_ON = ("X-Amz-Target", "Content-Type", "X-Amz-Date", "Authorization")


class _SilentHandler(MotoRequestHandler):
    def log_request(self, *_: object) -> None:
        """Say nothing."""


class _Application:
    """moto's server, one request at a time, together with the threads of this process."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))  # before the lock: clients are slow
        url = os.environ.get(ENDPOINT)
        if url and environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB_"):
            return _passed_on(url, environ, body, start_response)
        with LOCK:
            return list(self._moto({**environ, "wsgi.input": io.BytesIO(body)}, start_response))


def _passed_on(url: str, environ: "WSGIEnvironment", body: bytes, start_response: "StartResponse") -> Iterable[bytes]:
    """Ask DynamoDB Local, so that whoever comes over HTTP sees the tables the stage uses."""
    headers = {name: environ.get("HTTP_" + name.upper().replace("-", "_"), "") for name in PASSED_ON}
    headers["Content-Type"] = environ.get("CONTENT_TYPE", "")
    with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc)) as connection:
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        content = answer.read()
    kept = [(name, value) for name, value in answer.getheaders() if name.lower() in {"content-type", "x-amz-crc32"}]
    start_response(f"{answer.status} {answer.reason}", [*kept, ("Content-Length", str(len(content)))])
    return [content]


@contextlib.contextmanager
def served(port: int) -> Iterator[str]:
    """The AWS of this process on 127.0.0.1: its URL. Raises OSError when the port is taken."""
    with contextlib.closing(_listening(port)) as listening:
        server = make_server(
            "127.0.0.1",
            port,
            _Application(),
            threaded=True,
            request_handler=_SilentHandler,
            fd=listening.fileno(),
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.shutdown()
            server.server_close()


def _listening(port: int) -> socket.socket:
    """A socket of ours: werkzeug would print an essay about a busy port and exit."""
    return socket.create_server(("127.0.0.1", port), backlog=128)
