"""A bad day on each engine: tables are emptied, overwritten or dropped, and `restore` puts them back."""

import contextlib
import io
import itertools
import json
import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from chalicelib.aws.client import Client
from chalicelib.aws.errors import RefusedError
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversal import ReverseMode
from chalicelib.domain.secret import Secret
from chalicelib.services import deliveries, outbox, payment_sweep
from chalicelib.settings import settings
from chalicelib.store import agents, history, transactions
from chalicelib.store.table import VERSION, client, table_name, write_one
from infra.demo import data as demo_data
from infra.local import engines, streams
from infra.operator import commands as operator
from infra.operator import items, system_users
from infra.operator import restore as operator_restore
from infra.operator.records import CLASSES
from infra.operator.system_users import create_system_user
from infra.reference import ROOT
from tests.support import aws_commands, http
from tests.support import events as support_events
from tests.support.builders import PASSWORD, Shop, a_shop, a_webhook, agent_update, an_email
from tests.support.cards import a_card_body
from tests.support.goods import TAXES, a_line, put_taxes
from tests.support.host_without_inquiry import without_inquiries
from tests.support.http import get
from tests.support.intercepted_calls import hooked
from tests.support.receipts import mails
from tests.support.receivers import Receiver, a_receiver
from tests.support.reconciliations import DAY, listed
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body, a_guid

SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reverse"
REVERSE_CNP = "/api/v1/payment/reversecnp"
LIST, TAKINGS = "/api/v1/payment/listHistoryEx", "/api/v1/report/takings"
DRAWER, DRAWERS = "/api/v1/report/drawer", "/api/v1/report/drawer/list"
LATELY = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
KEPT = "kept-"  # the beginning of the names of copies

Items = dict[str, dict[str, Any]]  # the items of a table by the name of their key
Tables = dict[str, Items]
Restore = Callable[..., str]


@pytest.fixture(scope="module")
def own_dynamodb_local(aws: None) -> Iterator[str]:
    """A DynamoDB Local of this module, because it loses tables."""
    del aws
    if not engines.is_installed():
        pytest.skip(engines.INSTALL_HINT)
    with engines.dynamodb_local(expiring=False) as url:
        yield url


@pytest.fixture
def stage(request: pytest.FixtureRequest, server: str, moto_tables: Any, seeded: set[str]) -> Iterator[str]:
    """The local stage on moto, or on an engine of its own: its URL. The copies of the test are deleted after it."""
    if getattr(request, "param", "moto") == "moto":
        moto_tables.module = None  # each test begins with the demo data
        request.getfixturevalue("moto")
    else:
        url = request.getfixturevalue("own_dynamodb_local")
        request.getfixturevalue("choose")(url)
        if url not in seeded:
            demo_data.seed()
            seeded.add(url)
    yield server
    tables = boto3.client("dynamodb")
    for name in tables.list_tables()["TableNames"]:
        if name.removeprefix(settings().table_prefix) not in items.definitions():
            tables.delete_table(TableName=name)
        elif is_moto():  # its recovery ends at the time at which a test enabled it
            tables.update_continuous_backups(
                TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
            )


@dataclass
class Shopping:
    """A shop, its till, its customers, and the receiver of its events."""

    shop: Shop
    till: tuple[str, str]
    session: str
    receiver: Receiver
    customer: str
    paid: list[str]

    def pay(self, body: dict[str, Any]) -> str:
        reply = self.shop.post(SUBMIT, {**body, "Receipt": {"Email": self.customer}}, self.till)
        assert reply.error == (200, 0), reply.text
        support_events.deliver_all()
        self.paid.append(str(reply.body["TransactionID"]))
        return self.paid[-1]

    def give_back(self, payment: str, amount: str, *lines: str, by_card: bool = False) -> str:
        path, mode = (REVERSE_CNP, ReverseMode.RETURN_CNP) if by_card else (REVERSE, ReverseMode.RETURN)
        basic = {"TransactionID": payment, "ReverseMode": mode, "Amount": amount, "PartialReverse": True}
        if lines:
            basic["AuxDataInput"] = {"AuxData": {"Purchases": [a_line(line) for line in lines]}}
        reply = self.shop.post(path, {"BasicReverseTran": {**basic, "ID": a_guid()}}, self.till)
        assert reply.error == (200, 0), reply.text
        support_events.deliver_all()
        return str(reply.body["TransactionReverseID"])

    def count(self, entered: dict[str, Any]) -> None:
        assert self.shop.post(DRAWER, entered, self.till).error == (200, 0)

    def seen(self) -> list[Any]:
        """Return what the shop sees: each payment, list, totals, takings, webhooks, events, and who is signed in."""
        me = http.call(
            self.shop.stage,
            "GET",
            "/api/v1/user/me?GMT=0",
            None,
            None,
            {"Authorization": f"Session {self.session}"},
        )
        shown = [http.get(self.shop.stage, f"/api/v1/payment/{one}", self.till) for one in self.paid]
        asked = [
            self.shop.post(LIST, {}, self.shop.owner),
            self.shop.post(TAKINGS, {}, self.shop.owner),
            self.shop.post(DRAWERS, {}, self.shop.owner),
            self.shop.post(f"{self.shop.path}/webhook/list", {}, self.shop.owner),
            self.shop.post(f"{self.shop.path}/event/list", {}, self.shop.owner),
        ]
        assert [reply.error for reply in (me, *shown, *asked)] == [(200, 0)] * (len(shown) + 6)
        return [reply.body for reply in (*shown, *asked)]

    def sent(self) -> tuple[int, int]:
        """Return the numbers of calls of the webhook and of receipts, after the streams and the sweeps have run."""
        support_events.deliver_all()
        for minutes in (0, 3, 200):
            now = datetime.now(UTC) + timedelta(minutes=minutes)
            while outbox.sweep(now, 100).done:
                pass
            deliveries.sweep(now, 0.2)
        return len(self.receiver.calls), len(mails(self.customer))


def history_of(shopping: Shopping) -> tuple[str, dict[str, Any]]:
    """Return the history's table, and a total of the shop in it."""
    totals = (one for one in stored_in("history").values() if one["at"]["S"].startswith("total#"))
    return table_name("history"), next(one for one in totals if one["month"]["S"].startswith(f"{shopping.shop.id}#"))


@pytest.fixture
def shopping(stage: str) -> Iterator[Shopping]:
    """A shop with payments of three kinds, a part given back, events, receipts and a session."""
    with a_receiver() as receiver:
        shop = a_shop(stage)
        agent = shop.agent(TID=shop.terminal(Name="TILL0001")["Name"], MobileSettings={"Features": {"AutoLogin": True}})
        till = (agent["Email"], PASSWORD)
        body = {"Email": till[0], "Password": till[1], "Remember": True}
        signed_in = http.post(stage, "/api/v1/user/login/session", body, None).body
        created = shop.post(f"{shop.path}/webhook/create", a_webhook(Url=receiver.url))
        assert created.error == (200, 0), created.text
        made = Shopping(shop, till, signed_in["Data"]["SessionID"], receiver, an_email(), [])
        put_taxes(shop, TAXES)
        lines = [a_line(line) for line in ("2 x Tea 4.00 VAT15", "1 x Milk 4.30 VAT0")]
        cash = made.pay(a_body(Amount="12.30", AuxDataInput={"AuxData": {"Purchases": lines}}))
        made.pay({**a_card_body(20.00), "TaxesModel": {"Taxes": ["VAT15"]}})
        made.give_back(cash, "2.30")
        made.count({"Float": 500})
        later = {"Email": an_email()}
        http.post(stage, f"/api/v1/payment/receipt/{cash}", later, made.till, Idempotency_Key="later")
        support_events.deliver_all()
        yield made


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command writes its report."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def restore(stage: str, capsys: pytest.CaptureFixture[str]) -> Restore:
    """Run the command; return the output, with the message of its exit at the end."""
    del stage

    def run(*options: str, is_done: bool = True) -> str:
        capsys.readouterr()
        end = ""
        try:
            operator.main(["restore", *options])
        except SystemExit as stopped:
            end = str(stopped.code)
        assert bool(end) is not is_done, end + capsys.readouterr().out
        return capsys.readouterr().out + end

    return run


@pytest.fixture
def keep(restore: Restore) -> Callable[[], list[str]]:
    """Make the copies of this moment, and return the options that name them.

    moto restores a table as it is, whatever the time, so the copies are made now. DynamoDB Local restores nothing.
    """

    def make() -> list[str]:
        at = datetime.now(UTC).isoformat()
        if is_moto():
            restore("--at", at, is_done=False)
            return ["--at", at]
        for table, found in stored().items():
            arguments = {**items.definitions()[table], "TableName": KEPT + table, "DeletionProtectionEnabled": False}
            arguments.pop("StreamSpecification", None)
            boto3.client("dynamodb").create_table(**arguments)
            for item in found.values():
                put(KEPT + table, item)
        return ["--at", at, "--copies", KEPT]

    return make


def is_moto() -> bool:
    return engines.ENDPOINT_VARIABLE not in os.environ


def stored() -> Tables:
    """Return every item of every table of the stage."""
    return {table: stored_in(table) for table in items.definitions()}


def stored_in(table: str) -> Items:
    pages = items.pages(table_name(table))
    return {items.name_of(table, item): item for page in pages for item in page}


def lasting(tables: Tables) -> Tables:
    """Return the items without those that leap, without rolled-up totals, which the next list makes, and sign-ins."""
    leaping = {name for name, item in tables["sequences"].items() if "N" in item.get("last", {})}
    rolled = {name for name in tables["history"] if re.match(r"[0-9]+#[0-9]{4} ", name)}
    without = {"sequences": leaping, "history": rolled}
    return {
        table: {
            name: {key: value for key, value in item.items() if (table, key) != (agents.LOGINS, VERSION)}
            for name, item in found.items()
            if name not in without.get(table, ())
        }
        for table, found in tables.items()
    }


def put(name: str, item: dict[str, Any]) -> None:
    client().call("PutItem", TableName=name, Item=item)


def emptied(table: str, _: Tables) -> None:
    for item in stored_in(table).values():
        without(item, table)


def overwritten(table: str, _: Tables) -> None:
    """Every second item becomes rubbish."""
    for item in list(stored_in(table).values())[::2]:
        put(table_name(table), {**items.key_of(table, item), "rubbish": {"S": "?"}})


def outdated(table: str, earlier: Tables) -> None:
    """Each item that existed earlier is as it was then."""
    for item in earlier[table].values():
        put(table_name(table), item)


Damage = Callable[[str, Tables], None]
on_both_engines = pytest.mark.parametrize(
    "stage", ["moto", pytest.param("dynamodb-local", marks=pytest.mark.release)], indirect=True
)
on_dynamodb_local = pytest.mark.parametrize(
    "stage", [pytest.param("dynamodb-local", marks=pytest.mark.release)], indirect=True
)
BEFORE_A_RELEASE = (emptied,)
DAMAGES = [
    pytest.param(one, marks=pytest.mark.release if one in BEFORE_A_RELEASE else ())
    for one in (emptied, overwritten, outdated)
]


def test_every_table_has_a_rule_or_is_written_again() -> None:
    assert {*CLASSES, history.TABLE} == set(items.definitions())


@on_both_engines
@pytest.mark.parametrize("damage", DAMAGES)
def test_all_tables_are_as_they_were(
    shopping: Shopping, restore: Restore, keep: Callable[[], list[str]], damage: Damage
) -> None:
    earlier = stored()
    shopping.give_back(shopping.paid[1], "5.00", by_card=True)
    shopping.count({"Counted": 510, "Note": "Counted twice"})
    seen, sent = shopping.seen(), shopping.sent()
    before, options = stored(), keep()
    for table in before:
        damage(table, earlier)

    printed = restore(*options, "--yes")

    assert lasting(stored()) == lasting(before), printed
    assert shopping.sent() == sent
    assert shopping.seen() == seen
    paid = shopping.pay(a_body(Amount="7.00"))
    shopping.give_back(paid, "7.00")
    (shown,) = http.get(shopping.shop.stage, f"/api/v1/payment/{paid}", shopping.till).body["Transactions"]
    assert (shown["Substate"], shown["AmountEff"]) == (502, 0)
    assert shopping.sent() == (sent[0] + 2, sent[1] + 1)
    assert "none differs" in restore(*options, "--table", "events", "--yes")


EVERY_RUN = {transactions.TABLE, agents.LOGINS, history.TABLE}  # the other tables before a release


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(one, marks=() if one in EVERY_RUN else pytest.mark.release)
        for one in sorted({*CLASSES, history.TABLE})
    ],
)
def test_one_table_is_as_it_was(shopping: Shopping, restore: Restore, keep: Any, table: str) -> None:
    seen, before, options = shopping.seen(), stored(), keep()
    overwritten(table, {})

    restore(*options, "--table", table, "--yes")

    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen


@on_both_engines
def test_an_item_that_somebody_changes_between_comparison_and_write_stays(
    shopping: Shopping, restore: Restore, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = keep()
    agent = {"id": {"N": str(shopping.shop.id)}}
    real, changed = items.put, {**agent, "rubbish": {"S": "of somebody else"}}
    sound = stored_in("merchants")[str(shopping.shop.id)]
    put(table_name("merchants"), {**agent, "rubbish": {"S": "?"}})

    def overtaken(table: str, item: Any, present: Any) -> Any:
        put(table_name(table), changed)
        return real(table, item, present)

    monkeypatch.setattr(items, "put", overtaken)
    printed = restore(*options, "--table", "merchants", "--merchant", str(shopping.shop.id), "--yes", is_done=False)

    assert f"{shopping.shop.id}: changed meanwhile" in printed
    assert stored_in("merchants")[str(shopping.shop.id)] == changed
    put(table_name("merchants"), sound)


@on_both_engines
def test_later_writes_stay(shopping: Shopping, restore: Restore, keep: Any) -> None:
    earlier, options = stored(), keep()
    cash = shopping.paid[0]
    shopping.give_back(cash, "4.00")
    later = shopping.pay(a_body(Amount="8.00"))
    shopping.shop.post(f"{shopping.shop.path}/webhook/create", a_webhook())
    seen, before = shopping.seen(), stored()
    for table in earlier:
        for name in [*earlier[table]][::2]:
            if before[table].get(name) == earlier[table][name]:  # what was written later is sound
                put(table_name(table), {**items.key_of(table, earlier[table][name]), "rubbish": {"S": ""}})

    restore(*options, "--yes")

    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen
    assert http.get(shopping.shop.stage, f"/api/v1/payment/{later}", shopping.till).error == (200, 0)


def test_a_reversal_after_the_copy_counts_in_its_restored_payment(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, (cash, _) = keep(), shopping.paid
    shopping.give_back(cash, "4.00", "1 x Tea 4.00")
    seen, before = shopping.seen(), stored()
    put(table_name("transactions"), {"id": {"S": cash}, "rubbish": {"S": ""}})

    printed = restore(*options, "--table", "transactions", "--yes")

    assert "given-back amounts of payments corrected: 1." in printed
    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen


def a_tax(minor: int) -> dict[str, Any]:
    facts = {"code": {"S": "VAT15"}, "name": {"S": "VAT"}, "rate": {"N": "15"}}
    return {"M": {**facts, "gross_minor": {"N": "3110"}, "tax_minor": {"N": f"{minor}"}}}


WRONG_TAXES: list[dict[str, Any]] = [
    {"S": "VAT15"},
    {"L": [{"S": "VAT15"}]},
    {"L": [{"M": {"code": {"S": "VAT15"}}}]},
    {"L": [a_tax(999)]},
]


def damaged(table: str, chosen: Callable[[dict[str, Any]], bool], **attributes: Any) -> int:
    """Give attributes of the chosen items other values, and return the number of these items."""
    found = [item for item in stored_in(table).values() if chosen(item)]
    for item in found:
        put(table_name(table), {**item, **attributes})
    return len(found)


@pytest.mark.parametrize("wrong", WRONG_TAXES, ids=str)
def test_wrong_taxes_are_as_they_were(shopping: Shopping, restore: Restore, keep: Any, wrong: Any) -> None:
    seen, before, options = shopping.seen(), stored(), keep()
    assert damaged("transactions", lambda one: one["id"]["S"] == shopping.paid[1], tax_amounts=wrong)
    assert damaged("transactions", lambda one: "gives_back" in one, gives_back={"M": {"tax0": {"N": "999"}}})
    for name in ("taxes", "rubbish"):
        assert damaged("history", lambda one: one["at"]["S"].startswith(("total#", "entry#")), **{name: wrong})

    restore(*options, "--yes")

    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen


@pytest.mark.parametrize("given_back", [{"M": {"tax0": {"N": "999"}, "line1": {"N": "1"}}}, {"M": {}}, {"S": "?"}])
def test_lines_and_taxes_that_a_payment_gave_back_are_those_of_its_reversals(
    shopping: Shopping, restore: Restore, keep: Any, given_back: Any
) -> None:
    cash = shopping.paid[0]
    shopping.give_back(cash, "4.00", "1 x Tea 4.00")
    before, options = stored(), keep()
    assert damaged("transactions", lambda one: one["id"]["S"] == cash, given_back=given_back)

    restore(*options, "--table", "transactions", "--yes")

    assert lasting(stored()) == lasting(before)
    shopping.give_back(cash, "4.00", "1 x Tea 4.00")


def test_a_reversal_that_failed_gives_back_no_line(shopping: Shopping, restore: Restore, keep: Any) -> None:
    cash = shopping.paid[0]
    failed = shopping.give_back(cash, "4.00", "1 x Tea 4.00")
    declined = {"phase": {"S": Phase.DECLINED.value}}
    assert damaged("transactions", lambda one: one["id"]["S"] == failed, **declined)
    assert damaged("history", lambda one: failed in one["at"]["S"], **declined)

    printed = restore(*keep(), "--table", "transactions", "--yes")

    assert "given-back amounts of payments corrected: 1." in printed
    shopping.give_back(cash, "8.00", "2 x Tea 4.00")


def test_a_lost_reversal_is_named_and_never_given_back_twice(shopping: Shopping, restore: Restore, keep: Any) -> None:
    options, (cash, _) = keep(), shopping.paid
    lost = shopping.give_back(cash, "10.00")
    client().call("DeleteItem", TableName=table_name("transactions"), Key={"id": {"S": lost}})

    printed = restore(*options, "--table", "transactions", "--yes", is_done=False)

    assert f"{cash}: a lost reversal gave back 10.00 ZAR, or tried to." in printed
    basic = {"TransactionID": cash, "ReverseMode": ReverseMode.RETURN}
    reply = shopping.shop.post(REVERSE, {"BasicReverseTran": basic}, shopping.till)
    assert reply.status == 409


def test_a_lost_payment_is_named_and_counts_no_more(shopping: Shopping, restore: Restore, keep: Any) -> None:
    seen, options = shopping.seen(), keep()
    lost = shopping.pay(a_body(Amount="8.00"))
    emptied("transactions", {})

    printed = restore(*options, "--table", "transactions", "--yes", is_done=False)

    (line,) = (line for line in printed.splitlines() if lost in line)
    assert line.startswith(f"  lost payment of merchant {shopping.shop.id}: {lost}  approved, 8.00 ZAR at CASH, ")
    shopping.paid.remove(lost)
    assert shopping.seen()[:-1] == seen[:-1]  # the last are the events: the receiver has got that of the lost payment


def test_the_line_of_a_lost_payment_has_its_phase(shopping: Shopping, restore: Restore, keep: Any) -> None:
    options = keep()
    declined = shopping.shop.post(SUBMIT, a_card_body("10.05"), shopping.till).body["TransactionID"]
    emptied("transactions", {})

    printed = restore(*options, "--yes", is_done=False)

    assert f"{declined}  declined, 10.05 ZAR at SANDBOX, " in printed


def altered(transaction_id: str, **values: int) -> None:
    """Overwrite numbers of a stored transaction."""
    [item] = (one for one in stored_in("transactions").values() if one["id"]["S"] == transaction_id)
    put(table_name("transactions"), item | {name: {"N": str(value)} for name, value in values.items()})


def corrected_by_the_guide(transaction_id: str, amount_minor: int) -> None:
    """Carry out the guide's command for this transaction and amount."""
    text = guide_to_repairs()[0].replace("6F9619FF-8B86-D011-B42D-00CF4FC964FF", transaction_id)
    [command] = re.findall(r"^aws dynamodb update-item (?:.*\\\n)+.*$", text, re.MULTILINE)
    list(aws_commands.carry_out([command.replace("3110", str(amount_minor))], {"TABLE": table_name("transactions")}))


def test_a_later_payment_that_contradicts_its_history_is_named_and_changes_nothing(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, (cash, _) = keep(), shopping.paid
    later, reversal = shopping.pay(a_body(Amount="31.10")), shopping.give_back(cash, "2.00")
    seen, before = shopping.seen(), stored()
    altered(later, amount_minor=999_999)
    altered(reversal, amount_minor=999_999)

    printed = restore(*options, "--yes", is_done=False)

    assert f"{later}: 9999.99 ZAR approved (InputType 10, CASH, agent " in printed
    assert f"{reversal}: 9999.99 ZAR given_back (ReverseMode 2, InputType 10, CASH, agent " in printed
    left = lasting(stored())
    assert left["history"] == lasting(before)["history"]
    assert left["transactions"][cash] == before["transactions"][cash]

    corrected_by_the_guide(later, 3110)
    corrected_by_the_guide(reversal, 200)
    restore(*options, "--yes")
    assert (shopping.seen(), lasting(stored())) == (seen, lasting(before))


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"phase": {"S": "declined"}}, "31.10 ZAR declined"),
        ({"client_id": {"N": "1"}}, "of merchant 1 in transactions"),
        ({"created_at": {"S": "2026-01-02T10:00:00.000000+00:00"}}, "2026-01-02 12:00"),
        ({"acquirer": {"S": "CREDIT"}}, "CREDIT"),
        ({"tax_amounts": {"L": [a_tax(407)]}}, "VAT15 407 of 3110"),
    ],
)
def test_a_later_payment_with_another_fact_than_its_history_is_counted_as_before(
    shopping: Shopping, restore: Restore, keep: Any, change: dict[str, Any], shown: str
) -> None:
    options, later = keep(), shopping.pay({**a_body(Amount="31.10"), "TaxesModel": {"Taxes": ["VAT15"]}})
    before, item = stored(), stored_in("transactions")[later]
    put(table_name("transactions"), item | change)

    printed = restore(*options, "--yes", is_done=False)

    (line,) = (line for line in printed.splitlines() if line.startswith(f"  {later}: "))
    assert shown in line
    assert lasting(stored())["history"] == lasting(before)["history"]


def test_a_payment_whose_phase_cannot_follow_its_copy_is_written_back(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    (cash, _), before, options = shopping.paid, stored(), keep()
    put(table_name("transactions"), before["transactions"][cash] | {"phase": {"S": "declined"}})

    assert "transactions: 1 altered written back." in restore(*options, "--yes")
    assert lasting(stored()) == lasting(before)


def test_a_killed_run_has_named_each_lost_payment_before_it_deletes_an_entry(
    shopping: Shopping, restore: Restore, keep: Any, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, lost = keep(), [shopping.pay(a_body(Amount="8.00")) for _ in range(3)]
    emptied("transactions", {})

    def dying(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("infra.operator.recount.commit", dying)
    with pytest.raises(KeyboardInterrupt):
        restore(*options, "--yes")

    [report] = reports.glob("restore-*.txt")
    assert all(f"lost payment of merchant {shopping.shop.id}: {one}" in report.read_text("utf-8") for one in lost)


def test_a_lost_payment_is_named_by_a_reversal_that_outlived_it(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, later = keep(), shopping.pay(a_body(Amount="8.00"))
    reversal = shopping.give_back(later, "2.00")
    emptied("history", {})
    client().call("DeleteItem", TableName=table_name("transactions"), Key={"id": {"S": later}})

    printed = restore(*options, "--yes", is_done=False)

    assert f"  lost payment: {later}, whose reversal {reversal} is still in the table transactions" in printed


def test_a_payment_that_was_altered_and_then_written_stays_and_is_named(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, (cash, _) = keep(), shopping.paid
    shopping.give_back(cash, "2.00")
    before = stored()
    altered(cash, amount_minor=999_999)

    printed = restore(*options, "--yes", is_done=False)

    assert f"transactions {cash}: newer than the copy, stays: amount_minor, " in printed
    (line,) = (line for line in printed.splitlines() if line.startswith(f"  {cash}: 9999.99 ZAR"))
    assert line.endswith("different: amount_minor. Compare them.")
    assert lasting(stored())["history"] == lasting(before)["history"]


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("transactions", {"rrn": {"S": "000000000000"}}),
        ("transactions", {"card": {"M": {}}}),
        ("transactions", {"invoice": {"S": "261125.1.1"}}),
        ("transactions", {"gmt": {"N": "1"}}),
        ("transactions", {"gmt": {"N": "99"}}),
        ("transactions", {"v": {"N": "99"}}),
        ("logins", {"password_hash": {"S": "of-somebody-else"}}),
        ("cards", {"link_id": {"S": "of-somebody-else"}}),
    ],
)
def test_any_altered_attribute_is_named_without_its_value_and_put_back(
    shopping: Shopping, restore: Restore, keep: Any, table: str, change: dict[str, Any]
) -> None:
    seen, before, options = shopping.seen(), stored(), keep()
    before, [name] = stored(), change
    assert damaged(table, lambda _: True, **change)

    compared = restore(*options, "--table", table, is_done=False)
    restore(*options, "--yes")

    assert re.search(rf"^  {table} .*: (altered|unreadable): .*\b{name}\b", compared, re.MULTILINE)
    assert not any(secret in compared for secret in ("of-somebody-else", "argon2id"))
    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen


@pytest.mark.parametrize(
    "change",
    [
        {"gmt": {"N": "99"}},
        {"gmt": {"S": "2"}, "rrn": {"N": "1"}},
        {"phase": {"S": "?"}, "amount_minor": {"N": "-1"}},
        {"client_id": {"S": "?"}, "currency": {"M": {}}, "input_type": {"N": "77"}},
    ],
    ids=str,
)
def test_an_unreadable_later_payment_is_put_together_again_from_its_history(
    shopping: Shopping, restore: Restore, keep: Any, change: dict[str, Any]
) -> None:
    options, later = keep(), shopping.pay(a_card_body(31.00))
    seen, before = shopping.seen(), stored()
    assert damaged("transactions", lambda one: one["id"]["S"] == later, **change)

    printed = restore(*options, "--yes")

    assert f"{later}: put together again from its history: {', '.join(sorted(change))}" in printed
    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen


def test_an_unreadable_later_payment_without_history_is_named(shopping: Shopping, restore: Restore, keep: Any) -> None:
    options, later = keep(), shopping.pay(a_body(Amount="31.00"))
    assert damaged("transactions", lambda one: one["id"]["S"] == later, taker={"S": "?"})

    printed = restore(*options, "--yes", is_done=False)

    assert f"  {later}: unreadable, no copy is readable: taker" in printed


@pytest.mark.parametrize("parameters", [None, "$argon2id$v=19$m=8192,t=1,p=1$c29tZXNhbHQ"])
def test_a_password_that_somebody_else_set_and_used_is_named(
    shopping: Shopping, restore: Restore, keep: Any, parameters: str | None
) -> None:
    options, email = keep(), shopping.till[0].lower()
    own = stored_in("logins")[email]["password_hash"]["S"]
    parameters = parameters or own.rpartition("$")[0]
    put(table_name("logins"), stored_in("logins")[email] | {"password_hash": {"S": f"{parameters}$forged"}})
    assert http.get(shopping.shop.stage, "/api/v1/user/me?GMT=0", shopping.till).status == 401  # counted: it is newer

    printed = restore(*options, "--yes", is_done=False)

    assert "password_hash changed without an administrator: set its password and its key again." in printed
    assert "forged" not in printed


def test_forged_items_are_named_and_do_not_count(shopping: Shopping, restore: Restore, keep: Any) -> None:
    seen, before, options = shopping.seen(), stored(), keep()
    before, payment = stored(), shopping.paid[0]
    forged = a_guid()
    put(table_name("transactions"), before["transactions"][payment] | {"id": {"S": forged}})
    login = before["logins"][shopping.till[0].lower()]
    put(table_name("logins"), login | {"email": {"S": "forged@shop.example"}})
    put(table_name("agents"), before["agents"][login["agent_id"]["N"]] | {"id": {"N": "999"}})
    for entry in [one for one in before["history"].values() if payment in one["at"]["S"]]:
        place = entry["at"]["S"].replace("T1", "T2").replace("T0", "T1")
        put(table_name("history"), entry | {"at": {"S": place}})

    printed = restore(*options, "--yes", is_done=False)

    assert f"  {forged}: has the receipt number of {payment}" in printed
    assert "has another e-mail: its login forged@shop.example was deleted." in printed
    assert "  agent 999: neither the copy nor the audit knows it" in printed
    assert lasting(stored())["history"] == lasting(before)["history"]
    assert shopping.seen() == seen


def test_two_payments_that_share_a_receipt_number_since_a_damage_both_count(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options = keep()
    counters = [one for name, one in stored_in("sequences").items() if name.startswith(f"receipts#{shopping.shop.id}#")]
    first = shopping.pay(a_body(Amount="8.00"))
    for counter in counters:
        put(table_name("sequences"), counter)
    second = shopping.pay(a_body(Amount="9.00"))
    seen = shopping.seen()
    table, total = history_of(shopping)
    put(table, total | {"d01": {"N": "7"}})

    printed = restore(*options, "--yes", is_done=False)

    assert invoice(shopping, first) == invoice(shopping, second)
    assert f"  {first}: has the receipt number of {second}. Both are counted." in printed
    assert f"  {second}: has the receipt number of {first}. Both are counted." in printed
    assert "not counted" not in printed
    assert shopping.seen() == seen

    for entry in [one for one in stored_in("history").values() if second in one["at"]["S"]]:
        without(entry, "history")
    printed = restore(*options, "--yes", is_done=False)
    assert f"  {second}: has the receipt number of {first}, and no entry in the history. Compare them." in printed
    restore(*options, "--delete-copies")
    restore(*keep(), "--yes")  # the way of the guide: a copy of now has the genuine one
    assert shopping.seen() == seen


def test_a_copy_of_an_entry_under_another_id_is_deleted_and_no_payment_is_lost(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    seen, options, before = shopping.seen(), keep(), stored()
    for entry in [one for one in before["history"].values() if shopping.paid[0] in one["at"]["S"]]:
        put(table_name("history"), entry | {"at": {"S": entry["at"]["S"].replace(shopping.paid[0], a_guid())}})
    for event in [one for one in stored_in("events").values() if "transaction_id" in one]:
        put(table_name("events"), event | {"transaction_id": {"N": "99"}})

    printed = restore(*options, "--yes")

    assert "lost payment of" not in printed
    assert lasting(stored())["history"] == lasting(before)["history"]
    assert shopping.seen() == seen


def test_more_than_nothing_cannot_have_been_given_back(shopping: Shopping, restore: Restore, keep: Any) -> None:
    options, cash = keep(), shopping.paid[0]
    item = stored_in("transactions")[cash]
    put(table_name("transactions"), item | {"reversed_minor": {"N": "-4000"}})
    body = {"TransactionID": cash, "ReverseMode": ReverseMode.RETURN, "Amount": "1.00", "PartialReverse": True}

    assert shopping.shop.post(REVERSE, {"BasicReverseTran": body}, shopping.till).status == 503
    restore(*options, "--yes")
    assert stored_in("transactions")[cash] == item


def test_reversals_of_more_than_a_payment_are_named_and_not_counted(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    (cash, _) = shopping.paid
    reversal = shopping.give_back(cash, "2.00")
    before = stored_transaction(cash).reversals
    altered(reversal, amount_minor=999_999)
    emptied("history", {})

    printed = restore(*keep(), "--yes", is_done=False)

    assert re.search(rf"{cash}: its reversals give back [0-9]{{5}}[.][0-9]+ of ", printed)
    assert stored_transaction(cash).reversals == before


def test_a_merchant_that_was_made_after_the_copy_is_named_with_all_that_was_made_for_it(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    seen, options = shopping.seen(), keep()
    shop = a_shop(shopping.shop.stage)
    agent = shop.agent(TID=shop.terminal(Name="TILL0009")["Name"])
    webhook, gone = (shop.post(f"{shop.path}/webhook/create", a_webhook()).body["Webhook"]["ID"] for _ in range(2))
    assert shop.post(f"{shop.path}/webhook/{gone}/delete", {}).status == 200
    paid = shop.post(SUBMIT, a_body(Amount="25.00"), (agent["Email"], PASSWORD)).body["TransactionID"]
    for table in ("agents", "merchants", "terminals", "transactions", "webhooks"):
        emptied(table, {})

    printed = restore(*options, "--yes", is_done=False)

    assert f"lost payment of merchant {shop.id}: {paid}  approved, 25.00 ZAR at CASH, " in printed
    for lost in (f"merchant {shop.id}", f"agent {agent['ID']}", f"webhook {webhook}", "terminal "):
        assert f"  lost {lost}" in printed
    assert f"lost webhook {gone}:" not in printed
    line = f"  agent {agent['ID']} of merchant {shop.id} is lost: its login {agent['Email']} was deleted."
    assert line in printed
    assert shopping.shop.agent(Email=agent["Email"])["Email"] == agent["Email"]
    assert shopping.seen() == seen


def test_an_agent_without_login_gets_one_with_its_key_and_takes_a_new_password(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, key = keep(), "a-key-of-a-till-made-later-0001"
    agent = shopping.shop.agent(SecretKey=key)
    client().call("DeleteItem", TableName=table_name("logins"), Key={"email": {"S": agent["Email"]}})

    printed = restore(*options, "--yes", is_done=False)

    assert f"agent {agent['ID']}: its login was made again, with its secret key. Set its password again." in printed
    me, path = "/api/v1/user/me", f"{shopping.shop.path}/pos/{agent['ID']}/update"
    assert get(shopping.shop.stage, me, (agent["Email"], key)).error == (200, 0)
    assert get(shopping.shop.stage, me, (agent["Email"], PASSWORD)).error == (401, 102)
    assert shopping.shop.post(path, {"Password": PASSWORD}).error == (200, 0)
    assert get(shopping.shop.stage, me, (agent["Email"], PASSWORD)).error == (200, 0)


def test_a_lost_payment_that_the_till_sends_again_is_stored_and_sends_no_second_receipt(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, body = keep(), a_body(Amount="8.00")
    lost = shopping.pay(body)
    sent = shopping.sent()[1]
    emptied("transactions", {})
    restore(*options, "--table", "transactions", "--yes", is_done=False)

    assert shopping.pay(body) == lost
    assert stored_transaction(lost).amount_minor == 800
    assert shopping.sent()[1] == sent


def test_a_lost_payment_that_no_till_repeats_is_entered_as_the_guide_says(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, lost = keep(), shopping.pay(a_body(Amount="25.00"))
    emptied("transactions", {})
    restore(*options, "--table", "transactions", "--yes", is_done=False)
    offline = shopping.shop.agent(
        TID="TILL0001", MobileSettings={"Features": {"Offline": True}}, SecretKey="a-key-of-a-till-made-later-0001"
    )
    [example] = re.findall(r"```json\n(\{.*?LOST-0001.*?)```", guide_to_repairs()[0], re.DOTALL)
    day = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
    body = json.loads(re.sub(r"\d{4}-\d\d-\d\d(?=T)", day, example))
    body["BasicTran"]["ID"] = lost

    replies = [shopping.shop.post(SUBMIT, body, (offline["Email"], PASSWORD)) for _ in range(2)]

    assert [reply.error for reply in replies] == [(200, 0)] * 2
    assert (replies[1].body["TransactionID"], stored_transaction(lost).amount_minor) == (lost, 2500)


def test_a_lost_card_payment_that_the_till_sends_again_gets_its_outcome(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options, body = keep(), a_card_body(8.00)
    lost = shopping.pay(body)
    sent = shopping.sent()[1]
    emptied("transactions", {})
    restore(*options, "--table", "transactions", "--yes", is_done=False)

    assert shopping.pay(body) == lost
    assert stored_transaction(lost).phase is Phase.APPROVED
    assert shopping.sent()[1] == sent


def test_a_lost_payment_without_history_is_named_by_its_receipt(
    shopping: Shopping, restore: Restore, keep: Any, reports: Path
) -> None:
    options = keep()
    lost = shopping.pay(a_body(Amount="8.00"))
    for table in ("transactions", "history"):
        emptied(table, {})

    printed = restore(*options, "--yes", is_done=False)

    assert f"  lost transaction: {lost}, which is still in the table " in printed
    [report] = reports.glob("restore-*.txt")
    assert f"lost transaction: {lost}" in report.read_text(encoding="utf-8")
    assert report.name in printed


def test_no_number_is_given_twice(shopping: Shopping, restore: Restore, keep: Any) -> None:
    options, cash = keep(), shopping.paid[0]
    later = shopping.pay(a_body(Amount="8.00"))
    other = shopping.shop.agent()["ID"]
    emptied("sequences", {})

    restore(*options, "--table", "sequences", "--yes")

    newest = shopping.pay(a_body(Amount="9.00"))
    numbers = [invoice(shopping, one) for one in (cash, later, newest)]
    assert len({*numbers}) == 3
    assert int(numbers[2].split(".")[2]) == int(numbers[1].split(".")[2]) + 1
    assert shopping.shop.agent()["ID"] > other


REFUSED, STALE = {"last": {"S": "?"}}, {"last": {"M": {}}, VERSION: {"N": "1"}}  # damages of a counter


@pytest.mark.parametrize(
    ("damage", "lost", "is_killed"),
    [
        (REFUSED, "transactions", True),
        (STALE, None, False),
        *(
            pytest.param(*one, marks=pytest.mark.release)
            for one in ((REFUSED, "history", False), (REFUSED, "copies", False), (STALE, None, True))
        ),
    ],
)
def test_payments_at_each_call_of_a_repair_get_no_receipt_number_twice(
    shopping: Shopping, keep: Any, damage: dict[str, Any], lost: str | None, *, is_killed: bool
) -> None:
    """A counter refuses payments, or is behind them. A table does not know the newest one, or no copy the counter."""
    [name] = (one for one in stored_in("sequences") if one.startswith(f"receipts#{shopping.shop.id}#"))
    counter = stored_in("sequences")[name]
    if lost == "copies":
        without(counter, "sequences")
    options = [*keep(), "--table", "sequences", "--merchant", str(shopping.shop.id), "--yes"]
    put(table_name("sequences"), counter)
    given = [invoice(shopping, shopping.pay(a_body())) for _ in range(3)]
    for table in {"history", "transactions"} & {lost}:
        for item in [one for one in stored_in(table).values() if shopping.paid[-1] in str(one)]:
            without(item, table)

    for number in itertools.count(1):
        put(table_name("sequences"), stored_in("sequences")[name] | damage)
        tried = run_with_a_payment(shopping, options, number, is_killed=is_killed)
        if is_killed:
            operator.main(["restore", *options])
        after = taken(shopping)
        assert after
        assert not {*after} & {*given, *tried}, number
        assert damage is STALE or not {*tried} & {*given}, number
        given += after + [one for one in tried if one != "refused"]
        if not tried:
            break


def without(item: dict[str, Any], table: str) -> None:
    client().call("DeleteItem", TableName=table_name(table), Key=items.key_of(table, item))


def run_with_a_payment(shopping: Shopping, options: list[str], number: int, *, is_killed: bool) -> list[str]:
    """Run the command with a payment before this call. Return its receipt number, or "refused"; nothing if untried."""
    calls, tried = itertools.count(1), list[str]()

    def pay(when: str, _: str) -> None:
        if when == "before" and not tried and next(calls) == number:
            tried.append("refused")
            tried[:] = taken(shopping) or tried
            if is_killed:
                raise KeyboardInterrupt

    with hooked(pay), contextlib.suppress(SystemExit, KeyboardInterrupt):
        operator.main(["restore", *options])
    return tried


def taken(shopping: Shopping) -> list[str]:
    """Pay; return the receipt number, or nothing of a refused payment."""
    reply = shopping.shop.post(SUBMIT, a_body(), shopping.till)
    return [invoice(shopping, str(reply.body["TransactionID"]))] if reply.error == (200, 0) else []


def invoice(shopping: Shopping, payment: str) -> str:
    (shown,) = http.get(shopping.shop.stage, f"/api/v1/payment/{payment}", shopping.till).body["Transactions"]
    return str(shown["Invoice"])


def test_a_message_that_may_have_been_sent_is_not_sent_again(shopping: Shopping, restore: Restore, keep: Any) -> None:
    body = {**a_body(Amount="8.00"), "Receipt": {"Email": shopping.customer}}
    reply = shopping.shop.post(SUBMIT, body, shopping.till)
    options = keep()
    sent = shopping.sent()
    for table in ("outbox", "events"):
        emptied(table, {})

    for table in ("outbox", "events"):
        restore(*options, "--table", table, "--yes")

    assert shopping.sent()[1] == sent[1]
    entry = stored_in("outbox")[f"{reply.body['TransactionID']}.email"]
    assert ("given_up_at" in entry, "due_at" in entry) == (True, False)
    assert {*shopping.receiver.ids} == {call.event_id for call in shopping.receiver.calls[: sent[0]]}


def test_a_webhook_that_was_deleted_after_the_copy_stays_deleted(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    options = keep()
    hook = shopping.shop.post(f"{shopping.shop.path}/webhook/list", {}).body["Webhooks"][0]["ID"]
    assert shopping.shop.post(f"{shopping.shop.path}/webhook/{hook}/delete", {}).error == (200, 0)

    printed = restore(*options, "--table", "webhooks", "--yes")

    assert f"  webhooks {shopping.shop.id} {hook}: deleted since, stays" in printed
    assert shopping.shop.post(f"{shopping.shop.path}/webhook/list", {}).body["Webhooks"] == []


def test_the_login_of_an_old_address_stays_deleted(shopping: Shopping, restore: Restore, keep: Any) -> None:
    options, email = keep(), an_email()
    number = stored_in("logins")[shopping.till[0].lower()]["agent_id"]["N"]
    reply = shopping.shop.post(
        f"{shopping.shop.path}/pos/{number}/update",
        agent_update(Email=email, Password=None, EndSessions=None, SecretKey=None),
    )
    assert reply.error == (200, 0), reply.text

    restore(*options, "--table", "logins", "--yes")

    assert http.get(shopping.shop.stage, "/api/v1/user/me?GMT=0", shopping.till).status == 401
    assert http.get(shopping.shop.stage, "/api/v1/user/me?GMT=0", (email, PASSWORD)).status == 200


def test_the_login_of_a_deleted_system_user_stays_deleted(stage: str, restore: Restore, keep: Any) -> None:
    del stage
    email = an_email()
    gone = create_system_user("Ann Lee", email, Secret("long enough a password"))
    options = keep()
    system_users.change(gone, system_users.DELETE)
    another = create_system_user("Ben Smith", email, Secret("another long password"))
    before = stored_in("logins")[email]

    restore(*options, "--yes")

    assert stored_in("logins")[email] == before
    assert before["agent_id"]["N"] == str(another.id)
    assert stored_in("agents")[str(gone.id)]["deleted"] == {"BOOL": True}


def test_a_login_that_was_written_with_the_same_values_stays(shopping: Shopping, restore: Restore, keep: Any) -> None:
    options, email = keep(), shopping.till[0].lower()
    number = stored_in("logins")[email]["agent_id"]["N"]
    reply = shopping.shop.post(f"{shopping.shop.path}/pos/{number}/update", {"Name": "Another name"})
    assert reply.error == (200, 0), reply.text
    written = stored_in("logins")[email]

    printed = restore(*options, "--table", "logins", "--yes")

    assert f"  logins {email}: newer than the copy, stays: v" in printed
    assert stored_in("logins")[email] == written


@on_both_engines
def test_one_merchant_comes_back_and_no_other(shopping: Shopping, restore: Restore, keep: Any) -> None:
    seen, before, options = shopping.seen(), stored(), keep()
    for table in before:
        if table != "sequences":
            emptied(table, {})

    restore(*options, "--merchant", str(shopping.shop.id), "--yes")

    after = stored()
    assert [*after["merchants"]] == [str(shopping.shop.id)]
    assert {item["client_id"]["N"] for item in after["transactions"].values()} == {str(shopping.shop.id)}
    restore(*options, "--yes")
    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen


def test_nothing_changes_without_a_yes(
    shopping: Shopping, restore: Restore, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del shopping
    options = [*keep(), "--table", "merchants"]
    emptied("merchants", {})
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))

    printed = restore(*options, is_done=False)

    assert re.search(r"^merchants: [0-9]+ compared; [0-9]+ missing\.$", printed, re.MULTILINE)
    assert printed.endswith("Nothing was changed. The option --yes writes.")
    assert stored_in("merchants") == {}
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "no")
    restore(*options, is_done=False)
    assert stored_in("merchants") == {}
    monkeypatch.setattr("builtins.input", lambda _: "yes")
    restore(*options)
    assert stored_in("merchants") != {}


@on_both_engines
def test_a_run_after_a_killed_one_completes_it(
    shopping: Shopping, restore: Restore, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, sent = shopping.seen(), shopping.sent()
    before, options = stored(), keep()
    for table in before:
        emptied(table, {})
    for dies_after in (20, 30, 10_000):
        monkeypatch.setattr(operator_restore, "write_one", dying_after(dies_after))
        with contextlib.suppress(KeyboardInterrupt):
            restore(*options, "--yes")

    assert lasting(stored()) == lasting(before)
    assert shopping.sent() == sent
    assert shopping.seen() == seen


def dying_after(number: int, work: Callable[..., Any] = write_one) -> Callable[..., Any]:
    """Return a function that works so often, and then kills the process."""
    done = itertools.count()

    def call(*arguments: Any, **named: Any) -> Any:
        if next(done) >= number:
            raise KeyboardInterrupt
        return work(*arguments, **named)

    return call


def another(value: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return another value, of the same type or of any."""
    [(kind, content)] = value.items()
    same: dict[str, Callable[[], Any]] = {
        "N": lambda: str(chance.choice([int(float(content)) + 1, -1, 99, 10**30])),
        "S": lambda: chance.choice([content + "?", "", "9999-99-99"]),
        "BOOL": lambda: not content,
        "B": lambda: "AAAA",
        "SS": lambda: ["?"],
    }
    types: list[dict[str, Any]] = [{"S": "?"}, {"N": "99"}, {"BOOL": True}, {"M": {}}, {"L": []}, {"NULL": True}]
    return chance.choice([{kind: same.get(kind, type(content))()}, *types])


def damaged_anyhow(table: str, chance: random.Random) -> None:
    """Delete some items of a table; alter, delete or add an attribute of others. It knows nothing of the records."""
    for item in list(stored_in(table).values()):
        key = items.key_of(table, item)
        name = chance.choice(sorted(item.keys() - key.keys()) or ["v"])
        kind = chance.choice(["delete", "alter", "alter", "remove", "add", "nothing"])
        if kind == "delete":
            client().call("DeleteItem", TableName=table_name(table), Key=key)
        elif kind == "alter" and name in item:
            with contextlib.suppress(RefusedError):  # keys of indexes have their types
                put(table_name(table), {**item, name: another(item[name], chance)})
        elif kind == "remove":
            put(table_name(table), {one: value for one, value in item.items() if one != name})
        elif kind == "add":
            with contextlib.suppress(RefusedError):
                put(
                    table_name(table),
                    {**item, chance.choice(["rubbish", "due_at", "n99"]): another({"S": "x"}, chance)},
                )


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(one, marks=pytest.mark.release) for one in range(3, 20))])
def test_after_any_damage_and_kills_at_any_call_every_item_is_as_it_was(
    shopping: Shopping, restore: Restore, keep: Any, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311  repeatable, not a secret
    seen, before, options = shopping.seen(), stored(), keep()
    before = stored()
    for table in before:
        damaged_anyhow(table, chance)

    for _ in range(4):
        with monkeypatch.context() as patch:
            patch.setattr(Client, "call", dying_after(chance.randrange(20, 300), Client.call))
            with contextlib.suppress(KeyboardInterrupt):
                restore(*options, "--yes")
    printed = restore(*options, "--yes")

    after = stored()
    for table, found in lasting(before).items():
        for name, item in found.items():
            assert lasting(after)[table].get(name) == item, (table, name, printed)
    assert lasting(after) == lasting(before)
    assert shopping.seen() == seen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--at", "yesterday"], "The time must be like"),
        (["--at", "2026-03-14T09:00:00"], "The time must have its zone"),
        (["--at", "2999-03-14T09:00:00Z"], "must be over"),
        (["--at", LATELY, "--table", "payments"], "There is no table payments: there are agents,"),
        (["--at", LATELY, "--copies", "none-"], "There is no table none-"),
        (["--at", LATELY, "--copies", "payments-local-"], "payments-local-… are the tables of the stage itself"),
        (["--at", "2026-03-14T09:00:00Z"], "must be within the last 35 days"),
        (["--at", LATELY, "--merchant", "999", "--yes"], "There is no merchant 999."),
    ],
)
def test_a_wrong_option_is_one_clear_line(restore: Restore, options: list[str], message: str) -> None:
    assert message in restore(*options, is_done=False)


@on_dynamodb_local
def test_dynamodb_local_copies_the_tables_as_they_are_now(shopping: Shopping, restore: Restore) -> None:
    seen, at = shopping.seen(), datetime.now(UTC).isoformat()

    printed = restore("--at", at, is_done=False)
    emptied("transactions", {})
    emptied("agents", {})
    restore("--at", at, "--yes")

    assert "transactions: this engine knows no earlier state. The copy is the table as it is now." in printed
    assert shopping.seen() == seen


def test_the_copies_of_a_time_are_deleted_and_no_other_table(restore: Restore, keep: Any) -> None:
    tables = boto3.client("dynamodb").list_tables()["TableNames"]
    (_, at), (_, other) = keep(), ["--at", (datetime.now(UTC) - timedelta(hours=1)).isoformat()]
    restore("--at", other, is_done=False)
    restore("--at", at, "--delete-copies")

    left = {*boto3.client("dynamodb").list_tables()["TableNames"]} - {*tables}
    assert len(left) == len(CLASSES)
    restore("--at", other, "--delete-copies")
    assert boto3.client("dynamodb").list_tables()["TableNames"] == tables


def test_the_guide_repairs_a_table(
    shopping: Shopping, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = shopping.seen()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    pattern = re.compile(r"^ *python -m infra\.operator (restore .*?)(?: \| tee .*)?$", re.MULTILINE)
    compare, *writes = pattern.findall(guide_to_repairs()[0])

    with pytest.raises(SystemExit, match="Nothing was changed"):
        operator.main(compare.split())
    for table in items.definitions():
        overwritten(table, {})
    for command in writes:
        operator.main(command.split())

    assert len(writes) == 3  # the last one deletes the copies
    assert "written back" in capsys.readouterr().out
    assert shopping.seen() == seen


def guide_to_repairs() -> tuple[str, str]:
    """Return the guide to repairs, and its rehearsal."""
    guide = (
        (ROOT / "docs" / "operator.md")
        .read_text(encoding="utf-8")
        .replace("$AT", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    )
    repair, _, rehearsal = guide.partition("**Rehearse it**")
    return repair, rehearsal


def test_a_time_that_dynamodb_does_not_have_is_named_before_anything_is_copied(
    restore: Restore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, at = boto3.client("dynamodb"), datetime.now(UTC).replace(microsecond=0)
    first = {f"payments-local-{name}": at - timedelta(days=1) for name in CLASSES}

    def described(self: Any, operation: str, parameters: dict[str, Any]) -> Any:
        if operation != "DescribeContinuousBackups":
            return call(self, operation, parameters)
        times = {
            "EarliestRestorableDateTime": first[parameters["TableName"]],
            "LatestRestorableDateTime": at - timedelta(minutes=5),
        }
        return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": times}}

    call = type(tables)._make_api_call  # type: ignore[attr-defined]  # noqa: SLF001
    monkeypatch.setattr(BaseClient, "_make_api_call", described)
    too_new = restore("--at", (at - timedelta(minutes=3)).isoformat(), "--yes", is_done=False)
    assert re.search("Nothing was changed: run this again in 2 min, or with an earlier time.$", too_new)
    assert not [one for one in tables.list_tables()["TableNames"] if "-copy-" in one]

    first["payments-local-drawers"] = at - timedelta(minutes=6)
    printed = restore("--at", (at - timedelta(minutes=7)).isoformat(), "--yes", is_done=False)
    assert "drawers: not compared: DynamoDB can restore it from" in printed
    assert re.search(r"^drawers: \d+ compared", printed, re.MULTILINE) is None
    assert re.search(r"^transactions: \d+ compared", printed, re.MULTILINE)
    assert printed.endswith("Left, as the lines above say: 1.")


def test_the_rehearsal_of_the_guide_damages_a_table_and_repairs_it(shopping: Shopping, restore: Restore) -> None:
    seen, before = shopping.seen(), stored()
    rehearsal = guide_to_repairs()[1].partition("### Kinds of damage")[0]
    copy, write = re.findall(r"infra\.operator restore (.*)", rehearsal)
    [snippet] = re.findall(r"-c '(.*?)'", rehearsal, re.DOTALL)

    restore(*copy.split(), is_done=False)
    exec(snippet, {})  # noqa: S102  of the guide
    assert stored()["transactions"] != before["transactions"]
    restore(*write.split())

    assert lasting(stored()) == lasting(before)
    assert shopping.seen() == seen


def test_a_dropped_table_comes_back_as_the_guide_says(shopping: Shopping, restore: Restore) -> None:
    seen, tables = shopping.seen(), boto3.client("dynamodb")
    guide = guide_to_repairs()[0].partition("### A table was dropped")[2]
    commands = re.findall(r"^aws dynamodb .*$", guide, re.MULTILINE)
    for table in ("transactions", "events"):
        name = table_name(table)
        backup = tables.create_backup(TableName=name, BackupName="when-it-was-dropped")["BackupDetails"]["BackupArn"]
        tables.update_table(TableName=name, DeletionProtectionEnabled=False)
        tables.delete_table(TableName=name)
        assert f"Dropped: {table}. See `A table was dropped`" in restore("--at", LATELY, is_done=False)
        if table == transactions.TABLE:
            assert get(shopping.shop.stage, "/api/v1/health?deep=1", None).error == (503, 903)
            refused = shopping.shop.post(SUBMIT, a_body(), shopping.till)
            assert (refused.error, refused.headers["Retry-After"]) == ((503, 903), "1")

        list(aws_commands.carry_out(commands, {"NAME": name, "BACKUP": backup}))

    found = tables.describe_table(TableName=name)["Table"]
    assert (found["DeletionProtectionEnabled"], found["StreamSpecification"]["StreamViewType"]) == (True, "NEW_IMAGE")
    assert tables.describe_time_to_live(TableName=name)["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    assert shopping.seen() == seen


def test_the_list_of_the_host_names_a_lost_payment(
    shopping: Shopping, restore: Restore, keep: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = keep()
    with pytest.MonkeyPatch.context() as patch, without_inquiries(patch):
        payment = stored_transaction(shopping.pay(a_card_body(31.00)))
    day = f"{payment.created_at + timedelta(hours=payment.gmt):%Y-%m-%d}"
    host_list = tmp_path / "host.csv"
    host_list.write_text(listed(payment).replace(str(DAY), day), newline="")
    for table in ("transactions", "history"):
        emptied(table, {})

    assert f"lost transaction: {payment.id}" in restore(*options, "--yes", is_done=False)

    command = ["--acquirer", payment.acquirer, "--date", day, "--file", str(host_list)]
    with pytest.raises(SystemExit) as stopped:
        operator.main(["reconcile", *command])
    printed = capsys.readouterr()
    assert stopped.value.code == 1, printed.err
    assert re.search(rf"{payment.result.rrn} +missing here +ours -, theirs purchase 31.00 ZAR", printed.out)


def test_the_others_are_counted_without_an_unreadable_merchant(shopping: Shopping, restore: Restore, keep: Any) -> None:
    seen, options = shopping.seen(), [*keep(), "--yes"]
    other = stored_in("merchants")["1"]
    put(table_name("merchants"), {"id": {"N": "1"}, "gmt": {"S": "zzz"}})
    table, name = history_of(shopping)
    put(table, name | {"d01": {"N": "7"}})

    printed = restore(*options, "--table", "history")

    put(table_name("merchants"), other)
    assert '"unreadable"' in printed
    assert shopping.seen() == seen


def test_a_payment_that_was_pending_is_resolved_without_a_second_receipt_or_event(
    shopping: Shopping, restore: Restore, keep: Any
) -> None:
    body = {**a_card_body(12.68), "Receipt": {"Email": shopping.customer}}  # the sandbox loses the answer
    pending = shopping.shop.post(SUBMIT, body, shopping.till).body["TransactionID"]
    assert stored_transaction(pending).is_pending
    options = keep()
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=5))
    assert stored_transaction(pending).phase is Phase.APPROVED
    sent = shopping.sent()
    emptied("transactions", {})

    restore(*options, "--table", "transactions", "--yes")
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=10))

    assert stored_transaction(pending).phase is Phase.APPROVED
    assert shopping.sent() == sent


@on_both_engines
def test_the_stream_passes_no_restored_event(shopping: Shopping, restore: Restore, keep: Any) -> None:
    support_events.forget()
    before, options = stored_in("events"), keep()
    emptied("events", {})

    restore(*options, "--table", "events", "--yes")

    assert stored_in("events") == before
    own = [one for one in before.values() if "kind" in one and one["client_id"]["N"] == str(shopping.shop.id)]
    assert len(own) == len(shopping.receiver.calls) > 0
    assert list(streams.batches()) == []
