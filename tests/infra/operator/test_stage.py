"""A command has the settings of its stage: those of the deployed functions, or of the local stage that runs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from chalicelib.settings import Settings, settings
from infra.local import aws_server, ports
from infra.operator import commands as operator
from infra.reference import ROOT
from infra.stack import config
from tests.infra.operator.conftest import SETTINGS, Deploy
from tests.support.outages import answering, closed

pytestmark = pytest.mark.usefixtures("moto")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings that a command reads."""
    found: list[Settings] = []
    monkeypatch.setitem(operator.COMMANDS, "print-signing", ("", lambda _: found.append(settings()), {}))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--stage", "dev", "print-signing"], ["print-signing", "--stage", "dev"]])
def test_the_name_of_the_stage_is_enough(arguments: list[str], deploy: Deploy, seen: list[Settings]) -> None:
    deploy()

    operator.main(arguments)

    assert [(one.stage, one.mail_from, one.acquirers) for one in seen] == [
        ("dev", SETTINGS["MAIL_FROM"], ("SANDBOX",)),
    ]
    assert not os.environ.keys() & config.SETTINGS, "the command leaves nothing behind"


@pytest.mark.slow
@pytest.mark.parametrize("named", ["--stack", "STACK"])
def test_a_stack_may_have_another_name(
    named: str, deploy: Deploy, seen: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = deploy("shop-of-ours")
    monkeypatch.setenv("STAGE", "dev")
    if named == "STACK":
        monkeypatch.setenv(named, stack)

    operator.main(["print-signing", *([] if named == "STACK" else [named, stack])])

    assert [one.stage for one in seen] == ["dev"]


HALF = {name: SETTINGS[name] for name in ("STAGE", "TABLE_PREFIX", "KEY_ID", "BUCKET", "SECRET_ID")}
WHOLE = {name: value for name, value in SETTINGS.items() if name != "MAIL_FROM"}


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ({}, "Name the stage"),
        ({"TABLE_PREFIX": "payments-prod-"}, "unset TABLE_PREFIX`"),
        ({"STAGE": "dev", "TABLE_PREFIX": "payments-prod-"}, "unset TABLE_PREFIX`"),
        ({"STAGE": "dev", "PARTNERS": "{}"}, "unset PARTNERS`"),
        (HALF, "unset BUCKET KEY_ID SECRET_ID TABLE_PREFIX`"),
        ({**HALF, "STAGE": "local"}, "unset BUCKET"),
        (WHOLE, "unset ACQUIRERS BUCKET"),
        ({**SETTINGS, "TABLE_PREFIX": "payments-prod-"}, "unset ACQUIRERS"),
        ({"STAGE": "prod"}, "payments-prod does not exist, in eu-west-1"),
        ({"STAGE": "prod", "STACK": "payments-dev"}, "The stack payments-dev is the stage dev, not prod"),
        ({"STAGE": "Local"}, ".chalice/config.json has no stage Local; it has local."),
        ({"STAGE": "prd"}, "has no stage prd; it has prod."),
        ({"STAGE": "dev", "AWS_REGION": "us-east-1"}, "name two regions: eu-west-1, us-east-1"),
        ({"STAGE": "dev", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}, "not exist, in us-east-1"),
    ],
)
def test_a_shell_that_is_not_of_this_stage_is_refused_in_a_line(
    shell: dict[str, str], line: str, deploy: Deploy, seen: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy()
    for name, value in shell.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit, match=f"^[^\n]*{re.escape(line)}[^\n]*$"):
        operator.main(["print-signing"])

    assert seen == []


def test_the_whole_environment_of_the_deployed_functions_is_taken(
    deploy: Deploy, seen: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy()
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)

    operator.main(["print-signing"])

    assert len(seen) == 1


def test_a_file_that_a_setting_names_must_be_here(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    host = {"HOST": "bank.example", "PORT": "8583", "INSTITUTION": "1", "CA": "chalicelib/bank-ca.pem"}
    deploy(settings={**SETTINGS, "ACQUIRERS": "ISO8583", **{f"ISO8583_{name}": value for name, value in host.items()}})
    monkeypatch.setenv("STAGE", "dev")

    with pytest.raises(SystemExit, match=r"^ISO8583_CA is chalicelib/bank-ca\.pem, which is no file\.$"):
        operator.main(["audit", "agent#1"])


# The local stage


@pytest.fixture
def served(stage: str) -> Iterator[str]:
    """The address of the local stage's AWS."""
    del stage
    with aws_server.serve(ports.free_port()) as url:
        yield url


def operated(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a shell with these variables, and none of the stage's or of AWS."""
    kept = {
        name: value for name, value in os.environ.items() if name not in config.SETTINGS and not name.startswith("AWS_")
    }
    return subprocess.run(
        [sys.executable, "-m", "infra.operator", *arguments],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow
def test_an_address_that_is_no_aws_is_one_clear_line() -> None:
    keys = {"AWS_ACCESS_KEY_ID": "prod", "AWS_SECRET_ACCESS_KEY": "prod", "AWS_REGION": "eu-west-1"}
    with answering(200, b"<html>") as url:
        done = operated("print-signing", STAGE="prod", AWS_ENDPOINT_URL=url, **keys)

    assert f"Is {url}, of AWS_ENDPOINT_URL, the stage's?" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_PORT"])
def test_a_command_on_the_local_stage_has_its_settings(variable: str, served: str) -> None:
    address = {"AWS_ENDPOINT_URL": served, "AWS_PORT": served.rpartition(":")[2]}[variable]
    of_prod = {"AWS_PROFILE": "prod", "AWS_SESSION_TOKEN": "of prod", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}

    done = operated("status", STAGE="local", **{variable: address}, **of_prod)

    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.startswith("stage          local, ")


@pytest.mark.slow
def test_a_command_for_the_local_stage_reaches_no_other_aws(served: str) -> None:
    with closed() as ended, answering(200, b"{}") as another:
        for address in (ended, another, served.replace("http:", "https:")):
            done = operated("status", STAGE="local", AWS_ENDPOINT_URL=address)

            assert done.stderr.startswith(f"No local stage is at {address}: start one with `make run`")
            assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_command_for_a_deployed_stage_does_not_take_the_local_one_for_it(served: str) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "prod", "AWS_SECRET_ACCESS_KEY": "prod"}
    done = operated("status", STAGE="prod", AWS_ENDPOINT_URL=served, AWS_REGION="eu-west-1", **keys)

    assert "payments-prod does not exist, in eu-west-1" in done.stderr
    assert done.stderr.count("\n") == 1
