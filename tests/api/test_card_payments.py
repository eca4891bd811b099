"""Card payments as a till makes them. The table of the sandbox is that of docs/cards.md."""

import base64
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain.acquirer import AcquirerAnswer
from chalicelib.gateways.acquirers.sandbox import PANS
from chalicelib.services import payment_sweep
from chalicelib.store import transactions
from infra.reference import ROOT
from tests.support.builders import PNG
from tests.support.cards import CHIP_STRIPE, PAN, STEADY, TRACK1, TRACK2, a_card_body, chip_data
from tests.support.http import OTHER_TILL, OWNER, SYSTEM, TILL, Reply, get, post
from tests.support.intercepted_calls import broken
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"

# Number, amount; then ErrorCode, Result.Code, State, Substate, Status; then the same when the payment is looked up.
APPROVED = (0, 0, 400, 411, "IN-TRANSFER")
UNKNOWN = (310, None, 200, 201, "UNKNOWN")


def declined(code: int) -> tuple[int, int, int, int, str]:
    return (1000 + code, code, 400, 412, "DECLINED")


SANDBOX = [
    (STEADY, "10.00", APPROVED, 411),
    (STEADY, "10.51", APPROVED, 411),
    ("4000000000000002", "10.00", declined(5), 412),
    ("4000000000009995", "10.00", declined(51), 412),
    ("4000000000000069", "10.00", declined(54), 412),
    ("4000000000000127", "10.00", declined(82), 412),
    ("4000000000000119", "10.00", declined(96), 412),
    ("4000000000009987", "10.00", declined(41), 412),
    ("4000000000009979", "10.00", declined(43), 412),
    ("4100000000000019", "10.00", declined(59), 412),
    ("4000000000006975", "10.00", declined(61), 412),
    ("4000000000000341", "10.00", declined(5), 412),
    (PAN, "10.00", APPROVED, 411),
    (PAN, "10.05", declined(5), 412),
    (PAN, "10.51", declined(51), 412),
    (PAN, "10.54", declined(54), 412),
    (PAN, "10.91", declined(91), 412),
    (PAN, "10.65", declined(65), 412),
    (PAN, "10.08", (0, 0, 400, 401, "IN-TRANSFER"), 401),
    (PAN, "10.68", UNKNOWN, 411),
    (PAN, "10.69", UNKNOWN, 201),
]


def facts(body: dict[str, Any], transaction: dict[str, Any]) -> tuple[Any, ...]:
    result = transaction["Result"] or {"Code": None}
    return (body["ErrorCode"], result["Code"], transaction["State"], transaction["Substate"], transaction["Status"])


def submit(stage: str, body: dict[str, Any], login: tuple[str, str] = TILL) -> Reply:
    return post(stage, SUBMIT, body, login)


def look(stage: str, transaction_id: str) -> dict[str, Any]:
    body: dict[str, Any] = get(stage, f"/api/v1/payment/{transaction_id}").body
    return body


@pytest.mark.parametrize(("name", "value"), [("PAN", PAN), ("ReaderData", TRACK2)])
def test_cash_with_a_card_is_a_contradiction_that_takes_nothing(stage: str, name: str, value: str) -> None:
    body = a_body() | {"Card": {"CardInputMode": 1, "CardDataInput": {name: value}}}

    refused = submit(stage, body)

    assert [(one["Property"], one["Code"]) for one in refused.body["Validations"]] == [
        (f"Card.CardDataInput.{name}", 12)
    ]
    placeholder = submit(stage, body | {"Card": {"CardInputMode": 1, "CardDataInput": {name: ""}}})
    assert placeholder.body["ErrorCode"] == 0
    assert "Idempotent-Replayed" not in placeholder.headers


def test_an_offline_sale_in_cash_is_taken_without_its_card(stage: str) -> None:
    body = a_body(OfflineTran={"OfflineMode": True}) | {"Card": {"CardDataInput": {"PAN": PAN}}}

    taken = submit(stage, body).body

    assert taken["ErrorCode"] == 0
    assert [(one["Type"], one["Property"]) for one in taken["Validations"]] == [(2, "Card.CardDataInput.PAN")]


IN_THE_GUIDE = re.compile(r"^\| (\d)[^|]*\| (approved|declined|the cents)[^|]*\| `(.+)` \|$", re.MULTILINE)


def test_the_readers_texts_of_the_guide_pay(stage: str) -> None:
    rows = IN_THE_GUIDE.findall((ROOT / "docs" / "cards.md").read_text(encoding="utf-8"))
    assert [(number, answer) for number, answer, _ in rows] == [
        *(("2", "approved"), ("2", "declined"), ("3", "approved"), ("3", "declined")),
        *(("3", "approved"), ("3", "the cents")),
    ]
    for number, answer, data in rows:
        card = {"CardInputMode": 1, "CardDataInput": {"ReaderType": "1", "ReaderData": data}}
        for input_type in {int(number), 4} if number == "3" else {2}:
            basic = {
                **a_body()["BasicTran"],
                "InputType": input_type,
                "Amount": "10.08" if answer == "the cents" else "10.00",
            }
            paid = submit(stage, {"BasicTran": basic, "Card": card}).body
            assert paid["ErrorCode"] == (1005 if answer == "declined" else 0)
            assert paid["Transaction"]["Substate"] == (
                401 if answer == "the cents" else 412 if paid["ErrorCode"] else 411
            )


@pytest.mark.parametrize(("pan", "amount", "answered", "found"), SANDBOX)
def test_the_sandbox_obeys_its_table(stage: str, pan: str, amount: str, answered: tuple[Any, ...], found: int) -> None:
    reply = submit(stage, a_card_body(amount, pan))

    assert reply.status == 200
    assert facts(reply.body, reply.body["Transaction"]) == answered
    seen = look(stage, reply.body["TransactionID"])
    assert seen["Transactions"][0]["Substate"] == found
    assert len(seen["InProcess"]) == (found == 201)
    assert len(seen["NotFinishedActualTrans"]) == (found == 401)


def test_nothing_remains_of_a_declined_payment(stage: str) -> None:
    transaction = submit(stage, a_card_body("10.05")).body["Transaction"]
    seen = look(stage, transaction["ID"])["Transactions"][0]

    for shown in (transaction, seen):
        assert (shown["Amount"], shown["AmountEff"], shown["AmountRvs"]) == (Decimal("10.05"), 0, 0)


def test_the_table_has_every_number_of_the_sandbox() -> None:
    assert {pan for pan, *_ in SANDBOX} == {*PANS, PAN}


def test_what_never_arrived_is_rejected_after_the_quiet_time_and_its_id_says_so(stage: str) -> None:
    body = a_card_body("10.69")
    submit(stage, body)
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=2))

    again = submit(stage, body)
    assert facts(again.body, again.body["Transaction"]) == (1091, 91, 200, 202, "REJECTED")
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_pin_that_is_required_is_told(stage: str) -> None:
    assert submit(stage, a_card_body("10.65")).body["Transaction"]["PINMode"] == 1


def test_an_approval_shows_the_card_masked_and_what_a_receipt_needs(stage: str) -> None:
    transaction = submit(stage, a_card_body()).body["Transaction"]

    card = {"IIN": "VISA", "BIN": "411111", "EXP": "1230", "PANMasked": "411111******1111", "PANEnding": "1111"}
    assert transaction["Card"] == card | {"BankName": None, "BankCountryID": None}
    assert transaction["ApprovalCode"] == transaction["AcquirerApprovalCode"]
    assert len(transaction["ApprovalCode"]) == 6
    assert len(transaction["RRN"]) == 12
    assert transaction["AcquirerID"] == "SANDBOX"
    assert transaction["AcquirerTranID"]
    assert transaction["CanCancelCNP"]
    assert transaction["IsNotFinished"] is False


@pytest.mark.parametrize("input_type", [3, 4])
def test_a_chip_is_answered_with_its_emv_data_and_the_issuers_code(stage: str, input_type: int) -> None:
    card = {"CardDataInput": {"ReaderData": chip_data()}}
    body = a_card_body("10.51", basic={"InputType": input_type}, Card=card)
    reply = submit(stage, body).body
    approved = submit(stage, a_card_body("10.00", basic={"InputType": input_type}, Card=card)).body

    emv = {"AID": "A0000000031010", "APN": "VISA CREDIT", "TSI": "E800", "TVR": "0000008000"}
    assert reply["EMVData"] == reply["Transaction"]["EMVData"] == emv
    assert reply["EMVOnlineProcessingResult"] == submit(stage, body).body["EMVOnlineProcessingResult"] == "8A023531"
    assert re.fullmatch("8A023030910A[0-9]{16}3030", approved["EMVOnlineProcessingResult"])
    assert reply["Transaction"]["CardholderName"] == "MOKOENA/THANDI"


def test_without_an_issuers_answer_the_chip_gets_the_response_code(stage: str) -> None:
    body = a_card_body("10.00", basic={"InputType": 3}, Card={"CardDataInput": {"ReaderData": chip_data()}})
    with broken(authorize=lambda *_: AcquirerAnswer(5, "Do not honour")):
        first = submit(stage, body).body

    assert first["EMVOnlineProcessingResult"] == submit(stage, body).body["EMVOnlineProcessingResult"] == "8A023035"


def test_the_acquirers_own_fields_are_answered_on_a_replay_too(stage: str) -> None:
    body = a_card_body("10.00")
    first, again = submit(stage, body).body, submit(stage, body).body
    lost = a_card_body("10.68")
    submit(stage, lost)
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=2))
    found = submit(stage, lost).body

    for reply in (first, again, found):
        assert re.fullmatch("BATCH=[0-9]{3};TRACE=[0-9]{6}", reply["AdditionalAcquiringFields"])
        assert reply["AdditionalAcquiringFieldsTitle"] == "Sandbox"
    assert again["AdditionalAcquiringFields"] == first["AdditionalAcquiringFields"]


def test_what_the_acquirer_writes_stores_no_card_number(stage: str) -> None:
    answer = AcquirerAnswer(
        0, "Approved", additional_fields=f"card {PAN} " + "x" * 2000, additional_fields_title=PAN, emv_result=PAN
    )
    body = a_card_body("10.00")
    with broken(authorize=lambda *_: answer):
        reply = submit(stage, body)

    stored = transactions.get(reply.body["TransactionID"])
    assert PAN not in f"{reply.text} {submit(stage, body).text} {stored!r}"
    assert reply.body["AdditionalAcquiringFields"].startswith("card 411111******1111 x")
    assert len(reply.body["AdditionalAcquiringFields"]) == 1024
    assert reply.body["EMVOnlineProcessingResult"] is None


def test_a_payment_without_an_acquirer_has_none_of_its_fields(stage: str) -> None:
    reply = submit(stage, a_body()).body

    names = ("AdditionalAcquiringFields", "AdditionalAcquiringFieldsTitle", "EMVOnlineProcessingResult")
    assert [reply[name] for name in names] == [None] * 3


def test_a_swiped_card_is_paid_with(stage: str) -> None:
    body = a_card_body(basic={"InputType": 2}, Card={"CardDataInput": {"ReaderType": "MSR", "ReaderData": TRACK2}})
    reply = submit(stage, body).body

    assert reply["Transaction"]["Card"]["PANMasked"] == "411111******1111"
    assert reply["EMVData"] is None
    assert reply["EMVOnlineProcessingResult"] is None


def swiped(stripe: str, **acq_tran: Any) -> dict[str, Any]:
    """The body of a payment whose card was swiped."""
    card = {"CardDataInput": {"ReaderType": "MSR", "ReaderData": stripe}}
    return a_card_body(basic={"InputType": 2}, Card=card, AcqTran=acq_tran)


CHIP_STRIPES = {
    "track 2": CHIP_STRIPE,
    "track 2, chip at home": CHIP_STRIPE.replace("=3012201", "=3012601"),
    "without sentinels": CHIP_STRIPE.strip(";?"),
    "track 1 and 2": TRACK1.replace("^3012101", "^3012201") + CHIP_STRIPE,
    "track 1 alone says so": TRACK1.replace("^3012101", "^3012601") + TRACK2,
    "track 2 alone says so": TRACK1 + CHIP_STRIPE,
}


@pytest.mark.parametrize("name", CHIP_STRIPES)
def test_the_stripe_of_a_card_with_a_chip_is_refused_unless_the_request_allows_it(stage: str, name: str) -> None:
    for refused in ({}, {"AllowSwipeOverChip": False}, {"AllowSwipeOverChip": None}):
        body = swiped(CHIP_STRIPES[name], **refused)
        reply = submit(stage, body)

        assert (reply.error, reply.findings) == ((400, 202), [("AcqTran.AllowSwipeOverChip", 12)])
        assert "chip" in reply.body["Validations"][0]["Message"]
        assert PAN not in reply.text
        assert get(stage, f"/api/v1/payment/{body['BasicTran']['ID']}").error == (404, 568)

    assert submit(stage, swiped(CHIP_STRIPES[name], AllowSwipeOverChip=True)).error == (200, 0)


@pytest.mark.parametrize(
    "stripe", [TRACK2, TRACK1 + TRACK2, f"{TRACK1}7{TRACK2}7", TRACK2.replace("=3012101", "=3012")]
)
def test_the_stripe_of_a_card_without_a_chip_needs_no_permission(stage: str, stripe: str) -> None:
    assert submit(stage, swiped(stripe)).body["Transaction"]["Card"]["PANMasked"] == "411111******1111"


@pytest.mark.parametrize("stripe", [TRACK1, TRACK1 + TRACK2.replace(PAN, STEADY), TRACK2 + TRACK1])
def test_a_stripe_without_its_track_2_or_of_two_cards_is_refused(stage: str, stripe: str) -> None:
    reply = submit(stage, swiped(stripe))

    assert (reply.error, reply.findings) == ((400, 202), [("Card.CardDataInput.ReaderData", 3)])
    assert PAN not in reply.text


def test_the_name_on_track_1_is_the_cardholders(stage: str) -> None:
    with_name = submit(stage, swiped(TRACK1 + TRACK2)).body["Transaction"]
    back = {"BasicReverseTran": {"TransactionID": with_name["ID"], "ReverseMode": 2}}

    assert with_name["CardholderName"] == "MOKOENA/THANDI"
    assert post(stage, "/api/v1/payment/reverse", back).body["Transaction"]["CardholderName"] == "MOKOENA/THANDI"
    assert submit(stage, swiped(TRACK2)).body["Transaction"]["CardholderName"] is None


def test_a_chip_that_is_read_as_a_chip_needs_no_permission(stage: str) -> None:
    body = a_card_body(basic={"InputType": 3}, Card={"CardDataInput": {"ReaderData": chip_data()}})

    assert submit(stage, body).error == (200, 0)


def test_a_repeated_swipe_is_answered_whatever_it_allows(stage: str) -> None:
    body = swiped(CHIP_STRIPE, AllowSwipeOverChip=True)
    first = submit(stage, body)

    assert submit(stage, {**body, "AcqTran": {}}).body["Transaction"] == first.body["Transaction"]


def test_a_signature_is_asked_for_when_forced_or_wanted_and_not_when_it_came_along(stage: str) -> None:
    wanted = submit(stage, a_card_body("10.08")).body
    forced = submit(stage, a_card_body(AcqTran={"ForceSignatureRequirement": True})).body
    file = {"FileType": "SIGNATURE", "FileCode": base64.b64encode(PNG).decode()}
    there = submit(stage, a_card_body("10.08", Files=[file])).body

    assert wanted["RequireSignature"]
    assert forced["RequireSignature"]
    assert wanted["Transaction"]["IsNotFinished"]
    assert there["Transaction"]["Substate"] == 411
    assert there["Transaction"]["HasSignature"]
    assert not there["Transaction"]["SignatureRequiredEffective"]
    assert not there["RequireSignature"]


def test_a_payment_in_two_steps_is_not_finished(stage: str) -> None:
    reply = submit(stage, a_card_body(AcqTran={"SingleStepAuthMode": False})).body

    assert (reply["ErrorCode"], reply["Transaction"]["Substate"]) == (0, 401)
    assert len(look(stage, reply["TransactionID"])["NotFinishedActualTrans"]) == 1


def test_a_replay_is_the_stored_answer(stage: str) -> None:
    body = a_card_body("10.51")
    first = submit(stage, body)
    again = submit(stage, body)

    assert again.body == first.body
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    other = {**body, "Card": {"CardDataInput": {"PAN": STEADY, "EXP": "1230"}}}
    assert submit(stage, other).error == (422, 302)


def card(**changes: str | None) -> dict[str, Any]:
    data = {"PAN": PAN, "EXP": "1230", "CVV2": "123", **changes}
    return {"Card": {"CardDataInput": {name: value for name, value in data.items() if value is not None}}}


BAD_INPUT = [
    ("Luhn", {}, card(PAN="4111111111111112"), [("Card.CardDataInput.PAN", 8)]),
    ("a number as a number", {}, {"Card": {"CardDataInput": {"PAN": int(PAN)}}}, [("Card.CardDataInput.PAN", 2)]),
    ("expired", {}, card(EXP="0120"), [("Card.CardDataInput.EXP", 9)]),
    ("no card", {}, {"Card": None}, [("Card.CardDataInput.PAN", 1), ("Card.CardDataInput.EXP", 1)]),
    ("wrong mode", {}, {"Card": card()["Card"] | {"CardInputMode": 2}}, [("Card.CardInputMode", 12)]),
    ("no track", {"InputType": 2}, card(), [("Card.CardDataInput.ReaderData", 1)]),
    ("TLV cut", {"InputType": 3}, card(ReaderData=chip_data()[:51]), [("Card.CardDataInput.ReaderData", 3)]),
    ("TLV cut at a byte", {"InputType": 3}, card(ReaderData=chip_data()[:50]), [("Card.CardDataInput.ReaderData", 3)]),
    ("TLV of 1 MB", {"InputType": 3}, card(ReaderData="500141" * 2**17), [("Card.CardDataInput.ReaderData", 4)]),
    ("no linked card", {"InputType": 5}, {"Card": None}, [("Card.LinkedCardId", 1)]),
    ("acquirer unknown", {}, {"AcqTran": {"AcquirerCode": "NOBODY"}}, [("AcqTran.AcquirerCode", 6)]),
    ("acquirer of cash", {}, {"AcqTran": {"AcquirerCode": "CASH"}}, [("AcqTran.AcquirerCode", 12)]),
    (
        "cash elsewhere",
        {"InputType": 10},
        {"AcqTran": {"AcquirerCode": "SANDBOX"}},
        [("AcqTran.AcquirerCode", 12), ("Card.CardDataInput.PAN", 12)],
    ),
    ("currency not the terminal's", {"CurrencyID": "EUR"}, {}, [("BasicTran.CurrencyID", 12)]),
    ("cash got", {"AmountCashGot": 20}, {}, [("BasicTran.AmountCashGot", 12)]),
    ("offline", {"OfflineTran": {"OfflineMode": True}}, {}, [("BasicTran.OfflineTran.OfflineMode", 12)]),
    (
        "Purchases that exceed",
        {"AuxDataInput": {"AuxData": {"Purchases": [{"Title": "A", "Price": "1.00", "Quantity": "2"}]}}},
        {},
        [("BasicTran.Amount", 12)],
    ),
    (
        "all at once",
        {"Amount": "10.001"},
        card(PAN="4111111111111112", EXP="0099", CVV2="1") | {"AcqTran": {"AcquirerCode": "NOBODY"}},
        [
            ("BasicTran.Amount", 7),
            ("Card.CardDataInput.PAN", 8),
            ("Card.CardDataInput.EXP", 3),
            ("Card.CardDataInput.CVV2", 3),
            ("AcqTran.AcquirerCode", 6),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("basic", "parts", "found"), [case[1:] for case in BAD_INPUT], ids=[case[0] for case in BAD_INPUT]
)
def test_what_is_wrong_is_named_without_being_quoted_and_nothing_is_kept(
    stage: str, basic: dict[str, Any], parts: dict[str, Any], found: list[tuple[str, int]]
) -> None:
    name = a_guid()
    reply = submit(stage, {**a_card_body("10.00", basic={"ID": name, **basic}), **parts})

    assert reply.error == (400, 202)
    assert reply.findings == found
    assert not any(word in reply.text for word in ("4111111111111112", "41111111111", "9999999999999995", "4" * 20))
    assert get(stage, f"/api/v1/payment/{name}").error == (404, 568)


def linked_cards(stage: str, login: tuple[str, str] = TILL, **filters: Any) -> Reply:
    return post(stage, "/api/v1/payment/GetLinkedCards", filters, login)


def test_a_linked_card_is_paid_with_under_either_spelling_and_counts_it(stage: str) -> None:
    before = linked_cards(stage).body["LinkedCards"][0]

    for spelling in ("LinkedCardId", "LinkedCardID"):
        body = a_card_body(basic={"InputType": 5}, Card={"CardInputMode": 2, spelling: before["ID"]})
        transaction = submit(stage, body).body["Transaction"]
        shown = ("ID", "LinkType", "CardholderName", "PANEnding", "PANMasked", "PaymentType", "CardExp")
        assert transaction["LinkedCard"] == {name: before[name] for name in shown}
        assert transaction["Card"]["PANMasked"] == before["PANMasked"]
        assert transaction["Substate"] == 411

    assert linked_cards(stage).body["LinkedCards"][0]["TransactionCount"] == before["TransactionCount"] + 2


@pytest.mark.parametrize(
    ("amount", "error", "more"),
    [
        ("10.00", (200, 0), 1),
        ("10.08", (200, 0), 1),  # a signature is owed, and the money was taken
        ("10.51", (200, 1051), 0),
        ("10.69", (200, 310), 0),  # it never arrived
    ],
)
def test_a_linked_card_counts_payments_with_money(stage: str, amount: str, error: tuple[int, int], more: int) -> None:
    before = linked_cards(stage).body["LinkedCards"][0]
    body = a_card_body(amount, basic={"InputType": 5}, Card={"LinkedCardId": before["ID"]})

    assert [submit(stage, body).error for _ in range(2)] == [error] * 2
    assert linked_cards(stage).body["LinkedCards"][0]["TransactionCount"] == before["TransactionCount"] + more


def test_a_payment_found_approved_later_is_counted_once(stage: str) -> None:
    before = linked_cards(stage).body["LinkedCards"][0]
    body = a_card_body("10.68", basic={"InputType": 5}, Card={"LinkedCardId": before["ID"]})
    lost = submit(stage, body)
    pending = linked_cards(stage).body["LinkedCards"][0]["TransactionCount"]

    for _ in range(2):
        payment_sweep.run(datetime.now(UTC) + timedelta(minutes=2))

    found = get(stage, f"/api/v1/payment/{lost.body['TransactionID']}").body["Transactions"][0]
    assert (lost.error, found["Substate"]) == ((200, 310), 411)
    assert pending == before["TransactionCount"]
    assert linked_cards(stage).body["LinkedCards"][0]["TransactionCount"] == before["TransactionCount"] + 1


@pytest.mark.parametrize("login", [OWNER, OTHER_TILL])
def test_a_card_of_another_agent_is_answered_as_one_that_is_missing(stage: str, login: tuple[str, str]) -> None:
    card_id = linked_cards(stage).body["LinkedCards"][0]["ID"]

    def pay(linked: int) -> Reply:
        return submit(stage, a_card_body(basic={"InputType": 5}, Card={"LinkedCardId": linked}), login)

    assert pay(card_id).error == (404, 566)
    assert pay(card_id).text == pay(999_999).text


def test_the_cents_decide_about_the_linked_card_of_the_demo(stage: str) -> None:
    card_id = linked_cards(stage).body["LinkedCards"][0]["ID"]
    body = a_card_body("10.51", basic={"InputType": 5}, Card={"LinkedCardId": card_id})

    assert submit(stage, body).error == (200, 1051)


def test_a_system_user_pays_with_no_card(stage: str) -> None:
    assert submit(stage, a_card_body(), SYSTEM).error == (403, 151)
