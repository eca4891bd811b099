"""`chalice local` finds the AWS of a running local stage, or says that there is none."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local import chalice_local, ports
from infra.stack.package import ROOT

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


@pytest.mark.parametrize("options", [(), ("--no-autoreload",)])
def test_without_a_stage_it_ends_with_one_line(options: tuple[str, ...]) -> None:
    nowhere = "http://127.0.0.1:9"
    command = [str(CHALICE), "local", "--stage", "local", "--port", str(ports.free_port()), *options]

    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "AWS_ENDPOINT_URL": nowhere},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout == ""
    assert done.stderr == LINE.format(nowhere)


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
