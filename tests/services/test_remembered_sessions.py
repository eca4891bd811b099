"""Remembered sessions, by an injected clock: how long they last, what ends them, and what they cost."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from chalicelib.authorizer import verified_now
from chalicelib.domain.agent import Caller, MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.permissions import Right
from chalicelib.domain.sessions import ORDINARY, REMEMBERED, RememberedSession, new_session, remember
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.agents import UpdateAgent
from chalicelib.schemas.sign_in import SignIn
from chalicelib.services import agents as agent_service
from chalicelib.services import sessions
from chalicelib.services.authentication import caller_of
from chalicelib.services.caller_check import admit
from chalicelib.store import agent_sessions, agents, audit, merchants
from chalicelib.store import sessions as sessions_store
from chalicelib.store.aws_client import Client
from chalicelib.store.table import put_new, update, write_one
from infra.bench.client import through
from tests.support.accounts import PASSWORD, Account, a_stored_merchant, an_account, basic, block, refusal_of
from tests.support.cost import store_calls
from tests.support.giving import Give
from tests.support.intercepted_calls import before
from tests.support.stored import stored_record

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)

pytestmark = pytest.mark.usefixtures("engine")


def _settings(*, auto_login: bool | None = None, inherited: bool | None = None) -> MobileSettings:
    return MobileSettings(features=Features(auto_login=auto_login, inherited=inherited))


def _remembered(*, merchant: Merchant | None = None) -> Account:
    return an_account(merchant=merchant, mobile_settings=_settings(auto_login=True))


def _sign_in(account: Account, now: datetime = NOW, *, remember: bool = True) -> str:
    body = {"Email": account.email, "Password": PASSWORD, "Remember": remember}
    return f"Session {sessions.sign_in(SignIn.model_validate(body), now).reveal()}"


def _end(session: str, now: datetime) -> datetime | None:
    return caller_of(session, now).ends_at


def _refusal(caller: Caller) -> ErrorCode | None:
    try:
        admit(caller)
    except ServiceError as refusal:
        return refusal.error
    return None


def test_a_remembered_session_ends_thirty_days_after_its_last_use() -> None:
    session = _sign_in(_remembered())

    assert refusal_of(session, NOW + 30 * DAY - SECOND) is None
    assert refusal_of(session, NOW + 60 * DAY - 2 * SECOND) is None
    assert refusal_of(session, NOW + 90 * DAY) is ErrorCode.SESSION_EXPIRED


def test_a_remembered_session_ends_after_180_days_however_much_it_is_used() -> None:
    session = _sign_in(_remembered())

    assert {refusal_of(session, NOW + day * DAY) for day in range(0, 180, 20)} == {None}
    assert _end(session, NOW + 179 * DAY) == NOW + 180 * DAY
    assert refusal_of(session, NOW + 180 * DAY) is ErrorCode.SESSION_EXPIRED


@pytest.mark.parametrize(
    ("own", "above", "lifetime"),
    [
        (_settings(auto_login=True), None, REMEMBERED),
        (None, _settings(auto_login=True), REMEMBERED),
        (_settings(auto_login=False), _settings(auto_login=True), ORDINARY),
        (_settings(auto_login=False, inherited=True), _settings(auto_login=True), REMEMBERED),
        (_settings(auto_login=True, inherited=True), None, ORDINARY),
        (None, None, ORDINARY),
    ],
)
def test_the_feature_in_force_decides(own: Any, above: Any, lifetime: Any) -> None:
    merchant = a_stored_merchant(mobile_settings=above)
    session = _sign_in(an_account(merchant=merchant, mobile_settings=own))

    assert _end(session, NOW) == NOW + lifetime.idle


def test_a_sign_in_that_does_not_ask_gets_an_ordinary_session() -> None:
    assert _end(_sign_in(_remembered(), remember=False), NOW) == NOW + ORDINARY.idle


def test_a_system_user_may_be_remembered() -> None:
    account = an_account(system=True, mobile_settings=_settings(auto_login=True))

    assert _end(_sign_in(account), NOW) == NOW + REMEMBERED.idle


def test_a_use_is_recorded_once_in_ten_minutes_and_admission_costs_no_further_call() -> None:
    session = _sign_in(_remembered())

    with store_calls() as first:
        caller = caller_of(session, NOW + timedelta(minutes=10) - SECOND)
    with store_calls() as second:
        caller_of(session, NOW + timedelta(minutes=10))
    with store_calls() as admission_calls:
        admit(caller)

    assert first == ["GetItem", "GetItem"]
    assert second == ["GetItem", "GetItem", "UpdateItem"]
    assert admission_calls == ["BatchGetItem"]


def test_a_remembered_sign_in_makes_the_same_calls_as_an_ordinary_one() -> None:
    account = _remembered()
    with store_calls() as ordinary:
        _sign_in(account, remember=False)
    with store_calls() as remembered:
        _sign_in(account)

    assert remembered == ordinary


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"state": 0}, ErrorCode.AGENT_BLOCKED),
        ({"credential_version": 2}, ErrorCode.SESSION_EXPIRED),
        ({"deleted": True}, ErrorCode.SESSION_EXPIRED),
    ],
)
def test_it_ends_with_everything_that_ends_sessions(change: dict[str, Any], error: ErrorCode) -> None:
    account = _remembered()
    session = _sign_in(account)
    account.change(**change)

    assert refusal_of(session, NOW) is error


def test_it_ends_with_its_sign_out() -> None:
    session = _sign_in(_remembered())
    caller = caller_of(session, NOW)
    sessions.sign_out(caller)

    assert refusal_of(session, NOW) is ErrorCode.SESSION_EXPIRED
    assert _refusal(caller) is ErrorCode.SESSION_EXPIRED


def test_a_blocked_merchant_is_named_as_the_reason() -> None:
    merchant = a_stored_merchant()
    caller = caller_of(_sign_in(_remembered(merchant=merchant)), NOW)
    block(merchant)

    assert _refusal(caller) is ErrorCode.MERCHANT_BLOCKED


@pytest.mark.parametrize("of_merchant", [False, True])
def test_it_is_refused_while_the_feature_is_off_and_an_ordinary_one_is_not(of_merchant: bool) -> None:  # noqa: FBT001
    merchant = a_stored_merchant(mobile_settings=_settings(auto_login=True))
    account = an_account(merchant=merchant)
    remembered, ordinary = (caller_of(_sign_in(account, remember=remember), NOW) for remember in (True, False))
    key = merchants.key(merchant.id) if of_merchant else agents.key(account.agent.id)

    write_one(update(key, {"mobile_settings": _settings(auto_login=False)}))

    assert _refusal(remembered) is ErrorCode.SESSION_EXPIRED
    assert _refusal(ordinary) is None

    write_one(update(key, {"mobile_settings": _settings(auto_login=True)}))

    assert _refusal(remembered) is None


def test_the_store_deletes_it_a_week_after_its_end_and_a_use_delays_that() -> None:
    account = _remembered()
    session = _sign_in(account)
    digest = caller_of(session, NOW).session or ""

    def deleted_at() -> datetime:
        return datetime.fromtimestamp(stored_record(sessions_store.key(digest)).expires_at, UTC)

    assert deleted_at() == NOW + 37 * DAY + SECOND
    assert refusal_of(basic(account.email, session.removeprefix("Session ")), NOW + DAY) is None
    assert deleted_at() == NOW + 38 * DAY + SECOND


MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.6 Safari/605.1.15"


def _sign_in_on(account: Account, user_agent: str, now: datetime = NOW) -> str:
    body = SignIn.model_validate({"Email": account.email, "Password": PASSWORD, "Remember": True})
    return f"Session {sessions.sign_in(body, now, '', user_agent).reveal()}"


def _listed(account: Account, now: datetime = NOW) -> list[RememberedSession]:
    return agent_sessions.remembered(stored_record(agents.key(account.agent.id)), now)


def test_the_remembered_sessions_of_an_agent_are_listed_the_last_used_first() -> None:
    account, other = _remembered(), _remembered()
    first = _sign_in_on(account, MAC)
    _sign_in_on(account, "Till/7", NOW + DAY)
    _sign_in(account, remember=False)
    _sign_in(other)
    caller_of(first, NOW + 2 * DAY)

    assert [(one.opened_at, one.used_at, one.device) for one in _listed(account, NOW + 2 * DAY)] == [
        (NOW, NOW + 2 * DAY, "Safari, Mac"),
        (NOW + DAY, NOW + DAY, "Till/7"),
    ]


def test_a_session_that_has_ended_is_not_listed() -> None:
    account = _remembered()
    idle, left, old = (_sign_in(account, NOW + number * SECOND) for number in range(3))
    sessions.sign_out(caller_of(left, NOW))
    for day in range(10, 180, 10):
        caller_of(old, NOW + day * DAY)

    assert refusal_of(idle, NOW + 30 * DAY) is ErrorCode.SESSION_EXPIRED
    assert len(_listed(account, NOW + 30 * DAY)) == 1
    assert _listed(account, NOW + 180 * DAY + 2 * SECOND) == []


def test_sessions_of_an_older_credential_version_are_not_listed() -> None:
    account = _remembered()
    _sign_in(account)
    account.change(credential_version=2)

    assert _listed(account) == []


def test_at_most_a_hundred_sessions_are_listed_in_one_call() -> None:
    account = _remembered()
    for second in range(103):
        session = new_session(f"{account.email}-{second}", account.agent.id, 1, NOW + second * SECOND)
        write_one(put_new(sessions_store.TABLE, remember(session, None), "digest"))
    with store_calls() as calls:
        listed = agent_sessions.remembered(account.agent, NOW + DAY)

    assert calls == ["Query"]
    assert [one.opened_at for one in listed] == [NOW + second * SECOND for second in range(102, 2, -1)]


def test_a_list_goes_on_after_a_short_page(give: Give) -> None:
    account = _remembered()
    for second in range(3):
        _sign_in(account, NOW + second * SECOND)
    give(client=through(_in_pages_of_two))

    assert [one.opened_at for one in _listed(account)] == [NOW + second * SECOND for second in (2, 1, 0)]


def _in_pages_of_two(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
    return client.call(operation, **{**parameters, **({"Limit": 2} if operation == "Query" else {})})


def test_a_card_number_in_a_user_agent_is_masked_and_a_long_one_is_cut() -> None:
    account = _remembered()
    _sign_in_on(account, "Till 4242424242424242 " + "x" * 9000)

    assert [one.device for one in _listed(account)] == ["Till 424242******4242 " + "x" * 78]


def _update(account: Account, caller: Account, now: datetime = NOW, **changes: Any) -> None:
    body = UpdateAgent.model_validate(changes)
    by = Caller(caller.agent.id, caller.agent.client_id, caller.agent.credential_version)
    agent_service.update(body, by, account.agent.client_id, account.agent.id, now)


def _owner_and_till() -> tuple[Account, Account]:
    merchant = a_stored_merchant()
    return an_account(Right.ADMINISTRATOR, merchant=merchant), _remembered(merchant=merchant)


def test_an_update_ends_all_sessions_and_nothing_else() -> None:
    owner, till = _owner_and_till()
    sessions = [_sign_in(till), _sign_in(till, remember=False)]
    callers = [caller_of(session, NOW) for session in sessions]
    by_key = caller_of(till.basic_with_key, NOW)
    _update(till, owner, EndSessions=True)

    assert {refusal_of(session, NOW) for session in sessions} == {ErrorCode.SESSION_EXPIRED}
    assert [_refusal(caller) for caller in callers] == [ErrorCode.BAD_CREDENTIAL] * 2
    assert [refusal_of(header, NOW) for header in (till.basic, till.basic_with_key)] == [None, None]
    assert _refusal(replace(by_key, verify_again=partial(verified_now, till.basic_with_key))) is None
    assert refusal_of(_sign_in(till), NOW) is None
    assert [one.fields for one in audit.of(f"agent#{till.agent.id}")] == [("sessions",)]


def test_an_update_without_it_ends_no_session() -> None:
    owner, till = _owner_and_till()
    session = _sign_in(till)
    _update(till, owner, EndSessions=False)
    _update(till, owner, Name="Till 2")

    assert refusal_of(session, NOW) is None


def test_no_sign_in_that_began_before_survives_the_end_of_the_sessions(give: Give) -> None:
    owner, till = _owner_and_till()
    give(client=before("TransactWriteItems", lambda: _update(till, owner, EndSessions=True)))
    session = _sign_in(till)

    assert refusal_of(session, NOW) is ErrorCode.SESSION_EXPIRED
    assert _listed(till) == []


def test_an_end_between_the_password_and_the_admission_refuses_the_sign_in(give: Give) -> None:
    owner, till = _owner_and_till()
    give(client=before("BatchGetItem", lambda: _update(till, owner, EndSessions=True)))
    with pytest.raises(ServiceError) as refusal:
        _sign_in(till)

    assert refusal.value.error is ErrorCode.BAD_CREDENTIAL
