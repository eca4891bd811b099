"""The AWS of this process over HTTP, for `chalice local`, `infra.operator` and the AWS CLI, and pages of the stage."""

import contextlib
import io
import json
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import urllib3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from chalicelib.log import log_defect
from infra.local import mail_viewer, stage_settings
from infra.local.engines import ENDPOINT_VARIABLE, MOTO_LOCK
from infra.local.ports import HOST

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

FORWARDED_HEADERS = ("X-Amz-Target", "Content-Type", "X-Amz-Date", "Authorization")
RETURNED_HEADERS = ("content-type", "x-amz-crc32")

MOTO_RESET = "/moto-api/reset"  # would leave a stage without its tables and secrets

Page = Callable[[str, bytes], tuple[HTTPStatus, Any]]  # answers a method and a body with JSON


class _SilentHandler(MotoRequestHandler):
    def log_request(self, *_: object) -> None:
        """Log nothing."""


class _Application:
    """moto's server, which shares the lock on moto with the threads of this process, and the pages of the stage."""

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._pages = {
            stage_settings.PATH: lambda *_: (HTTPStatus.OK, stage_settings.of_this_process()),
            mail_viewer.JSON_PATH: lambda *_: (HTTPStatus.OK, mail_viewer.recorded),
            MOTO_RESET: lambda *_: (HTTPStatus.FORBIDDEN, {"Error": "POST /reset resets the whole stage."}),
            **pages,
        }

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        # The body is read before the lock is taken: clients may be slow.
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        path, origin = environ.get("PATH_INFO", ""), environ.get("HTTP_ORIGIN", "")
        if origin and origin.partition("://")[2] != environ.get("HTTP_HOST"):  # a page of somebody in a browser
            return _answer(_of_another_origin, environ["REQUEST_METHOD"], body, start_response)
        if page := self._pages.get(path):
            return _answer(page, environ["REQUEST_METHOD"], body, start_response)
        url = os.environ.get(ENDPOINT_VARIABLE)
        if url and environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB_"):
            return _forward_to_dynamodb_local(url, environ, body, start_response)
        with MOTO_LOCK:
            if path == mail_viewer.PATH:
                return mail_viewer.page(start_response)
            return list(self._moto({**environ, "wsgi.input": io.BytesIO(body)}, start_response))


def _of_another_origin(_method: str, _body: bytes) -> tuple[HTTPStatus, Any]:
    return HTTPStatus.FORBIDDEN, {"Error": "Pages of other origins are refused."}


def _answer(page: Page, method: str, body: bytes, start_response: "StartResponse") -> Iterable[bytes]:
    try:
        status, found = page("GET" if method == "HEAD" else method, body)
    except Exception as defect:  # noqa: BLE001  the developer gets JSON
        log_defect(defect)
        status, found = HTTPStatus.INTERNAL_SERVER_ERROR, {"Error": "A defect of the stage: see its log."}
    content = json.dumps(found).encode()
    headers = [
        ("Content-Type", "application/json"),
        ("Cache-Control", "no-store"),
        ("Content-Length", str(len(content))),
    ]
    start_response(f"{status.value} {status.phrase}", headers)
    return [] if method == "HEAD" else [content]


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
def serve(port: int, pages: Mapping[str, Page] | None = None, host: str = HOST) -> Iterator[str]:
    """Serve the AWS of this process, and pages of its stage by their paths; yield the URL. Port 0 takes a free one.

    Raises OSError when the port is in use.
    """
    # Opened here: if the port is in use, werkzeug would print a long text and exit.
    with contextlib.closing(socket.create_server((host, port), backlog=128)) as listener:
        port = listener.getsockname()[1]
        server = make_server(
            host,
            port,
            _Application(pages or {}),
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
