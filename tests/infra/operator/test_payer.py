"""The data of a payer: found in every place, exported, and erased from every place while payments go on."""

import json
import os
import pwd
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from typing import Any

import boto3
import pytest

from chalicelib import outside
from chalicelib.domain import message_limits
from chalicelib.domain.acquirer import AnswerLostError
from chalicelib.domain.agent import BLOCKED, MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.domain.outbox import Outbox
from chalicelib.domain.transaction import ERASED, ERASED_PICTURE, Erasure
from chalicelib.domain.welcome import welcome_agent
from chalicelib.gateways import files
from chalicelib.services import outbox
from chalicelib.settings import settings
from chalicelib.store import agent_changes, agents, audit, drawers
from chalicelib.store import outbox as outbox_store
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.audit import Act
from chalicelib.store.table import put_new, read, update, write_one
from infra.operator import commands as operator
from infra.operator import erasure
from infra.operator.payer_records import of_email
from tests.support import http
from tests.support.builders import a_login, an_agent
from tests.support.cards import a_card_body
from tests.support.giving import Give, Terminal, boto3_client, typing
from tests.support.intercepted_calls import broken, failing
from tests.support.outages import lose_an_answer
from tests.support.payers import Payer, now, places_of, stored
from tests.support.stored import stored_transaction
from tests.support.tills import a_till
from tests.support.transactions import a_body

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.slow]

TABLES = ("transactions", "history", "outbox", "events", "cards", "drawers")


@pytest.fixture(autouse=True)
def without_terminal(engine: str, give: Give) -> None:
    del engine
    give(typed=StringIO)


@pytest.mark.slow
def test_an_erasure_ends_although_the_answer_about_its_audit_is_lost(give: Give) -> None:
    payer = Payer()
    payer.pay_everywhere()
    seen = lose_an_answer(give, "PutItem", "audit")
    payer.erase()

    assert len(seen) == 2
    assert [one.kind for one in audit.of(f"merchant#{payer.merchant}")].count("erase") == 1
    assert places_of(payer.planted) == []


def test_planted_texts_are_in_every_place_before_an_erasure_and_in_none_after_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    payer = Payer()
    made = payer.pay_everywhere()
    before = places_of(payer.planted)
    for table in TABLES:
        assert any(place.startswith(f"payments-local-{table} ") for place in before), table
    for transaction in made:
        assert any(transaction.id in place for place in before)
    for part in ("receipt_purchases", "particulars_ext_tran_data"):
        assert any(place.split("#")[-1].startswith(part) for place in before), part
    assert sum("file transactions/" in place for place in before) == 3
    assert sum("file exports/" in place for place in before) == 1
    bucket = boto3.resource("s3").Bucket(settings().bucket)
    of_another = bucket.put_object(Key=f"exports/{payer.merchant}0/history.csv", Body=b"")

    payer.erase()

    assert places_of(payer.planted) == []
    of_another.load()
    printed = "".join(capfd.readouterr()).lower()  # the log of the payments too
    assert [text for text in payer.planted if text in printed] == []
    line = json.loads(next(one for one in printed.splitlines() if "payer_erased" in one))
    user = pwd.getpwuid(os.getuid()).pw_name
    assert (line["user"], line["merchant"], line["transactions"]) == (user.lower(), int(payer.merchant), len(made))


@pytest.mark.slow
def test_totals_amounts_references_and_other_texts_stay_as_they_are() -> None:
    payer = Payer()
    plain = payer.swipe(AcqTran={"AllowSwipeOverChip": True})
    made = [*payer.pay_everywhere(), plain]
    before = [stored_transaction(one.id) for one in made]
    counted = payer.till.counted(now())

    payer.erase()

    assert payer.till.counted(now()) == counted
    for old, one in zip(before, made, strict=True):
        new = stored_transaction(one.id)
        assert new.erasure is Erasure.DONE
        for name in ("phase", "amount_minor", "created_at", "deadline", "invoice", "fingerprint", "reversals"):
            kept = ERASED if payer.email in str(getattr(old, name)) else getattr(old, name)  # an offline sale's number
            assert getattr(new, name) == kept, name
        assert (new.result.rrn, new.result.approval_code) == (old.result.rrn, old.result.approval_code)
        assert (new.card and new.card.masked) == (old.card and old.card.masked)
        assert new.owes_signature == old.owes_signature


def test_description_and_ext_id_stay_unless_they_contain_the_address() -> None:
    payer = Payer()
    kept = payer.pay_cash(Description="Two coffees", ExtID=f"order-{payer.merchant}")
    named = payer.pay_cash(Description=f"For {payer.other_email}")

    payer.erase()

    carried = stored_transaction(kept.id).particulars
    assert (carried.description, carried.ext_id) == ("Two coffees", f"order-{payer.merchant}")
    carried = stored_transaction(named.id).particulars
    assert (carried.description, carried.ext_id, carried.receipt_email) == (ERASED, ERASED, ERASED)
    assert stored_transaction(named.id).pictures.photo_key == ERASED_PICTURE


@pytest.mark.slow
def test_a_second_erasure_finds_nothing_and_changes_nothing() -> None:
    payer = Payer()
    payer.pay_everywhere()
    payer.erase()
    after_one = stored()

    with pytest.raises(SystemExit, match="Nothing of this payer is found"):
        payer.run("erase", "--yes")

    assert stored() == after_one


def test_a_return_after_an_erasure_is_erased_by_the_next() -> None:
    payer = Payer()
    card = payer.swipe()
    payer.erase()
    returned = payer.till.give_back(card, now(), Amount="1.00", Description=f"asked by {payer.email}")
    payer.till.send_receipt(returned, now(), Email=payer.email)
    before = places_of(payer.planted)

    payer.erase()

    assert before
    assert places_of(payer.planted) == []


@pytest.mark.slow
def test_the_payments_of_another_payer_and_of_another_merchant_stay() -> None:
    payer = Payer()
    elsewhere = Payer(token=payer.token, phone=payer.phone)
    longer = Payer(till=payer.till)
    longer.email = f"jo{payer.email}"
    payer.pay_cash()
    theirs = [elsewhere.pay_cash(), longer.pay_cash(Description="x", ExtID="y", AuxDataInput=None)]
    before = {place: text for place, text in stored().items() if any(one.id.lower() in text for one in theirs)}

    payer.erase()

    after = stored()
    assert len(before) >= 6
    assert {place: after.get(place) for place in before} == before


@pytest.mark.parametrize("spelling", [str.upper, str.lower, str.title, lambda text: f" {text} "])
def test_an_e_mail_is_found_in_any_case(spelling: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer()
    made = payer.pay_cash(Description="x", ExtID="y")

    payer.run("find", email=spelling(payer.email))

    assert f"transactions  {made.id}" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["+27 82 {} {}", "082 {} {}", "(082) {}-{}", "0027 82{}{}", "+27 (0)82 {} {}"])
def test_a_telephone_is_found_in_national_and_international_form(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer()
    made = payer.pay_cash(Description="x", ExtID="y")
    typed = form.format(payer.phone[5:8], payer.phone[8:])

    operator.main(["payer", "find", "--phone", typed, "--merchant", payer.merchant])

    assert f"transactions  {made.id}" in capsys.readouterr().out


def test_an_address_whose_receipt_was_withheld_is_found_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_limits, "PER_ADDRESS", 0)
    payer = Payer()
    made = payer.pay_cash(Description="x", ExtID="y", ExtTransData=None, AuxDataInput=None)
    assert stored_transaction(made.id).receipt.addresses is None

    operator.main(["payer", "erase", "--phone", payer.phone, "--merchant", payer.merchant, "--yes"])

    assert places_of(payer.planted) == []


def test_an_offline_sale_of_last_year_is_found_and_erased(capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer(a_till(mobile_settings=MobileSettings(Features(offline=True))))
    paid = f"{now() - timedelta(days=300):%Y-%m-%d %H:%M:%S}"
    sold = payer.pay_cash(OfflineTran={"OfflineMode": True, "Paid": paid, "OfflineQueueId": f"17 {payer.email}"})
    assert stored_transaction(sold.id).counts_at < now() - timedelta(days=299)

    payer.run("find")
    assert f"transactions  {sold.id}" in capsys.readouterr().out

    payer.erase()
    assert places_of(payer.planted) == []


def test_a_receipt_that_was_sent_later_makes_its_payment_the_payers(capsys: pytest.CaptureFixture[str]) -> None:
    payer, other = Payer(), Payer()
    payment = payer.till.pay(a_body(Description="Two coffees"), now())
    reversal = payer.till.give_back(payment, now(), Amount="1.00")
    payer.till.send_receipt(payment, now(), Email=other.email, Phone=other.phone)
    payer.till.send_receipt(reversal, now(), key=payer.token, Emails=[payer.email.upper()])
    places = places_of([*payer.planted, *other.planted])
    assert [place.split()[0] for place in places] == ["payments-local-outbox"] * 3
    capsys.readouterr()

    payer.run("find")
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines() if payment.id in line].count("outbox") == 2
    assert f"outbox  {reversal.id}." in listed
    payer.run("export")
    assert {payer.email.upper(), other.email, other.phone} <= {
        to for message in json.loads(capsys.readouterr().out)["messages"] for to in message["to"]
    }
    payer.erase()
    assert places_of([*payer.planted, *other.planted]) == []


def test_a_receipt_that_was_sent_after_an_erasure_is_erased_by_the_next_and_not_sent(
    give: Give,
) -> None:
    payer = Payer()
    payment = payer.pay_cash()
    payer.erase()
    payer.till.send_receipt(payment, now(), Email=payer.email, Phone=payer.phone)
    payer.erase()
    sent: list[str] = []

    def send(_: Outbox, address: str) -> None:
        sent.append(address)

    give(send_mail=send, send_sms=send)
    outbox.sweep(now() + timedelta(minutes=2))

    assert places_of(payer.planted) == []
    assert {payer.email, payer.phone, ERASED}.isdisjoint(sent)


@pytest.mark.slow
def test_the_places_that_a_killed_erasure_left_are_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = Payer()
    payer.pay_cash()
    with monkeypatch.context() as patch:
        patch.setattr(erasure, "_erase_around", stop)
        with pytest.raises(KeyboardInterrupt):
            payer.erase()
    capsys.readouterr()

    payer.run("find")
    listed = capsys.readouterr().out
    assert [line.split("  ")[0] for line in listed.splitlines()[:-1]] == ["files", "outbox", "outbox"]

    payer.erase()
    assert places_of(payer.planted) == []


def test_files_that_s3_keeps_are_said_and_erased_by_the_next() -> None:
    payer = Payer()
    payer.pay_everywhere()

    def refuse(**request: Any) -> dict[str, Any]:
        return {"Errors": [{"Key": one["Key"], "Code": "AccessDenied"} for one in request["Delete"]["Objects"]]}

    with outside.given(boto3_client=boto3_client("s3", delete_objects=refuse)):
        with pytest.raises(SystemExit, match=r"AccessDenied.* files are kept\. The erasure is unfinished"):
            payer.erase()
        assert places_of(payer.planted) != []
    payer.erase()

    assert places_of(payer.planted) == []


def stop(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_find_lists_each_place_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer()
    payer.pay_everywhere()
    before = stored()
    places = places_of(payer.planted)
    capsys.readouterr()

    payer.run("find")

    *listed, summary = capsys.readouterr().out.splitlines()
    assert len(listed) == len(places)
    for table in TABLES:
        wanted = sum(f"-{table} " in place for place in places)
        assert sum(line.startswith(f"{table}  ") for line in listed) == wanted, table
    assert summary == f"14 transactions of merchant {payer.merchant}."
    assert stored() == before


def test_a_note_of_a_drawer_is_erased_without_any_payment(capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer()
    for note in (f"Owes {payer.email} a coin", f"Owed {payer.email} a coin", "Counted"):
        payer.count(note)
    capsys.readouterr()

    payer.run("find")
    found = capsys.readouterr().out.splitlines()
    payer.erase()

    first, second, third = drawers.of_merchant(payer.till.merchant.id)
    places = [f"drawers  {payer.merchant} {one.place}  movements" for one in (first, second)]
    assert found == [*places, f"0 transactions of merchant {payer.merchant}."]
    assert places_of(payer.planted) == []
    assert [one.note for drawer in (first, third) for one in drawer.movements] == [ERASED, ERASED, "Counted", "Counted"]


@pytest.mark.slow
def test_an_export_is_json_with_all_data_of_the_payer(capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer()
    made = payer.pay_everywhere()
    before = stored()
    capsys.readouterr()

    payer.run("export")

    printed = capsys.readouterr().out
    document: dict[str, Any] = json.loads(printed)
    assert {one["id"] for one in document["transactions"]} >= {one.id for one in made}
    assert all(text in printed.lower() for text in payer.planted)
    assert payer.email in {one.get("particulars_receipt_email") for one in document["transactions"]}
    assert [len(one["files"]) for one in document["transactions"] if "files" in one] == [1, 1, 1]
    assert document["messages"]
    assert document["answers_of_webhooks"]
    assert document["linked_cards"][0]["cardholder"] == payer.name
    assert payer.email.upper() in document["drawers"][0]["note"]
    assert payer.till.agent.email not in printed
    assert stored() == before


def test_without_a_terminal_and_without_yes_nothing_is_erased() -> None:
    payer = Payer()
    payer.pay_cash()
    before = stored()

    with pytest.raises(SystemExit) as ended:
        payer.run("erase")

    assert ended.value.code not in (0, None)
    assert "no terminal" in str(ended.value.code)
    assert stored() == before


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "is_erased"), [("y", True), ("yes", True), ("", False), ("n", False)])
def test_at_a_terminal_the_command_asks(
    *, answer: str, is_erased: bool, give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    payer = Payer()
    payer.pay_cash()
    give(typed=lambda: Terminal(answer))

    if is_erased:
        payer.run("erase")
    else:
        with pytest.raises(SystemExit, match="Nothing is changed"):
            payer.run("erase")

    assert (places_of(payer.planted) == []) is is_erased
    assert "Erase the payer's data in 1 transaction of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--email", "nobody"), "not valid"),
        (("--phone", "12"), "not valid"),
        ((), "on standard input"),
        (("--email", "a@b.example", "--phone", "+27829876543"), "--email, by --phone"),
    ],
)
def test_a_wrong_address_is_one_clear_line(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        operator.main(["payer", "find", *arguments, "--merchant", Payer().merchant])


@pytest.mark.parametrize("before", ["joe.", "joe+", "joe-", "joe%", "joe_", "jo", "1"])
def test_an_address_is_no_end_of_a_longer_one(before: str) -> None:
    ann = of_email("ann@shop.example")
    assert ann

    assert not ann.stands_in(f"for {before}ann@shop.example, thanks")
    assert not ann.stands_in("ann@shop.example.org")
    assert all(ann.stands_in(f"{mark}Ann@Shop.example{mark}") for mark in ("", " ", ",", ";", "(", "<", "\n", ":"))


@pytest.mark.slow
@pytest.mark.parametrize("named", ["email", "phone"])
def test_an_address_on_standard_input_is_in_no_list_of_processes(named: str) -> None:
    payer = Payer()
    payer.pay_cash()

    with typing(f"{getattr(payer, named)}\n"):
        operator.main(["payer", "erase", "--merchant", payer.merchant, "--yes"])

    assert places_of(payer.planted) == []


def test_the_end_of_input_at_the_question_erases_nothing(give: Give) -> None:
    payer = Payer()
    payer.pay_cash()
    before = stored()
    give(typed=Terminal)

    with pytest.raises(SystemExit, match="Nothing is changed"):
        payer.run("erase")

    assert stored() == before


def test_a_missing_merchant_is_one_clear_line() -> None:
    with pytest.raises(SystemExit, match="no merchant 999999"):
        operator.main(["payer", "find", "--email", "a@b.example", "--merchant", "999999"])


def test_an_erasure_says_how_long_backups_hold_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer()
    payer.pay_cash()

    payer.erase()

    printed = capsys.readouterr().out
    assert str((now() + timedelta(days=35)).date()) in printed
    assert "After a restore from a backup, run this command again" in printed


def test_the_api_answers_as_before_without_the_erased_data(stage_on_engine: str) -> None:
    url, token = stage_on_engine, Payer().token
    receipt = {"Email": f"{token}@payer.example", "Phone": "+27 82 111 7788"}
    body = {**a_body(Description="Two coffees", ExtID=f"order-{token}"), "Receipt": receipt}
    paths = [f"/api/v1/payment/{body['BasicTran']['ID']}", f"/api/v1/payment/receipt/{body['BasicTran']['ID']}"]
    paid = http.post(url, "/api/v1/payment/submit", body).body
    looked, shown = (http.get(url, path).body for path in paths)
    listed = http.post(url, "/api/v1/payment/listHistoryEx", {}, http.OWNER).body["TransactionsCounters"]

    merchant = str(stored_transaction(paid["TransactionID"]).client_id)
    operator.main(["payer", "erase", "--email", receipt["Email"], "--merchant", merchant, "--yes"])

    assert http.get(url, paths[1]).body == shown
    (before,), (after,) = looked["Transactions"], http.get(url, paths[0]).body["Transactions"]
    assert {name for name in before if before[name] != after[name]} == {"ReceiptEmail", "ReceiptPhone"}
    assert (after["ReceiptEmail"], after["ReceiptPhone"]) == (ERASED, ERASED)
    assert http.post(url, "/api/v1/payment/listHistoryEx", {}, http.OWNER).body["TransactionsCounters"] == listed
    again = http.post(url, "/api/v1/payment/submit", body)
    assert (again.body["ErrorCode"], again.headers["Idempotent-Replayed"]) == (0, "true")
    back = {"TransactionID": paid["TransactionID"], "ReverseMode": 2, "InputType": 10, "Amount": 2}
    assert http.post(url, "/api/v1/payment/reverse", {"BasicReverseTran": back}).error == (200, 0)


def test_a_former_agent_is_erased_from_its_record_login_payments_messages_and_the_audit() -> None:
    token = secrets.token_hex(6)
    till = a_till(name=f"Name {token}", email=f"{token}@agent.example", phone=f"+27 {token}")
    paid = till.pay(a_body(), now())
    refund = till.give_back(paid, now=now())
    write_one(outbox_store.put(welcome_agent("a message", till.merchant.id, till.agent.name, till.agent.email, now())))
    write_one(agent_changes.create_login(a_login(till.agent)))
    avatar = f"agents/{till.agent.id}/{token}.png"
    files.put(avatar, erasure.PICTURE)
    renamed = replace(till.agent, name=f"New {token}", state=BLOCKED, avatar_key=avatar)
    act = Act("update", 1, now())
    agent_changes.change(till.agent, renamed, LoginChange(), act)
    assert any("agents/" in place for place in places_of([avatar]))
    for table in ("agents", "audit", "history", "logins", "outbox", "transactions"):
        assert any(place.startswith(f"payments-local-{table} ") for place in places_of([token])), table

    operator.main(["payer", "erase", "--agent", str(till.agent.id), "--yes"])

    assert places_of([token]) == []
    assert [stored_transaction(one.id).agent.name for one in (paid, refund)] == [ERASED] * 2
    updated, erased = audit.of(f"agent#{till.agent.id}")
    assert (updated.fields, updated.former) == (("avatar_key", "name", "state"), {"state": "1"})
    assert (erased.kind, set(erased.fields), erased.former) == ("erase", set(erasure.OF_A_PERSON), {})
    assert read(agents.login_key(f"erased-{till.agent.id}@erased.invalid")) is not None


def test_a_deleted_system_user_is_erased_without_a_login() -> None:
    write_one(put_new("agents", user := an_agent(client_id=0, is_system_user=True, deleted=True), "id"))

    operator.main(["payer", "erase", "--agent", str(user.id), "--yes"])

    assert places_of([user.email.lower()]) == []
    assert [one.kind for one in audit.of(f"agent#{user.id}")] == ["erase"]


def test_an_agent_that_is_active_or_has_a_pending_payment_is_not_erased() -> None:
    till = a_till()
    with pytest.raises(SystemExit, match="is active: block it first"):
        operator.main(["payer", "erase", "--agent", str(till.agent.id), "--yes"])
    with broken(authorize=failing(AnswerLostError())):
        till.pay(a_card_body(12.68), now())
    write_one(update(agents.key(till.agent.id), {"state": BLOCKED}))
    with pytest.raises(SystemExit, match="no outcome yet"):
        operator.main(["payer", "erase", "--agent", str(till.agent.id), "--yes"])
