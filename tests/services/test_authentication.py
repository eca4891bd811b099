"""Basic credentials on both engines: which are accepted, and what a request costs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher

from chalicelib.domain.agent import Caller
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import passwords
from chalicelib.services.authentication import caller_of
from chalicelib.store import agents
from chalicelib.store.table import commit, update
from tests.support.accounts import PASSWORD, a_session, an_account, basic, refusal_of
from tests.support.cost import store_calls
from tests.support.giving import Give, environment
from tests.support.intercepted_calls import failing

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
WRONG = "not-the-password"

pytestmark = pytest.mark.usefixtures("engine", "signing")


def test_a_password_and_a_secret_key_both_let_in() -> None:
    account = an_account(terminal_id=3)
    caller = Caller(account.agent.id, account.agent.client_id, 1, 3)

    assert caller_of(account.basic, NOW) == replace(caller, by="password")
    assert caller_of(account.basic_with_key, NOW) == replace(caller, by="key")


def test_the_login_is_compared_without_case_and_the_password_with() -> None:
    account = an_account()

    assert refusal_of(basic(account.email.upper(), PASSWORD), NOW) is None
    assert refusal_of(basic(account.email, PASSWORD.upper()), NOW) is ErrorCode.BAD_CREDENTIAL


def test_an_unknown_login_and_a_wrong_secret_are_the_same_answer() -> None:
    account = an_account()
    with pytest.raises(ServiceError) as unknown:
        caller_of(basic("nobody@store.example", WRONG), NOW)
    with pytest.raises(ServiceError) as wrong:
        caller_of(basic(account.email, WRONG), NOW)

    assert (unknown.value.error, unknown.value.message) == (wrong.value.error, wrong.value.message)


@pytest.mark.parametrize("secret", [WRONG, "0f8fad5b-d9cb-469f-a165-70867728950e"])
def test_an_unknown_login_costs_the_store_calls_of_a_wrong_secret(secret: str) -> None:
    account = an_account()
    with store_calls() as unknown:
        refusal_of(basic("nobody@store.example", secret), NOW)
    with store_calls() as wrong:
        refusal_of(basic(account.email, secret), NOW)

    assert unknown == wrong


def test_a_password_costs_one_deciding_write() -> None:
    account = an_account()
    account.set_on_login(last_logon=NOW)

    with store_calls() as calls:
        caller_of(account.basic, NOW)

    assert calls == ["GetItem", "GetItem", "UpdateItem"]


def test_a_login_without_a_password_has_none_that_fits() -> None:
    account = an_account()
    commit(update(agents.login_key(account.email), {"state": 1}, remove=("password_hash",)))

    assert refusal_of(account.basic, NOW) is ErrorCode.BAD_CREDENTIAL
    assert refusal_of(account.basic_with_key, NOW) is None


def test_a_blocked_agent_is_told_so_only_when_the_secret_is_right() -> None:
    account = an_account(state=0)

    assert refusal_of(account.basic, NOW) is ErrorCode.AGENT_BLOCKED
    assert refusal_of(account.basic_with_key, NOW) is ErrorCode.AGENT_BLOCKED
    assert refusal_of(basic(account.email, WRONG), NOW) is ErrorCode.BAD_CREDENTIAL
    assert account.login.last_logon is None


def test_a_changed_password_works_at_once_and_the_old_one_no_longer() -> None:
    account = an_account()
    caller_of(account.basic, NOW)
    account.set_on_login(password_hash=passwords.hash_password(Secret("new-password")), credential_version=2)

    assert refusal_of(account.basic, NOW) is ErrorCode.BAD_CREDENTIAL
    assert caller_of(basic(account.email, "new-password"), NOW).credential_version == 2


def test_a_password_under_weaker_parameters_is_hashed_anew_when_it_is_used() -> None:
    account = an_account()
    account.set_on_login(password_hash=PasswordHasher(1, 8192, 1).hash(PASSWORD))
    caller_of(account.basic, NOW)

    password_hash = account.login.password_hash or ""
    assert not passwords.is_outdated(password_hash)
    assert refusal_of(account.basic, NOW) is None


def test_a_scheme_the_stage_does_not_list_is_refused() -> None:
    account = an_account()
    authorizations = [account.basic, account.jwt(), f"Session {a_session(account, NOW)}"]

    with environment(AUTH_SCHEMES="Basic"):
        refusals = [refusal_of(authorization, NOW) for authorization in [*authorizations, "Digest x"]]
        with pytest.raises(ServiceError, match="Enabled: Basic"):
            caller_of(authorizations[1], NOW)

    assert refusals == [None, *[ErrorCode.SCHEME_DISABLED] * 3]


def test_a_request_with_a_key_is_one_strong_read() -> None:
    account = an_account()
    with store_calls() as calls:
        caller_of(account.basic_with_key, NOW)

    assert calls == ["GetItem"]


def test_a_request_with_a_key_hashes_no_password(give: Give) -> None:
    account = an_account()
    give(hasher=failing(ZeroDivisionError()))

    assert caller_of(account.basic_with_key, NOW).agent_id == account.agent.id


def test_the_last_logon_of_a_password_is_written_once_an_hour() -> None:
    account = an_account()
    caller_of(account.basic, NOW)
    caller_of(account.basic, NOW + timedelta(minutes=59))
    before = account.login.last_logon

    caller_of(account.basic, NOW + timedelta(hours=1))

    assert before == NOW
    assert account.login.last_logon == NOW + timedelta(hours=1)
