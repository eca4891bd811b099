"""Payments over HTTP at a stage whose acquirer is a host that speaks ISO 8583."""

from typing import Any

import pytest

from tests.cards import PAN, a_card_body, chip_data, tlv
from tests.gateways.iso8583.hosts import answers, paying_at
from tests.http import TILL, post

SUBMIT = "/api/v1/payment/submit"
LONG_TRACK = f"{PAN}=3012101" + "0" * 14
NO_CHIP_DATA = tlv("5A", PAN) + tlv("5F24", "301231")


def read(input_type: int, data: str) -> dict[str, Any]:
    card = {"CardInputMode": 1, "CardDataInput": {"ReaderData": data}}
    return a_card_body(basic={"InputType": input_type}, Card=card)


REFUSED = [
    (a_card_body(AcqTran={"SingleStepAuthMode": False}), "AcqTran.SingleStepAuthMode"),
    (a_card_body("10000000000.00"), "BasicTran.Amount"),
    (read(2, LONG_TRACK), "Card.CardDataInput.ReaderData"),
    (read(3, NO_CHIP_DATA), "Card.CardDataInput.ReaderData"),
    (read(4, NO_CHIP_DATA), "Card.CardDataInput.ReaderData"),
]


@pytest.mark.parametrize(("body", "field"), REFUSED, ids=range(len(REFUSED)))
def test_what_no_message_can_say_is_refused_by_its_field_and_nothing_is_sent(
    stage: str, body: dict[str, Any], field: str
) -> None:
    with paying_at(answers()) as host:
        answer = post(stage, SUBMIT, body, TILL)

    assert (answer.status, answer.body["ErrorCode"]) == (400, 202)
    assert field in {item["Property"] for item in answer.body["Validations"]}
    assert PAN not in str(answer.body)
    assert host.connections == 0


def test_a_return_whose_card_no_message_can_say_is_refused_and_the_amount_remains(stage: str) -> None:
    with paying_at(answers()) as host:
        paid = post(stage, SUBMIT, read(3, chip_data()), TILL)
        assert paid.error == (200, 0), paid.text
        basic = {"TransactionID": paid.body["TransactionID"], "ReverseMode": 2}
        body = {"BasicReverseTran": basic, "Card": read(3, NO_CHIP_DATA)["Card"]}
        refused = post(stage, "/api/v1/payment/reverse", body, TILL)

    assert (refused.error, refused.findings) == ((400, 202), [("Card.CardDataInput.ReaderData", 3)])
    assert host.connections == 1
