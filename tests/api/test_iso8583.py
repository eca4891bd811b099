"""Payments over HTTP at a stage whose acquirer is a host that speaks ISO 8583."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.gateways.iso8583.hosts import answers, paying_at
from tests.support.cards import PAN, a_card_body, chip_data, tlv
from tests.support.http import TILL, get, post
from tests.support.iso8583_stage import paying_at_a_bank

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
def test_what_no_message_can_say_is_refused_by_field_and_not_sent(stage: str, body: dict[str, Any], field: str) -> None:
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


def give_back(stage: str, payment_id: str, mode: int, **basic: Any) -> dict[str, Any]:
    body = {"BasicReverseTran": {"TransactionID": payment_id, "ReverseMode": mode, **basic}}
    answer: dict[str, Any] = post(stage, "/api/v1/payment/reversecnp", body).body
    return answer


def state(stage: str, transaction_id: str) -> tuple[int, int]:
    """Look at a transaction by its ID, which goes on with what is pending."""
    [shown] = get(stage, f"/api/v1/payment/{transaction_id}").body["Transactions"]
    return shown["State"], shown["Substate"]


def test_what_a_till_is_told_over_http_is_what_the_bank_holds(stage: str) -> None:
    with paying_at_a_bank(datetime.now(UTC)) as running:
        lost = post(stage, SUBMIT, a_card_body("12.67"), TILL).body
        paid = post(stage, SUBMIT, a_card_body("100.00"), TILL).body["Transaction"]
        assert (lost["ErrorCode"], state(stage, lost["TransactionID"])) == (310, (400, 404))
        assert running.bank.held(PAN) == 10_000

        unknown = give_back(stage, paid["ID"], 5, Amount="20.69")
        assert unknown["ErrorCode"] == 310
        assert give_back(stage, paid["ID"], 5, Amount="33.40")["ErrorCode"] == 0
        assert running.bank.held(PAN) == 6660
        exceeding = give_back(stage, paid["ID"], 5, Amount="50.00")  # it is not known yet that 20.69 remain
        assert exceeding["ErrorCode"] == 304

        assert running.bank.violations == []
