"""The smoke payment leaves no money behind, whatever happens to it."""

import json
import re
from typing import Any

import pytest

from chalicelib.domain.secret import Secret
from infra.demo.data import SYSTEM, TILL
from infra.operator import commands as operator
from infra.stack import smoke as program
from infra.stack.smoke import DESCRIPTION, SmokeError, smoke, till
from tests.support import http
from tests.support.builders import PASSWORD, a_shop, an_email
from tests.support.cards import a_card_body
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"


@pytest.fixture
def login(stage: str) -> tuple[str, str]:
    shop = a_shop(stage)
    return shop.agent(TID=shop.terminal()["Name"])["Email"], PASSWORD


def amounts(stage: str, login: tuple[str, str]) -> list[tuple[Any, Any]]:
    listed = http.post(stage, "/api/v1/payment/listHistoryEx", {}, login).body["Transactions"]
    return [(one["Description"], one["AmountEff"]) for one in listed if one["ReverseMode"] is None]


def test_the_payment_is_taken_and_returned_each_time(stage: str, login: tuple[str, str]) -> None:
    _, payment = (smoke(till(stage, login[0], Secret(login[1]))) for _ in range(2))

    (view,) = http.get(stage, f"/api/v1/payment/{payment}", login).body["Transactions"]
    assert (view["AmountEff"], view["CountRvs"], view["Description"]) == (0, 1, DESCRIPTION)
    assert amounts(stage, login) == [(DESCRIPTION, 0)] * 2


def test_the_merchant_of_the_command_takes_cash_and_a_second_run_replaces_its_key(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    email = an_email()
    command = ["smoke-merchant", "--email", email, "--system-user", SYSTEM[0]]
    operator.main(command)
    with pytest.raises(SystemExit, match=r"The till exists\. --new-key"):
        operator.main(command)
    operator.main([*command, "--new-key"])
    logins = re.findall(r"^export SMOKE_LOGIN=(\S+) SMOKE_PASSWORD=(\S+)$", capsys.readouterr().out, re.MULTILINE)
    first, second = logins

    assert http.get(stage, "/api/v1/user/me", first).error == (401, 102)
    smoke(till(stage, second[0], Secret(second[1])))
    assert amounts(stage, second) == [(DESCRIPTION, 0)]
    assert http.post(stage, SUBMIT, a_card_body(20.00), second).error == (403, 311)


@pytest.mark.parametrize(
    ("system_user", "message"), [("nobody@example.com", "no agent .*: nobody@"), (TILL[0], "is no system user")]
)
def test_a_wrong_system_user_replaces_no_key(
    stage: str, system_user: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    email = an_email()
    operator.main(["smoke-merchant", "--email", email, "--system-user", SYSTEM[0]])
    (login,) = re.findall(r"SMOKE_LOGIN=(\S+) SMOKE_PASSWORD=(\S+)", capsys.readouterr().out)

    with pytest.raises(SystemExit, match=message):
        operator.main(["smoke-merchant", "--email", email, "--system-user", system_user])

    assert http.get(stage, "/api/v1/user/me", login).error == (200, 0)


def test_the_key_of_another_merchants_till_is_not_replaced(stage: str) -> None:
    with pytest.raises(SystemExit, match="choose another e-mail"):
        operator.main(["smoke-merchant", "--email", TILL[0], "--system-user", SYSTEM[0]])

    assert http.get(stage, "/api/v1/user/me", TILL).error == (200, 0)


@pytest.mark.parametrize("dies_before", ["/api/v1/payment/", "/api/v1/payment/reverse"])
def test_the_payment_of_a_run_that_died_is_returned_by_the_next(
    stage: str, login: tuple[str, str], dies_before: str
) -> None:
    other = http.post(stage, "/api/v1/payment/submit", a_body(Amount="3.00"), login)
    assert other.error == (200, 0)
    send = till(stage, login[0], Secret(login[1]))
    sent: list[str] = []

    def dying(path: str, body: Any) -> Any:
        if sent[-1:] == ["/api/v1/payment/submit"] or path == dies_before:
            raise KeyboardInterrupt
        sent.append(path)
        return send(path, body)

    with pytest.raises(KeyboardInterrupt):
        smoke(dying)
    smoke(send)

    assert sorted(amounts(stage, login), key=str) == [(DESCRIPTION, 0), (DESCRIPTION, 0), (None, 3)]


def test_a_lost_answer_is_asked_for_again_with_the_same_id(
    stage: str, login: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = json.load, iter([False, False, True, False, True])

    def load(*arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        if next(lost, False):
            raise TimeoutError
        return found

    monkeypatch.setattr(json, "load", load)
    smoke(till(stage, login[0], Secret(login[1]), pause_s=0))

    assert amounts(stage, login) == [(DESCRIPTION, 0)]


def test_a_wrong_rest_is_named(stage: str, login: tuple[str, str]) -> None:
    send = till(stage, login[0], Secret(login[1]))

    def wrong(path: str, body: Any) -> Any:
        answer = send(path, body)
        return (
            {**answer, "Transactions": [{**answer["Transactions"][0], "CountRvs": 0}]}
            if path[-1:].isalnum() and (path.count("-") == 4)
            else answer
        )

    with pytest.raises(SmokeError, match=r"the number of returns of payment .* is 0, not 1"):
        smoke(wrong)


@pytest.mark.parametrize(
    ("address", "password", "message"),
    [
        (None, "wrong password", r"/api/v1/user/me: HTTP 401, ErrorCode 102"),
        ("http://127.0.0.1:9", PASSWORD, r"/api/v1/user/me: no answer \(.*refused"),
        ("ftp://127.0.0.1", PASSWORD, "is no address of a stage"),
    ],
)
def test_a_till_that_does_not_work_is_one_clear_line(
    stage: str, login: tuple[str, str], address: str | None, password: str, message: str
) -> None:
    with pytest.raises(SmokeError, match=message) as failed:
        smoke(till(address or stage, login[0], Secret(password), pause_s=0))

    assert password not in str(failed.value)


def test_a_system_user_takes_no_smoke_payment(stage: str) -> None:
    with pytest.raises(SmokeError, match="SMOKE_LOGIN is a system user: a payment needs the login of a till"):
        smoke(till(stage, SYSTEM[0], Secret(SYSTEM[1])))


def test_a_missing_password_is_not_called_a_wrong_one(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMOKE_LOGIN", "smoke@shop.example")

    for name in ("NO_PASSWORD", "SMOKE_PASSWORD"):
        monkeypatch.setenv(name, "")
        with pytest.raises(SystemExit, match=r"^SMOKE_PASSWORD is missing\.$"):
            program.main([stage])


def test_the_command_takes_the_till_from_the_environment(
    stage: str, login: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="usage: SMOKE_LOGIN"):
        program.main([f"{stage}/"])
    monkeypatch.setenv("SMOKE_LOGIN", login[0])
    monkeypatch.setenv("SMOKE_PASSWORD", login[1])

    program.main([f"{stage}/"])

    assert "was taken and returned" in capsys.readouterr().out
