"""Sessions as credentials, by an injected clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.agent import Caller
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import ORDINARY
from chalicelib.errors import ErrorCode
from chalicelib.services import passwords
from chalicelib.services.authentication import caller_of, session_digest
from tests.support.accounts import Account, a_session, an_account, basic, refusal_of
from tests.support.builders import an_email
from tests.support.cost import store_calls

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)

pytestmark = pytest.mark.usefixtures("engine", "signing")


def test_a_session_lets_in_under_its_scheme_and_as_a_basic_secret() -> None:
    account = an_account(terminal_id=3)
    session_id = a_session(account, NOW)
    digest = session_digest(Secret(session_id))
    caller = Caller(account.agent.id, account.agent.client_id, 1, 3, NOW + ORDINARY.idle, digest)

    assert caller_of(f"Session {session_id}", NOW) == caller
    assert caller_of(f"session {session_id.upper()}", NOW) == caller
    assert caller_of(basic(account.email, session_id), NOW) == caller
    assert caller_of(account.jwt(session_id), NOW) == caller


def test_a_session_is_no_secret_of_another_login() -> None:
    session_id, other = a_session(an_account(), NOW), an_account()

    for login in (other.email, an_email()):
        assert refusal_of(basic(login, session_id), NOW) is ErrorCode.BAD_CREDENTIAL


def test_a_password_that_looks_like_a_session_is_a_password() -> None:
    account = an_account()
    password = "0f8fad5b-d9cb-469f-a165-70867728950e"  # noqa: S105  of this agent
    account.set_on_login(password_hash=passwords.hash_password(Secret(password)))

    assert refusal_of(basic(account.email, password), NOW) is None


SCHEMES = ["Session", "Basic", "Jwt"]


def _header(scheme: str, account: Account, session_id: str) -> str:
    headers = {"Session": f"Session {session_id}", "Basic": basic(account.email, session_id)}
    return headers.get(scheme) or account.jwt(session_id)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_session_ends_thirty_minutes_after_its_last_use(scheme: str) -> None:
    account = an_account()
    authorization = _header(scheme, account, a_session(account, NOW))

    assert refusal_of(authorization, NOW + ORDINARY.idle - timedelta(seconds=1)) is None
    assert refusal_of(authorization, NOW + 2 * ORDINARY.idle - timedelta(seconds=2)) is None
    assert refusal_of(authorization, NOW + 3 * ORDINARY.idle) is ErrorCode.SESSION_EXPIRED


def test_a_session_ends_after_twelve_hours_however_much_it_is_used() -> None:
    session_id = a_session(an_account(), NOW)
    uses = [NOW + minutes * timedelta(minutes=25) for minutes in range(29)]

    assert {refusal_of(f"Session {session_id}", now) for now in uses if now < NOW + ORDINARY.age} == {None}
    assert refusal_of(f"Session {session_id}", NOW + ORDINARY.age) is ErrorCode.SESSION_EXPIRED


def test_a_use_of_a_session_is_recorded_once_a_minute() -> None:
    session_id = a_session(an_account(), NOW)

    with store_calls() as first:
        caller_of(f"Session {session_id}", NOW + timedelta(seconds=59))
    with store_calls() as second:
        caller_of(f"Session {session_id}", NOW + timedelta(seconds=60))

    assert first == ["GetItem", "GetItem"]
    assert second == ["GetItem", "GetItem", "UpdateItem"]


def test_the_caller_of_a_session_knows_when_it_ends() -> None:
    account = an_account()
    session_id = a_session(account, NOW)
    minute = timedelta(minutes=1)

    def end(now: datetime) -> datetime | None:
        return caller_of(f"Session {session_id}", now).ends_at

    assert (
        end(NOW + minute / 2) == NOW + ORDINARY.idle
    )  # this use is not recorded, so the end is earlier than the true one
    assert end(NOW + minute) == NOW + minute + ORDINARY.idle
    for number in range(1, 29):
        assert end(NOW + number * ORDINARY.idle * 0.8) == min(
            NOW + number * ORDINARY.idle * 0.8 + ORDINARY.idle, NOW + ORDINARY.age
        )
    assert caller_of(account.basic, NOW).ends_at is None


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("not-a-guid", ErrorCode.BAD_CREDENTIAL),
        ("0f8fad5bd9cb469fa16570867728950e", ErrorCode.BAD_CREDENTIAL),
        ("0f8fad5b-d9cb-469f-a165-70867728950e", ErrorCode.SESSION_EXPIRED),
    ],
)
def test_a_session_nobody_has_does_not_let_in(value: str, error: ErrorCode) -> None:
    assert refusal_of(f"Session {value}", NOW) is error


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"state": 0}, ErrorCode.AGENT_BLOCKED),
        ({"credential_version": 2}, ErrorCode.SESSION_EXPIRED),
    ],
)
def test_a_session_ends_with_what_it_was_given_for(scheme: str, change: dict[str, Any], error: ErrorCode) -> None:
    account = an_account()
    authorization = _header(scheme, account, a_session(account, NOW))
    account.change(**change)

    assert refusal_of(authorization, NOW) is error


def test_a_session_ends_with_its_agent() -> None:
    account = an_account()
    session_id = a_session(account, NOW)
    account.change(deleted=True)

    assert refusal_of(f"Session {session_id}", NOW) is ErrorCode.SESSION_EXPIRED
