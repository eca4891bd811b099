"""JSON web tokens as credentials."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.domain.password_lock import LOCK_AFTER
from chalicelib.errors import ErrorCode
from chalicelib.services.authentication import caller_of
from infra.operator import stage_secret
from tests.support.accounts import PASSWORD, an_account, refusal_of, signed

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
WRONG = "not-the-password"

pytestmark = pytest.mark.usefixtures("engine", "signing")


def test_a_token_carries_any_basic_secret() -> None:
    account = an_account()

    by_key, by_password = (caller_of(account.jwt(secret), NOW) for secret in (account.key, PASSWORD))

    assert (by_key.by, by_password) == ("key", replace(by_key, by="password"))


def test_a_wrong_secret_in_a_token_is_a_wrong_secret() -> None:
    account = an_account()
    refusals = [refusal_of(account.jwt(f"{WRONG} {number}"), NOW) for number in range(LOCK_AFTER)]

    assert set(refusals) == {ErrorCode.BAD_CREDENTIAL}
    assert refusal_of(account.basic, NOW) is ErrorCode.LOGIN_LOCKED


def test_a_token_may_be_valid_from_and_until() -> None:
    account, now = an_account(), int(NOW.timestamp())

    assert refusal_of(account.jwt(exp=now + 60, nbf=now - 60), NOW) is None
    assert refusal_of(account.jwt(exp=now - 60), NOW) is ErrorCode.TOKEN_INVALID
    assert refusal_of(account.jwt(nbf=now + 60), NOW) is ErrorCode.TOKEN_INVALID


@pytest.mark.parametrize("claim", ["iss", "sub", "aud", "jti", "iat"])
def test_a_token_may_say_more_than_this_interface_knows(claim: str) -> None:
    said: dict[str, Any] = {claim: 4_000_000_000 if claim == "iat" else "anything"}

    assert refusal_of(an_account().jwt(**said), NOW) is None


def test_the_secret_before_the_last_rotation_is_accepted_and_the_one_before_that_is_not() -> None:
    account = an_account()
    authorization = account.jwt()

    stage_secret.rotate_signing(again=True)
    after_one = refusal_of(authorization, NOW)
    stage_secret.rotate_signing(again=True)
    after_two = refusal_of(authorization, NOW)

    assert after_one is None
    assert after_two is ErrorCode.TOKEN_INVALID


@pytest.mark.parametrize("kind", [{"typ": "JWT"}, {"typ": None, "type": "JWT"}, {"typ": "jwt"}])
def test_a_token_says_its_type_under_either_name(kind: dict[str, Any]) -> None:
    account = an_account()
    token = signed({"email": account.email, "token": account.key}, headers=kind)

    assert refusal_of(f"Jwt {token}", NOW) is None


@pytest.mark.parametrize("kind", [{"typ": None}, {"typ": "JWE"}, {"typ": None, "type": 5}])
def test_a_token_of_another_type_is_refused(kind: dict[str, Any]) -> None:
    account = an_account()
    token = signed({"email": account.email, "token": account.key}, headers=kind)

    assert refusal_of(f"Jwt {token}", NOW) is ErrorCode.TOKEN_INVALID
