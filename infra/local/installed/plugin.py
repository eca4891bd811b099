"""The plugin of pytest: a stage beside the tests of another program, or the Chalice app within them."""

import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from . import __main__ as command

START_SECONDS = 60
Logins = dict[str, tuple[str, str]]  # login and password by role, such as "till" and "administrator"


class Stage:
    """A local stage in a process of its own, which ends with this one."""

    def __init__(self, url: str, aws_url: str, logins: dict[str, list[str]]) -> None:
        self.url = url
        self.aws_url = aws_url
        self.logins: Logins = {role: (login, password) for role, (login, password) in logins.items()}

    def reset(self) -> None:
        """Empty the stage, and store the demo data again. The clock, mails and faults begin anew too."""
        self._ask("/reset", {})

    def advance(self, duration: str) -> str:
        """Put the clock forward by a duration of ISO 8601, such as PT1H; return its time."""
        return str(self._ask("/clock", {"Advance": duration})["Now"])

    def fail_next(
        self, fault: str, *, times: int | None = None, path: str | None = None, seconds: float | None = None
    ) -> None:
        """Let the next answers fail by "901", "902", "903", "402", "drop" or "slow" (`docs/test-your-program.md`)."""
        wanted = {"Next": fault, "Times": times, "Path": path, "Seconds": seconds}
        self._ask("/faults", {name: value for name, value in wanted.items() if value is not None})

    def mails(self) -> list[dict[str, str | None]]:
        """Return the e-mails and text messages since the last reset, oldest first: To, Subject, Text, Html, SMS."""
        found: list[dict[str, str | None]] = self._ask("/mail.json")
        return found

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.aws_url}{path}", content)  # noqa: S310  our own process
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            message = json.load(refusal)["Error"]
        raise ValueError(message)


@contextmanager
def running(log: IO[bytes]) -> Iterator[Stage]:
    """Run a stage until the block ends. Its log goes to `log`."""
    started = subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, command.__file__, "--json", "--until-eof"],
        env={**os.environ, "PORT": "0", "AWS_PORT": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
    )
    with started as process:
        assert process.stdin  # noqa: S101  for mypy
        assert process.stdout  # noqa: S101
        try:
            if not (line := process.stdout.readline()):
                log.seek(0)
                pytest.fail(f"The stage did not start:\n{log.read().decode(errors='replace')}", pytrace=False)
            yield Stage(**json.loads(line))
        finally:
            process.stdin.close()  # its end: see `--until-eof`


@pytest.fixture(scope="session")
def payments_stage() -> Iterator[Stage]:
    """Run a whole local stage on HTTP, with its clock, faults and mails, for the session."""
    with tempfile.TemporaryFile() as log, running(log) as stage:
        yield stage


def _client(app: Any, logins: Logins) -> Any:
    """Return Chalice's test client of the app, which also stands for the app itself."""
    from chalice.test import Client  # noqa: PLC0415  only this fixture needs Chalice in the process

    class App(Client):
        def __init__(self) -> None:
            super().__init__(app, project_dir=str(command.HERE))  # a folder without settings of Chalice
            self.logins = logins

        def __call__(self, event: Any, context: Any) -> Any:
            return app(event, context)

        def __getattr__(self, name: str) -> Any:
            return getattr(app, name)

    return App()


def _imported(*names: str) -> list[Any]:
    """Import modules of the service. The tests' own program must have none of the same names."""
    folder = command.service_folder()
    sys.path.insert(0, str(folder))
    try:
        found = [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(folder))
    for module in found:
        if not Path(module.__file__ or "").is_relative_to(folder):
            pytest.fail(f"{module.__name__} is a module of your own program: use payments_stage.", pytrace=False)
    return found


@pytest.fixture
def payments_app() -> Iterator[Any]:
    """Give the Chalice app in this process, on a fresh moto with the demo data, as `chalice.test.Client`."""
    _, engines, data = _imported("chalicelib.settings", "infra.local.engines", "infra.demo.data")
    with engines.moto_engine():
        data.seed()
        module = runpy.run_path(str(command.service_folder() / "app.py"))
        yield _client(module["app"], data.LOGINS)
