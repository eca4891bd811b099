"""Chalice's own command, as pip installs it: `chalice local` next to `make run` and alone, `package` and `deploy`."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local import ports
from infra.stack.package import ROOT
from tests.infra.local.stages import a_stage, url_of
from tests.support import http
from tests.support.transactions import a_body

CHALICE = Path(sys.executable).with_name("chalice")
SUBMIT = "/api/v1/payment/submit"


def environment(**more: str) -> dict[str, str]:
    """Return an environment as that of a new shell: without settings, and without credentials of AWS."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "AWS_EC2_METADATA_DISABLED": "true", **more}


@contextlib.contextmanager
def chalice_local(log: Path, folder: Path = ROOT, *options: str, **more: str) -> Iterator[str]:
    """Run `chalice local` until the block ends, and yield its URL."""
    port = ports.free_port()
    command = [str(CHALICE), "local", "--port", str(port), *(options or ("--no-autoreload",))]
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, cwd=folder, env=environment(**more), stdout=written, stderr=written, start_new_session=True
        ) as process,
    ):
        try:
            assert ports.begins_to_listen(port, process)
            yield f"http://{ports.HOST}:{port}"
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # with autoreload a child serves


@pytest.mark.slow
def test_the_first_requests_of_a_fresh_clone_do_not_start_it_again(tmp_path: Path) -> None:
    for name in ("chalicelib", ".chalice"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "app.py", tmp_path)
    port, log = str(ports.free_port()), tmp_path.with_suffix(".log")

    with chalice_local(
        log, tmp_path, "--autoreload", AWS_PORT=port, AWS_DEFAULT_REGION="us-east-1", STAGE="dev"
    ) as url:
        time.sleep(3)  # it starts again once: app.py itself gets bytecode
        replies = []
        for _ in range(8):
            replies.append(http.post(url, SUBMIT, a_body()).error)
            time.sleep(0.5)

    assert replies == [(503, 903)] * 8
    assert log.read_text(encoding="utf-8").count("Restarting") <= 1


@pytest.mark.slow
def test_next_to_make_run_it_serves_the_same_data(tmp_path: Path) -> None:
    body = a_body()
    aws_port = str(ports.free_port())

    with a_stage(AWS_PORT=aws_port) as stage:
        make_run = url_of(stage)
        with chalice_local(tmp_path / "log", AWS_PORT=aws_port) as url:
            paid, again = http.post(url, SUBMIT, body), http.post(url, SUBMIT, body)
        found = http.get(make_run, f"/api/v1/payment/{body['BasicTran']['ID']}")

    assert (paid.error, again.body, found.error) == ((200, 0), paid.body, (200, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path", "login"),
    [
        ("POST", SUBMIT, http.TILL),
        ("GET", "/api/v1/user/me", http.TILL),
        ("GET", "/api/v1/user/me", ("nobody@demo.example", "wrong")),
        ("GET", "/api/v1/payment/statusPublic/00000000-0000-4000-8000-000000000000", None),
        ("GET", "/api/v1/health?deep=1", None),
    ],
)
def test_without_an_aws_each_request_is_903_and_names_make_run(
    alone: str, method: str, path: str, login: tuple[str, str] | None
) -> None:
    reply = http.call(alone, method, path, a_body() if method == "POST" else None, login)

    assert reply.error == (503, 903)
    assert "`make run`" in reply.body["ErrorMessage"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of `chalice local` where no AWS is."""
    with chalice_local(tmp_path_factory.mktemp("alone") / "log", AWS_PORT=str(ports.free_port())) as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("command", ["package", "deploy"])
def test_chalice_neither_packages_nor_deploys_without_the_tables(command: str, tmp_path: Path) -> None:
    words = [str(CHALICE), command, *([str(tmp_path)] if command == "package" else [])]

    done = subprocess.run(
        words,
        cwd=ROOT,
        env=environment(AWS_DEFAULT_REGION="eu-west-1", STAGE="dev"),  # as an operator's shell may have it
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("The stack has more than functions: `make package STAGE=dev`")
    assert len((done.stdout + done.stderr).splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_command_of_chalice_needs_no_stage() -> None:
    done = subprocess.run(
        [str(CHALICE), "generate-models"], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )

    assert "/api/v1/payment/submit" in json.loads(done.stdout)["paths"]
