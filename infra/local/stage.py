"""The local stage: an AWS in this process, the resources of `resources.json`, demo data, and the service on HTTP.

`python -m infra.local` reads PORT (8000), AWS_PORT (8001), HOST (an IPv4 address, 127.0.0.1), ENGINE (moto,
dynamodb-local), DEMO and LOG (text, json) from the environment. Port 0 takes a free one. All data is lost at the end.
DEMO=month adds a month of payments. Without LOG, the log is text on a terminal and JSON elsewhere. ACQUIRER=iso8583
also starts a bank, ACQUIRER=stripe a stand-in for Stripe. STRIPE_KEY is the test key for another address of Stripe.
ACQUIRERS, DEFAULT_ACQUIRER, ISO8583_..., STRIPE_URL, STRIPE_MOTO, ALLOWED_ORIGINS, SMS_COUNTRIES, SANDBOX_LATENCY_MS
and WEBHOOK_HOSTS are settings of the service.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from ipaddress import IPv4Address
from types import FrameType

from app import app
from chalicelib import log, outside
from chalicelib.settings import SettingsError
from chalicelib.store import aws_client
from infra.bank import local as bank
from infra.bank.local import AcquirerSettingsError, LocalAcquirers
from infra.demo import data as demo_data
from infra.demo import month as demo_month
from infra.demo import partner as demo_partner
from infra.local import aws_server, engines, mail_viewer, readable_log, scheduler, stage_clock, streams
from infra.local.advance import Advances, RefusedError
from infra.local.engines import EngineMissingError
from infra.local.faults import PATH as FAULTS_PATH
from infra.local.faults import Faults
from infra.local.gateway import Server
from infra.local.ports import HOST
from infra.local.stage_clock import StageClock

PORT, AWS_PORT = 8000, aws_client.PORT
URL = f"http://{HOST}:{PORT}"
RESET_PATH = "/reset"  # on the port of the simulated AWS
ENGINES = ("moto", "dynamodb-local")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the stage until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="payments-stage", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--json", action="store_true", help="print one line of JSON: addresses and logins; log to stderr"
    )
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends, as with its program")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    ended = threading.Event()
    if options.until_eof:
        threading.Thread(target=_wait_for_eof, args=(ended,), daemon=True).start()
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        _run(_print_json if options.json else demo_data.print_welcome, ended)


def _wait_for_eof(ended: threading.Event) -> None:
    while os.read(0, 1024):  # sys.stdin has a lock, which this thread would hold at the end
        pass
    ended.set()


def _print_json(url: str, aws_url: str) -> None:
    print(json.dumps({"url": url, "aws_url": aws_url, "logins": demo_data.LOGINS}), file=sys.__stdout__, flush=True)


@dataclass(frozen=True)
class Contents:
    """What a stage holds at its start, and again after each reset."""

    with_month: bool
    acquirers: LocalAcquirers
    advances: Advances
    faults: Faults = field(default_factory=Faults)

    def fill(self) -> None:
        """Store the demo data."""
        with _step("demo merchants, agents and terminals"):
            till = demo_data.seed()
        if self.with_month:
            with _step("a month of payments"):
                demo_month.fill(till, outside.now())

    def reset(self) -> None:
        """Empty the stage between two requests, and fill it again. Raises RefusedError."""
        with self.advances.paused() as feed, self.advances.clock.between_requests():
            feed.drop()
            self.faults.clear()
            mail_viewer.recorded.clear()
            self.advances.clock.ahead = timedelta()
            engines.reset()
            self.acquirers.forget()
            demo_partner.store_secret()
            self.acquirers.store_secret()
            self.fill()

    def page(self, method: str, _: bytes) -> tuple[HTTPStatus, dict[str, str]]:
        """Answer POST with a reset."""
        if method != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED, {"Error": f"{method} is not POST."}
        try:
            self.reset()
        except RefusedError as refusal:
            return HTTPStatus.BAD_REQUEST, {"Error": str(refusal)}
        return HTTPStatus.OK, {}


def _run(welcome: Callable[[str, str], None], ended: threading.Event) -> None:
    engine, host, with_month = _engine_setting(), _host_setting(), demo_setting()
    log.write = _log_writer()
    port, aws_port = port_setting("PORT", PORT), port_setting("AWS_PORT", AWS_PORT)
    with contextlib.ExitStack() as stack:
        clock = StageClock()
        stack.enter_context(outside.given(now=clock.now))
        acquirers = _start_aws(stack, engine)
        contents = Contents(with_month, acquirers, Advances(clock))
        advances, faults = contents.advances, contents.faults
        pages = {stage_clock.PATH: advances.page, FAULTS_PATH: faults.page, RESET_PATH: contents.page}
        try:
            aws_url = stack.enter_context(aws_server.serve(aws_port, pages, host))
        except OSError:
            sys.exit(f"Port {aws_port} is in use: `make run AWS_PORT=...` takes another for the local AWS.")
        # Other programs open the signed address of a picture: it must lead to the AWS of this process.
        os.environ["AWS_ENDPOINT_URL_S3"] = aws_url
        try:
            server = Server(app, port, clock.request, faults, host)
        except OSError:
            sys.exit(f"Port {port} is in use: `make run PORT=...` takes another.")
        stack.callback(server.close)
        os.environ["PUBLIC_ADDRESS"] = server.url  # for links in e-mails
        outside.forget()
        stack.enter_context(demo_partner.serve())
        acquirers.store_secret()
        stack.enter_context(mail_viewer.recording())
        contents.fill()
        stack.enter_context(scheduler.run_jobs_every())
        stack.enter_context(advances.allowed(stack.enter_context(streams.fed())))
        welcome(server.url, aws_url)
        print(acquirers.welcome and f"{acquirers.welcome}\n", end="", flush=True)
        stack.enter_context(server)
        ended.wait()


def _start_aws(stack: contextlib.ExitStack, engine: str) -> LocalAcquirers:
    """Start the AWS of this process; return the acquirers. Exit with one line if it cannot."""
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
    return acquirers


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


def _host_setting() -> str:
    """Return the address to listen on. Some shells export HOST as the machine's name, which does not count."""
    with contextlib.suppress(ValueError):
        return str(IPv4Address(os.environ.get("HOST", "")))
    return HOST


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
