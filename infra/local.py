"""The local stage: an AWS in this process, the resources of `resources.json`, demo data, and the service on HTTP.

`python -m infra.local`, with PORT (8000), AWS_PORT (8001) and ENGINE (moto, dynamodb-local) from the environment.
"""

import contextlib
import os
import signal
import sys
import threading
from types import FrameType

from chalice.app import Chalice

from app import app
from infra import aws_server, demo_data, demo_partner, engines, scheduler
from infra.engines import HOST
from infra.http_server import Server

PORT, AWS_PORT = 8000, 8001
URL = f"http://{HOST}:{PORT}"
ENGINES = ("moto", "dynamodb-local")


def serve(served_app: Chalice, port: int = 0) -> Server:
    """Return a server of the app, for `with`; port 0 takes a free one. Raises OSError when the port is in use."""
    return Server(served_app, HOST, port)


def main() -> None:
    """Run the stage until Ctrl-C or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    engine = os.environ.get("ENGINE") or ENGINES[0]
    if engine not in ENGINES:
        sys.exit(f"ENGINE is one of {', '.join(ENGINES)}, not {engine}.")
    port, aws_port = _port_setting("PORT", PORT), _port_setting("AWS_PORT", AWS_PORT)

    with contextlib.ExitStack() as stack:
        stack.enter_context(engines.moto_engine())
        if engine == "dynamodb-local":
            try:
                engines.select(stack.enter_context(engines.dynamodb_local()))
            except engines.EngineMissingError as missing:
                sys.exit(str(missing))
        server = _listen(stack, port, aws_port)
        stack.enter_context(demo_partner.serve())
        demo_data.seed()
        stack.enter_context(server)
        stack.enter_context(scheduler.run_jobs_every())
        demo_data.print_welcome(server.url)
        threading.Event().wait()


def _listen(stack: contextlib.ExitStack, port: int, aws_port: int) -> Server:
    """Open both ports; exit with one line that names the port if one is in use."""
    try:
        server = serve(app, port=port)
    except OSError:
        sys.exit(f"Port {port} is in use: `make run PORT=...` takes another.")
    stack.callback(server.server_close)
    try:
        # The signed address of a picture is opened by another program: it must lead to the AWS of this process.
        os.environ["AWS_ENDPOINT_URL_S3"] = stack.enter_context(aws_server.serve(aws_port))
    except OSError:
        sys.exit(f"Port {aws_port} is in use: `make run AWS_PORT=...` takes another for the local AWS.")
    return server


def _port_setting(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and int(text) < 65536):  # noqa: PLR2004  ports are 16 bits
        sys.exit(f"{name} is a port number, not {text}.")
    return int(text)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Exit through every `with`, and ignore further signals meanwhile."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


if __name__ == "__main__":
    main()
