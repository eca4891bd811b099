"""What is deployed, for tests: the functions of the package behind their gateway, on the AWS of this process.

A package of the stage `dev`, made once for all processes that run tests."""

import contextlib
import importlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chalice.local import LocalChalice

from chalicelib.settings import LOCAL
from infra.bench import functions
from infra.bench.functions import MAX_PAYLOAD_BYTES, Function, Stage
from infra.local import aws_server, engines, ports, streams
from infra.local.gateway import Kind, Refused, Server
from infra.stack import package, runtime
from infra.stack.template import logical_id

# A test with one of these fixtures changes the process it runs in, or reads what that process prints.
LOCAL_FIXTURES = {"monkeypatch", "capsys", "capfd", "stored_policies"}
# Tests of the API that what is deployed answers in another way, by a part of their names.
IN_PROCESS = "reads what its own process does"
NO_TEXT = "API Gateway passes bytes that are no UTF-8 on as U+FFFD"
DIFFERENT = {
    "test_other_origins.py": "changes the settings of its own process; tests/infra/deployed.test_origins.py asks both",
    "test_iso8583.py": "tells its own process of the host it starts",
    'test_a_body_that_is_no_json_object_is_201[b\'{"Lang"': NO_TEXT,
    "test_json_is_utf_8[1-latin-1]": NO_TEXT,
    "test_a_merchant_is_answered_as_it_was_sent": "the addresses lead to the AWS of this machine",
    "test_photo_and_signature_are_shown_by_addresses_that_expire": "the addresses lead to the AWS of this machine",
    "test_a_cash_payment_is_one_read_by_the_authorizer_one_read_and_one_transaction": IN_PROCESS,
    "test_a_replay_reads_and_writes_nothing": IN_PROCESS,
    "test_looking_a_payment_up_is_one_read_behind_the_authorizer": IN_PROCESS,
    "test_a_reversal_with_a_client_time_is_one_read_and_one_transaction": IN_PROCESS,
    "test_a_receipt_costs_seven_units_whoever_gets_it": IN_PROCESS,
    "test_every_field_of_a_request_has_its_effect_or_its_trace": IN_PROCESS,
    "test_an_event_costs_two_write_units": IN_PROCESS,
    "test_a_deep_check_reads_the_store_once": IN_PROCESS,
    "test_anybody_is_told_that_the_service_is_up_without_a_look_at_the_store": IN_PROCESS,
}
POLLS, POLL_SECONDS = 1500, 0.02


class Packaged(LocalChalice):
    """The routes of the app in front of functions of the package, for the gateway of the local stage."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        super().__init__("packaged")
        app = importlib.import_module("app").app
        self.api.binary_types, self._functions = app.api.binary_types, functions
        guarded: Any = SimpleNamespace(authorizer=self._authorize)
        public: Any = SimpleNamespace(authorizer=None)
        self.routes = {
            path: {method: guarded if entry.authorizer else public for method, entry in entries.items()}
            for path, entries in app.routes.items()
        }

    def _authorize(self, event: dict[str, Any], _: object) -> Any:
        return self._answer("Authorizer", event)

    def __call__(self, event: dict[str, Any], _: object) -> Any:
        """Return the answer of the API's function, whose body is text."""
        return self._answer("APIHandler", {**event, "body": (event["body"] or b"").decode(errors="replace") or None})

    def _answer(self, name: str, event: dict[str, Any]) -> Any:
        payload = json.dumps(event, ensure_ascii=False).encode()
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise Refused(Kind.REQUEST_TOO_LARGE)
        outcome = self._functions[name].invoke(payload)
        if outcome.error:
            message = f"{name}: {outcome.error}"
            raise RuntimeError(message)  # the gateway answers a crash
        return json.loads(outcome.payload)


@dataclass(frozen=True)
class Deployed:
    """A stage that is served: its URL, its functions, and the file its functions log to."""

    url: str
    stage: Stage
    log: Path

    def forget(self) -> None:
        """End every instance: the tables are others now."""
        for function in self.stage.functions.values():
            function.kill()


@contextlib.contextmanager
def served(
    build: Path,
    folder: Path,
    *,
    settings: Mapping[str, str] | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Iterator[Deployed]:
    """Serve the package in `build`, unpacked into `folder`. Without AWS's runtime client skip, in CI fail."""
    if not functions.is_installed():
        _missing(functions.INSTALL_HINT)
    log = folder / "log"
    with (
        aws_server.serve(ports.free_port()) as aws,
        log.open("wb") as written,
        functions.started(
            build,
            folder / "stage",
            {**_reached_at(aws), **(settings or {})},
            parameters=parameters,
            log=written,
        ) as it,
        Server(Packaged(it.functions)) as server,
    ):
        yield Deployed(server.url, it, log)


@contextlib.contextmanager
def fed(stage: Stage) -> Iterator[None]:
    """Invoke the functions with the records of the streams, until the block ends."""

    def invoke(function: str, event: dict[str, Any]) -> Mapping[str, Any] | None:
        outcome = stage.functions[logical_id(function)].invoke(event)
        if outcome.error:  # a function that fails gets all records again
            return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["dynamodb"]["SequenceNumber"]}]}
        answer: Mapping[str, Any] | None = json.loads(outcome.payload)
        return answer

    with streams.fed(invoke):
        yield


def settings_as_local() -> dict[str, str]:
    """Return the settings with which a deployed stage answers as the local one, while the demo partner is served.

    That partner is reached without TLS, which only the local stage may.
    """
    return {"STAGE": LOCAL, "PARTNERS": os.environ["PARTNERS"]}


def _reached_at(aws: str) -> dict[str, str]:
    """Return the settings with which a function reaches the tables of whichever engine a test chooses."""
    settings = functions.settings_of_this_aws(aws)
    settings.pop(engines.ENDPOINT_VARIABLE, None)
    return settings


def skip_what_is_local(items: list[pytest.Item]) -> None:
    """Mark the tests that reach into the process of the service."""
    for item in items:
        if reason := next((reason for name, reason in DIFFERENT.items() if name in item.nodeid), None):
            item.add_marker(pytest.mark.skip(reason))
        if found := LOCAL_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.skip(f"reaches into the process: {', '.join(sorted(found))}"))


def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds: for what another process does."""
    pause = threading.Event()
    for _ in range(POLLS):
        if condition():
            return
        pause.wait(POLL_SECONDS)
    pytest.fail("it did not happen")


def _missing(hint: str) -> None:
    """Skip the test, or let it fail in CI. NO_RUNTIME=true says that the Python of the package cannot be installed."""
    must_run = os.environ.get("CI") == "true" and os.environ.get("NO_RUNTIME") != "true"
    (pytest.fail if must_run else pytest.skip)(hint)


PACKAGE_SECONDS = 300  # to make a package on a busy machine


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the package: the first process makes it, the others wait for it.

    Without the Python that the package is for skip, in CI fail.
    """
    if not runtime.is_installed():
        _missing(runtime.HINT)
    return _made_once("package", package.package, tmp_path_factory)


@pytest.fixture(scope="session")
def sam(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the template of the package. It is made without the packages, in two seconds."""
    made = _made_once("template", package.write_template, tmp_path_factory)
    parsed: dict[str, Any] = json.loads((made / "sam.json").read_text(encoding="utf-8"))
    return parsed


def _made_once(name: str, make: Callable[[str, Path], None], folders: pytest.TempPathFactory) -> Path:
    """Return a folder that the first process fills. The others wait for it."""
    base = folders.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    done = folder / "done"
    try:
        folder.mkdir()
    except FileExistsError:
        until = time.monotonic() + PACKAGE_SECONDS
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.2)
        assert done.exists(), f"the {name} was not made: see the test that made it"
        return folder
    make("dev", folder)
    done.touch()
    return folder
