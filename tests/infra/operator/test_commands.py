import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import EndpointConnectionError, ParamValidationError

from chalicelib import outside
from chalicelib.domain.acquirer import LinkAnswer, LinkRequest
from chalicelib.domain.card import IN_VERIFICATION, VERIFIED
from chalicelib.domain.secret import Secret
from chalicelib.log import log
from chalicelib.settings import settings
from chalicelib.store import agent_changes, linked_cards
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.audit import Act
from infra.local import aws_server, engines, ports
from infra.operator import commands as operator
from infra.operator import terminal
from infra.operator.system_users import create_system_user
from infra.reference import ROOT
from tests.support.accounts import an_account
from tests.support.builders import NOW, a_login, an_agent, an_email
from tests.support.giving import Give, typing
from tests.support.intercepted_calls import broken, failing
from tests.support.outages import answering, closed

pytestmark = pytest.mark.usefixtures("moto")


NO_OBJECT = (
    "python -m infra.operator audit: error: name an object, such as agent#17, merchant#3, terminal#9, webhook#4, "
    "card#2, drawer#<merchant>#<its ID>, stage#secret, or the e-mail of an agent."
)


def run(*arguments: str, typed: str = "") -> None:
    with typing(typed):
        operator.main(arguments)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["audit", "agent#999999"], "No change of agent#999999 is stored.*terminal#9"),
    ],
)
def test_a_name_that_does_not_exist_is_one_clear_line(command: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        run(*command)


def test_the_audit_of_nothing_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("audit", " ")

    assert (ended.value.code, capsys.readouterr().err.splitlines()[-1]) == (2, NO_OBJECT)


def test_the_audit_of_an_object_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    agent, ann = an_agent(tax_id="the value"), create_system_user("Ann Lee", an_email(), Secret("a long password"))
    agent_changes.create(agent, a_login(agent), Act("create", 0, NOW))
    after, login = replace(agent, tax_id=None, secret_key_sealed=b"new"), LoginChange(unlock=True)
    agent_changes.change(agent, after, login, Act("update", ann.id, NOW + timedelta(minutes=1)))

    run("audit", f"agent#{agent.id}")

    created, changed = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"2026-03-14T09:26:53\S+  create   by operator .* tax_id", created)
    assert changed.startswith("2026-03-14T09:27:53")
    who = f"by system user {ann.id}, Ann Lee"
    assert changed.endswith(f"update   {who} secret_key_sealed, tax_id (was the value), unlock")
    run("print-signing")
    run("audit", "stage#secret")
    assert f"show     by operator {terminal.user()}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        ("arn:aws:sts::123456789012:assumed-role/payments-prod-OperatorRole-1A2B/ann@example.com", "ann@example.com"),
        ("arn:aws:iam::123456789012:user/ann", "ann"),
        ("arn:aws:iam::123456789012:root", "root"),
        ("arn:aws:sts::123456789012:assumed-role/payments-prod-OperatorRole-1A2B/botocore-session-17", None),
    ],
)
def test_an_operator_has_the_name_of_its_session_at_aws(
    arn: str, name: str | None, give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_the_machine = terminal.user()
    give(settings=replace(settings(), stage="dev"))
    monkeypatch.setattr(BaseClient, "_make_api_call", lambda *_: {"Arn": arn})

    assert terminal.user() == (name or of_the_machine)


def test_a_card_is_linked_to_an_agent_and_its_number_is_printed_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    account = an_account()

    run("link-card", "--email", account.email, typed="4111111111111111\n1249\n")

    printed = capsys.readouterr().out
    [linked] = linked_cards.of_agent(account.agent.id)
    assert (linked.status, linked.alias, linked.details.masked) == (VERIFIED, "VISA 1111", "411111******1111")
    assert f"Card {linked.id}, 411111******1111" in printed
    assert "4111111111111111" not in printed + repr(linked)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("4111111111111112\n1249\n", "PAN: The card number is mistyped"),
        ("4111111111111111\n1349\n", "EXP: Month and year"),
        ("4111111111111111\n0120\n", "EXP: The card has expired"),
        ("", "PAN: A card number"),
    ],
)
def test_a_card_that_is_not_valid_is_not_linked(typed: str, message: str) -> None:
    account = an_account()

    with pytest.raises(SystemExit, match=message) as stopped:
        run("link-card", "--email", account.email, typed=typed)

    assert "411111111111111" not in str(stopped.value)
    assert linked_cards.of_agent(account.agent.id) == []


def test_a_card_is_linked_to_somebody_and_at_an_acquirer_of_the_stage() -> None:
    typed = "4111111111111111\n1249\n"
    system_user = create_system_user("Ann", an_email(), Secret("a long password"))

    with pytest.raises(SystemExit, match="no agent"):
        run("link-card", "--email", an_email(), typed=typed)
    with pytest.raises(SystemExit, match="is a system user, who takes no payments"):
        run("link-card", "--email", system_user.email, typed=typed)
    with pytest.raises(SystemExit, match="no acquirer"):
        run("link-card", "--email", an_account().email, "--acquirer", "NOBODY", typed=typed)


def test_a_card_the_acquirer_refuses_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    run("link-card", "--email", an_account().email, typed="4000000000000002\n1249\n")

    assert "is not linked" in capsys.readouterr().out


def test_an_adapters_defect_links_no_card_and_its_message_is_printed_nowhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(request: LinkRequest, within_s: float) -> LinkAnswer:
        message = f"{within_s} s were not enough for {request.card.pan.reveal()}"
        raise RuntimeError(message)

    account = an_account()

    with broken(link=fail):
        run("link-card", "--email", account.email, typed="4111111111111111\n1249\n")

    printed = "".join(capsys.readouterr())
    [linked] = linked_cards.of_agent(account.agent.id)
    assert "is not linked" in printed
    assert "4111111111111111" not in printed
    assert linked.status == IN_VERIFICATION


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "command", "line"),
    [
        ({}, "rotate-signing", 'AWS is out of reach: Could not connect to the endpoint URL: "http://127.0.0.1:'),
        (
            {},
            "audit agent#1",
            "The store is out of reach. The reason: Query: no usable answer (EndpointConnectionError).",
        ),
        ({"AWS_ENDPOINT_URL": "localhost"}, "status", "AWS_ENDPOINT_URL is wrong: it is no http"),
    ],
)
def test_an_aws_that_cannot_be_used_is_one_clear_line(environment: dict[str, str], command: str, line: str) -> None:
    with closed() as url:
        done = operated(command.split(), {"AWS_ENDPOINT_URL": url, "AWS_CONFIG_FILE": "/none", **environment})

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", ["print-signing", "audit agent#1"])
def test_denied_access_is_one_clear_line(command: str) -> None:
    code = "AccessDeniedException"
    with answering(400, json.dumps({"__type": code, "message": "not authorized"}).encode()) as url:
        done = operated(command.split(), {"AWS_ENDPOINT_URL": url})

    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"AWS refused: .*{code}.* Is the environment that of the stage\?\n", done.stderr)


@pytest.mark.parametrize(
    ("url", "hint"), [("", "Is the environment that of the stage"), ("http://x", "Is http://x, of AWS_ENDPOINT_URL,")]
)
def test_an_aws_out_of_reach_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, url: str, hint: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    line = rf"^AWS is out of reach: .*aws\.example.*{hint}"

    with pytest.raises(SystemExit, match=line), operator._refusals_in_a_line():  # noqa: SLF001  each command is in it
        raise EndpointConnectionError(endpoint_url="https://aws.example")


@pytest.mark.parametrize("url", ["127.0.0.1:5000", "ftp://127.0.0.1", "http://"])
def test_a_wrong_address_of_aws_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.delenv(engines.ENDPOINT_VARIABLE, raising=False)

    with pytest.raises(SystemExit, match=r"^AWS_ENDPOINT_URL is wrong: "):
        run("merchant", "list")


def test_a_table_that_does_not_exist_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE_PREFIX", "nobody-has-it-")
    outside.forget()

    for command, message in (
        (["audit", "agent#1"], "^A table nobody-has-it-… does not exist"),
        (["who", "0"], "^A table nobody-has-it-… does not exist"),
    ):
        with pytest.raises(SystemExit, match=rf"{message}.*\?$"):
            run(*command)
    monkeypatch.undo()
    outside.forget()


def test_a_log_line_stands_apart_from_what_a_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def export(_: Any) -> None:
        log("exported", user="ann")
        sys.stdout.write("{}\n")

    for line in (
        "payer export --merchant 1",
        "print-signing",
        "who 0",
        "audit agent#1",
    ):
        monkeypatch.setitem(operator.COMMANDS, (words := line.split())[0], ("", export, operator.COMMANDS[words[0]][2]))
        run(*words)
        printed = capsys.readouterr()
        assert printed.out == "{}\n"
        assert json.loads(printed.err) == {"event": "exported", "stage": "local", "user": "ann"}
    log("a request")  # the process of a command may have other work
    assert "a request" in capsys.readouterr().out


@pytest.mark.parametrize("defect", [RuntimeError("a defect"), ParamValidationError(report="a defect")])
def test_a_defect_keeps_its_traceback(give: Give, defect: Exception) -> None:
    give(client=failing(defect))
    with pytest.raises(type(defect)):
        run("merchant", "list")


@pytest.mark.slow
def test_a_command_whose_output_nobody_reads_ends_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with aws_server.serve(ports.free_port()) as url:
        done = operated(["status"], {"AWS_ENDPOINT_URL": url}, stdout=writing)
    os.close(writing)

    assert (done.returncode, done.stderr) == (1, "")


def test_a_command_whose_output_nobody_reads_still_ends_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

        def fileno(self) -> int:
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setitem(operator.COMMANDS, "status", ("", lambda _: sys.exit("3 things are left."), {}))
    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(SystemExit, match=r"3 things are left\."):
        run("status")


def operated(
    arguments: list[str], environment: dict[str, str], stdout: int = subprocess.PIPE
) -> "subprocess.CompletedProcess[str]":
    """Run a command as an operator does, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "infra.operator", *arguments],
        cwd=ROOT,
        env={**os.environ, "AWS_EC2_METADATA_DISABLED": "true", **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )


def test_an_acquirer_that_links_no_cards_says_so_and_nothing_is_stored() -> None:
    account = an_account()
    for named in ([], ["--acquirer", "SANDBOX"]):
        with broken(links_cards=False), pytest.raises(SystemExit, match=r"links (no )?cards"):
            run("link-card", "--email", account.email, *named, typed="4111111111111111\n1249\n")

    assert linked_cards.of_agent(account.agent.id) == []
