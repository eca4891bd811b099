from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from chalicelib.domain.sessions import Session, expiry, new_session
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import agent_sessions, sessions
from chalicelib.store.table import read
from tests.support.giving import Give
from tests.support.outages import lose_an_answer

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
UNKNOWN = "nobody@store.example"

pytestmark = pytest.mark.usefixtures("engine")


def _session() -> Session:
    return new_session(uuid4().hex, 17, 1, NOW)


def test_a_session_reads_back_as_it_was_stored_and_no_other_overwrites_it() -> None:
    session = _session()
    agent_sessions.create(session)
    agent_sessions.create(replace(session, agent_id=18))

    assert read(sessions.key(session.digest)) == session


def test_a_session_whose_answer_was_lost_is_stored(give: Give) -> None:
    session, seen = _session(), lose_an_answer(give, "TransactWriteItems", "sessions")
    agent_sessions.create(session)

    assert read(sessions.key(session.digest)) == session
    assert len(seen) == 2


def test_a_touch_extends_a_session_and_its_time_to_live() -> None:
    session, later = _session(), NOW + timedelta(minutes=10)
    agent_sessions.create(session)
    touched = sessions.touch(session, later)

    assert touched == replace(session, used_at=later, expires_at=expiry(session, later))
    assert read(sessions.key(session.digest)) == touched


def test_a_touch_does_not_bring_back_a_session_that_was_deleted() -> None:
    session = _session()
    with pytest.raises(ServiceError) as refusal:
        sessions.touch(session, NOW)

    assert refusal.value.error is ErrorCode.SESSION_EXPIRED
    assert read(sessions.key(session.digest)) is None
