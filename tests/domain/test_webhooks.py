"""Webhooks: what they take, the secrets that sign, and what attempts say about them."""

from datetime import timedelta

import pytest

from chalicelib.domain import deliveries, webhooks
from chalicelib.domain.deliveries import Attempt
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import wants_events
from tests.support.builders import a_merchant
from tests.support.events import a_hook
from tests.support.transactions import NOW

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TAKEN, REFUSED, SLOW = Attempt(NOW, 20, 200), Attempt(NOW, 20, 500), Attempt(NOW, 10_000, reason="no answer in time")


def test_the_signature_is_that_of_the_published_example() -> None:
    # https://github.com/standard-webhooks/standard-webhooks: the example of the specification
    secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signature = webhooks.sign([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_is_as_long_as_the_contract_says() -> None:
    assert webhooks.new_secret(bytes(32)).reveal() == "whsec_" + "A" * 43 + "="


def test_for_a_day_both_secrets_sign_the_new_one_first() -> None:
    hook = webhooks.rotated(a_hook(secret_sealed=b"old"), b"new", NOW)

    assert webhooks.secrets_of(hook, NOW + DAY - timedelta(seconds=1)) == (b"new", b"old")
    assert webhooks.secrets_of(hook, NOW + DAY) == (b"new",)
    assert len(webhooks.sign([Secret("whsec_AAAA"), Secret("whsec_AAAB")], "evt_1", 1, b"{}").split(" ")) == 2


def test_a_second_rotation_keeps_the_secret_before_it_and_a_new_day() -> None:
    first = webhooks.rotated(a_hook(secret_sealed=b"oldest"), b"old", NOW)
    second = webhooks.rotated(first, b"new", NOW + DAY / 2)

    assert webhooks.secrets_of(second, NOW + DAY) == (b"new", b"old")
    assert webhooks.secrets_of(second, NOW + DAY * 3 / 2) == (b"new",)


def test_a_webhook_takes_its_kinds_while_it_is_on() -> None:
    assert a_hook().takes("payment.approved")
    assert a_hook(types=("payment.approved",)).takes("payment.approved")
    assert not a_hook(types=("payment.declined",)).takes("payment.approved")
    assert not a_hook(state=0).takes("payment.approved")


def test_a_slow_answer_is_noted_until_a_quick_one_comes_and_failures_until_a_success() -> None:
    slow = deliveries.after_attempt(a_hook(), SLOW, NOW)
    again = deliveries.after_attempt(slow, SLOW, NOW + HOUR / 2)
    refused = deliveries.after_attempt(again, REFUSED, NOW + HOUR)
    fine = deliveries.after_attempt(refused, TAKEN, NOW + 2 * HOUR)

    assert [(one.slow_since, one.failing_since) for one in (slow, again)] == [(NOW, NOW)] * 2
    assert (refused.slow_since, refused.failing_since) == (None, NOW)
    assert (fine.slow_since, fine.failing_since) == (None, None)


def test_the_manager_is_told_after_a_day_of_failures_and_once_a_day() -> None:
    hook = deliveries.after_attempt(a_hook(), REFUSED, NOW)
    told = a_hook(failing_since=NOW, told_at=NOW + DAY)

    assert [deliveries.is_to_be_told(hook, NOW + hours * HOUR) for hours in (0, 23, 24)] == [False, False, True]
    assert [deliveries.is_to_be_told(told, NOW + hours * HOUR) for hours in (25, 47, 48)] == [False, False, True]
    assert not deliveries.is_to_be_told(deliveries.after_attempt(told, TAKEN, NOW + 2 * DAY), NOW + 9 * DAY)


def test_a_receiver_that_is_gone_is_switched_off() -> None:
    assert not deliveries.after_attempt(a_hook(), Attempt(NOW, 5, 410), NOW).is_on


@pytest.mark.parametrize(
    ("until", "expected"),
    [(None, False), (webhooks.ALWAYS, True), (NOW, False), (NOW + timedelta(microseconds=1), True)],
)
def test_a_merchant_wants_events_while_a_webhook_is_on_and_some_days_longer(until: object, expected: bool) -> None:  # noqa: FBT001  a column of the table
    assert wants_events(a_merchant(events_until=until), NOW) is expected


def test_events_last_for_days_after_the_last_webhook_was_switched_off() -> None:
    assert webhooks.events_until([a_hook(state=0), a_hook()], NOW) == webhooks.ALWAYS
    assert webhooks.events_until([a_hook(state=0)], NOW) == NOW + 7 * DAY
