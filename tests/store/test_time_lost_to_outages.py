"""The time that a request may lose to an outage, by a clock that the test moves."""

import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

import pytest

from chalicelib.domain.request_time import GATEWAY_SECONDS
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.secrets import REMEMBERED_S, Remembered
from chalicelib.services import authentication
from chalicelib.store.aws_client import (
    DYNAMODB,
    HURRIED,
    HURRIED_SECRET,
    PATIENT,
    Limits,
    RefusedError,
    TimedOutError,
    UnansweredError,
    limit_lost_time,
    limits,
    outages_as_903,
)
from chalicelib.store.table import client
from chalicelib.web import refuse
from infra.stack.package import ROOT
from tests.simulation.wire import Client, quotas
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
        self.attempts = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(give: Give) -> _Clock:
    clock = _Clock()
    give(now=lambda: datetime.fromtimestamp(clock.now, UTC), elapsed=clock.monotonic, pause=clock.sleep)
    return clock


def _call(clock: _Clock, seconds: float, failures: Iterable[Exception], hurried: Limits = HURRIED) -> None:
    """Make a call each of whose attempts takes its time, and which fails so until it works."""
    left = iter(failures)

    def exchange(*_: Any) -> dict[str, Any]:
        clock.attempts += 1
        clock.now += seconds
        if failure := next(left, None):
            raise failure
        return {}

    with outages_as_903():
        Client(DYNAMODB, limits(hurried), exchange, quotas).call("GetItem")


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
        _call(clock, seconds, repeat(error))

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert refuse(refused.value).headers["Retry-After"] == "1"
    assert clock.now - began <= authentication.SECONDS < STOPPED_AFTER


@pytest.mark.parametrize("failure", [UNANSWERED, CUT])
@pytest.mark.parametrize("seconds", [0, HURRIED_SECRET.longest])
def test_a_remembered_secret_that_cannot_be_renewed_leaves_time_for_the_store(
    clock: _Clock, seconds: float, failure: Exception
) -> None:
    document = {"digest_key": "a"}

    def load() -> dict[str, str]:
        _call(clock, 0 if clock.attempts == 0 else seconds, repeat(failure) if clock.attempts else (), HURRIED_SECRET)
        return document

    remembered = Remembered(load)
    remembered()
    clock.now += REMEMBERED_S
    began = clock.now

    with limit_lost_time(authentication.SECONDS):
        assert remembered() == document
        assert limits() == HURRIED
        with pytest.raises(ServiceError):
            _call(clock, HURRIED.longest, repeat(UNANSWERED))

    assert clock.attempts == 3  # the first, one of the renewal, one of the store
    assert clock.now - began <= authentication.SECONDS


def test_calls_that_are_slow_but_answered_are_no_outage(clock: _Clock) -> None:
    with limit_lost_time(authentication.SECONDS):
        for _ in range(5):
            _call(clock, HURRIED.longest, ())

    assert clock.attempts == 5


@pytest.mark.parametrize("error", [UNCONNECTED, CUT, THROTTLED, BROKEN])
def test_a_call_that_failed_at_once_is_made_again(clock: _Clock, error: Exception) -> None:
    with limit_lost_time(authentication.SECONDS):
        _call(clock, 0.1, [error] * 2)

    assert clock.attempts == 3


def test_the_time_that_a_repeated_call_lost_is_lost_for_the_next(clock: _Clock) -> None:
    with limit_lost_time(HURRIED.longest + 1):
        _call(clock, 0.6, [UNCONNECTED])
        with pytest.raises(ServiceError):
            _call(clock, 0.6, [UNCONNECTED])

    assert clock.attempts == 3


def test_a_call_that_was_not_answered_is_made_once_because_it_may_have_been_carried_out(clock: _Clock) -> None:
    with limit_lost_time(authentication.SECONDS), pytest.raises(ServiceError):
        _call(clock, 0, [UNANSWERED])

    assert clock.attempts == 1


@pytest.mark.parametrize("error", [UNANSWERED, UNCONNECTED, CUT])
def test_without_a_limit_a_lost_call_is_repeated_as_often_as_its_limits_say(clock: _Clock, error: Exception) -> None:
    with pytest.raises(ServiceError):
        _call(clock, 0, repeat(error))

    assert clock.attempts == PATIENT.attempts


@pytest.mark.parametrize("seed", range(5))
def test_throttling_without_end_ends_long_before_the_gateways_limit_without_one_of_ours(
    clock: _Clock, seed: int
) -> None:
    random.seed(seed)
    began = clock.now
    with pytest.raises(ServiceError):
        _call(clock, PATIENT.read_seconds, repeat(THROTTLED))  # as long as an attempt may take

    assert clock.now - began < 29 / 2


def test_a_defect_is_not_repeated(clock: _Clock) -> None:
    with limit_lost_time(authentication.SECONDS), pytest.raises(RefusedError):
        _call(clock, 0, [RefusedError("GetItem", "ValidationException")])

    assert (clock.attempts, clock.now) == (1, 1000.0)


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
