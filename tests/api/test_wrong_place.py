"""A reversal that is refused says what is wrong: whoever follows the words of 303 comes to an end."""

import re
from itertools import product
from typing import Any

import pytest

from tests.support.cards import TRACK2, a_card_body, chip_data
from tests.support.http import Reply, post
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
ENDPOINTS = ("payment/reverse", "payment/reversecnp")
CARDS: dict[int, Any] = {
    2: {"CardDataInput": {"ReaderData": TRACK2}},
    3: {"CardDataInput": {"ReaderData": chip_data()}},
    4: {"CardDataInput": {"ReaderData": chip_data()}},
}


def pay(stage: str, input_type: int, amount: str = "12.00") -> str:
    if input_type in (7, 8, 9, 10):
        body = a_body(InputType=input_type, Amount=amount) | {"AcqTran": None}
    else:
        card = {"Card": CARDS[input_type]} if input_type in CARDS else {}
        body = a_card_body(amount, basic={"InputType": input_type}, **card)
    if input_type == 5:
        linked = post(stage, "/api/v1/payment/GetLinkedCards", {}).body["LinkedCards"][0]["ID"]
        body["Card"] = {"LinkedCardId": linked}
    paid: str = post(stage, SUBMIT, body).body["TransactionID"]
    return paid


def reverse(stage: str, endpoint: str, paid: str, mode: int, **basic: Any) -> Reply:
    body = {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": mode, "ID": a_guid(), **basic}}
    return post(stage, f"/api/v1/{endpoint}", body)


def named(reply: Reply) -> tuple[list[str], list[int]]:
    """Return the endpoints and modes that the words of a refusal name."""
    words = reply.body["ErrorMessage"]
    modes = re.findall(r"(?<=ReverseMode )\d|(?<= or )\d", words)
    return re.findall(r"payment/reverse\w*", words), [int(mode) for mode in modes]


@pytest.mark.parametrize(
    ("input_type", "endpoint", "mode"), list(product((1, 2, 3, 4, 5, 7, 8, 9, 10), ENDPOINTS, (1, 2, 3, 5)))
)
def test_following_the_words_of_a_refusal_ends(stage: str, input_type: int, endpoint: str, mode: int) -> None:
    paid, used = pay(stage, input_type), {endpoint}
    reply = reverse(stage, endpoint, paid, mode)

    for _ in range(2):
        if reply.status == 200:
            break
        assert reply.error == (409, 303)
        endpoints, modes = named(reply)
        assert not used & set(endpoints), "it is sent back to where it came from"
        endpoint = endpoints[0] if endpoints else endpoint
        used.add(endpoint)
        reply = reverse(stage, endpoint, paid, modes[0])
    assert reply.error == (200, 0)
    assert endpoint == ENDPOINTS[input_type in (1, 5)]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_what_no_endpoint_reverses_names_none(stage: str, endpoint: str) -> None:
    declined, cash = pay(stage, 1, "12.05"), pay(stage, 10)
    reversal = reverse(stage, ENDPOINTS[0], cash, 2).body["TransactionReverseID"]

    for paid, mode, words in ((declined, 5, "declined"), (declined, 2, "declined"), (reversal, 2, "is a reversal")):
        reply = reverse(stage, endpoint, paid, mode)
        assert reply.error == (409, 303)
        assert words in reply.body["ErrorMessage"]
        assert named(reply)[0] == []


def test_a_part_is_not_cancelled_and_the_words_say_how_it_is_returned(stage: str) -> None:
    paid = pay(stage, 1)
    refused = reverse(stage, ENDPOINTS[1], paid, 3, Amount="5.00")

    assert refused.error == (409, 303)
    assert "in full only" in refused.body["ErrorMessage"]
    assert named(refused) == ([], [5])
    assert reverse(stage, ENDPOINTS[1], paid, 5, Amount="5.00").error == (200, 0)
    assert "reversed already" in reverse(stage, ENDPOINTS[1], paid, 3).body["ErrorMessage"]


@pytest.mark.parametrize(("endpoint", "mode"), list(product(ENDPOINTS, (1, 2, 3, 5))))
def test_an_unknown_payment_is_unknown_at_either_endpoint_with_any_mode(stage: str, endpoint: str, mode: int) -> None:
    assert reverse(stage, endpoint, a_guid(), mode).error == (404, 568)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_mode_nobody_may_send_is_refused_first(stage: str, endpoint: str) -> None:
    assert reverse(stage, endpoint, a_guid(), 4).error == (403, 151)
    assert reverse(stage, endpoint, a_guid(), 500).error == (400, 312)
