"""The local stage: an AWS in this process, the resources of `resources.json`, demo data, and the service on HTTP.

`python -m infra.local` reads PORT (8000), AWS_PORT (8001), ENGINE (moto, dynamodb-local), DEMO and LOG (text, json)
from the environment. All data is lost at the end. DEMO=month adds a month of payments. Without LOG, the log is text on
a terminal and JSON elsewhere. ACQUIRER=iso8583 also starts a bank. ACQUIRERS, DEFAULT_ACQUIRER, ISO8583_...,
ALLOWED_ORIGINS and SMS_COUNTRIES are settings of the service.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

from app import app
from chalicelib import log, outside
from chalicelib.settings import SettingsError
from chalicelib.store import aws_client
from infra.bank import local as bank
from infra.bank.local import AcquirerSettingsError
from infra.demo import data as demo_data
from infra.demo import month as demo_month
from infra.demo import partner as demo_partner
from infra.local import aws_server, engines, readable_log, scheduler, streams
from infra.local.advance import Advances
from infra.local.engines import EngineMissingError
from infra.local.gateway import Server
from infra.local.ports import HOST
from infra.local.stage_clock import StageClock

PORT, AWS_PORT = 8000, aws_client.PORT
URL = f"http://{HOST}:{PORT}"
ENGINES = ("moto", "dynamodb-local")


def main() -> None:
    """Run the stage until Ctrl-C or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    engine = _engine_setting()
    with_month = demo_setting()
    log.write = _log_writer()
    port, aws_port = port_setting("PORT", PORT), port_setting("AWS_PORT", AWS_PORT)
    with contextlib.ExitStack() as stack:
        advances = Advances(StageClock())
        stack.enter_context(outside.given(now=advances.clock.now))
        bank_welcome = _start_aws(stack, engine)
        try:
            aws_url = stack.enter_context(aws_server.serve(aws_port, advances.page))
        except OSError:
            sys.exit(f"Port {aws_port} is in use: `make run AWS_PORT=...` takes another for the local AWS.")
        # Other programs open the signed address of a picture: it must lead to the AWS of this process.
        os.environ["AWS_ENDPOINT_URL_S3"] = aws_url
        try:
            server = Server(app, port, advances.clock.request)
        except OSError:
            sys.exit(f"Port {port} is in use: `make run PORT=...` takes another.")
        stack.callback(server.close)
        stack.enter_context(demo_partner.serve())
        with _step("demo merchants, agents and terminals"):
            till = demo_data.seed()
        if with_month:
            with _step("a month of payments"):
                demo_month.fill(till, outside.now())
        stack.enter_context(scheduler.run_jobs_every())
        stack.enter_context(advances.allowed(stack.enter_context(streams.fed())))
        demo_data.print_welcome(server.url, aws_url)
        print(bank_welcome, end="", flush=True)
        stack.enter_context(server)
        threading.Event().wait()


def _start_aws(stack: contextlib.ExitStack, engine: str) -> str:
    """Start the AWS of this process; return the lines about a bank, if one runs. Exit with one line if it cannot."""
    try:
        acquirers = stack.enter_context(bank.acquirers())
        if engine != ENGINES[0] and not engines.is_closed_to_the_network():
            print("  DynamoDB Local listens on every interface: with a JDK, not a JRE, only on 127.0.0.1.", flush=True)
        with _step(f"tables, key, secret and bucket on {engine}"):
            stack.enter_context(engines.moto_engine(acquirers.environment))
            if engine == "dynamodb-local":
                engines.select(stack.enter_context(engines.dynamodb_local()))
    except (AcquirerSettingsError, EngineMissingError, SettingsError) as refusal:
        sys.exit(str(refusal))
    return acquirers.welcome and f"{acquirers.welcome}\n"


@contextlib.contextmanager
def _step(name: str) -> Iterator[None]:
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


def demo_setting() -> bool:
    """Return whether DEMO asks for a month of payments. Exit with one line if it has another value."""
    chosen = os.environ.get("DEMO")
    if chosen not in {None, "", "month"}:
        sys.exit(f"DEMO is month or nothing, not {chosen}.")
    return bool(chosen)


def _engine_setting() -> str:
    engine = os.environ.get("ENGINE") or ENGINES[0]
    if engine not in ENGINES:
        sys.exit(f"ENGINE is one of {', '.join(ENGINES)}, not {engine}.")
    return engine


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
