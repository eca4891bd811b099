"""When the store or the stage's secret is out of reach, the authorizer says so in under five seconds.

The limit is what is promised, so these tests assert on time; the slowest of them measured 3.6 s.
"""

import time
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.gateways import secrets
from chalicelib.store.aws_client import HURRIED, HURRIED_SECRET
from chalicelib.web import LOCAL_HINT
from infra.bench.client import through
from infra.local import engines
from tests.support.accounts import PASSWORD, accept_test_tokens, an_account
from tests.support.http import Reply, call
from tests.support.intercepted_calls import failing
from tests.support.outages import OUTAGES, SECRETS_VARIABLE, closed, hanging, without

AUTH_ACCOUNT = "/api/v1/payment/AuthAccount"
SECONDS = 5


def _get(stage: str, authorization: str) -> tuple[Reply, float]:
    began = time.monotonic()
    reply = call(stage, "GET", AUTH_ACCOUNT, None, None, {"Authorization": authorization})
    return reply, time.monotonic() - began


def _remember_until_now(document: Any) -> None:
    """Let the process remember the stage's secret, which it is time to renew."""
    remembered = secrets.remembered()
    remembered._result, remembered._until = document, 0.0  # noqa: SLF001  as after five minutes


@pytest.mark.slow
@pytest.mark.parametrize("outage", OUTAGES)
@pytest.mark.parametrize("variable", [engines.ENDPOINT_VARIABLE, SECRETS_VARIABLE])
def test_an_outage_is_903_in_under_five_seconds_and_nobody_remembers_it(
    stage: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], outage: str, variable: str
) -> None:
    account = an_account()

    with OUTAGES[outage]() as url, without(monkeypatch, url, variable):
        reply, seconds = _get(stage, account.basic)
    printed = "".join(capfd.readouterr())
    after, _ = _get(stage, account.basic)

    assert (reply.error, reply.headers["Retry-After"]) == ((503, 903), "1")
    assert reply.body == {"ErrorCode": 903, "ErrorMessage": LOCAL_HINT, "Validations": None}
    assert seconds < SECONDS
    assert after.status == 200
    assert not [text for text in (account.email, PASSWORD, account.basic.split()[1]) if text in printed]


@pytest.mark.slow
def test_a_secret_that_cannot_be_renewed_and_a_store_that_hangs_take_under_five_seconds_together(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept_test_tokens()
    token = an_account().jwt()  # its signature is verified first, with the stage's secret
    remembered = secrets.remembered()()

    with hanging() as url, without(monkeypatch, url, engines.ENDPOINT_VARIABLE, SECRETS_VARIABLE):
        _remember_until_now(remembered)
        reply, seconds = _get(stage, token)

    assert reply.error == (503, 903)
    assert HURRIED_SECRET.read_seconds + HURRIED.read_seconds < seconds < SECONDS


def test_a_secret_that_cannot_be_renewed_stops_nobody(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    account = an_account()
    remembered = secrets.remembered()()
    with closed() as url, without(monkeypatch, url, SECRETS_VARIABLE):
        _remember_until_now(remembered)
        reply, _ = _get(stage, account.basic)

    assert reply.status == 200


@pytest.mark.slow
def test_an_outage_in_a_sign_in_counts_nothing_and_locks_nobody(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    account = an_account()
    with hanging() as url, without(monkeypatch, url, engines.ENDPOINT_VARIABLE):
        replies = [_get(stage, account.basic)[0].error for _ in range(2)]

    assert replies == [(503, 903)] * 2
    assert (account.login.failed_attempts, account.login.locked_until) == (0, None)


def test_a_defect_of_the_authorizer_is_901_and_not_an_outage(stage: str) -> None:
    account = an_account()

    with outside.given(client=through(failing(RuntimeError("a defect")))):
        reply, _ = _get(stage, account.basic)

    assert reply.error == (500, 901)
    assert "Retry-After" not in reply.headers
    assert _get(stage, account.basic)[0].status == 200
