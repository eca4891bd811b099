"""The time limit of the authorizer, by a clock that the test moves."""

import json
import random
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import authentication
from chalicelib.store import deadline, retries
from chalicelib.store.deadline import ATTEMPT_SECONDS, HURRIED, PATIENT, time_limit
from chalicelib.store.retries import with_retries
from chalicelib.store.table import client
from infra.cloud.package import ROOT

TIMEOUT = ReadTimeoutError(endpoint_url="http://store")
THROTTLED = ClientError({"Error": {"Code": "ThrottlingException"}}, "GetItem")


class _Clock:
    """A clock that sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    for module in (deadline, retries):
        monkeypatch.setattr(module, "time", clock)
    return clock


def _failing(clock: _Clock, seconds: float, error: Exception) -> Any:
    """Return an attempt that takes its time and fails; it asks for its limits first, as every client does."""

    def attempt() -> None:
        deadline.limits()
        clock.now += seconds
        raise error

    return attempt


@pytest.mark.parametrize("seconds", [0, 0.01, 0.3, HURRIED.connect_seconds, HURRIED.read_seconds, ATTEMPT_SECONDS])
@pytest.mark.parametrize("error", [TIMEOUT, THROTTLED])
@pytest.mark.parametrize("seed", range(5))
def test_calls_that_fail_for_ever_end_within_the_limit_however_long_each_takes(
    clock: _Clock, seconds: float, error: Exception, seed: int
) -> None:
    random.seed(seed)
    began = clock.now

    with time_limit(authentication.SECONDS), pytest.raises(ServiceError) as refused:
        with_retries(_failing(clock, seconds, error))

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert refused.value.headers == {"Retry-After": "1"}
    assert clock.now - began <= authentication.SECONDS


def test_calls_that_are_slow_but_work_end_within_the_limit_too(clock: _Clock) -> None:
    def slow() -> None:
        deadline.limits()
        clock.now += ATTEMPT_SECONDS

    def many_calls() -> None:
        for _ in range(10):
            with_retries(slow)

    began = clock.now

    with time_limit(authentication.SECONDS), pytest.raises(ServiceError):
        many_calls()

    assert clock.now - began <= authentication.SECONDS


def test_a_call_that_was_lost_once_is_made_again(clock: _Clock) -> None:
    failures = [TIMEOUT, THROTTLED]

    def attempt() -> str:
        if failures:
            clock.now += HURRIED.read_seconds
            raise failures.pop()
        return "answer"

    with time_limit(authentication.SECONDS):
        assert with_retries(attempt) == "answer"


def test_without_a_limit_a_lost_call_is_botocores_to_repeat(clock: _Clock) -> None:
    calls: list[int] = []

    def attempt() -> None:
        calls.append(1)
        raise TIMEOUT

    with pytest.raises(ServiceError):
        with_retries(attempt)

    assert len(calls) == 1
    assert clock.now == 1000.0


def test_throttling_without_end_ends_after_ten_seconds_without_a_limit(clock: _Clock) -> None:
    began = clock.now

    with pytest.raises(ServiceError):
        with_retries(_failing(clock, 3, THROTTLED))  # as long as botocore's own attempts may take

    assert clock.now - began < 29 / 2


def test_a_defect_is_not_repeated(clock: _Clock) -> None:
    refused = ClientError({"Error": {"Code": "ValidationException"}}, "GetItem")

    with time_limit(authentication.SECONDS), pytest.raises(ClientError):
        with_retries(_failing(clock, 0, refused))

    assert clock.now == 1000.0


@pytest.mark.usefixtures("moto")
def test_a_limit_holds_for_its_block_alone() -> None:
    outside = client().meta.config
    with time_limit(authentication.SECONDS):
        inside = client().meta.config

    assert (outside.connect_timeout, outside.read_timeout) == (PATIENT.connect_seconds, PATIENT.read_seconds)
    assert (inside.connect_timeout, inside.read_timeout) == (HURRIED.connect_seconds, HURRIED.read_seconds)
    assert (outside.retries["total_max_attempts"], inside.retries["total_max_attempts"]) == (3, 1)
    assert client().meta.config is outside


def test_the_authorizer_is_stopped_only_after_its_own_limit() -> None:
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))

    assert authentication.SECONDS < config["lambda_functions"]["authorizer"]["lambda_timeout"] <= 5
