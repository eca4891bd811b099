"""The local stage: an AWS in this process, what `resources.json` declares, demo data, and the service on HTTP.

`python -m infra.local`, with PORT (8000), AWS_PORT (8001) and ENGINE (moto, dynamodb-local) from the environment.
"""

import contextlib
import importlib
import os
import signal
import sys
import threading
from types import FrameType

from chalice.app import Chalice

from infra import aws_server, demo_partner, engines, scheduler
from infra.http_server import Server

HOST = "127.0.0.1"
ENGINES = ("moto", "dynamodb-local")


def serve(app: Chalice, host: str = HOST, port: int = 0) -> Server:
    """The app on HTTP, in `with`: `url` says where (port 0 takes a free one). Raises OSError when the port is taken."""
    return Server(app, host, port)


def main() -> None:
    """Run the stage until Ctrl-C or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    engine = os.environ.get("ENGINE") or ENGINES[0]
    if engine not in ENGINES:
        sys.exit(f"ENGINE is one of {', '.join(ENGINES)}, not {engine}.")
    port, aws_port = _port("PORT", 8000), _port("AWS_PORT", 8001)

    with contextlib.ExitStack() as stack:
        stack.enter_context(engines.moto_engine())
        if engine == "dynamodb-local":
            try:
                engines.select(stack.enter_context(engines.dynamodb_local()))
            except engines.EngineMissingError as missing:
                sys.exit(str(missing))
        server = _listen(stack, port, aws_port)
        stack.enter_context(demo_partner.served())
        # Only now: the service reads its environment, which the engine has set.
        demo = importlib.import_module("infra.demo_data")
        demo.seed()
        stack.enter_context(server)
        stack.enter_context(scheduler.ticking())
        demo.print_welcome(server.url)
        threading.Event().wait()


def _listen(stack: contextlib.ExitStack, port: int, aws_port: int) -> Server:
    """Take both ports, or say in one line which is taken, and exit."""
    try:
        server = serve(importlib.import_module("app").app, port=port)
    except OSError:
        sys.exit(f"Port {port} is in use: `make run PORT=...` takes another.")
    stack.callback(server.server_close)
    try:
        # Whoever opens the signed address of a picture is another program: it must lead to the AWS of this process.
        os.environ["AWS_ENDPOINT_URL_S3"] = stack.enter_context(aws_server.served(aws_port))
    except OSError:
        sys.exit(f"Port {aws_port} is in use: `make run AWS_PORT=...` takes another for the local AWS.")
    return server


def _port(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and int(text) < 65536):  # noqa: PLR2004  ports are 16 bits
        sys.exit(f"{name} is a port number, not {text}.")
    return int(text)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Leave through every `with`; a second signal does not disturb the first."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


if __name__ == "__main__":
    main()
