"""`chalice local` answers as `make run` does, next to one or alone, or says in one line why it does not start."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.local import ports
from infra.stack.package import ROOT
from tests.infra.local.stages import a_stage, url_of
from tests.support import http
from tests.support.transactions import a_body

CHALICE = Path(sys.executable).with_name("chalice")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with links to the project: `chalice local` starts again when another test writes a file."""
    for name in ("app.py", "chalicelib", ".chalice"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run(project: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of Chalice to its end."""
    return subprocess.run(
        [str(CHALICE), *words],
        cwd=project,
        env={**os.environ, "AWS_ENDPOINT_URL": "", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("options", [(), ("--no-autoreload",)])
@pytest.mark.parametrize("nowhere", ["http://127.0.0.1:9", "nonsense"])
def test_a_named_stage_that_does_not_run_is_one_line(nowhere: str, options: tuple[str, ...], project: Path) -> None:
    done = run(project, "local", "--port", str(ports.free_port()), *options, AWS_ENDPOINT_URL=nowhere)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"No local stage is at {nowhere}: start one with `make run`, or name another in AWS_ENDPOINT_URL.\n"
    )


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_stage_of_the_cloud_is_one_line_that_names_the_command(stage: str, project: Path) -> None:
    done = run(project, "local", "--stage", stage, "--port", str(ports.free_port()))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Only the stage `local` runs here: `chalice local` without `--stage`. `make deployed` runs the package.\n"
    )


def test_a_port_in_use_is_one_line(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        done = run(project, "local", "--port", str(port))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Nothing can listen on port {port} of 127.0.0.1: `--port` takes another.\n"


@pytest.mark.parametrize("stage", ["local", "dev"])
def test_another_command_of_chalice_needs_no_stage(stage: str, project: Path) -> None:
    done = run(project, "generate-models", "--stage", stage, AWS_ENDPOINT_URL="http://127.0.0.1:9")

    assert done.stderr == ""
    assert "/api/v1/payment/submit" in json.loads(done.stdout)["paths"]


@contextmanager
def chalice_local(project: Path, *options: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `chalice local` with the options until the block ends."""
    with subprocess.Popen(
        [str(CHALICE), "local", "--port", str(ports.free_port()), *options],
        cwd=project,
        env={**os.environ, "AWS_ENDPOINT_URL": "", **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its child serves, and starts again when a file changes


def lines_until(process: "subprocess.Popen[str]", begin: str) -> list[str]:
    """Return the lines that the process prints, up to one that begins so."""
    lines: list[str] = []
    assert process.stdout
    for line in process.stdout:
        lines.append(line.rstrip())
        if line.startswith(begin):
            return lines
    raise AssertionError(lines)


@pytest.mark.parametrize("named", ["AWS_PORT", "AWS_ENDPOINT_URL"])
def test_next_to_make_run_it_answers_as_that_does(named: str, project: Path) -> None:
    requests = [
        ("GET", "/api/v1/user/me", http.TILL),
        ("GET", "/api/v1/user/me", (http.TILL[0], "wrong")),
        ("GET", "/api/v1/user/me", None),
        ("GET", "/api/v1/nowhere", None),
        ("POST", "/api/v1/user/me", None),
    ]
    aws_port = str(ports.free_port())
    aws = aws_port if named == "AWS_PORT" else f"http://127.0.0.1:{aws_port}"

    with a_stage(AWS_PORT=aws_port) as stage:
        make_run = url_of(stage)
        with chalice_local(project, "--stage", "local", **{named: aws}) as process:
            here = url_of(process)
            pairs = [
                [http.call(url, method, path, login=login) for url in (here, make_run)]
                for method, path, login in requests
            ]

    assert [reply.error for reply, _ in pairs] == [(200, 0), (401, 102), (401, 101), (404, 207), (405, 206)]
    for reply, expected in pairs:
        assert reply.text == expected.text
        assert reply.headers.keys() == expected.headers.keys()


def test_alone_it_starts_a_stage_whose_data_outlives_a_change_of_a_file(project: Path) -> None:
    body = a_body()

    with chalice_local(project, AWS_PORT=str(ports.free_port())) as process:
        printed = lines_until(process, "Serving on ")
        url = printed[-1].removeprefix("Serving on ")
        paid = http.post(url, "/api/v1/payment/submit", body)
        (project / "new.py").touch()
        lines_until(process, "Serving on ")
        found = http.get(url, f"/api/v1/payment/{body['BasicTran']['ID']}")
        denied = http.get(url, "/api/v1/user/me", None)

    assert " ".join(http.TILL) in [" ".join(line.split()[1:]) for line in printed]
    assert (paid.error, found.error, denied.error) == ((200, 0), (200, 0), (401, 101))


def test_without_autoreload_one_process_is_the_stage_and_serves(project: Path) -> None:
    with chalice_local(project, "--no-autoreload", AWS_PORT=str(ports.free_port())) as process:
        url = lines_until(process, "Serving on ")[-1].removeprefix("Serving on ")
        paid = http.post(url, "/api/v1/payment/submit", a_body())

    assert paid.error == (200, 0)


def test_the_process_that_starts_again_loads_no_moto() -> None:
    command = [sys.executable, "-c", "import sys, infra.local.chalice_local; print(*sys.modules)"]

    loaded = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()

    assert "infra.api_gateway.gateway" in loaded
    assert "moto" not in loaded
