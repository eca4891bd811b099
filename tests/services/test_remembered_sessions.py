"""Remembered sessions, by an injected clock: how long they last, what ends them, and what they cost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.agent import Caller, Features, MobileSettings
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.sign_in import ORDINARY, REMEMBERED
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.sign_in import SignIn
from chalicelib.services import admission
from chalicelib.services.admission import admit
from chalicelib.services.authentication import caller_of
from chalicelib.store import agents, merchants
from chalicelib.store.table import read, update, write_one
from tests.support.accounts import PASSWORD, Account, a_stored_merchant, an_account, basic, block, refusal_of
from tests.support.cost import store_calls

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)

pytestmark = pytest.mark.usefixtures("engine")


def _settings(*, auto_login: bool | None = None, inherited: bool | None = None) -> MobileSettings:
    return MobileSettings(features=Features(auto_login=auto_login, inherited=inherited))


def _remembered(*, merchant: Merchant | None = None) -> Account:
    return an_account(merchant=merchant, mobile_settings=_settings(auto_login=True))


def _sign_in(account: Account, now: datetime = NOW, *, remember: bool = True) -> str:
    body = {"Email": account.email, "Password": PASSWORD, "Remember": remember}
    return f"Session {admission.sign_in(SignIn.model_validate(body), now).reveal()}"


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
    admission.sign_out(caller)

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

    write_one(update(key, "SET #mobile_settings = :settings", {"settings": _settings(auto_login=False)}))

    assert _refusal(remembered) is ErrorCode.SESSION_EXPIRED
    assert _refusal(ordinary) is None

    write_one(update(key, "SET #mobile_settings = :settings", {"settings": _settings(auto_login=True)}))

    assert _refusal(remembered) is None


def test_the_store_deletes_it_a_week_after_its_end_and_a_use_delays_that() -> None:
    account = _remembered()
    session = _sign_in(account)
    digest = caller_of(session, NOW).session or ""

    def deleted_at() -> datetime:
        stored = read(agents.session_key(digest))
        assert stored is not None
        return datetime.fromtimestamp(stored.expires_at, UTC)

    assert deleted_at() == NOW + 37 * DAY + SECOND
    assert refusal_of(basic(account.email, session.removeprefix("Session ")), NOW + DAY) is None
    assert deleted_at() == NOW + 38 * DAY + SECOND
