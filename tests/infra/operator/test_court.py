"""A court's order: the transactions that it names are found and exported, and a hold stops their erasure."""

import hashlib
import io
import itertools
import json
import re
import subprocess
import sys
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.transaction import ERASED, Erasure
from chalicelib.services.linked_cards import link
from chalicelib.store import audit, linked_cards, transactions
from chalicelib.store.table import commit, read, update, write_one
from infra.operator import commands as operator
from infra.operator import erasure, holds
from infra.reference import ROOT
from tests.api.test_unreadable_records import damage
from tests.support.card_guesses import OTHERS
from tests.support.cards import PAN
from tests.support.intercepted_calls import stopping
from tests.support.payers import Payer, now, replace_name
from tests.support.stored import stored_transaction
from tests.support.tills import a_till
from tests.support.transactions import a_body, a_guid

pytestmark = pytest.mark.usefixtures("engine")

REFERENCE = "CAS 12/11/2026"


@pytest.fixture(autouse=True)
def without_terminal(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del engine
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))


def court(*arguments: str, reference: str = REFERENCE) -> None:
    operator.main(["court", *arguments, *(["--reference", reference] if reference else [])])


@pytest.fixture
def exported(capsys: pytest.CaptureFixture[str]) -> Any:
    """Export, and return the document. No digest of a card is in it."""

    def export(*arguments: str, unknown: str = "") -> Any:
        capsys.readouterr()
        if unknown:
            with pytest.raises(SystemExit, match=rf"^Not exported: transaction {unknown}: no readable record$"):
                court("export", *arguments)
        else:
            court("export", *arguments)
        printed = capsys.readouterr().out
        document = json.loads(printed)  # no log line stands before or after it
        text = json.dumps(document["content"], sort_keys=True, separators=(",", ":"))
        assert document["custody"]["sha256_of_content"] == hashlib.sha256(text.encode()).hexdigest()
        assert not re.search("card_digest|fingerprint", printed)
        assert PAN not in printed
        return document

    return export


def ids_in(document: Any) -> set[str]:
    return {one["id"] for one in document["content"]["transactions"]}


def test_an_export_has_a_payment_with_its_reversals_files_messages_events_and_the_audit(exported: Any) -> None:
    payer = Payer()
    made = payer.pay_everywhere()
    reversal = next(one for one in made if one.is_reversal)

    whole = exported("--merchant", payer.merchant)
    unknown = a_guid()
    one = exported("--transaction", reversal.id.lower(), "--transaction", unknown, unknown=unknown)

    assert {one.id for one in made} <= ids_in(whole)
    assert ids_in(one) == {reversal.id, reversal.original.id}
    assert f"transaction {unknown}: no readable record" in one["content"]["not_there"]
    content = whole["content"]
    assert {one["to"][0] for one in content["messages"]} & {payer.email.lower(), payer.email, payer.phone}
    assert content["events"]
    assert content["linked_cards"]
    assert [file for one in content["transactions"] for file in one["files"] if file["base64"]]
    assert all(one["history"] for one in content["transactions"])
    again = exported("--transaction", reversal.id)
    assert [one["kind"] for one in again["content"]["audit"] if one["object"] == f"merchant#{payer.merchant}"].count(
        "court"
    ) == 2
    assert again["custody"]["asked"] == {"transactions": [reversal.id]}
    assert ids_in(exported("--transaction", "nonsense", unknown="NONSENSE")) == set()


@pytest.mark.parametrize("is_latest_first", [False, True])
def test_an_order_of_payments_of_any_days_has_all_their_reversals(exported: Any, *, is_latest_first: bool) -> None:
    till, early = Payer().till, now() - timedelta(days=70)
    paid = [till.pay(a_body(), at) for at in (early, now())]
    back = [till.give_back(one, at, Amount="1.00") for one, at in zip(paid, (early, now()), strict=True)]
    ordered = reversed(paid) if is_latest_first else paid

    document = exported(*(part for one in ordered for part in ("--transaction", one.id)))

    assert ids_in(document) == {one.id for one in (*paid, *back)}


def test_the_check_of_the_guide_prints_the_digest_of_an_export(capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer()
    payer.pay_cash(Description="Twee koffies, asseblief: dankie vir môre")
    code = re.search(r"python3 -c '(.+?)'", (ROOT / "docs" / "payer.md").read_text(encoding="utf-8"))
    assert code
    capsys.readouterr()
    court("export", "--merchant", payer.merchant)
    printed = capsys.readouterr().out

    checked = subprocess.run([sys.executable, "-c", code[1]], input=printed, capture_output=True, text=True, check=True)

    assert checked.stdout == f"{json.loads(printed)['custody']['sha256_of_content']}\n"


@pytest.mark.parametrize("typed", [PAN, f"{PAN[:4]} {PAN[4:8]}-{PAN[8:]}"])
def test_a_card_is_asked_for_and_compared_with_each_payment(
    exported: Any, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    payer = Payer()
    by_card, _ = payer.swipe(), payer.pay_cash()
    back = payer.till.give_back(by_card, now(), Amount="1.00")

    def of(number: str, *more: str) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO(number + "\n"))
        return exported("--merchant", payer.merchant, "--card", *more)

    found = of(typed)
    assert ids_in(found) == {by_card.id, back.id}
    assert found["custody"]["asked"]["card"] == f"{PAN[:6]}******{PAN[-4:]}"
    assert found["content"]["transactions"][0]["found_by"] == "digest of the card's number"
    assert "e-mail address of the payer, and digest" in json.dumps(of(typed, "--email", payer.email))
    assert ids_in(of(OTHERS[0])) == set()
    assert ids_in(of(typed, "--to", f"{now() - timedelta(days=2):%Y-%m-%d}")) == set()
    for wrong, message in (
        (f"{PAN}1234567", "A card number of 12 to 19"),
        (f"{PAN[:-1]}2", "The card number is mistyped"),
    ):
        with pytest.raises(SystemExit, match=f"^{message}"):
            of(wrong)


def test_till_and_time_choose(exported: Any) -> None:
    payer = Payer()
    paid = payer.pay_cash()
    today, agent = f"{now() + timedelta(hours=2):%Y-%m-%d}", str(payer.till.agent.id)

    assert ids_in(exported("--agent", agent, "--from", today, "--to", today)) == {paid.id}
    assert ids_in(exported("--terminal", str(payer.till.terminal.id))) == {paid.id}
    assert ids_in(exported("--merchant", payer.merchant, "--agent", "1")) == set()
    for by, address, how in (("--email", payer.email, "e-mail address"), ("--phone", payer.phone, "telephone number")):
        [found] = exported("--merchant", payer.merchant, by, address)["content"]["transactions"]
        assert (found["id"], found["found_by"]) == (paid.id, f"{how} of the payer")
    for wrong in (
        ["--from", "yesterday"],
        ["--from", today, "--to", "2020-01-01"],
        ["--transaction", a_guid()],
        ["--email", ""],
        ["--email", payer.email, "--phone", payer.phone],
    ):
        with pytest.raises(SystemExit):
            court("export", "--merchant", payer.merchant, *wrong)
    for alone in (["--transaction", " "], ["--transaction", paid.id, "--email", payer.email]):
        with pytest.raises(SystemExit, match="--transaction"):
            court("export", *alone)


def test_a_list_without_holds_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(holds, "all_holds", list)

    court("holds", reference="")

    assert capsys.readouterr().out == "No transaction is held.\n"


def test_a_hold_stops_an_erasure_until_it_is_lifted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(holds, "AT_ONCE", 1)  # an entry of the audit for each transaction
    payer = Payer()
    order = f"order {payer.token}"
    held, free = payer.swipe(), payer.pay_cash()
    back = payer.till.give_back(held, now(), Amount="1.00")
    payer.count(f"Owes {payer.email} a coin")
    court("hold", "--transaction", back.id, reference=order)
    court("hold", "--transaction", back.id, reference="another order")
    later = payer.till.give_back(held, now(), Amount="2.00")
    before = [stored_transaction(one.id) for one in (held, back, later)]

    for _ in range(2):
        with pytest.raises(SystemExit, match=r"^Not erased, because an order holds them: 3 transactions"):
            payer.erase()
        assert [stored_transaction(one.id) for one in (held, back, later)] == before
        assert stored_transaction(free.id).erasure is Erasure.DONE
    assert f"held by another order, {order}: {held.id}" in capsys.readouterr().out

    court("holds", reference="")
    assert f"{order}: 2 transactions; placed " in capsys.readouterr().out
    court("lift", reference=order)
    with pytest.raises(SystemExit, match="an order holds"):
        payer.erase()
    court("lift", reference="another order")
    payer.erase()
    assert {stored_transaction(one.id).erasure for one in (held, back, later)} == {Erasure.DONE}
    with pytest.raises(SystemExit, match="There is no hold"):
        court("lift", reference=order)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_held", [True, False])
def test_a_hold_or_its_end_that_dies_at_any_call_is_repeated(when: str, *, is_held: bool) -> None:
    payer = Payer()
    order, paid = f"order {payer.token}", [payer.pay_cash().id for _ in range(2)]

    def run(*, holds_them: bool) -> None:
        if holds_them:
            court("hold", *(f"--transaction={one}" for one in paid), reference=order)
        else:
            with suppress(SystemExit):  # there is no hold, or no longer
                court("lift", reference=order)

    for number in itertools.count(1):
        run(holds_them=not is_held)
        with stopping(number, when) as stopped:
            run(holds_them=is_held)
        run(holds_them=is_held)

        listed = {one for hold in holds.all_holds() if hold.reference == order for one in hold.ids}
        marked = {one for one in paid if order in stored_transaction(one).holds}
        assert listed == marked == ({*paid} if is_held else set())
        if not stopped:
            return


def test_a_hold_ends_after_its_last_day() -> None:
    payer = Payer()
    paid = payer.pay_cash()
    for until in (now() + timedelta(days=1), now() - timedelta(days=2)):
        court("hold", "--transaction", paid.id, "--until", f"{until:%Y-%m-%d}", reference=f"order {payer.token}")
        if until > now():
            with pytest.raises(SystemExit, match="an order holds"):
                payer.erase()

    payer.erase()

    assert stored_transaction(paid.id).erasure is Erasure.DONE
    assert f"order {payer.token}" not in {one.reference for one in holds.all_holds()}


def test_the_last_order_of_a_reference_says_how_long_it_holds() -> None:
    payer = Payer()
    paid, order = payer.pay_cash(), f"order {payer.token}"
    tomorrow = f"{now() + timedelta(days=1):%Y-%m-%d}"

    def until(*last_day: str) -> str:
        court("hold", "--transaction", paid.id, *last_day, reference=order)
        return str(next(one.until for one in holds.all_holds() if one.reference == order))

    ends = [until("--until", tomorrow), until(), until("--until", tomorrow)]
    assert ends == [tomorrow, "None", tomorrow]


@pytest.mark.parametrize("step", ["_mark", "_replace_record", "_erase_around"])
def test_a_hold_that_comes_during_an_erasure_stops_it_and_both_say_so(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    payer = Payer()
    paid = payer.swipe()
    back = payer.till.give_back(paid, now(), Amount="1.00")
    real, said = getattr(erasure, step), list[object]()

    def overtaken(*arguments: Any) -> Any:
        if not said:
            said.append(None)
            try:
                court("hold", "--transaction", paid.id, reference=f"order {payer.token}")
            except SystemExit as ended:
                said.append(ended.code)
        return real(*arguments)

    monkeypatch.setattr(erasure, step, overtaken)
    if step == "_erase_around":  # the records are erased already, which the hold says
        payer.erase()
        assert said[1:] == [f"The payer's data was erased before, in whole or in part: {paid.id} {back.id}"]
        return
    with pytest.raises(SystemExit, match="an order holds them: 2 transactions"):
        payer.erase()

    assert len(said) == 1 + (step == "_replace_record")  # it had begun
    assert stored_transaction(paid.id).particulars.receipt_email == payer.email
    assert stored_transaction(back.id).raw_request == back.raw_request


def test_a_reversal_keeps_its_data_from_the_moment_its_payment_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    payer = Payer()
    paid = payer.swipe()
    back = payer.till.give_back(paid, now(), Amount="1.00")
    held = list[str]()

    def overtaken(*writes: Any) -> Any:  # the hold has marked the payment, and not its reversal yet
        if not held:
            held.append(paid.id)
            write_one(update(transactions.key(paid.id), "ADD #holds :order", {"order": frozenset({"another order"})}))
        return commit(*writes)

    monkeypatch.setattr(erasure, "commit", overtaken)
    with suppress(SystemExit):
        payer.erase()

    assert held
    assert stored_transaction(back.id).raw_request == back.raw_request


def test_an_erasure_names_what_it_erased_before_a_hold_and_what_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    payer, order = Payer(), f"order {now()}"
    paid = {one.id: one for one in (payer.pay_cash(), payer.pay_cash())}
    payer.count(f"Owes {payer.email} a coin")
    real, replaced = erasure._replace_family, list[str]()  # noqa: SLF001

    def overtaken(ids: Any, address: Any) -> None:
        if replaced:
            with pytest.raises(SystemExit, match=f"was erased before, in whole or in part: {replaced[0]}$"):
                court("hold", *(word for one in paid for word in ("--transaction", one)), reference=order)
        replaced.append(ids[0])
        real(ids, address)

    with monkeypatch.context() as patch:
        patch.setattr(erasure, "_replace_family", overtaken)
        with pytest.raises(SystemExit) as ended:
            payer.erase()

    first, second = replaced
    assert ended.value.code == (
        f"Not erased, because an order holds them: 1 transaction of merchant {payer.merchant}.\n"
        f"Erased before the order held them: the records of 1 transaction of merchant {payer.merchant}."
        " Their messages, events and pictures stay."
    )
    printed = capsys.readouterr()
    assert f"\nheld by {order}: {second}\n" in printed.out
    assert f"\nerased before it was held by {order}: {first}\n" in printed.out
    assert '"transactions": 0, "held": 1, "before_hold": 1}' in printed.out
    assert stored_transaction(second).raw_request == paid[second].raw_request
    assert [one.kind for one in audit.of(f"merchant#{payer.merchant}")].count("erase") == 1


def test_a_hold_that_is_killed_holds_already(monkeypatch: pytest.MonkeyPatch) -> None:
    payer = Payer()
    paid = payer.pay_cash()
    with monkeypatch.context() as patch:
        patch.setattr(holds, "update", lambda *_, **__: sys.exit(9))
        with pytest.raises(SystemExit):
            court("hold", "--transaction", paid.id, reference=f"order {payer.token}")

    with pytest.raises(SystemExit, match="an order holds"):
        payer.erase()
    assert stored_transaction(paid.id).erasure is None


def test_a_payer_does_not_learn_of_a_hold(capsys: pytest.CaptureFixture[str]) -> None:
    payer = Payer(till=a_till())
    paid = payer.till.pay({**a_body(), "Receipt": payer.receipt}, now())
    court("hold", "--transaction", paid.id)
    capsys.readouterr()

    payer.run("export")

    assert REFERENCE not in capsys.readouterr().out


def test_a_linked_card_of_a_held_payment_keeps_its_holder() -> None:
    payer = Payer()
    linked = link(payer.till.agent, replace_name(payer.name), "Company card", now())
    by_link = {"LinkedCardId": linked.id, "CardInputMode": 2}
    basic = {"Amount": "10.00", "CurrencyID": "ZAR", "InputType": 5}
    held = payer.till.pay({"BasicTran": basic, "Card": by_link}, now())  # without an address
    free = payer.till.pay({"BasicTran": basic, "Card": by_link, "Receipt": payer.receipt}, now())
    court("hold", "--transaction", held.id, reference=f"order {payer.token}")

    with pytest.raises(SystemExit, match=f"the linked card of {free.id}"):
        payer.erase()
    kept = read(linked_cards.key(linked.id))
    court("lift", reference=f"order {payer.token}")
    payer.erase()
    erased = read(linked_cards.key(linked.id))

    assert stored_transaction(free.id).erasure is Erasure.DONE
    assert kept
    assert kept.details.cardholder == payer.name
    assert erased
    assert erased.details.cardholder == ERASED


def test_a_hold_names_the_transactions_that_it_cannot_hold() -> None:
    payer = Payer()
    paid, lost = payer.pay_cash(), payer.pay_cash()
    damage("transactions", lambda item: item["id"]["S"] == lost.id, gmt={"N": "99"})
    unknown = a_guid()
    for chosen, missing in (("--merchant", lost.id), ("--transaction", unknown)):
        named = [payer.merchant] if chosen == "--merchant" else [paid.id, chosen, unknown]
        with pytest.raises(SystemExit, match=f"Not held.*{missing}"):
            court("hold", chosen, *named, reference=f"order {payer.token}")
        assert paid.id in holds.by_transaction()


def test_an_export_names_no_other_order(exported: Any) -> None:
    payer = Payer()
    paid, other = payer.pay_cash(), payer.pay_cash()
    court("hold", "--transaction", paid.id, "--transaction", other.id, reference="a secret order")
    court("export", "--transaction", paid.id, reference="a secret order")
    court("hold", "--transaction", paid.id)

    found = exported("--transaction", paid.id)

    assert "a secret order" not in json.dumps(found)
    assert f"reference={REFERENCE}" in json.dumps(found)


@pytest.mark.parametrize(("at", "is_over"), [("2027-04-01T11:59Z", False), ("2027-04-01T12:00Z", True)])
def test_the_last_day_of_a_hold_ends_when_it_has_ended_everywhere(at: str, *, is_over: bool) -> None:
    hold = holds.Hold("order", (), date(2027, 3, 31), frozenset())

    assert hold.is_over(datetime.fromisoformat(at)) is is_over


@pytest.mark.parametrize(
    ("arguments", "reference", "line"),
    [
        (["export"], "", "Name the order: --reference"),
        (["export"], "a=b", "Name the order: --reference"),
        (["export", "--merchant", "999999999999"], REFERENCE, r"There is no merchant 999999999999\."),
        (["hold", "--until", "soon", "--transaction", a_guid()], REFERENCE, "--until is a day, such as"),
        (["hold", "--transaction", a_guid()], REFERENCE, "No stored transaction matches: nothing is held"),
    ],
    ids=["no reference", "a sign", "no merchant", "no day", "nothing found"],
)
def test_an_order_that_cannot_be_carried_out_is_one_clear_line_and_holds_nothing(
    arguments: list[str], reference: str, line: str
) -> None:
    before = holds.by_transaction()

    with pytest.raises(SystemExit, match=f"^{line}"):
        court(*arguments, reference=reference)
    assert holds.by_transaction() == before
