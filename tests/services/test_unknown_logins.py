"""Nobody learns which logins exist: an unknown one is counted, locked and answered as a known one is."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import boto3
import pytest

from chalicelib.domain.password_lock import COUNTED_FOR, LOCK_AFTER, LOCK_FOR
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.sign_in import SignIn
from chalicelib.services import sessions
from chalicelib.services.authentication import caller_of
from chalicelib.store.table import client, table_name
from tests.support.accounts import QUICK_HASHER, an_account, basic, refusal_of, signed
from tests.support.builders import an_email
from tests.support.giving import Give, Instead
from tests.support.intercepted_calls import counting

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
Answer = tuple[ErrorCode, str, tuple[str, ...], int]  # error, message, store calls, verifications by argon2

pytestmark = pytest.mark.usefixtures("engine", "signing")


def _basic(email: str, secret: str, now: datetime) -> None:
    caller_of(basic(email, secret), now)


def _jwt(email: str, secret: str, now: datetime) -> None:
    caller_of(f"Jwt {signed({'email': email, 'token': secret})}", now)


def _sign_in(email: str, secret: str, now: datetime) -> None:
    sessions.sign_in(SignIn.model_validate({"Email": email, "Password": secret}), now)


WAYS: dict[str, Callable[[str, str, datetime], None]] = {"Basic": _basic, "Jwt": _jwt, "session login": _sign_in}
# At what times a login is tried: through a lock and out of it, and until the failures no longer count.
TIMES: dict[str, list[timedelta]] = {
    "in a row": [timedelta(0)] * (LOCK_AFTER + 2),
    "after the lock": [timedelta(0)] * (LOCK_AFTER + 1) + [LOCK_FOR] * (LOCK_AFTER + 1),
    "a day apart": [timedelta(0)] * (LOCK_AFTER - 1) + [COUNTED_FOR] * (LOCK_AFTER + 1),
}


@pytest.fixture
def verifications(give: Give) -> list[str]:
    """Return the hashes that argon2 verifies."""
    made: list[str] = []

    def noted(password_hash: str, password: bytes) -> bool:
        made.append(password_hash)
        return QUICK_HASHER.verify(password_hash, password)

    give(hasher=lambda: Instead(QUICK_HASHER, verify=noted))
    return made


def _answers(way: str, email: str, secret: str, times: list[timedelta], verifications: list[str]) -> list[Answer]:
    answers = []
    for after in times:
        verifications.clear()
        with counting() as calls, pytest.raises(ServiceError) as refused:
            WAYS[way](email, secret, NOW + after)
        answers.append((refused.value.error, refused.value.message, tuple(calls), len(verifications)))
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("secret", ["wrong", "0f8fad5b-d9cb-469f-a165-70867728950e"])
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_login_has_the_answers_store_calls_and_verifications_of_a_known_one(
    way: str, times: str, secret: str, verifications: list[str]
) -> None:
    known = _answers(way, an_account().email, secret, TIMES[times], verifications)
    assert _answers(way, an_email(), secret, TIMES[times], verifications) == known
    assert known[LOCK_AFTER if times != "a day apart" else -1][0] is ErrorCode.LOGIN_LOCKED


@pytest.mark.slow
def test_an_unknown_login_is_locked_at_the_tenth_failure_for_thirty_minutes() -> None:
    email = an_email()
    errors = [refusal_of(basic(email, f"wrong {number}"), NOW) for number in range(LOCK_AFTER)]

    assert set(errors) == {ErrorCode.BAD_CREDENTIAL}
    assert refusal_of(basic(email.upper(), "wrong"), NOW) is ErrorCode.LOGIN_LOCKED
    assert refusal_of(basic(email, "wrong"), NOW + LOCK_FOR - timedelta(seconds=1)) is ErrorCode.LOGIN_LOCKED
    assert refusal_of(basic(email, "wrong"), NOW + LOCK_FOR) is ErrorCode.BAD_CREDENTIAL


@pytest.mark.slow
def test_the_ways_of_signing_in_count_together() -> None:
    for email in (an_account().email, an_email()):
        for number in range(LOCK_AFTER):
            with pytest.raises(ServiceError):
                list(WAYS.values())[number % 3](email, f"wrong {number}", NOW)

        assert refusal_of(basic(email, "wrong"), NOW) is ErrorCode.LOGIN_LOCKED


def test_a_blocked_agent_is_counted_as_an_unknown_login_is(verifications: list[str]) -> None:
    blocked = an_account(state=0)

    known = _answers("Basic", blocked.email, "wrong", TIMES["in a row"], verifications)
    assert _answers("Basic", an_email(), "wrong", TIMES["in a row"], verifications) == known


def test_a_remembered_password_of_a_locked_login_is_not_told_from_a_wrong_one(request: pytest.FixtureRequest) -> None:
    account = an_account()
    caller_of(account.basic, NOW)
    verifications: list[str] = request.getfixturevalue("verifications")
    for number in range(LOCK_AFTER):
        refusal_of(basic(account.email, f"wrong {number}"), NOW)

    def answer(authorization: str) -> tuple[Any, ...]:
        verifications.clear()
        with counting() as calls:
            refusal = refusal_of(authorization, NOW)
        return refusal, tuple(calls), len(verifications)

    assert answer(account.basic) == answer(basic(account.email, "wrong")) == answer(basic(a_locked_login(), "wrong"))


def a_locked_login() -> str:
    """Return an unknown login that is locked."""
    email = an_email()
    for number in range(LOCK_AFTER):
        refusal_of(basic(email, f"wrong {number}"), NOW)
    return email


def test_an_unknown_login_leaves_a_counter_that_does_not_show_it() -> None:
    email = f"{uuid4().hex}@unknown.example"
    before = _logins()
    refusal_of(basic(email, "wrong"), NOW)

    (left,) = _logins() - before
    assert left.startswith("UNKNOWN#")
    assert email not in repr(client().call("Scan", TableName=table_name("logins"), ConsistentRead=True)["Items"])


def _logins() -> set[str]:
    pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=table_name("logins"), ConsistentRead=True)
    return {item["email"]["S"] for page in pages for item in page["Items"]}


@pytest.mark.parametrize("login", ["UNKNOWN#", "unknown#", " UNKNOWN#"])
def test_the_counter_of_an_unknown_login_is_no_login(login: str) -> None:
    email = an_email()
    before = _logins()
    refusal_of(basic(email, "wrong"), NOW)
    (left,) = _logins() - before
    attempted = login + left.removeprefix("UNKNOWN#")

    assert refusal_of(basic(attempted, "wrong"), NOW) is ErrorCode.BAD_CREDENTIAL


def test_an_agent_that_is_created_after_its_login_was_guessed_at_is_not_locked() -> None:
    email = a_locked_login()
    account = an_account(email=email)

    assert refusal_of(account.basic, NOW) is None
