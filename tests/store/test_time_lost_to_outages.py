"""The time that a request may lose to an outage, by a clock that the test moves."""

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.domain.request_time import GATEWAY_SECONDS
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.secrets import REMEMBERED_S, Remembered
from chalicelib.services import authentication
from chalicelib.store import retries
from chalicelib.store.aws_client import Limits, RefusedError, TimedOutError, UnansweredError
from chalicelib.store.retries import HURRIED, HURRIED_SECRET, PATIENT, limit_lost_time, with_retries
from chalicelib.store.table import client
from chalicelib.web import refuse
from infra.stack.package import ROOT
from tests.support.giving import Give

STOPPED_AFTER = 5
UNANSWERED = TimedOutError("no answer in time")
UNCONNECTED = UnansweredError("no connection")
CUT = UnansweredError("the connection was cut")
THROTTLED = RefusedError("GetItem", "ThrottlingException")
BROKEN = RefusedError("GetItem", "503", status=503)


class _Clock:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(give: Give) -> _Clock:
    clock = _Clock()
    give(now=lambda: datetime.fromtimestamp(clock.now, UTC), elapsed=clock.monotonic, pause=clock.sleep)
    return clock


def _failing(clock: _Clock, seconds: float, error: Exception, hurried: Limits = HURRIED) -> Any:
    """Return an attempt that takes its time and fails; it needs its limits first, as every client does."""

    def attempt() -> None:
        retries.limits(hurried)
        clock.now += seconds
        raise error

    return attempt


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (UNANSWERED, HURRIED.longest),
        (UNCONNECTED, HURRIED.connect_seconds),
        (CUT, 0),
        (THROTTLED, 0),
        (THROTTLED, 0.3),
        (THROTTLED, HURRIED.longest),
        (BROKEN, 0),
        (BROKEN, HURRIED.read_seconds),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_a_call_that_fails_for_ever_ends_in_time_however_long_each_attempt_takes(
    clock: _Clock, error: Exception, seconds: float, seed: int
) -> None:
    random.seed(seed)
    began = clock.now

    with limit_lost_time(authentication.SECONDS), pytest.raises(ServiceError) as refused:
        with_retries(_failing(clock, seconds, error))

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert refuse(refused.value).headers["Retry-After"] == "1"
    assert clock.now - began <= authentication.SECONDS < STOPPED_AFTER


@pytest.mark.parametrize("seconds", [0, HURRIED_SECRET.longest])
def test_a_remembered_secret_that_cannot_be_renewed_leaves_time_for_the_store(clock: _Clock, seconds: float) -> None:
    document = {"digest_key": "a"}
    loads = iter([document.copy, _failing(clock, seconds, UNANSWERED, HURRIED_SECRET)])
    remembered = Remembered(next(loads))
    remembered()
    clock.now += REMEMBERED_S
    began = clock.now

    with limit_lost_time(authentication.SECONDS):
        assert with_retries(remembered) == document
        assert with_retries(retries.limits) == HURRIED
        with pytest.raises(ServiceError):
            with_retries(_failing(clock, HURRIED.longest, UNANSWERED))

    assert clock.now - began <= authentication.SECONDS


def test_calls_that_are_slow_but_answered_are_no_outage(clock: _Clock) -> None:
    def slow() -> str:
        retries.limits()
        clock.now += HURRIED.longest
        return "answer"

    with limit_lost_time(authentication.SECONDS):
        assert [with_retries(slow) for _ in range(5)] == ["answer"] * 5


@pytest.mark.parametrize("error", [UNCONNECTED, CUT, THROTTLED, BROKEN])
def test_a_call_that_failed_at_once_is_made_again(clock: _Clock, error: Exception) -> None:
    failures = [error] * 2

    def attempt() -> str:
        retries.limits()
        if failures:
            clock.now += 0.1
            raise failures.pop()
        return "answer"

    with limit_lost_time(authentication.SECONDS):
        assert with_retries(attempt) == "answer"


@pytest.mark.usefixtures("clock")
def test_a_call_that_was_not_answered_is_made_once_because_it_may_have_been_carried_out() -> None:
    calls: list[int] = []

    def attempt() -> None:
        calls.append(1)
        raise UNANSWERED

    with limit_lost_time(authentication.SECONDS), pytest.raises(ServiceError):
        with_retries(attempt)

    assert len(calls) == 1


@pytest.mark.parametrize("error", [UNANSWERED, UNCONNECTED, CUT, BROKEN])
def test_without_a_limit_a_lost_call_is_the_clients_to_repeat(clock: _Clock, error: Exception) -> None:
    calls: list[int] = []

    def attempt() -> None:
        calls.append(1)
        raise error

    with pytest.raises(ServiceError):
        with_retries(attempt)

    assert len(calls) == 1
    assert clock.now == 1000.0


def test_throttling_without_end_ends_long_before_the_gateways_limit_without_one_of_ours(clock: _Clock) -> None:
    began = clock.now
    with pytest.raises(ServiceError):
        with_retries(_failing(clock, 3, THROTTLED))  # as long as the client's own attempts may take

    assert clock.now - began < 29 / 2


def test_a_defect_is_not_repeated(clock: _Clock) -> None:
    refused = RefusedError("GetItem", "ValidationException")
    with limit_lost_time(authentication.SECONDS), pytest.raises(RefusedError):
        with_retries(_failing(clock, 0, refused))

    assert clock.now == 1000.0


@pytest.mark.usefixtures("moto")
def test_a_limit_holds_for_its_block_alone() -> None:
    outside = client().limits
    with limit_lost_time(authentication.SECONDS):
        inside = client().limits

    assert (outside, inside) == (PATIENT, HURRIED)
    assert (outside.attempts, inside.attempts) == (3, 1)
    assert client().limits is outside


def test_a_function_is_stopped_when_the_gateway_stops_and_the_authorizer_after_its_own_limit() -> None:
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))

    assert config["lambda_timeout"] == GATEWAY_SECONDS
    assert authentication.SECONDS < config["lambda_functions"]["authorizer"]["lambda_timeout"] <= STOPPED_AFTER
