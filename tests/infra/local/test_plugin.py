"""The stage in the tests of another program: the plugin, resets, faults, mails, the clock set back, its end."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.demo.data import LOGINS, OWNER, TILL
from infra.local import ports
from infra.local.installed import __main__ as command
from infra.local.installed.plugin import Stage, running
from infra.reference import ROOT
from tests.infra.local.stages import a_stage
from tests.support.http import Reply, get, post
from tests.support.receivers import a_receiver

pytestmark = pytest.mark.slow

PAY = "/api/v1/payment/submit"
ID = "C0FFEE00-1111-4222-8333-444455556666"
BODY: dict[str, Any] = {
    "BasicTran": {"ID": ID, "InputType": 10, "CurrencyID": "ZAR", "Amount": 12},
    "Receipt": {"Email": "ann@example.com"},
}


@pytest.fixture(scope="module", params=["moto", "dynamodb-local"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "dynamodb-local":
        request.getfixturevalue("dynamodb_local_url")  # skipped where it is missing
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("ENGINE", request.param)
        patch.setenv("WEBHOOK_HOSTS", "127.0.0.2, other.test")
        yield stack.enter_context(running(stack.enter_context(TemporaryFile())))


def pay(stage: Stage) -> Reply:
    return post(stage.url, PAY, BODY, TILL)


def code(stage: Stage) -> Any:
    return pay(stage).body["ErrorCode"]


def asked(stage: Stage, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(stage.aws_url).netloc)
    connection.request(method, path, body)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_a_reset_is_as_the_start_was(stage: Stage) -> None:
    for _ in range(3):
        stage.reset()
        assert stage.mails() == []
        assert asked(stage, "GET", "/clock")[1]["Ahead"] == "PT0S"
        assert get(stage.url, "/api/v1/user/me", OWNER).body["Data"]["AgentID"] == 2
        paid = pay(stage)
        assert paid.body["ErrorCode"] == 0
        assert "Idempotent-Replayed" not in paid.headers
        assert pay(stage).headers["Idempotent-Replayed"] == "true"
        assert post(stage.url, "/api/v1/payment/prepare", PREPARE, TILL).body["ErrorCode"] == 0
        stage.advance("PT1H")
        stage.fail_next("902", times=5)


PREPARE = {
    "BasicTran": {"InputType": 10, "CurrencyID": "ZAR", "Amount": 12, "ClientProductCode": "STANDARD"},
    "ProductDescCode": "Insurance",
}


def test_mails_are_listed_oldest_first_in_both_kinds(stage: Stage) -> None:
    stage.reset()
    post(stage.url, PAY, BODY, TILL)
    stage.advance("PT5S")
    other = {"BasicTran": {**BODY["BasicTran"], "ID": None}, "Receipt": {"Phone": "+27829876543"}}
    post(stage.url, PAY, other, TILL)
    stage.advance("PT5S")

    mail, text = stage.mails()

    assert mail["To"] == "ann@example.com"
    assert mail["Text"]
    assert "R 12.00" in mail["Text"]
    assert mail["Html"]
    assert mail["Html"].startswith("<")
    assert mail["SMS"] is None
    assert [text[name] for name in ("To", "Subject", "Text", "Html")] == ["+27829876543", None, None, None]
    assert text["SMS"]


def test_an_error_is_answered_as_often_as_it_was_asked_for_and_uses_up_no_id(stage: Stage) -> None:
    stage.reset()
    stage.fail_next("902", path=PAY)
    stage.fail_next("903", times=2)

    assert get(stage.url, "/api/v1/health").body["ErrorCode"] == 0
    assert get(stage.url, "/api/v1/user/me", TILL).body["ErrorCode"] == 903
    assert [code(stage) for _ in range(3)] == [902, 903, 0]
    assert (
        "Idempotent-Replayed"
        not in post(stage.url, PAY, BODY | {"BasicTran": {**BODY["BasicTran"], "ID": None}}, TILL).headers
    )


@pytest.mark.parametrize(("error", "status"), [("901", 500), ("902", 503), ("903", 503), ("402", 429)])
def test_an_error_is_answered_as_the_service_answers_it(error: str, status: int, stage: Stage) -> None:
    stage.reset()
    stage.fail_next(error)

    refused = pay(stage)

    assert (refused.status, refused.body["ErrorCode"]) == (status, int(error))
    assert ("Retry-After" in refused.headers) == (error != "901")
    assert "Idempotent-Replayed" not in pay(stage).headers


def test_a_dropped_and_a_slow_answer_are_carried_out(stage: Stage) -> None:
    stage.reset()
    stage.fail_next("drop")
    with pytest.raises(OSError, match=r"without response|reset"):
        pay(stage)
    stage.fail_next("slow", seconds=0.5)
    began = time.monotonic()

    again = pay(stage)

    assert time.monotonic() - began >= 0.5
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    "fault",
    [
        b"x",
        b"{}",
        b'{"Next": 902}',
        b'{"Next": "555"}',
        b'{"Next": "902", "Times": 0}',
        b'{"Next": "902", "Path": "/app"}',
        b'{"Next": "slow", "Seconds": 1e9}',
        b'{"Next": "902", "More": 1}',
    ],
)
def test_a_wrong_fault_is_refused_by_name_and_changes_nothing(fault: bytes, stage: Stage) -> None:
    stage.reset()
    status, answer = asked(stage, "POST", "/faults", fault)

    assert (status, list(answer)) == (400, ["Error"])
    assert asked(stage, "GET", "/faults") == (200, {"Faults": []})


def test_the_clock_is_set_back(stage: Stage) -> None:
    stage.advance("P400D")
    with pytest.raises(ValueError, match="at most 400 days"):
        stage.advance("PT1S")

    status, answer = asked(stage, "DELETE", "/clock")

    assert (status, answer["Ahead"]) == (200, "PT0S")
    assert stage.advance("PT1S")
    assert code(stage) in {0, 302}


def test_moto_is_not_reset_alone(stage: Stage) -> None:
    stage.reset()
    assert asked(stage, "POST", "/moto-api/reset") == (403, {"Error": "POST /reset resets the whole stage."})
    assert asked(stage, "GET", "/reset")[0] == 405
    assert get(stage.url, "/api/v1/user/me", TILL).body["ErrorCode"] == 0


def test_a_webhook_may_be_at_a_host_of_the_setting(stage: Stage) -> None:
    stage.reset()
    create = "/api/v1/merchant/1/webhook/create"
    with a_receiver(lambda _: 200, host="127.0.0.2") as receiver:
        made = post(stage.url, create, {"Url": receiver.url}, OWNER).body
        assert made["ErrorCode"] == 0
        pay(stage)
        stage.advance("PT1M")
        assert len(receiver.calls) == 1
    assert post(stage.url, create, {"Url": "http://another.test/"}, OWNER).body["ErrorCode"] == 202


def a_program(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PORT": "0", "AWS_PORT": "0"}
    return subprocess.Popen(
        [sys.executable, str(command.__file__), *arguments],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        **options,
    )


def test_the_json_line_is_all_of_standard_output_until_standard_input_ends() -> None:
    program = a_program("--json", "--until-eof", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with program:
        assert program.stdout
        assert program.stdin
        line = json.loads(program.stdout.readline())
        assert {role: tuple(login) for role, login in line["logins"].items()} == LOGINS
        assert get(line["url"], "/api/v1/user/me", TILL).body["ErrorCode"] == 0
        program.stdin.close()

        assert program.stdout.read() == ""
        assert program.wait(20) == 0


TESTS = """
import tempfile, time
from infra.local.installed.plugin import running
with tempfile.TemporaryFile() as log, running(log) as stage:
    print(stage.url, flush=True)
    time.sleep(99)
"""


def test_a_stage_ends_when_the_tests_are_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", TESTS], cwd=ROOT, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout
        port = urlsplit(killed.stdout.readline().strip()).port
        killed.kill()

    until = time.monotonic() + 20
    while time.monotonic() < until and _listens("127.0.0.1", port):
        time.sleep(0.1)
    assert not _listens("127.0.0.1", port)


def _listens(host: str, port: int | None) -> bool:
    try:
        socket.create_connection((host, port or 0), timeout=1).close()
    except OSError:
        return False
    return True


def test_a_stage_listens_on_every_interface_when_it_is_told_so() -> None:
    numbers = [ports.free_port(), ports.free_port()]
    with a_stage(HOST="0.0.0.0", PORT=str(numbers[0]), AWS_PORT=str(numbers[1])) as process:  # noqa: S104
        assert process.stdout
        assert any("The till" in line for line in process.stdout)
        assert [_listens("127.0.0.2", port) for port in numbers] == [True, True]


# What is installed

GUIDE = ROOT / "docs" / "test-your-program.md"


def test_the_installed_packages_are_those_of_the_stage() -> None:
    lines = [*_lines("requirements.txt"), *_lines("requirements-stage.txt")]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wanted = re.findall(r'^    "([A-Za-z0-9-]+)[>=]=([0-9.]+)",$', project, re.MULTILINE)

    assert sorted(wanted) == sorted((line.split("==")[0], line.split("==")[1]) for line in lines)


def _lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if "==" in line and not line.startswith("#")]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An empty environment, in which the RUN line of the container file was run as it stands, and pytest installed."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    kept = {name: os.environ[name] for name in ("HOME", "PIP_INDEX_URL", "PIP_CONFIG_FILE") if name in os.environ}
    variables = {**kept, "PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    for line in (*_of_the_container("RUN"), "pip install --quiet pytest"):
        subprocess.run(line, cwd=ROOT, env=variables, shell=True, check=True)  # noqa: S602  as a container runs it
    return variables


def _of_the_container(word: str) -> list[str]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]


def run_the_guide(folder: Path, *tests: int, environment: dict[str, str], options: tuple[str, ...] = ()) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    for number in tests:
        (folder / f"test_{number}.py").write_text(blocks[number], encoding="utf-8")
    command = ["pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_guide_holds_in_a_clone(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "PYTHONPATH": str(ROOT), "AWS_DEFAULT_REGION": "eu-west-1"}
    run_the_guide(tmp_path, 0, 1, 2, environment=environment, options=("-p", "infra.local.installed.plugin"))


@pytest.mark.release
def test_the_guide_holds_in_an_empty_environment(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("# of the other program", encoding="utf-8")
    run_the_guide(tmp_path, 0, 1, environment=environment)


@pytest.mark.release
def test_the_container_answers(environment: dict[str, str]) -> None:
    [program] = map(json.loads, _of_the_container("CMD"))
    numbers = {"PORT": str(ports.free_port()), "AWS_PORT": str(ports.free_port())}
    settings = dict(line.split("=") for line in _of_the_container("ENV"))
    with subprocess.Popen(
        program, env=environment | settings | numbers, stdout=subprocess.PIPE, text=True
    ) as container:
        assert ports.begins_to_listen(int(numbers["PORT"]), container)  # type: ignore[arg-type]
        with urllib.request.urlopen(f"http://127.0.0.2:{numbers['PORT']}/api/v1/health") as answer:
            assert json.load(answer)["ErrorCode"] == 0
        container.terminate()
        assert container.wait(20) == 0
