"""Deliveries: the pauses between attempts, and when they end."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain import deliveries, events
from chalicelib.domain.deliveries import Attempt, Delivery, DeliveryState
from chalicelib.domain.events import Event
from chalicelib.domain.webhooks import Webhook
from tests.support.events import a_hook, an_event
from tests.support.transactions import NOW

SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
SCHEDULE = [5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, DAY]
REFUSED = Attempt(NOW, 5, status=500)


def all_attempts(share: float) -> tuple[list[timedelta], Delivery]:
    """Fail until it is given up; return the pauses and the delivery."""
    now = NOW
    pauses: list[timedelta] = []
    one = deliveries.begun(an_event(at=NOW), 1, NOW)
    while True:
        one = deliveries.after(deliveries.held(one, now), REFUSED, now, share)
        if one.due_at is None:
            return pauses, one
        pauses.append(one.due_at - now)
        now = one.due_at


def test_the_pauses_are_those_of_the_contract() -> None:
    pauses, given_up = all_attempts(share=0)

    assert pauses == SCHEDULE
    assert (given_up.state, given_up.attempts) == (DeliveryState.GIVEN_UP, 10)


@given(st.floats(min_value=0, max_value=1))
def test_jitter_makes_a_pause_longer_by_a_tenth_at_most_and_never_shorter(share: float) -> None:
    pauses, _ = all_attempts(share)

    assert all(pause <= longer <= pause * 1.1 for pause, longer in zip(SCHEDULE, pauses, strict=False))
    assert len(pauses) >= len(SCHEDULE) - 1
    assert sum(pauses, timedelta()) <= 3 * DAY


AFTER: dict[int | None, DeliveryState] = {
    **dict.fromkeys((200, 204, 299), DeliveryState.DELIVERED),
    **dict.fromkeys((199, 300, 301, 302, 307, 400, 404, 500, 503, None), DeliveryState.PENDING),
    410: DeliveryState.GIVEN_UP,
}


@pytest.mark.parametrize(("status", "state"), AFTER.items())
def test_200_is_delivered_410_is_given_up_and_anything_else_is_tried_again(
    status: int | None, state: DeliveryState
) -> None:
    held = deliveries.held(deliveries.begun(an_event(at=NOW), 1, NOW), NOW)
    after = deliveries.after(held, Attempt(NOW, 5, status), NOW, 0)

    due = (NOW + 5 * SECOND, "7#1") if state is DeliveryState.PENDING else (None, None)
    assert (after.state, after.due_at, after.due_lane, after.last_status) == (state, *due, status)


def test_the_last_status_is_that_of_the_last_attempt_with_an_answer() -> None:
    one = deliveries.begun(an_event(at=NOW), 1, NOW)
    made = (Attempt(NOW, 5, status=500), Attempt(NOW, 5, status=503), Attempt(NOW, 5, reason="it did not answer"))

    assert one.last_status is None
    assert replace(one, made=made).last_status == 503


PAYMENT, OFF = an_event(at=NOW), a_hook(state=0)


@pytest.mark.parametrize(
    ("event", "hook", "later", "is_given_up"),
    [
        (PAYMENT, a_hook(), 3 * DAY, False),
        (PAYMENT, a_hook(), 3 * DAY + SECOND, True),
        (None, a_hook(), SECOND, True),
        (PAYMENT, None, SECOND, True),
        (PAYMENT, OFF, SECOND, True),
        (events.ping("a token", 7, 1, NOW), OFF, SECOND, False),
    ],
)
def test_what_is_too_old_or_lost_its_event_or_webhook_is_given_up(
    event: Event | None, hook: Webhook | None, later: timedelta, *, is_given_up: bool
) -> None:
    delivery = deliveries.begun(PAYMENT, 1, NOW)

    assert deliveries.is_given_up(delivery, event, hook, NOW + later) is is_given_up


def test_what_is_asked_for_again_begins_anew_and_keeps_what_was_tried() -> None:
    _, given_up = all_attempts(share=0)
    later = NOW + 20 * DAY
    again = deliveries.again(given_up, later)

    assert (again.state, again.due_at, again.attempts, again.made) == ("pending", later, 0, given_up.made)
    held = deliveries.held(again, later)
    assert deliveries.after(held, REFUSED, later, 0).due_at == later + 5 * SECOND


@given(st.binary(max_size=400))
def test_what_is_kept_of_an_answer_is_short_and_printable(answer: bytes) -> None:
    kept = deliveries.shown(answer)

    assert kept is None or (len(kept) <= 200 and kept.isprintable())
