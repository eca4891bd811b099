"""The local stage: an AWS in this process, the resources of `resources.json`, demo data, and the service on HTTP.

`python -m infra.local` reads PORT (8000), AWS_PORT (8001), ENGINE (moto, dynamodb-local), DATA, DEMO and LOG (text,
json) from the environment. DATA is the folder in which dynamodb-local keeps the data; without it all data is lost at
the end. DEMO=month adds a month of payments. Without LOG, the log is text on a terminal and JSON elsewhere.
ACQUIRER=iso8583 also starts a bank. ACQUIRERS, DEFAULT_ACQUIRER, ISO8583_..., ALLOWED_ORIGINS and SMS_COUNTRIES are
settings of the service.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from chalice.app import Chalice

from app import app
from chalicelib import clock, log
from infra.api_gateway import in_process
from infra.api_gateway.http_server import During, Server
from infra.bank import local as bank
from infra.bank.local import AcquirerSettingsError
from infra.demo import data as demo_data
from infra.demo import month as demo_month
from infra.demo import partner as demo_partner
from infra.local import aws_server, data_folder, engines, kept_aws, readable_log, scheduler, streams
from infra.local.advance import Advances
from infra.local.data_folder import DataFolder, DataFolderError
from infra.local.engines import EngineMissingError
from infra.local.ports import HOST
from infra.local.stage_clock import StageClock

PORT, AWS_PORT = 8000, 8001
URL = f"http://{HOST}:{PORT}"
ENGINES = ("moto", "dynamodb-local")


def serve(served_app: Chalice, port: int = 0, during: During = contextlib.nullcontext) -> Server:
    """Return a server of the app, for `with`; port 0 takes a free one. Raises OSError when the port is in use."""
    return Server(in_process.gateway(served_app), port, during=during)


def main() -> None:
    """Run the stage until Ctrl-C or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    engine, data = _engine_settings()
    with_month = demo_setting()
    log.write = _log_writer()
    port = port_setting("PORT", PORT)
    with contextlib.ExitStack() as stack:
        started = start(stack, engine, data)
        server = _listen(stack, port, started.advances)
        run(stack, started, server.url, with_month=with_month)
        stack.enter_context(server)
        threading.Event().wait()


@dataclass(frozen=True)
class Started:
    """The AWS of this process, the folder of its data, the clock, and the words about a bank."""

    aws_url: str
    folder: DataFolder | None
    advances: Advances
    welcome: str


def start(stack: contextlib.ExitStack, engine: str = ENGINES[0], data: Path | None = None) -> Started:
    """Start the AWS of this process, on the port AWS_PORT too. Exit with one line if it cannot start."""
    aws_port = port_setting("AWS_PORT", AWS_PORT)
    try:
        folder = stack.enter_context(data_folder.open_folder(data)) if data else None
        stage_clock = StageClock(folder.ahead, folder.store_ahead) if folder else StageClock()
        clock.now = stage_clock.now
        acquirers = stack.enter_context(bank.acquirers(folder.path / "bank" if folder else None))
        if engine != ENGINES[0]:
            engines.warn_if_open_to_the_network()
        with _step(f"tables, key, secret and bucket on {engine}"):
            _start_aws(stack, engine, folder, acquirers.environment)
    except (AcquirerSettingsError, DataFolderError, EngineMissingError) as refusal:
        sys.exit(str(refusal))
    advances = Advances(stage_clock)
    try:
        # Other programs open the signed address of a picture: it must lead to the AWS of this process.
        url = stack.enter_context(aws_server.serve(aws_port, advances.page))
    except OSError:
        sys.exit(f"Port {aws_port} is in use: `make run AWS_PORT=...` takes another for the local AWS.")
    os.environ["AWS_ENDPOINT_URL_S3"] = url
    return Started(url, folder, advances, acquirers.welcome)


def run(stack: contextlib.ExitStack, started: Started, url: str, *, with_month: bool) -> None:
    """Create the demo data, start the jobs and streams, and print how to use the API at this URL."""
    stack.enter_context(demo_partner.serve())
    is_first_start = _seed(started.folder, with_month=with_month)
    stack.enter_context(scheduler.run_jobs_every())
    stack.enter_context(started.advances.allowed(stack.enter_context(streams.fed())))
    path = started.folder.path if started.folder else None
    demo_data.print_welcome(url, started.aws_url, path, is_first_start=is_first_start)
    if started.welcome:
        print(started.welcome, flush=True)


@contextlib.contextmanager
def _step(name: str) -> Iterator[None]:
    """Print a step of the start, and the seconds it took."""
    began = time.monotonic()
    print(f"  {name} ...", end="", flush=True)
    yield
    print(f" {time.monotonic() - began:.1f} s", flush=True)


def _log_writer() -> log.Writer:
    """Return the writer of the log, as text or as JSON. Exit with one line if LOG is neither."""
    chosen = os.environ.get("LOG") or ("text" if sys.stdout.isatty() else "json")
    if chosen not in {"text", "json"}:
        sys.exit(f"LOG is text or json, not {chosen}.")
    return readable_log.write if chosen == "text" else log.write_json


def _start_aws(
    stack: contextlib.ExitStack, engine: str, folder: DataFolder | None, settings: Mapping[str, str]
) -> None:
    """Start the AWS of this process with the data of the folder. Raises DataFolderError and EngineMissingError."""
    stack.enter_context(engines.moto_engine(settings))
    if folder:
        stack.enter_context(kept_aws.kept_in(folder))
    if engine == "dynamodb-local":
        engines.select(stack.enter_context(engines.dynamodb_local(folder)))


def _seed(folder: DataFolder | None, *, with_month: bool) -> bool:
    """Create the demo data, unless the folder has it. Return whether it was created."""
    if folder and folder.seeded:
        if with_month:
            print("  DEMO=month fills a new folder only: this one stays as it is.", flush=True)
        return False
    with _step("demo merchants, agents and terminals"):
        till = demo_data.seed()
    if with_month:
        with _step("a month of payments"):
            demo_month.fill(till, clock.now())
    if folder:
        folder.mark_seeded()
    return True


def demo_setting() -> bool:
    """Return whether DEMO asks for a month of payments. Exit with one line if it has another value."""
    chosen = os.environ.get("DEMO")
    if chosen not in {None, "", "month"}:
        sys.exit(f"DEMO is month or nothing, not {chosen}.")
    return bool(chosen)


def _listen(stack: contextlib.ExitStack, port: int, advances: Advances) -> Server:
    """Open the port; exit with one line that names it if it is in use."""
    try:
        server = serve(app, port=port, during=advances.clock.request)
    except OSError:
        sys.exit(f"Port {port} is in use: `make run PORT=...` takes another.")
    stack.callback(server.server_close)
    return server


def _engine_settings() -> tuple[str, Path | None]:
    """Return the engine and the data folder; exit with one line if they are wrong."""
    engine, data = os.environ.get("ENGINE") or ENGINES[0], os.environ.get("DATA")
    if engine not in ENGINES:
        sys.exit(f"ENGINE is one of {', '.join(ENGINES)}, not {engine}.")
    if data and engine != "dynamodb-local":
        sys.exit(f"DATA needs the other engine: `make run ENGINE=dynamodb-local DATA={data}`. {engine} keeps no data.")
    return engine, Path(data) if data else None


def port_setting(name: str, default: int) -> int:
    """Return the port that the environment names; exit with one line if it is none."""
    text = os.environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and int(text) < 65536):  # noqa: PLR2004  ports are 16 bits
        sys.exit(f"{name} is a port number, not {text}.")
    return int(text)


def stop(_signal: int, _frame: FrameType | None) -> None:
    """Exit through every `with`. Further signals are ignored meanwhile."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)
