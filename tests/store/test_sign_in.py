from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from chalicelib.domain.agent import Login
from chalicelib.domain.sign_in import Session, expiry, new_session
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import agents
from chalicelib.store.table import commit, read
from tests.support.accounts import an_account
from tests.support.outages import lose_an_answer

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
UNKNOWN = "nobody@store.example"

pytestmark = pytest.mark.usefixtures("engine")


def test_a_login_is_found_whatever_its_case() -> None:
    account = an_account()

    assert read(agents.login_key(f" {account.email.upper()} ")) == account.login


def test_an_email_belongs_to_one_agent_whatever_its_case() -> None:
    account = an_account()
    with pytest.raises(ServiceError) as refusal:
        commit(agents.create_login(Login(account.email.upper(), 1, 1)))

    assert refusal.value.error is ErrorCode.EMAIL_TAKEN


def test_a_rehash_replaces_the_hash_it_was_made_from_and_gives_way_to_a_changed_password() -> None:
    account = an_account()
    login = account.login
    agents.rehash(login, "changed")
    agents.rehash(login, "stronger")
    agents.rehash(replace(login, email=UNKNOWN), "stronger")

    assert account.login.password_hash == "changed"  # noqa: S105  a stand-in for a hash
    assert read(agents.login_key(UNKNOWN)) is None


def _session() -> Session:
    return new_session(uuid4().hex, 17, 1, NOW)


def test_a_session_reads_back_as_it_was_stored_and_no_other_overwrites_it() -> None:
    session = _session()
    agents.create_session(session)
    agents.create_session(replace(session, agent_id=18))

    assert read(agents.session_key(session.digest)) == session


def test_a_session_whose_answer_was_lost_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    session, seen = _session(), lose_an_answer(monkeypatch, "PutItem", "sessions")
    agents.create_session(session)

    assert read(agents.session_key(session.digest)) == session
    assert len(seen) == 2


def test_a_touch_extends_a_session_and_its_time_to_live() -> None:
    session, later = _session(), NOW + timedelta(minutes=10)
    agents.create_session(session)
    touched = agents.touch_session(session, later)

    assert touched == replace(session, used_at=later, expires_at=expiry(session, later))
    assert read(agents.session_key(session.digest)) == touched


def test_a_touch_does_not_bring_back_a_session_that_was_deleted() -> None:
    session = _session()
    with pytest.raises(ServiceError) as refusal:
        agents.touch_session(session, NOW)

    assert refusal.value.error is ErrorCode.SESSION_EXPIRED
    assert read(agents.session_key(session.digest)) is None
