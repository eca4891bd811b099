"""The AWS of this process over HTTP, for `chalice local`, `infra.operator` and the AWS CLI."""

import contextlib
import io
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import urllib3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from infra.local import mail_viewer, stage_clock, stage_settings
from infra.local.engines import ENDPOINT_VARIABLE, MOTO_LOCK
from infra.local.ports import HOST

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

FORWARDED_HEADERS = ("X-Amz-Target", "Content-Type", "X-Amz-Date", "Authorization")
RETURNED_HEADERS = ("content-type", "x-amz-crc32")

ClockPage = Callable[[str, bytes, "StartResponse"], Iterable[bytes]]  # answers a method and a body


class _SilentHandler(MotoRequestHandler):
    def log_request(self, *_: object) -> None:
        """Log nothing."""


class _Application:
    """moto's server, which shares the lock on moto with the threads of this process."""

    def __init__(self, clock_page: ClockPage | None) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._clock_page = clock_page

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        # The body is read before the lock is taken: clients may be slow.
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if self._clock_page and environ.get("PATH_INFO") == stage_clock.PATH:
            return self._clock_page(environ["REQUEST_METHOD"], body, start_response)
        if environ.get("PATH_INFO") == stage_settings.PATH:
            return stage_settings.page(start_response)
        url = os.environ.get(ENDPOINT_VARIABLE)
        if url and environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB_"):
            return _forward_to_dynamodb_local(url, environ, body, start_response)
        with MOTO_LOCK:
            if environ.get("PATH_INFO") == mail_viewer.PATH:
                return mail_viewer.page(start_response)
            return list(self._moto({**environ, "wsgi.input": io.BytesIO(body)}, start_response))


def _forward_to_dynamodb_local(
    url: str, environ: "WSGIEnvironment", body: bytes, start_response: "StartResponse"
) -> Iterable[bytes]:
    """Return the answer of DynamoDB Local: other processes use the same tables as the stage."""
    headers = {name: environ.get("HTTP_" + name.upper().replace("-", "_"), "") for name in FORWARDED_HEADERS}
    headers["Content-Type"] = environ.get("CONTENT_TYPE", "")
    answer = urllib3.request("POST", url, body=body, headers=headers, retries=False)
    returned = [(name, value) for name, value in answer.headers.items() if name.lower() in RETURNED_HEADERS]
    start_response(f"{answer.status} {answer.reason}", [*returned, ("Content-Length", str(len(answer.data)))])
    return [answer.data]


@contextlib.contextmanager
def serve(port: int, clock_page: ClockPage | None = None) -> Iterator[str]:
    """Serve the AWS of this process on 127.0.0.1, and the clock if there is one; yield the URL.

    Raises OSError when the port is in use.
    """
    # Opened here: if the port is in use, werkzeug would print a long text and exit.
    with contextlib.closing(socket.create_server((HOST, port), backlog=128)) as listener:
        server = make_server(
            HOST,
            port,
            _Application(clock_page),
            threaded=True,
            request_handler=_SilentHandler,
            fd=listener.fileno(),
        )
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://{HOST}:{port}"
        finally:
            server.shutdown()
            server.server_close()
