"""`python -m infra.local` as a process: it starts, refuses to, and stops. The service in it is a small one."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from infra import engines

# Stand-ins for the app and the demo data, so that this tests the stage alone.
PROGRAM = """
import sys, types
from chalice.app import Chalice
app = Chalice(app_name="small")
app.route("/hello")(lambda: {"hello": "you"})
sys.modules["app"] = types.SimpleNamespace(app=app)
welcome = lambda url: print("at", url, flush=True)
sys.modules["infra.demo_data"] = types.SimpleNamespace(seed=lambda: None, print_welcome=welcome)
from infra import local
local.main()
"""


@contextmanager
def a_stage(**environment: str) -> Iterator["subprocess.Popen[str]"]:
    ports = {"PORT": str(engines.free_port()), "AWS_PORT": str(engines.free_port())}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **ports, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def url_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().removeprefix("at ").strip()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("engine", ["moto", "dynamodb-local"])
def test_the_stage_answers_and_stops_without_a_word(engine: str, number: int, request: pytest.FixtureRequest) -> None:
    if engine == "dynamodb-local":
        request.getfixturevalue("dynamodb_local_url")
    with a_stage(ENGINE=engine) as process:
        with urllib.request.urlopen(url_of(process) + "/hello", timeout=10) as response:
            assert response.read() == b'{"hello":"you"}'

        process.send_signal(number)

        assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == 0


@pytest.mark.parametrize("name", ["PORT", "AWS_PORT"])
def test_a_busy_port_is_one_clear_line(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with a_stage(**{name: str(port)}) as process:
            out, err = process.communicate(timeout=30)

    assert (out, process.returncode) == ("", 1)
    assert err.startswith(f"Port {port} is in use: `make run {name}=...` takes another")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("ENGINE", "sqlite")])
def test_a_wrong_setting_is_one_clear_line(name: str, value: str) -> None:
    with a_stage(**{name: value}) as process:
        out, err = process.communicate(timeout=30)

    assert (out, process.returncode) == ("", 1)
    assert name in err
    assert value in err
    assert err.count("\n") == 1
