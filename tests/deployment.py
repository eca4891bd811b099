"""What is deployed, for tests: the functions of the package behind their gateway, on the AWS of this process."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra import aws_server, engines
from infra.deployed import stage, task
from infra.deployed.front import Front
from infra.deployed.gateway import Gateway
from infra.deployed.stage import Stage

# A test with one of these fixtures changes the process it runs in, or reads what that process prints.
LOCAL_FIXTURES = {"monkeypatch", "capsys", "capfd", "stored_policies"}
# Tests of the API that what is deployed answers in another way, as API Gateway does, by the end of their names.
DIFFERENT = {
    "test_iso8583.py": "the host is started by the test, and told to its own process",
}
POLLS, POLL_SECONDS = 1500, 0.02


@dataclass(frozen=True)
class Deployed:
    """A stage that is served: its URL, its functions, its gateway, and the file its functions log to."""

    url: str
    stage: Stage
    gateway: Gateway
    log: Path

    def forget(self) -> None:
        """Forget every policy and end every instance: the tables are others now."""
        for authorizer in self.gateway.authorizers.values():
            authorizer.forget()
        for function in self.stage.functions.values():
            function.kill()


@contextlib.contextmanager
def served(
    build: Path, folder: Path, *, freezes: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[Deployed]:
    """Serve the package in `build`, unpacked into `folder`. Without AWS's runtime client skip, in CI fail."""
    if not task.is_installed():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(task.INSTALL_HINT)
    log = folder / "log"
    with (
        aws_server.serve(engines.free_port()) as aws,
        log.open("wb") as written,
        stage.deployed(
            build,
            folder / "stage",
            {**stage.settings_of_this_aws(aws), **(settings or {})},
            log=written,
            freezes=freezes,
        ) as it,
    ):
        gateway = Gateway(it.resources["RestAPI"], it.functions)
        with Front(gateway) as front:
            yield Deployed(front.url, it, gateway, log)


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
