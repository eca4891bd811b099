"""Idempotency keys: a repeated request is the same operation, whoever else uses the same key."""

import contextlib
import http.client
import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib.domain.agent import MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.store import agents, terminals
from chalicelib.store.table import update, write_one
from tests.support.accounts import a_stored_merchant, a_stored_terminal, an_account
from tests.support.builders import PASSWORD, Shop, an_email
from tests.support.cards import EXP, PAN, STEADY, a_card_body
from tests.support.http import OTHER_TILL, TILL, Reply, basic, get, post
from tests.support.transactions import a_body, a_guid

SUBMIT, REVERSE, REVERSE_CNP = (f"/api/v1/payment/{name}" for name in ("submit", "reverse", "reversecnp"))


def a_sale(**basic: Any) -> dict[str, Any]:
    """R 12.30 in cash, without an ID."""
    return a_body(**{"ID": None, **basic})


def a_card_sale(stage: str, pan: str = STEADY) -> str:
    """The ID of a keyed-in card payment of R 100, sent without an ID."""
    reply = post(stage, SUBMIT, a_card_body(100, pan, basic={"ID": None}))
    assert reply.status == 200, reply.text
    name: str = reply.body["TransactionID"]
    return name


def return_cnp(stage: str, payment: str, login: tuple[str, str] = TILL, /, **fields: Any) -> Reply:
    """The specification's card-not-present body: it has no key of any kind."""
    basic = {"TransactionID": payment, "ReverseMode": 5, "CurrencyID": "ZAR", "InputType": 1, **fields}
    return post(stage, REVERSE_CNP, {"BasicReverseTran": basic}, login)


def reversed_of(stage: str, payment: str) -> tuple[float, int]:
    (shown,) = get(stage, f"/api/v1/payment/{payment}").body["Transactions"]
    return float(shown["AmountRvs"]), shown["CountRvs"]


def test_a_key_makes_a_payment_once(stage: str) -> None:
    key = str(uuid.uuid4())
    first = post(stage, SUBMIT, a_sale(), Idempotency_Key=key)
    again = post(stage, SUBMIT, a_sale(), Idempotency_Key=key)

    assert (first.status, again.status) == (200, 200)
    assert first.body["TransactionID"] == again.body["TransactionID"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"


def test_each_request_is_repeated(stage: str) -> None:
    paid = post(stage, SUBMIT, a_card_body(100, STEADY)).body["TransactionID"]
    part = {"TransactionID": paid, "ReverseMode": 5, "Amount": "1.00", "PartialReverse": True}
    card = {"CardInputMode": 1, "CardDataInput": {"PAN": STEADY, "EXP": EXP}}
    requests: list[tuple[str, dict[str, Any], str | None]] = [
        (SUBMIT, a_body(), None),
        (SUBMIT, a_sale(), a_guid()),
        (SUBMIT, a_card_body(100, STEADY), None),
        (SUBMIT, a_card_body(100, STEADY, basic={"ID": None}), a_guid()),
        (REVERSE_CNP, {"BasicReverseTran": {**part, "ID": a_guid()}, "Card": card}, None),
        (REVERSE_CNP, {"BasicReverseTran": part, "Card": card}, a_guid()),
        (f"/api/v1/payment/receipt/{paid}", {"Email": an_email()}, a_guid()),
    ]

    def send() -> list[tuple[tuple[int, int], str | None]]:
        headers = [{} if key is None else {"Idempotency_Key": key} for _, _, key in requests]
        replies = [
            post(stage, path, body, TILL, **more) for (path, body, _), more in zip(requests, headers, strict=True)
        ]
        return [(reply.error, reply.headers.get("Idempotent-Replayed")) for reply in replies]

    assert send() == [((200, 0), None)] * len(requests)
    assert send() == [((200, 0), "true")] * len(requests)


@pytest.mark.parametrize("changed", ["the terminal is blocked", "the terminal is gone", "cash is switched off"])
def test_a_payment_is_repeated_whatever_changed_since(stage: str, changed: str) -> None:
    merchant = a_stored_merchant()
    terminal = a_stored_terminal(merchant)
    account = an_account(merchant=merchant, terminal_id=terminal)
    login, body = (account.email, account.key), a_body()
    first = post(stage, SUBMIT, body, login)
    if changed == "the terminal is blocked":
        write_one(update(terminals.key(terminal), {"state": 0}))
    elif changed == "the terminal is gone":
        write_one(update(agents.key(account.agent.id), remove=("terminal_id",)))
    else:
        account.change(mobile_settings=MobileSettings(features=Features(accept_cash=False)))
    refused = post(stage, SUBMIT, a_body(), login)
    again = post(stage, SUBMIT, body, login)

    assert refused.error in {(409, 315), (403, 311)}
    assert (again.status, again.body["TransactionID"]) == (200, first.body["TransactionID"])
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_key_with_other_content_is_refused(stage: str) -> None:
    key = str(uuid.uuid4())
    post(stage, SUBMIT, a_sale(), Idempotency_Key=key)

    assert post(stage, SUBMIT, a_sale(Amount=13), Idempotency_Key=key).error == (422, 302)


def test_a_key_belongs_to_its_agent(stage: str) -> None:
    key = str(uuid.uuid4())
    ours, theirs = (post(stage, SUBMIT, a_sale(), login, Idempotency_Key=key) for login in (TILL, OTHER_TILL))

    assert ours.body["TransactionID"] != theirs.body["TransactionID"]
    assert "Idempotent-Replayed" not in theirs.headers


def test_the_id_counts_when_a_key_is_sent_too(stage: str) -> None:
    key, name = str(uuid.uuid4()), a_guid()
    one = post(stage, SUBMIT, a_sale(ID=name), Idempotency_Key=key)
    other = post(stage, SUBMIT, a_sale(ID=a_guid()), Idempotency_Key=key)

    assert one.body["TransactionID"] == name
    assert other.body["TransactionID"] != name
    assert "Idempotent-Replayed" not in other.headers


@pytest.mark.parametrize("path", [SUBMIT, REVERSE, REVERSE_CNP])
@pytest.mark.parametrize("key", ["k" * 256, "tab\there", "caf\u00e9", "", " "])
def test_a_key_that_cannot_be_one_is_a_validation(stage: str, path: str, key: str) -> None:
    body = a_sale() if path == SUBMIT else {"BasicReverseTran": {"TransactionID": a_guid(), "ReverseMode": 2}}
    reply = post(stage, path, body, Idempotency_Key=key)

    assert reply.error == (400, 202)
    assert reply.findings == [("Idempotency-Key", 3)]


def with_headers(stage: str, *keys: str) -> tuple[int, dict[str, Any]]:
    """Submit a payment with several headers of one name; return its HTTP status and the body."""
    connection = http.client.HTTPConnection(stage.removeprefix("http://"))
    with contextlib.closing(connection):
        body = json.dumps(a_sale(Amount=7))
        connection.putrequest("POST", SUBMIT)
        for name, value in [
            ("Content-Type", "application/json"),
            ("Authorization", basic(TILL)),
            ("Content-Length", str(len(body))),
            *(("Idempotency-Key", key) for key in keys),
        ]:
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


def test_two_keys_that_differ_are_refused_and_equal_ones_are_one(stage: str) -> None:
    one, other = a_guid(), a_guid()
    (_, paid), *equal = (
        with_headers(stage, *keys) for keys in ([one], [one, one], [f"{one}, {one}"], [f"{one},  {one}"])
    )
    refused = [with_headers(stage, *keys) for keys in ([one, other], [f"{one}, {other}"], [one, ""], [one, "", one])]

    assert [answer["TransactionID"] for _, answer in equal] == [paid["TransactionID"]] * 3
    assert [(status, answer["ErrorCode"]) for status, answer in refused] == [(400, 202)] * 4
    assert {item["Property"] for _, answer in refused for item in answer["Validations"]} == {"Idempotency-Key"}
    assert with_headers(stage, f"{one},{one}")[1]["TransactionID"] != paid["TransactionID"]  # a comma is a character


def test_the_same_key_names_a_payment_and_a_reversal_apart(stage: str) -> None:
    key = str(uuid.uuid4())
    payment = post(stage, SUBMIT, a_sale(), Idempotency_Key=key).body["TransactionID"]
    body = {"BasicReverseTran": {"TransactionID": payment, "ReverseMode": 2}}
    reversal = post(stage, REVERSE, body, Idempotency_Key=key)

    assert reversal.status == 200, reversal.text
    assert reversal.body["TransactionReverseID"] != payment


def test_an_out_of_range_amount_is_a_validation_whatever_the_id_was_used_for(stage: str) -> None:
    name = a_guid()
    post(stage, SUBMIT, a_sale(ID=name))
    payment, key = post(stage, SUBMIT, a_sale()).body["TransactionID"], str(uuid.uuid4())
    body = {"BasicReverseTran": {"TransactionID": payment, "ReverseMode": 2, "Amount": 1}}
    post(stage, REVERSE, body, Idempotency_Key=key)
    body["BasicReverseTran"]["Amount"] = 10**11

    assert post(stage, SUBMIT, a_sale(ID=name, Amount=10**11)).findings == [("BasicTran.Amount", 5)]
    refused = post(stage, REVERSE, body, Idempotency_Key=key)
    assert refused.findings == [("BasicReverseTran.Amount", 5)]
    assert "at most 10000000000.00" in refused.text


SPELT_OUT = {"CurrencyID": "ZAR"}, {"AcquirerCode": "CASH"}
ABSENT = {"CurrencyID": None}, {"AcquirerCode": None}
EMPTY = {"CurrencyID": ""}, {"AcquirerCode": ""}


@pytest.mark.parametrize("how", ["id", "key"])
@pytest.mark.parametrize(("first", "again"), [(ABSENT, SPELT_OUT), (SPELT_OUT, ABSENT), (SPELT_OUT, EMPTY)])
@pytest.mark.parametrize("card", [False, True])
def test_a_repeat_with_the_defaults_spelt_out_is_the_same_payment(
    stage: str, how: str, first: Any, again: Any, *, card: bool
) -> None:
    own: dict[str, Any] = {"ID": a_guid() if how == "id" else None}
    headers: dict[str, Any] = {"Idempotency_Key": a_guid()} if how == "key" else {}
    usual = a_card_body(100, STEADY, basic=own) if card else a_sale(**own)

    def pay(basic: dict[str, Any], acquirer: dict[str, Any], **others: Any) -> Reply:
        code = acquirer["AcquirerCode"] and ("SANDBOX" if card else "CASH")
        body = {**usual, "BasicTran": {**usual["BasicTran"], **basic, **others}, "AcqTran": {"AcquirerCode": code}}
        return post(stage, SUBMIT, body, **headers)

    paid, repeated, other = pay(*first), pay(*again), pay(*again, ExtID="another one")

    assert (paid.error, repeated.error) == ((200, 0), (200, 0))
    assert repeated.headers["Idempotent-Replayed"] == "true"
    assert repeated.body == paid.body
    assert other.error == (422, 302)


@pytest.mark.parametrize("how", ["key", "id", "time", "nothing"])
@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({}, {"Amount": "ALL", "CurrencyID": "ZAR"}),
        ({"Amount": "ALL", "CurrencyID": "ZAR"}, {}),
        ({"Amount": "ALL", "PartialReverse": False}, {"Amount": None, "CurrencyID": "", "InputType": 10}),
    ],
)
@pytest.mark.parametrize("rest", ["60", "100"])
def test_a_repeat_with_the_defaults_spelt_out_is_the_same_reversal(
    stage: str, how: str, first: dict[str, Any], again: dict[str, Any], rest: str
) -> None:
    payment = post(stage, SUBMIT, a_sale(Amount=100)).body["TransactionID"]
    own = {"id": {"ID": a_guid()}, "time": {"ClientDateTime": "2026-03-14"}}.get(how, {})
    headers: dict[str, Any] = {"Idempotency_Key": a_guid()} if how == "key" else {}

    def give_back(**fields: Any) -> Reply:
        named = {name: rest if value == "ALL" else value for name, value in fields.items()}
        basic = {"TransactionID": payment, "ReverseMode": 2, **own, **named}
        return post(stage, REVERSE, {"BasicReverseTran": basic}, **headers)

    if rest == "60":
        post(stage, REVERSE, {"BasicReverseTran": {"TransactionID": payment, "ReverseMode": 2, "Amount": 40}})
    returned, repeated = give_back(**first), give_back(**again)

    assert (returned.error, repeated.error) == ((200, 0), (200, 0)), repeated.text
    assert repeated.headers["Idempotent-Replayed"] == "true"
    assert repeated.body["TransactionReverseID"] == returned.body["TransactionReverseID"]
    assert reversed_of(stage, payment) == (100, 2 if rest == "60" else 1)
    if how in {"key", "id"}:
        assert give_back(Amount="7").error == (422, 302)


@pytest.mark.parametrize("how", ["key", "id"])
def test_a_part_is_not_repeated_by_all_that_remains(stage: str, how: str) -> None:
    payment = post(stage, SUBMIT, a_sale(Amount=100)).body["TransactionID"]
    basic = {"TransactionID": payment, "ReverseMode": 2, **({"ID": a_guid()} if how == "id" else {})}
    headers: dict[str, Any] = {"Idempotency_Key": a_guid()} if how == "key" else {}
    part = post(stage, REVERSE, {"BasicReverseTran": {**basic, "Amount": 40}}, **headers)

    assert part.error == (200, 0)
    assert post(stage, REVERSE, {"BasicReverseTran": basic}, **headers).error == (422, 302)


def test_a_repeated_return_without_a_key_gives_back_once(stage: str) -> None:
    payment = a_card_sale(stage)
    first, again = (return_cnp(stage, payment, Amount=40, PartialReverse=True) for _ in range(2))

    assert (first.status, again.status) == (200, 200)
    assert again.body["TransactionReverseID"] == first.body["TransactionReverseID"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert reversed_of(stage, payment) == (40, 1)


def test_a_repeat_without_a_key_says_when_the_first_was_made_and_how_to_make_a_second(stage: str) -> None:
    payment = post(stage, SUBMIT, a_sale(Amount=100)).body["TransactionID"]
    basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": 40}
    body = {"GMT": 5, "BasicReverseTran": basic}
    first = post(stage, REVERSE, body, Idempotency_Key=a_guid())
    again, second, timed = (
        post(stage, REVERSE, body),
        post(stage, REVERSE, body, Idempotency_Key=a_guid()),
        [post(stage, REVERSE, {"BasicReverseTran": {**basic, "Amount": 1, "ClientDateTime": "x"}}) for _ in "12"],
    )

    [item] = again.body["Validations"]
    assert (item["Type"], item["Code"], item["Property"]) == (2, 11, "BasicReverseTran")
    assert first.body["Transaction"]["Date"] in item["Message"]
    assert "Idempotency-Key" in item["Message"]
    assert again.body == {**first.body, "Validations": [item]}
    assert again.headers["Idempotent-Replayed"] == "true"
    assert second.body["TransactionReverseID"] != first.body["TransactionReverseID"]
    assert [reply.body["Validations"] for reply in (first, second, *timed)] == [None] * 4
    assert reversed_of(stage, payment) == (81, 3)


def test_a_return_of_a_part_is_not_repeated_by_one_of_all_that_remains(stage: str) -> None:
    payment = post(stage, SUBMIT, a_sale(Amount=100)).body["TransactionID"]
    part = {"TransactionID": payment, "ReverseMode": 2, "Amount": 40}
    post(stage, REVERSE, {"BasicReverseTran": part})
    whole = post(stage, REVERSE, {"BasicReverseTran": {**part, "PartialReverse": False}})
    rest = post(stage, REVERSE, {"BasicReverseTran": {**part, "Amount": None}})

    assert (whole.error, rest.error) == ((400, 202), (200, 0))
    assert reversed_of(stage, payment) == (100, 2)


def test_a_repeated_return_of_all_that_remains_is_its_first_answer(stage: str) -> None:
    payment = a_card_sale(stage)
    first, again, spelt_out = (
        return_cnp(stage, payment),
        return_cnp(stage, payment),
        return_cnp(stage, payment, Amount=100),
    )

    assert [reply.status for reply in (first, again, spelt_out)] == [200] * 3
    assert len({reply.body["TransactionReverseID"] for reply in (first, again, spelt_out)}) == 1
    assert reversed_of(stage, payment) == (100, 1)


def test_what_contradicts_the_payment_is_no_repetition(stage: str) -> None:
    payment = a_card_sale(stage)
    return_cnp(stage, payment, Amount=40)

    assert return_cnp(stage, payment, Amount=40, InputType=10).error == (400, 202)


def test_the_currency_of_another_merchants_payment_is_not_told(shop: Shop) -> None:
    name, stage = a_guid(), shop.stage
    post(stage, SUBMIT, a_sale(ID=name))
    agent = shop.agent(TerminalID=shop.terminal(Currency="048", CountryCode="BHR", Country="048")["ID"])
    login = (agent["Email"], PASSWORD)
    of_dinars, of_nobody = (post(stage, SUBMIT, a_sale(ID=name, Amount=one), login) for one in ("10.001", "10.0001"))
    without_terminal = post(stage, SUBMIT, a_sale(ID=name, Amount="10.0001"), shop.owner)

    assert (of_dinars.error, without_terminal.error) == ((422, 302), (422, 302))
    assert of_nobody.findings == [("BasicTran.Amount", 7)]
    assert "BHD has 3 decimals" in of_nobody.text
    assert "ZAR" not in of_nobody.text


def test_another_amount_is_another_return(stage: str) -> None:
    payment = a_card_sale(stage)
    names = {return_cnp(stage, payment, Amount=part).body["TransactionReverseID"] for part in (10, 20, 10)}

    assert len(names) == 3  # the second 10 does not repeat the latest, which was 20
    assert reversed_of(stage, payment) == (40, 3)


def test_a_key_makes_the_second_equal_return(stage: str) -> None:
    payment = a_card_sale(stage)
    body = {"BasicReverseTran": {"TransactionID": payment, "ReverseMode": 5, "Amount": 10}}
    return_cnp(stage, payment, Amount=10)
    second = post(stage, REVERSE_CNP, body, Idempotency_Key=str(uuid.uuid4()))
    keyless = return_cnp(stage, payment, Amount=10)

    assert second.status == 200
    assert keyless.body["TransactionReverseID"] == second.body["TransactionReverseID"]
    assert reversed_of(stage, payment) == (20, 2)


def test_a_repeated_cash_return_without_a_key_gives_back_once(stage: str) -> None:
    payment = post(stage, SUBMIT, a_sale(Amount=30)).body["TransactionID"]
    body = {"BasicReverseTran": {"TransactionID": payment, "ReverseMode": 2, "Amount": 10, "PartialReverse": True}}
    first, again = post(stage, REVERSE, body), post(stage, REVERSE, body)

    assert first.body["TransactionReverseID"] == again.body["TransactionReverseID"]
    assert reversed_of(stage, payment) == (10, 1)


def test_a_return_that_was_declined_may_be_tried_again(stage: str) -> None:
    payment = a_card_sale(stage, PAN)  # the cents decide: the sandbox declines a return of .05
    first, again = (return_cnp(stage, payment, Amount="10.05") for _ in range(2))

    assert (first.body["ErrorCode"], again.body["ErrorCode"]) == (1005, 1005)
    assert first.body["TransactionReverseID"] != again.body["TransactionReverseID"]
    assert reversed_of(stage, payment) == (0, 0)


def test_sixteen_equal_returns_at_once_without_a_key_give_back_once(stage_on_dynamodb_local: str) -> None:
    stage = stage_on_dynamodb_local
    payment = post(stage, SUBMIT, a_sale(Amount=100)).body["TransactionID"]
    body = {"BasicReverseTran": {"TransactionID": payment, "ReverseMode": 2, "Amount": 5, "PartialReverse": True}}

    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: post(stage, REVERSE, body), range(16)))

    names = {reply.body["TransactionReverseID"] for reply in replies if reply.status == 200}
    assert {reply.error for reply in replies} <= {(200, 0), (409, 301)}
    assert len(names) == 1
    assert reversed_of(stage, payment) == (5, 1)
