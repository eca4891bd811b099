"""`chalice local` answers as `make run` does, or says in one line why it does not start."""

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

from infra.local import chalice_local, ports
from infra.stack.package import ROOT
from tests.infra.local.stages import a_stage, url_of
from tests.support import http

CHALICE = Path(sys.executable).with_name("chalice")
LINE = "No local stage is at {}: start one with `make run`, or name another in AWS_ENDPOINT_URL.\n"


@pytest.mark.parametrize("nowhere", ["http://127.0.0.1:9", "http://127.0.0.1:99999", "nonsense"])
def test_every_address_without_a_stage_ends_the_process(
    nowhere: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", nowhere)
    monkeypatch.setenv(chalice_local.USUAL_ADDRESS, nowhere)
    monkeypatch.setattr(os, "_exit", sys.exit)

    with pytest.raises(SystemExit, match="1"):
        chalice_local.connect()

    assert capsys.readouterr().err == LINE.format(nowhere)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with links to the project: `chalice local` starts again when another test writes a file."""
    for name in ("app.py", "chalicelib", "infra", ".chalice"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run(project: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of Chalice to its end."""
    return subprocess.run(
        [str(CHALICE), *words],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("options", [(), ("--no-autoreload",)])
def test_without_a_stage_it_ends_with_one_line(options: tuple[str, ...], project: Path) -> None:
    nowhere = "http://127.0.0.1:9"

    done = run(
        project, "local", "--stage", "local", "--port", str(ports.free_port()), *options, AWS_ENDPOINT_URL=nowhere
    )

    assert done.stdout == ""
    assert done.stderr == LINE.format(nowhere)


@pytest.mark.parametrize("options", [(), ("--stage", "prod", "--no-autoreload")])
def test_for_a_stage_of_the_cloud_it_ends_with_one_line_that_names_the_command(
    options: tuple[str, ...], project: Path
) -> None:
    done = run(project, "local", "--port", str(ports.free_port()), *options)

    assert done.stdout in {"", "Restarting local dev server.\n"}  # if another test writes a file meanwhile
    assert done.stderr == (
        "Only the stage `local` runs here. Start `make run`, then `chalice local --stage local --port 8100`.\n"
    )


def test_a_port_in_use_ends_it_with_one_line(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        done = run(
            project,
            *("local", "--stage", "local", "--port", str(port), "--no-autoreload"),
            AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}",
        )

    assert done.stderr.splitlines() == [
        f"Nothing can listen on port {port} of 127.0.0.1 (Address already in use): `--port` takes another."
    ]


@pytest.mark.parametrize("stage", ["local", "dev"])
def test_another_command_of_chalice_needs_no_stage(stage: str, project: Path) -> None:
    done = run(project, "generate-models", "--stage", stage, AWS_ENDPOINT_URL="http://127.0.0.1:9")

    assert done.stderr == ""
    assert "/api/v1/payment/submit" in json.loads(done.stdout)["paths"]


@contextmanager
def chalice_beside(project: Path, stage_aws_port: int) -> Iterator[str]:
    """Run `chalice local` with the AWS of a stage until the block ends, and return its address."""
    with subprocess.Popen(
        [str(CHALICE), "local", "--stage", "local", "--port", str(ports.free_port())],
        cwd=project,
        env={**os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{stage_aws_port}"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield url_of(process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its child serves, and starts again when a file changes


def test_it_answers_as_make_run_does(project: Path) -> None:
    requests = [
        ("GET", "/api/v1/user/me", http.TILL),
        ("GET", "/api/v1/user/me", (http.TILL[0], "wrong")),
        ("GET", "/api/v1/user/me", None),
        ("GET", "/api/v1/nowhere", None),
        ("POST", "/api/v1/user/me", None),
    ]
    aws_port = ports.free_port()

    with a_stage(AWS_PORT=str(aws_port)) as process:
        make_run = url_of(process)
        with chalice_beside(project, aws_port) as here:
            pairs = [
                [http.call(url, method, path, login=login) for url in (here, make_run)]
                for method, path, login in requests
            ]

    assert [reply.error for reply, _ in pairs] == [(200, 0), (401, 102), (401, 101), (404, 207), (405, 206)]
    for reply, expected in pairs:
        assert reply.text == expected.text
        assert reply.headers.keys() == expected.headers.keys()


def test_it_loads_only_packages_of_the_service() -> None:
    command = [sys.executable, "-c", "import sys, infra.local.chalice_local; print(*sys.modules)"]

    loaded = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()

    assert "infra.api_gateway.gateway" in loaded
    assert "moto" not in loaded  # requirements.txt does not name it


@pytest.mark.parametrize("named", [True, False])
def test_the_address_of_the_environment_comes_before_the_usual_one(
    named: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stage:
        here = f"http://127.0.0.1:{stage.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", here)
        monkeypatch.setenv(chalice_local.USUAL_ADDRESS, "http://127.0.0.1:9" if named else here)
        if not named:
            monkeypatch.delenv("AWS_ENDPOINT_URL")

        chalice_local.connect()

    assert os.environ["AWS_ENDPOINT_URL"] == here
