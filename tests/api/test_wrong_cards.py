"""Wrong cards over HTTP: after five of them, 409 with ErrorCode 313 for each request that names a card."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.card_guesses import OTHERS, card
from tests.support.cards import PAN, a_card_body
from tests.support.http import OTHER_TILL, OWNER, SYSTEM, TILL, Reply, get, post
from tests.support.transactions import a_guid

SUBMIT, REVERSE_CNP = "/api/v1/payment/submit", "/api/v1/payment/reversecnp"
AT_ONCE = 32


@pytest.fixture
def body(stage: str) -> dict[str, Any]:
    """The request of a payment that was taken."""
    return _paid(stage)


def _paid(stage: str) -> dict[str, Any]:
    body = a_card_body("12.00", Card=card(PAN))
    assert post(stage, SUBMIT, body).error == (200, 0)
    return body


def _give_back(
    stage: str, body: dict[str, Any], named: Any, amount: str = "99.00", login: tuple[str, str] = TILL
) -> Reply:
    basic = {"TransactionID": body["BasicTran"]["ID"], "ReverseMode": 5, "Amount": amount, "ID": a_guid()}
    return post(stage, REVERSE_CNP, {"BasicReverseTran": basic, "Card": named}, login)


def _repeat(stage: str, body: dict[str, Any], pan: str, login: tuple[str, str] = TILL) -> Reply:
    return post(stage, SUBMIT, {**body, "Card": card(pan)}, login)


def test_a_reversal_with_too_high_an_amount_tests_five_cards(stage: str, body: dict[str, Any]) -> None:
    assert _give_back(stage, body, card(PAN)).error == (409, 304)
    assert [_give_back(stage, body, card(pan)).error for pan in OTHERS[:5]] == [(400, 202)] * 5

    wrong, right = (_give_back(stage, body, card(pan)) for pan in (OTHERS[5], PAN))
    assert wrong.error == (409, 313)
    assert right.text == wrong.text
    assert _give_back(stage, body, card(PAN), "1.00").error == (409, 313)
    assert _give_back(stage, body, None).error == (409, 304)
    assert _give_back(stage, body, None, "1.00").error == (200, 0)


def test_the_same_id_tests_five_cards(stage: str, body: dict[str, Any]) -> None:
    assert _repeat(stage, body, PAN).headers["Idempotent-Replayed"] == "true"
    assert [_repeat(stage, body, pan).error for pan in OTHERS[:5]] == [(422, 302)] * 5

    wrong, right = (_repeat(stage, body, pan) for pan in (OTHERS[5], PAN))
    assert wrong.error == (409, 313)
    assert right.text == wrong.text
    assert "Idempotent-Replayed" not in right.headers
    assert get(stage, f"/api/v1/payment/{body['BasicTran']['ID']}").error == (200, 0)


def test_whoever_may_see_the_payment_counts_and_a_stranger_does_not(stage: str, body: dict[str, Any]) -> None:
    strangers = [_repeat(stage, body, pan, OTHER_TILL).error for pan in OTHERS[:6]]
    strangers += [_give_back(stage, body, card(pan), login=OTHER_TILL).error for pan in OTHERS[:6]]
    assert strangers == [(422, 302)] * 6 + [(404, 568)] * 6

    guesses = [_give_back(stage, body, card(pan), login=login) for login, pan in zip([OWNER, SYSTEM] * 2, OTHERS)]  # noqa: B905
    assert [reply.error for reply in guesses] == [(400, 202)] * 4
    assert _repeat(stage, body, OTHERS[4]).error == (422, 302)
    assert _give_back(stage, body, card(PAN), login=OWNER).error == (409, 313)
    assert _repeat(stage, body, PAN, OTHER_TILL).error == (422, 302)


def test_of_many_wrong_cards_at_once_over_http_five_are_answered(stage_on_dynamodb_local: str) -> None:
    body = _paid(stage_on_dynamodb_local)

    def guess(number: int) -> tuple[int, int]:
        if number % 2:
            return _repeat(stage_on_dynamodb_local, body, OTHERS[number]).error
        return _give_back(stage_on_dynamodb_local, body, card(OTHERS[number])).error

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(guess, range(AT_ONCE)))

    assert answers.count((409, 313)) == AT_ONCE - 5
    assert set(answers) <= {(409, 313), (400, 202), (422, 302)}
