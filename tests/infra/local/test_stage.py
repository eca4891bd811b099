"""`python -m infra.local` as a process: it starts, refuses to, and stops. The service in it is a small one."""

import signal
import socket
import urllib.request
from collections.abc import Callable

import pytest

from infra.demo import data as demo_data
from infra.local.stage import main
from tests.infra.local.stages import a_stage, refusal_of, url_of

pytestmark = pytest.mark.slow

# Stand-ins for the app and the demo data, so that this tests the stage alone.
PROGRAM = """
import sys, types
from chalice.app import Chalice
app = Chalice(app_name="small")
app.route("/hello")(lambda: {"hello": "you"})
sys.modules["app"] = types.SimpleNamespace(app=app)
welcome = lambda url, aws_url: print("at", url, flush=True)
sys.modules["infra.demo.month"] = types.SimpleNamespace(fill=lambda till, now: None)
sys.modules["infra.demo.data"] = types.SimpleNamespace(seed=lambda: None, print_welcome=welcome, LOGINS={})
from infra.local.stage import main
main()
"""
URLS = ("http://127.0.0.1:8000", "http://127.0.0.1:8001")  # of the service and of its AWS
SMALL = ("-c", PROGRAM)


@pytest.mark.parametrize(("engine", "number"), [("moto", signal.SIGINT), ("dynamodb-local", signal.SIGTERM)])
def test_the_stage_answers_and_stops_without_a_word(engine: str, number: int, request: pytest.FixtureRequest) -> None:
    if engine == "dynamodb-local":
        request.getfixturevalue("dynamodb_local_url")
    with a_stage(*SMALL, ENGINE=engine) as process:
        with urllib.request.urlopen(url_of(process) + "/hello", timeout=10) as response:
            assert response.read() == b'{"hello":"you"}'

        process.send_signal(number)

        assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == 0


Refused = Callable[..., str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Start a stage with these settings in this process; return the line with which it ends instead."""

    def start(**environment: str) -> str:
        for name in ("PORT", "AWS_PORT", "ENGINE", "DEMO"):
            monkeypatch.setenv(name, environment.get(name, ""))
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        with pytest.raises(SystemExit) as ended:
            main([])
        assert "\n" not in str(ended.value)
        return str(ended.value)

    return start


@pytest.mark.parametrize("name", ["PORT", "AWS_PORT"])
def test_a_busy_port_is_one_clear_line(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with a_stage(*SMALL, **{name: str(port)}) as process:
            assert refusal_of(process).startswith(f"Port {port} is in use: `make run {name}=...` takes another")


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("ENGINE", "sqlite"), ("DEMO", "year")]
)
def test_a_wrong_setting_is_one_clear_line(name: str, value: str, refused: Refused) -> None:
    refusal = refused(**{name: value})

    assert name in refusal
    assert value in refusal


def test_the_first_lines_say_where_the_service_is_and_that_data_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    demo_data.print_welcome(*URLS)

    lines = capsys.readouterr().out.strip().splitlines()
    assert URLS[0] in lines[0]
    assert lines[1] == "All data is lost at the end."
