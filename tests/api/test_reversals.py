"""Giving cash back, through HTTP."""

from decimal import Decimal
from typing import Any

import pytest

from tests.support.http import TILL, Reply, get, post
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
REVERSE = "/api/v1/payment/reverse"
REVERSE_CNP = "/api/v1/payment/reversecnp"


def pay(stage: str, amount: object = "12.30", **basic: Any) -> str:
    paid: str = post(stage, SUBMIT, a_body(Amount=amount, **basic)).body["TransactionID"]
    return paid


def a_return(paid: str, **basic: Any) -> dict[str, Any]:
    return {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": 2, "InputType": 10, **basic}}


def give_back(stage: str, paid: str, login: tuple[str, str] = TILL, path: str = REVERSE, **basic: Any) -> Reply:
    return post(stage, path, a_return(paid, **basic), login)


def shown(stage: str, paid: str, login: tuple[str, str] = TILL) -> Any:
    return get(stage, f"/api/v1/payment/{paid}", login).body["Transactions"][0]


def test_a_part_and_then_the_rest_are_given_back(stage: str) -> None:
    paid = pay(stage)
    part = give_back(stage, paid, Amount="5.00", PartialReverse=True, CurrencyId="ZAR")
    between = shown(stage, paid)
    rest = give_back(stage, paid)
    after = shown(stage, paid)

    assert (part.body["TransactionID"], part.body["Transaction"]["Amount"]) == (paid, Decimal("5.00"))
    assert (part.body["Transaction"]["State"], part.body["Transaction"]["Substate"]) == (500, 502)
    assert part.body["TransactionReverseID"] == part.body["Transaction"]["ID"] != paid
    assert (between["AmountRvs"], between["AmountEff"], between["CountRvs"]) == (Decimal("5.00"), Decimal("7.30"), 1)
    assert (between["PartialReverse"], between["CanReturn"], between["CanCancel"]) == (True, True, False)
    assert (between["State"], between["DisplayMode"]) == (400, 1)
    assert rest.body["Transaction"]["Amount"] == Decimal("7.30")
    assert (after["AmountEff"], after["CountRvs"], after["DisplayMode"]) == (0, 2, 3)
    assert (after["State"], after["Substate"], after["Status"]) == (500, 502, "REVERSED")
    assert after["ReverseID"] == rest.body["TransactionReverseID"]
    assert after["ReverseInvoice"] == rest.body["Transaction"]["Invoice"]
    assert not any(value for name, value in after.items() if name.startswith("Can"))


def test_a_reversal_is_a_transaction_of_its_own(stage: str) -> None:
    paid = pay(stage)
    reversal = give_back(stage, paid).body["TransactionReverseID"]
    found = shown(stage, reversal)
    status = get(stage, f"/api/v1/payment/statusPublic/{reversal}", None).body["Transaction"]

    assert (found["Operation"], found["ReverseMode"], found["ReverseID"]) == ("Return", 2, paid)
    assert (status["State"], status["Substate"], status["Status"]) == (500, 502, "IN-TRANSFER")


def test_a_reversal_has_its_own_description_or_else_that_of_its_payment(stage: str) -> None:
    paid = pay(stage, Description="Two coffees")
    own = give_back(stage, paid, Amount="5.00", PartialReverse=True, Description="One was cold")
    rest = give_back(stage, paid)

    assert own.body["Transaction"]["Description"] == "One was cold"
    assert rest.body["Transaction"]["Description"] == "Two coffees"


def test_a_cancel_is_whole_and_first(stage: str) -> None:
    paid = pay(stage)

    assert give_back(stage, paid, ReverseMode=1, Amount="1").error == (409, 303)
    assert give_back(stage, paid, ReverseMode=1, ID=a_guid()).error == (200, 0)
    assert give_back(stage, paid, ReverseMode=1, ID=a_guid()).error == (409, 305)


@pytest.mark.parametrize("alias", ["Cancel", "Return"])
def test_a_mode_may_be_named(stage: str, alias: str) -> None:
    assert give_back(stage, pay(stage), ReverseMode=alias).error == (200, 0)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"TransactionID": a_guid()}, (404, 568)),
        ({"TransactionID": "nothing"}, (404, 568)),
        ({"TransactionID": "x" * 60}, (404, 568)),
        ({"ReverseMode": 3}, (409, 303)),
        ({"ReverseMode": 5}, (409, 303)),
        ({"ReverseMode": 4}, (403, 151)),
        ({"ReverseMode": 500}, (400, 312)),
        ({"Amount": "12.31"}, (409, 304)),
    ],
)
def test_what_cannot_be_done_is_refused(stage: str, change: dict[str, Any], error: tuple[int, int]) -> None:
    assert give_back(stage, pay(stage), **change).error == error


@pytest.mark.parametrize("name", ["nothing", "%00", "61BBAD7E-220D-4E5E-9F26-89A32BD1DCE"])
def test_an_id_that_none_can_have_is_told_its_form(stage: str, name: str) -> None:
    refused = [get(stage, f"/api/v1/payment/{name}"), give_back(stage, name)]

    assert all("an ID is a GUID" in one.body["ErrorMessage"] for one in refused)
    assert "GUID" not in get(stage, f"/api/v1/payment/{a_guid()}").text


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"TransactionID": None}, ("TransactionID", 1)),
        ({"ReverseMode": None}, ("ReverseMode", 1)),
        ({"ReverseMode": 6}, ("ReverseMode", 6)),
        ({"ReverseMode": "Void"}, ("ReverseMode", 2)),
        ({"ReverseMode": True}, ("ReverseMode", 2)),
        ({"Amount": 0}, ("Amount", 5)),
        ({"Amount": -1}, ("Amount", 5)),
        ({"Amount": "1.001"}, ("Amount", 7)),
        ({"Amount": "ten"}, ("Amount", 3)),
        ({"CurrencyID": "USD"}, ("CurrencyID", 12)),
        ({"CurrencyID": "ZAR", "CurrencyId": "USD"}, ("CurrencyID", 12)),
        ({"InputType": 9}, ("InputType", 12)),
        ({"PartialReverse": True}, ("Amount", 1)),
        ({"PartialReverse": False, "Amount": "5"}, ("Amount", 12)),
        ({"ID": "1"}, ("ID", 3)),
    ],
)
def test_a_wrong_field_gives_nothing_back(stage: str, change: dict[str, Any], finding: tuple[str, int]) -> None:
    paid = pay(stage)
    reply = give_back(stage, paid, **change)

    assert reply.error == (400, 202)
    assert reply.findings == [(f"BasicReverseTran.{finding[0]}", finding[1])]
    assert shown(stage, paid)["CountRvs"] == 0


def test_the_wrong_endpoint_names_the_right_one(stage: str) -> None:
    paid = pay(stage)
    mode = give_back(stage, paid, path=REVERSE_CNP)
    kind = give_back(stage, paid, path=REVERSE_CNP, ReverseMode=5, InputType=None)

    assert (mode.error, kind.error) == ((409, 303), (409, 303))
    assert mode.body["ErrorMessage"].endswith("payment/reverse.")
    assert kind.body["ErrorMessage"].endswith("payment/reverse.")


def keyed(stage: str, paid: str, key: str, **basic: Any) -> Reply:
    return post(stage, REVERSE, a_return(paid, **basic), Idempotency_Key=key)


@pytest.mark.parametrize("how", ["header", "id", "time"])
def test_a_repeated_reversal_gives_back_once(stage: str, how: str) -> None:
    paid, own_id = pay(stage), a_guid()

    def repeat(amount: str) -> Reply:
        if how == "header":
            return keyed(stage, paid, f"key-{paid}", Amount=amount)
        own = {"ID": own_id} if how == "id" else {"ClientDateTime": "2026-03-14"}
        return post(stage, REVERSE, a_return(paid, Amount=amount, **own))

    first, second = repeat("5"), repeat("5.00")
    other = repeat("6")

    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.body["TransactionReverseID"] == first.body["TransactionReverseID"]
    assert other.error == ((200, 0) if how == "time" else (422, 302))
    assert shown(stage, paid)["CountRvs"] == (2 if how == "time" else 1)


def test_a_payment_cannot_be_repeated_as_a_reversal_nor_the_other_way(stage: str) -> None:
    paid = pay(stage)
    reversal = give_back(stage, paid, Amount=1).body["TransactionReverseID"]

    assert give_back(stage, paid, ID=paid).error == (422, 302)
    assert post(stage, SUBMIT, a_body(ID=reversal)).error == (422, 302)


def test_a_replay_after_all_was_given_back_is_still_the_stored_answer(stage: str) -> None:
    paid = pay(stage)
    first = keyed(stage, paid, f"all-{paid}")
    second = keyed(stage, paid, f"all-{paid}")

    assert (first.status, second.status) == (200, 200)
    assert second.body["TransactionReverseID"] == first.body["TransactionReverseID"]
