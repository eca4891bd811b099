from dataclasses import fields
from datetime import UTC, datetime, timedelta
from secrets import token_hex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.agent import Login
from chalicelib.domain.password_lock import (
    COUNTED_FOR,
    LOCK_AFTER,
    LOCK_FOR,
    FailedAttempts,
    finished,
    is_over,
    reaches_many_places,
)
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import agents, password_lock
from chalicelib.store.password_lock import Counter
from chalicelib.store.table import client, read, table_name, update, write_one
from infra.stack import resources
from tests.support.accounts import an_account
from tests.support.giving import Give
from tests.support.intercepted_calls import hooked
from tests.support.outages import lose_an_answer

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
SOURCE = "digest-of-an-address"

pytestmark = pytest.mark.usefixtures("engine")


def _counters() -> dict[str, Counter]:
    """Return a counter of each kind, with nothing counted."""
    return {
        "known": password_lock.counter(an_account().email),
        "unknown": password_lock.counter_of_unknown(token_hex(12)),
    }


def _seen(counter: Counter) -> FailedAttempts:
    return read(counter.key) or FailedAttempts()


def _count(counter: Counter, seen: FailedAttempts, source: str, now: datetime) -> FailedAttempts:
    return password_lock.count_failure(counter, finished(now), source, begins_anew=is_over(seen, now))


def _fail(counter: Counter, times: int, now: datetime = NOW) -> None:
    for _ in range(times):
        _count(counter, _seen(counter), SOURCE, now)


@pytest.fixture(params=["known", "unknown"])
def counter(request: pytest.FixtureRequest, engine: str) -> Counter:
    """A counter of either kind: both must count alike."""
    del engine
    return _counters()[request.param]


def test_the_tenth_failure_in_a_row_locks_for_thirty_minutes(counter: Counter) -> None:
    _fail(counter, LOCK_AFTER - 1)
    before = _seen(counter)
    _fail(counter, 1)

    assert (before.failed_attempts, before.locked_until) == (9, None)
    assert (_seen(counter).failed_attempts, _seen(counter).locked_until) == (10, NOW + LOCK_FOR)


def test_while_locked_no_failure_is_counted(counter: Counter) -> None:
    seen = _seen(counter)  # as it was read by a guess that is under way
    _fail(counter, LOCK_AFTER)
    with pytest.raises(ServiceError) as refusal:
        _count(counter, seen, SOURCE, NOW + timedelta(minutes=1))

    assert refusal.value.error is ErrorCode.LOGIN_LOCKED
    assert (_seen(counter).failed_attempts, _seen(counter).locked_until) == (LOCK_AFTER, NOW + LOCK_FOR)


@pytest.mark.parametrize("failures", [0, 3, LOCK_AFTER - 1])
def test_a_failure_whose_answer_is_lost_counts_once(counter: Counter, give: Give, failures: int) -> None:
    _fail(counter, failures)
    calls = lose_an_answer(give, "UpdateItem", "logins")
    before = _count(counter, _seen(counter), SOURCE, NOW)

    assert before.failed_attempts == failures
    assert _seen(counter).failed_attempts == failures + 1
    assert (_seen(counter).locked_until is None) is (failures + 1 < LOCK_AFTER)
    assert len(calls) >= 2


def test_the_first_failure_after_a_lock_counts_once_when_its_answer_is_lost(counter: Counter, give: Give) -> None:
    _fail(counter, LOCK_AFTER)
    lose_an_answer(give, "UpdateItem", "logins")
    before = _count(counter, _seen(counter), SOURCE, NOW + LOCK_FOR)

    assert before.failed_attempts == 0
    assert _seen(counter).failed_attempts == 1


@pytest.mark.slow
@pytest.mark.parametrize("pause", [LOCK_FOR, COUNTED_FOR, 2 * COUNTED_FOR])
def test_after_the_lock_ten_more_failures_lock_again(counter: Counter, pause: timedelta) -> None:
    later = NOW + pause
    _fail(counter, LOCK_AFTER)

    _fail(counter, LOCK_AFTER - 1, later)
    before = _seen(counter)
    _fail(counter, 1, later)

    assert (before.failed_attempts, before.locked_until) == (LOCK_AFTER - 1, None)
    assert _seen(counter).locked_until == later + LOCK_FOR


def test_after_the_lock_two_guesses_at_once_are_both_counted(counter: Counter) -> None:
    _fail(counter, LOCK_AFTER)
    seen = _seen(counter)
    for _ in range(2):
        _count(counter, seen, SOURCE, NOW + LOCK_FOR)

    assert (_seen(counter).failed_attempts, _seen(counter).locked_until) == (2, None)


def test_failures_count_for_a_day_after_the_last_of_them(counter: Counter) -> None:
    later = NOW + COUNTED_FOR - timedelta(seconds=1)
    _fail(counter, 3)
    _fail(counter, 1, later)
    before = _seen(counter)

    _fail(counter, 1, later + COUNTED_FOR)

    assert before.failed_attempts == 4
    assert _seen(counter).failed_attempts == 1


def test_a_full_count_without_its_lock_is_locked_by_the_next_failure(counter: Counter) -> None:
    _fail(counter, LOCK_AFTER - 1)
    write_one(update(counter.key, {"failed_attempts": LOCK_AFTER}))  # as a crash leaves it
    with pytest.raises(ServiceError) as refusal:
        _count(counter, _seen(counter), SOURCE, NOW)

    assert refusal.value.error is ErrorCode.LOGIN_LOCKED
    assert _seen(counter).locked_until == NOW + LOCK_FOR


def test_a_full_count_without_its_lock_is_locked_by_the_next_success() -> None:
    account = an_account()
    account.set_on_login(failed_attempts=LOCK_AFTER)
    with pytest.raises(ServiceError) as refusal:
        password_lock.count_success(account.email, finished(NOW), is_logon=True)

    assert refusal.value.error is ErrorCode.LOGIN_LOCKED
    assert account.login.locked_until == NOW + LOCK_FOR


def test_the_sources_of_the_failures_that_count_are_counted_once_each(counter: Counter) -> None:
    new = []
    for source in ("a", "b", "a", "c", "b", "d", "e", "a"):
        before = _count(counter, _seen(counter), source, NOW)
        new.append(reaches_many_places(before, source))

    assert new == [False, False, False, False, False, False, True, False]
    assert _seen(counter).sources == set("abcde")


def test_a_new_row_of_failures_begins_with_its_own_source(counter: Counter) -> None:
    for source in "abc":
        _count(counter, _seen(counter), source, NOW)

    assert _count(counter, _seen(counter), "d", NOW + COUNTED_FOR) == FailedAttempts()
    assert _seen(counter).sources == {"d"}


@pytest.mark.parametrize(("failures", "later"), [(LOCK_AFTER - 1, timedelta()), (LOCK_AFTER, LOCK_FOR)])
def test_a_success_resets_the_count_and_lifts_a_lock_that_is_over(failures: int, later: timedelta) -> None:
    account = an_account()
    counter = password_lock.counter(account.email)
    _fail(counter, failures)
    password_lock.count_success(account.email, finished(NOW + later), is_logon=True)
    password_lock.count_success(account.email, finished(NOW + later + timedelta(minutes=1)), is_logon=False)

    assert _seen(counter) == FailedAttempts()
    assert (account.login.locked_until, account.login.last_logon) == (None, NOW + later)


def test_a_success_after_a_lock_was_set_is_refused() -> None:
    account = an_account()
    _fail(password_lock.counter(account.email), LOCK_AFTER)
    with pytest.raises(ServiceError) as refusal:
        password_lock.count_success(account.email, finished(NOW), is_logon=True)

    assert refusal.value.error is ErrorCode.LOGIN_LOCKED
    assert account.login.locked_until is not None


def test_the_failures_of_an_unknown_login_are_stored_with_their_expiry_and_nothing_else() -> None:
    counter = password_lock.counter_of_unknown("0123456789abcdef")

    _fail(counter, LOCK_AFTER)

    item = client().call("GetItem", TableName=table_name("logins"), Key=counter.key.wire())["Item"]
    names = {one.name for one in fields(FailedAttempts)} | {"email", "expires_at", "version"}
    assert set(item) == names
    assert float(item["expires_at"]["N"]) >= (NOW + COUNTED_FOR).timestamp()
    assert item["email"] == {"S": "UNKNOWN#0123456789abcdef"}


def test_a_login_never_expires() -> None:
    account = an_account()
    counter = password_lock.counter(account.email)
    _fail(counter, LOCK_AFTER)
    _fail(counter, LOCK_AFTER, NOW + LOCK_FOR)
    password_lock.count_success(account.email, finished(NOW + 2 * LOCK_FOR), is_logon=True)

    item = client().call("GetItem", TableName=table_name("logins"), Key=counter.key.wire())["Item"]
    ttl = resources.ttl_specifications(resources.STACK)[table_name("logins")]["AttributeName"]
    assert ttl not in item
    assert ttl not in {field.name for field in fields(Login)}


@given(st.text())
def test_no_login_is_the_key_of_the_failures_of_an_unknown_one(email: str) -> None:
    for text in (email, password_lock.UNKNOWN + email):
        assert not agents.login_key(text).key["email"].startswith(password_lock.UNKNOWN)


def test_a_lock_or_a_failure_that_comes_too_late_for_a_login_leaves_nothing() -> None:
    account = an_account()
    counter = password_lock.counter(account.email)
    _fail(counter, LOCK_AFTER - 1)

    def move_away(*call: str) -> None:
        if call == ("after", "UpdateItem"):
            client().call("DeleteItem", TableName=table_name("logins"), Key=agents.login_key(account.email).wire())

    with hooked(move_away):
        _fail(counter, 1)
    with pytest.raises(ServiceError):
        _count(counter, FailedAttempts(), SOURCE, NOW)

    assert read(agents.login_key(account.email)) is None
