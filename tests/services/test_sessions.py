from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chalicelib.domain.password_lock import LOCK_AFTER
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import MOST_ALIVE
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.sign_in import SignIn
from chalicelib.services import authentication, sessions
from chalicelib.services.authentication import caller_of
from chalicelib.services.caller_check import admit
from chalicelib.store import sessions as sessions_store
from chalicelib.store.table import client, table_name
from tests.support.accounts import PASSWORD, Account, a_stored_merchant, an_account, block, refusal_of
from tests.support.cost import store_calls
from tests.support.stored import stored_record

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)

pytestmark = pytest.mark.usefixtures("engine")


def _sign_in(account: Account, password: str = PASSWORD, at: datetime = NOW) -> Secret:
    return sessions.sign_in(SignIn.model_validate({"Email": account.email, "Password": password}), at)


def _refusal(account: Account, password: str = PASSWORD) -> ErrorCode | None:
    try:
        _sign_in(account, password)
    except ServiceError as refusal:
        return refusal.error
    return None


def test_a_password_is_exchanged_for_a_session() -> None:
    account = an_account()
    session_id = _sign_in(account)

    assert caller_of(f"Session {session_id.reveal()}", NOW).agent_id == account.agent.id


def test_a_session_id_is_122_random_bits_in_a_guid() -> None:
    account = an_account()
    guids = [UUID(_sign_in(account).reveal()) for _ in range(3)]

    assert {guid.version for guid in guids} == {4}
    assert len(set(guids)) == 3


def test_the_id_of_a_session_is_kept_nowhere() -> None:
    session_id = _sign_in(an_account()).reveal()
    assert stored_record(sessions_store.key(authentication.session_digest(Secret(session_id))))
    everything = client().call("Scan", TableName=table_name("sessions"), ConsistentRead=True)["Items"]

    assert session_id not in repr(everything)


def test_signing_in_is_noted_each_time() -> None:
    account = an_account()
    for at in (NOW, NOW + timedelta(minutes=1)):
        _sign_in(account, at=at)

        assert account.login.last_logon == at


def test_nothing_but_the_password_is_exchanged() -> None:
    account = an_account()

    assert _refusal(account, account.key) is ErrorCode.BAD_CREDENTIAL
    assert _refusal(account, _sign_in(account).reveal()) is ErrorCode.BAD_CREDENTIAL


def test_signing_in_is_locked_with_the_password() -> None:
    account = an_account()
    refusals = [_refusal(account, f"wrong {number}") for number in range(LOCK_AFTER)]

    assert set(refusals) == {ErrorCode.BAD_CREDENTIAL}
    assert _refusal(account) is ErrorCode.LOGIN_LOCKED


def test_the_blocked_do_not_sign_in() -> None:
    merchant = a_stored_merchant()
    agent = an_account(merchant=merchant)
    block(merchant)

    assert _refusal(an_account(state=0)) is ErrorCode.AGENT_BLOCKED
    assert _refusal(agent) is ErrorCode.MERCHANT_BLOCKED


def _sessions(account: Account, number: int, at: datetime = NOW) -> list[str]:
    return [f"Session {_sign_in(account, at=at + SECOND * one).reveal()}" for one in range(number)]


def _alive(sessions: list[str], at: datetime = NOW + timedelta(minutes=5)) -> list[bool]:
    return [refusal_of(one, at) is None for one in sessions]


def test_the_hundred_and_first_session_ends_the_oldest() -> None:
    account, other = an_account(), an_account()
    [others] = _sessions(other, 1)
    sessions = _sessions(account, MOST_ALIVE)
    caller = caller_of(sessions[0], NOW)
    assert all(_alive(sessions))

    with store_calls() as calls:
        sessions += _sessions(account, 1, NOW + timedelta(minutes=4))

    assert _alive(sessions) == [False] + [True] * MOST_ALIVE
    assert calls.count("TransactWriteItems") == 1
    with pytest.raises(ServiceError) as refusal:  # also while API Gateway remembers its caller
        admit(caller)
    assert refusal.value.error is ErrorCode.SESSION_EXPIRED
    sessions += _sessions(account, 1, NOW + timedelta(minutes=4))
    assert _alive(sessions) == [False] * 2 + [True] * MOST_ALIVE
    assert _alive([others]) == [True]


def test_sessions_that_have_ended_do_not_count() -> None:
    account = an_account()
    [kept] = _sessions(account, 1)
    for one in _sessions(account, 50):
        sessions.sign_out(caller_of(one, NOW))
    idle = _sessions(account, 49, NOW - timedelta(minutes=20))
    later = NOW + timedelta(minutes=20)
    assert refusal_of(kept, later) is None

    more = _sessions(account, MOST_ALIVE - 1, later)

    assert _alive([kept, *more], later + timedelta(minutes=5)) == [True] * MOST_ALIVE
    assert not any(_alive(idle, later))


def test_a_new_credential_version_ends_all_and_the_count_begins_again() -> None:
    account = an_account()
    old = _sessions(account, MOST_ALIVE)
    account.change(credential_version=2)

    new = _sessions(account, MOST_ALIVE)

    assert not any(_alive(old))
    assert all(_alive(new))


def test_parallel_sign_ins_leave_a_hundred_sessions_at_most() -> None:
    account = an_account()
    earlier = _sessions(account, MOST_ALIVE - 4)
    with ThreadPoolExecutor(8) as pool:
        later = list(pool.map(lambda _: _sessions(account, 1)[0], range(8)))

    assert (_alive(earlier).count(True), _alive(later)) == (MOST_ALIVE - 8, [True] * 8)
