"""A cash payment from the till to its look-up."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.store import outbox, transactions
from chalicelib.store.table import read
from tests.support import complete_requests
from tests.support.accounts import a_stored_merchant, a_stored_terminal, an_account
from tests.support.cards import a_card_body
from tests.support.http import OTHER_TILL, Reply, get, post
from tests.support.intercepted_calls import counting
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"


SENT = complete_requests.cash(complete_requests.Ids())
GROUP = ("TerminalGroupID", "TerminalGroupCode")
OFFLINE_ONLY = {"Invoice": "1", "Paid": "2026-03-14T11:26:53", "OfflineLocation": {"Latitude": 1, "Longitude": 1}}
ONLINE = {"OfflineTran": {"OfflineMode": False, **OFFLINE_ONLY}}
WHOLE_BODY: dict[str, Any] = {
    **{name: value for name, value in SENT.items() if name not in {"CurrentAccountID", *GROUP}},
    "BasicTran": {name: value for name, value in SENT["BasicTran"].items() if name not in GROUP} | ONLINE,
    "TerminalGroupCode": "DEFAULT",
    "Receipt": None,
    "Files": [],
    "GMT": 2,
}


def with_id(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "BasicTran": {**body["BasicTran"], "ID": a_guid()}}


def test_a_cash_payment_is_taken_and_found_by_its_id(stage: str) -> None:
    body = with_id(WHOLE_BODY)
    paid = post(stage, SUBMIT, body).body
    found = get(stage, f"/api/v1/payment/{paid['TransactionID']}").body

    assert (paid["ErrorCode"], paid["ErrorMessage"], paid["Validations"]) == (0, None, None)
    assert paid["TransactionID"] == body["BasicTran"]["ID"]
    shown = paid["Transaction"]
    assert (shown["Latitude"], shown["Longitude"]) == (Decimal("-33.92"), Decimal("18.42"))  # not those of OfflineTran
    assert (shown["Result"]["Code"], shown["State"], shown["Substate"]) == (0, 400, 411)
    assert (shown["Status"], shown["Card"]["IIN"], shown["ExtTranData"]) == ("DEPOSITED", "CASH", '{"table": 5}')
    assert shown["AmountCashGot"] - shown["Amount"] == Decimal("7.70")
    assert [item["ID"] for item in found["Transactions"]] == [paid["TransactionID"]]
    assert (found["InProcess"], found["NotFinishedActualTrans"], found["Days"]) == ([], [], None)
    assert found["Transactions"][0] == shown  # its GMT is the merchant's


@pytest.mark.parametrize(("got", "shown"), [(12, "12.30"), ("12", "12.30"), (13, "13"), (0, "12.30")])
def test_the_cash_of_a_till_that_knows_no_cents_is_the_amount(stage: str, got: Any, shown: str) -> None:
    paid = post(stage, SUBMIT, a_body(AmountCashGot=got))

    assert paid.error == (200, 0)
    assert paid.body["Transaction"]["AmountCashGot"] == Decimal(shown)


@pytest.mark.parametrize("name", ["OfflineQueueId", "OfflineQueueID"])
@pytest.mark.parametrize("sent", ["queue/7", "17", 17, -1, 0, 10**15])
def test_the_tills_identifier_of_an_offline_payment_is_answered_as_sent(stage: str, name: str, sent: str | int) -> None:
    body = a_body(OfflineTran={"OfflineMode": True, name: sent})
    paid, again = (post(stage, SUBMIT, body).body["Transaction"] for _ in range(2))
    [found] = get(stage, f"/api/v1/payment/{paid['ID']}").body["Transactions"]
    reversal = {"BasicReverseTran": {"TransactionID": paid["ID"], "ReverseMode": 2}}
    given_back = post(stage, "/api/v1/payment/reverse", reversal).body["Transaction"]

    shown = [one["OfflineQueueId"] for one in (paid, again, found)]
    assert shown == [sent] * 3
    assert [type(one) for one in shown] == [type(sent)] * 3
    assert given_back["OfflineQueueId"] is None


@pytest.mark.parametrize(("sent", "code"), [(True, 2), (1.5, 2), ({}, 2), (["Q"], 2), (10**15 + 1, 2), ("x" * 513, 4)])
def test_a_tills_identifier_that_is_no_text_and_no_whole_number_is_wrong(stage: str, sent: Any, code: int) -> None:
    online, offline = (
        post(stage, SUBMIT, a_body(OfflineTran={"OfflineMode": mode, "OfflineQueueId": sent})) for mode in (False, True)
    )

    assert (online.error, offline.error) == ((400, 202), (200, 0))
    assert online.findings == offline.findings == [("BasicTran.OfflineTran.OfflineQueueId", code)]
    assert offline.body["Transaction"]["OfflineQueueId"] is None


LAMBDA_BYTES = 6_291_556  # of an answer, which is JSON text in JSON
QUEUE = {"OfflineMode": True, "Invoice": "日" * 512, "OfflineQueueId": "\x01" * 512}


@pytest.mark.parametrize(
    "texts",
    [
        {"Description": "\x01" * 1024, "OfflineTran": QUEUE},
        {"ExtTransData": f'"{chr(92) * 8188}"', "ExtID": "\x01" * 128},
        {"Description": '"' * 1024, "ExtTransData": f'"{chr(92) * 4000}"'},
    ],
)
def test_a_page_of_a_hundred_payments_with_long_texts_fits_into_an_answer(stage: str, texts: dict[str, Any]) -> None:
    reply = post(stage, SUBMIT, a_body(**texts) | {"ClientProductCode": "\x01" * 512})

    assert reply.error == (200, 0), reply.text
    shown = json.dumps(reply.body["Transaction"], default=str, ensure_ascii=False)
    assert len(json.dumps(shown, ensure_ascii=False).encode()) * 100 < LAMBDA_BYTES


def test_texts_that_make_a_page_too_long_are_refused(stage: str) -> None:
    texts = {"Description": "\x01" * 1024, "ExtTransData": f'"{chr(92) * 8188}"'}
    reply = post(stage, SUBMIT, a_body(**texts))

    assert (reply.error, reply.findings) == ((400, 202), [("BasicTran.ExtTransData", 4)])


@pytest.mark.parametrize(
    "sent",
    [
        *(
            "260314.3.1",
            " 260314.17.4200 ",
            "\uff12\uff16\uff10\uff13\uff11\uff14.3.1",
            "\u0662\u0666\u0660\u0663\u0661\u0664\u066b\u0663\u066b\u0661",
            "260314\u30023\uff611",
            "260314\xb73\xb71",
        ),
        *("260314.3\ufe0f.1", "A\u200b1", "A\x001", "A1\n", "\u202e1A", "A\u2028", "A\u3164", "\u28001"),
    ],
    ids=ascii,
)
def test_an_offline_payment_with_a_number_of_the_services_form_gets_the_next_one(stage: str, sent: str) -> None:
    reply = post(stage, SUBMIT, a_body(OfflineTran={"OfflineMode": True, "Invoice": sent}))

    assert reply.error == (200, 0)
    assert reply.findings == [("BasicTran.OfflineTran.Invoice", 3)]
    assert reply.body["Validations"][0]["Type"] == 2
    shown = reply.body["Transaction"]
    assert shown["Invoice"].startswith(f"{shown['Date'][2:10].replace('-', '')}.{shown['PosID']}.")


@pytest.mark.parametrize("sent", ["A-1", "260314-3-1", "Nr. 7/é", "260314.3", "260314é3é1"])
def test_an_offline_payment_keeps_the_tills_number(stage: str, sent: str) -> None:
    reply = post(stage, SUBMIT, a_body(OfflineTran={"OfflineMode": True, "Invoice": sent}))

    assert reply.body["Transaction"]["Invoice"] == sent


@pytest.mark.parametrize(
    ("levels", "findings"), [(32, []), *((n, [("BasicTran.ExtTransData", 4)]) for n in (33, 900, 4000))]
)
def test_json_in_a_text_has_at_most_32_levels(stage: str, levels: int, findings: list[Any]) -> None:
    body = a_card_body(basic={"ExtTransData": "[" * levels + "]" * levels})

    assert post(stage, SUBMIT, body).findings == findings


def test_half_a_surrogate_pair_is_named_without_the_words_of_a_codec(stage: str) -> None:
    reply = post(stage, SUBMIT, a_body(ExtTransData='{"a": "\ud800"}'))

    assert reply.findings == [("BasicTran.ExtTransData", 3)]
    assert reply.body["Validations"][0]["Message"] == "The text is not valid Unicode."


@pytest.mark.parametrize(
    ("paid", "words"), [("2999-01-01T00:00:00", "in the future"), ("2001-01-01T00:00:00", "last year")]
)
def test_a_wrong_time_of_an_offline_payment_is_told_why(stage: str, paid: str, words: str) -> None:
    reply = post(stage, SUBMIT, a_body(OfflineTran={"OfflineMode": True, "Paid": paid}))

    assert reply.findings == [("BasicTran.OfflineTran.Paid", 5)]
    assert words in reply.body["Validations"][0]["Message"]


def test_an_offline_payment_is_logged_once_with_the_time_it_waited(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paid = f"{datetime.now(UTC) - timedelta(hours=30):%Y-%m-%dT%H:%M:%S}Z"
    body = a_body(OfflineTran={"OfflineMode": True, "Paid": paid})
    shown, _, _ = (post(stage, SUBMIT, one).body["Transaction"] for one in (body, body, a_body()))

    [line] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "offline_sale" in line]
    waited = line.pop("waited_seconds")
    facts = {"transaction": shown["ID"], "merchant": shown["ClientID"], "agent": shown["PosID"]}
    assert line == {"event": "offline_sale", "stage": "local", **facts}
    assert 30 * 3600 <= waited <= 30 * 3600 + 60


def test_an_offline_payment_whose_number_is_blank_gets_one(stage: str) -> None:
    reply = post(stage, SUBMIT, a_body(OfflineTran={"OfflineMode": True, "Invoice": "  "}))

    assert reply.error == (200, 0)
    assert re.fullmatch(r"\d{6}\.\d+\.\d+", reply.body["Transaction"]["Invoice"])


@pytest.mark.parametrize("digit", ["0", "f", "F"])
def test_the_id_that_every_till_has_by_default_is_refused(stage: str, digit: str) -> None:
    default = "-".join(digit * length for length in (8, 4, 4, 4, 12))
    paid = post(stage, SUBMIT, a_body(ID=default))
    back = post(
        stage, "/api/v1/payment/reverse", {"BasicReverseTran": {"ID": default, "TransactionID": "x", "ReverseMode": 2}}
    )

    assert (paid.error, paid.findings) == ((400, 202), [("BasicTran.ID", 3)])
    assert (back.error, back.findings[0]) == ((400, 202), ("BasicReverseTran.ID", 3))


@pytest.mark.parametrize("phone", ["+27 82 987 6543", ""])
def test_the_phone_of_the_agent_is_shown_as_in_the_agent_itself(stage: str, phone: str) -> None:
    merchant = a_stored_merchant()
    till = an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant), phone=phone)
    login = (till.email, till.key)
    paid = post(stage, SUBMIT, a_body(), login).body
    pos = get(stage, f"/api/v1/merchant/{merchant.id}/pos/{till.agent.id}", login).body["Pos"]

    assert paid["Transaction"]["TransPos"]["Phone"] == pos["Phone"] == phone


@pytest.mark.parametrize(
    ("sent", "text"),
    [("0.1", "0.10"), ("10.10", "10.10"), ("9999999999.99", "9999999999.99"), ('"12.30"', "12.30"), ("5", "5.00")],
)
def test_amounts_are_exact_to_the_last_digit(stage: str, sent: str, text: str) -> None:
    body = json.dumps(a_body(Amount=0)).replace('"Amount": 0', f'"Amount": {sent}')
    reply = post(stage, SUBMIT, body)
    again = get(stage, f"/api/v1/payment/{reply.body['TransactionID']}")

    assert f'"Amount":{text},' in reply.text
    assert f'"Amount":{text},' in again.text


def test_an_id_in_any_case_is_the_same_payment(stage: str) -> None:
    body = a_body()
    first = post(stage, SUBMIT, body)
    body["BasicTran"]["ID"] = body["BasicTran"]["ID"].lower()
    second = post(stage, SUBMIT, body)

    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.body == first.body


def test_the_device_may_change_between_tries_but_not_the_payment(stage: str) -> None:
    body = a_body()
    post(stage, SUBMIT, body)
    moved = post(stage, SUBMIT, {**body, "IP": "192.0.2.7", "Location": {"Latitude": 1, "Longitude": 1}})
    body["BasicTran"]["Amount"] = 12.31
    other = post(stage, SUBMIT, body)

    assert moved.headers["Idempotent-Replayed"] == "true"
    assert other.error == (422, 302)


def test_an_offline_sale_shows_where_it_was_made_and_not_where_it_was_sent(stage: str) -> None:
    sale = a_body(OfflineTran={"OfflineMode": True, **OFFLINE_ONLY, "Invoice": a_guid()})
    shown = post(stage, SUBMIT, {**sale, "Location": {"Latitude": 2, "Longitude": 3}}).body["Transaction"]

    assert (shown["Latitude"], shown["Longitude"]) == (1, 1)


def test_an_id_of_another_merchant_is_taken(stage: str) -> None:
    body = a_body()
    post(stage, SUBMIT, body)

    assert post(stage, SUBMIT, body, OTHER_TILL).error == (422, 302)


def test_without_an_id_every_payment_is_a_new_one(stage: str) -> None:
    body = a_body(ID=None)

    assert post(stage, SUBMIT, body).body["TransactionID"] != post(stage, SUBMIT, body).body["TransactionID"]


def test_thirty_two_tills_at_once_pay_once(stage_on_dynamodb_local: str) -> None:
    body = a_body()
    with ThreadPoolExecutor(32) as tills:
        replies = list(tills.map(lambda _: post(stage_on_dynamodb_local, SUBMIT, body), range(32)))
    first = [reply for reply in replies if reply.status == 200 and "Idempotent-Replayed" not in reply.headers]
    replayed = [reply for reply in replies if reply.headers.get("Idempotent-Replayed") == "true"]
    running = [reply for reply in replies if reply.error == (409, 301)]

    assert len(first) == 1
    assert len(first) + len(replayed) + len(running) == 32
    assert {reply.body["TransactionID"] for reply in first + replayed} == {body["BasicTran"]["ID"]}


def test_a_weighed_line_and_a_discount_are_paid_as_the_receipt_shows_them(stage: str) -> None:
    lines = [
        {"Title": "Apples", "Price": "29.99", "Quantity": "0.333"},
        {"Title": "Bottles given back", "Price": "-1.5", "Quantity": 2},
    ]
    body = a_body(Amount="7.00", AuxDataInput={"AuxData": {"Purchases": lines}})  # 9.99 - 3.00, in cash
    paid = post(stage, SUBMIT, body)
    text = get(stage, f"/api/v1/payment/receipt/{paid.body['TransactionID']}").body["Receipt"]["Text"]

    assert paid.error == (200, 0)
    assert all(re.search(rf"{label} +{amount}", text) for label, amount in (("29.99", "9.99"), ("Rounding", "0.01")))
    assert re.search(r"2 x -1.50 +-3.00", text)
    assert post(stage, SUBMIT, a_body(**{**body["BasicTran"], "ID": None, "Amount": "7.09"})).findings == [
        ("BasicTran.Amount", 12)
    ]


def test_a_sale_under_a_second_id_is_taken_with_a_warning(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    number = a_guid()[:8]

    def sell(invoice: str = number, **queue: Any) -> Reply:
        offline = {"OfflineMode": True, "Invoice": invoice, "OfflineQueueId": 7, **queue}
        return post(stage, SUBMIT, a_body(ID=a_guid(), OfflineTran=offline))

    first, other_number, other_place = sell(), sell(f"{number}-2"), sell(OfflineQueueId="8")
    without = [sell(OfflineQueueId=None) for _ in range(2)]
    body = a_body(OfflineTran={"OfflineMode": True, "Invoice": number, "OfflineQueueId": "7"})
    body["Receipt"] = {"Email": "ann@payer.example"}
    capsys.readouterr()
    twice, again = (post(stage, SUBMIT, body) for _ in range(2))
    logged = capsys.readouterr().out

    for usual in (first, other_number, other_place, *without):
        assert (usual.error, usual.body["Validations"]) == ((200, 0), None)
    for warned in (twice, again):
        (warning,) = warned.body["Validations"]
        assert (warned.error, warning["Type"]) == ((200, 0), 2)
        assert warned.findings == [("BasicTran.OfflineTran.OfflineQueueId", 11)]
    assert twice.body["TransactionID"] != first.body["TransactionID"]
    assert read(outbox.key(f"{twice.body['TransactionID']}.email"))  # the payer gets a receipt all the same
    assert logged.count("offline_sale_twice") == 1


def test_anybody_who_knows_the_id_may_ask_how_a_payment_ended(stage: str) -> None:
    paid = post(stage, SUBMIT, a_body()).body["TransactionID"]
    status = get(stage, f"/api/v1/payment/statusPublic/{paid.lower()}", None).body

    assert status["Transaction"] == {
        "ID": paid,
        "State": 400,
        "Substate": 411,
        "ResultCode": 0,
        "ResultMessage": "Approved",
        "Status": "DEPOSITED",
        "IsArchive": False,
    }


@pytest.mark.parametrize("name", ["00000000-0000-4000-8000-000000000000", "nothing", "1", "x" * 3000])
def test_an_unknown_id_has_no_public_status_and_is_no_error(stage: str, name: str) -> None:
    reply = get(stage, f"/api/v1/payment/statusPublic/{name}", None)

    assert (reply.error, reply.body["Transaction"]) == ((200, 0), None)


@pytest.fixture
def calls(stage: str) -> Iterator[list[str]]:
    """The store calls of the authorizer and of the API, in order."""
    post(stage, SUBMIT, a_body())  # the credential is known from here on
    with counting() as made:
        yield made


def test_a_cash_payment_is_one_authorizers_read_one_read_and_one_transaction(stage: str, calls: list[str]) -> None:
    post(stage, SUBMIT, a_body())

    assert calls == ["GetItem", "BatchGetItem", "TransactWriteItems"]


def test_a_replay_reads_and_writes_nothing(stage: str, calls: list[str]) -> None:
    body = a_body()
    post(stage, SUBMIT, body)
    calls.clear()
    post(stage, SUBMIT, body)

    assert calls == ["GetItem", "BatchGetItem"]


def test_looking_a_payment_up_is_one_read_behind_the_authorizer(stage: str, calls: list[str]) -> None:
    paid = post(stage, SUBMIT, a_body()).body["TransactionID"]
    calls.clear()
    get(stage, f"/api/v1/payment/{paid}")
    get(stage, f"/api/v1/payment/statusPublic/{paid}", None)

    assert calls == ["GetItem", "BatchGetItem", "GetItem"]


WRONG: list[tuple[str, Any, int]] = [
    ("BasicTran", None, 1),
    ("BasicTran", [], 2),
    ("BasicTran.InputType", None, 1),
    ("BasicTran.InputType", 10.0, 2),
    ("BasicTran.InputType", True, 2),
    ("BasicTran.InputType", 6, 6),
    ("BasicTran.Amount", None, 1),
    ("BasicTran.Amount", True, 2),
    ("BasicTran.Amount", [1], 2),
    ("BasicTran.Amount", "twelve", 3),
    ("BasicTran.Amount", "1e3", 3),
    ("BasicTran.Amount", " 12.30", 3),
    ("BasicTran.Amount", 0, 5),
    ("BasicTran.Amount", -1, 5),
    ("BasicTran.Amount", "10000000000.01", 5),
    ("BasicTran.Amount", "0.001", 7),
    ("BasicTran.CurrencyID", "zar", 3),
    ("BasicTran.CurrencyID", "USD", 12),
    ("BasicTran.Description", "x" * 1025, 4),
    ("BasicTran.ExtID", "x" * 129, 4),
    ("BasicTran.ExtID", "\ud800", 3),
    ("BasicTran.AmountCashGot", 1, 12),
    ("BasicTran.AmountCashGot", {}, 2),
    ("BasicTran.ExtTransData", "{", 3),
    ("BasicTran.ExtTransData", "1e9999999999999999999", 3),  # no Decimal has such an exponent
    ("BasicTran.ExtTransData", '"' + "x" * 9000 + '"', 4),
    ("BasicTran.ID", "1", 3),
    ("BasicTran.AuxDataInput.AuxData.Purchases", {}, 2),
    ("BasicTran.AuxDataInput.AuxData.Purchases", [{"Title": "x"}] * 101, 4),
    ("BasicTran.CPFData.ProductsCustomFields", [1], 2),
    ("AcqTran.AcquirerCode", "PREPAID", 12),
    ("Card.CardInputMode", 3, 5),
    ("Files", [{"FileType": "VIDEO", "FileCode": ""}], 6),
    ("Files", [{"FileType": 1, "FileCode": ""}], 2),
    ("Files", {"FileType": "PHOTO", "FileCode": ""}, 2),
    ("TerminalGroupCode", "SOFTPOS", 12),
    ("Location.Latitude", 91, 5),
    ("Location.Longitude", -181, 5),
    ("DeviceInfo.OSVersion", "x" * 513, 4),
    ("GMT", 2.5, 2),
    ("GMT", 15, 5),
    ("GMT", 10**39, 5),
    ("GMT", 10**40, 5),
]


def changed(path: str, value: Any) -> dict[str, Any]:
    """A valid body with one field changed; None takes it out."""
    body: dict[str, Any] = json.loads(json.dumps(with_id(WHOLE_BODY)))
    *parents, last = path.split(".")
    place = body
    for parent in parents:
        if not isinstance(place.get(parent), dict):
            place[parent] = {}
        place = place[parent]
    place[last] = value
    return body


@pytest.mark.parametrize(("path", "value", "code"), WRONG, ids=lambda part: repr(part)[:30])
def test_a_wrong_field_is_named_and_nothing_is_kept(stage: str, path: str, value: Any, code: int) -> None:
    body = changed(path, value)
    reply = post(stage, SUBMIT, body)

    assert reply.error == (400, 202)
    assert any(found.startswith(path) and number == code for found, number in reply.findings), reply.findings
    name = (body.get("BasicTran") or {}).get("ID") if isinstance(body.get("BasicTran"), dict) else None
    assert name is None or not isinstance(name, str) or len(name) != 36 or transactions.get(name) is None


def test_all_that_is_wrong_is_told_at_once(stage: str) -> None:
    body = {"BasicTran": {"InputType": "10"}, "GMT": 99, "DeviceInfo": {"OS": 1}}

    assert set(post(stage, SUBMIT, body).findings) == {
        ("BasicTran.InputType", 2),
        ("BasicTran.Amount", 1),
        ("GMT", 5),
        ("DeviceInfo.OS", 2),
    }


def test_a_tag_that_cannot_be_stored_is_named(stage: str) -> None:
    line = {"Title": "x", "Price": 1, "Quantity": 1, "Tags": [{"a": "\ud800"}]}
    reply = post(stage, SUBMIT, a_body(AuxDataInput={"AuxData": {"Purchases": [line]}}))

    assert reply.error == (400, 202)
    assert reply.findings == [("BasicTran.AuxDataInput.AuxData.Purchases[0].Tags", 3)]
    assert "codec" not in reply.text


def test_both_spellings_are_understood_and_must_agree(stage: str) -> None:
    other = post(stage, SUBMIT, a_body(ExtTranData='{"a": 1}')).body
    same = post(stage, SUBMIT, a_body(ExtTranData='{"a": 1}', ExtTransData='{"a": 1}')).body
    different = post(stage, SUBMIT, a_body(ExtTranData="1", ExtTransData="2"))

    assert other["Transaction"]["ExtTranData"] == same["Transaction"]["ExtTranData"] == '{"a": 1}'
    assert different.findings == [("BasicTran.ExtTransData", 12)]


@pytest.mark.parametrize("input_type", [30, 100])
def test_links_and_recurring_payments_are_not_supported(stage: str, input_type: int) -> None:
    assert post(stage, SUBMIT, a_body(InputType=input_type)).error == (400, 312)


@pytest.mark.parametrize(("input_type", "code"), [(7, "OUTERCARD"), (8, "PREPAID"), (9, "CREDIT")])
def test_kinds_without_an_acquirer_are_recorded_when_they_are_enabled(stage: str, input_type: int, code: str) -> None:
    body = {**a_body(InputType=input_type), "AcqTran": {"AcquirerCode": code}}
    shown = post(stage, SUBMIT, body).body["Transaction"]

    assert (shown["Card"]["IIN"], shown["AmountCashGot"], shown["Status"]) == (code, None, "IN-TRANSFER")
    assert post(stage, SUBMIT, {**body, "BasicTran": {**body["BasicTran"], "ID": a_guid()}}, OTHER_TILL).error == (
        403,
        311,
    )
