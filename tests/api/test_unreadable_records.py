"""An unreadable record: lists go on without it, the log has a line, and a request for it alone asks to come again."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.services import payment_sweep
from chalicelib.store.table import client, table_name
from infra.operator import items
from tests.support import events as support_events
from tests.support.builders import PASSWORD, Shop, a_webhook, agent_body
from tests.support.cards import a_card_body
from tests.support.http import Reply, get
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
LIST = "/api/v1/payment/listHistoryEx"
TAKINGS, DRAWERS = "/api/v1/report/takings", "/api/v1/report/drawer/list"


def damage(table: str, chosen: Callable[[dict[str, Any]], bool], **values: Any) -> None:
    """Give the chosen items other values; None deletes an attribute."""
    found = [item for page in items.pages(table_name(table)) for item in page if chosen(item)]
    assert found
    for item in found:
        changed = {name: value for name, value in (item | values).items() if value is not None}
        client().call("PutItem", TableName=table_name(table), Item=changed)


@pytest.fixture
def paid(shop: Shop) -> list[str]:
    """Two payments of a till of the shop."""
    agent = shop.agent(TID=shop.terminal(Name="TILL0001")["Name"])
    assert shop.post(f"{shop.path}/webhook/create", a_webhook()).error == (200, 0)
    till = (agent["Email"], PASSWORD)
    bodies = (a_body(Amount="12.30", ExtID="Table 5"), a_card_body(20.00))
    found = [str(shop.post(SUBMIT, body, till).body["TransactionID"]) for body in bodies]
    support_events.deliver_all()
    return found


def ids(reply: Reply) -> set[str]:
    assert reply.error == (200, 0), reply.text
    names = ("Transactions", "InProcess", "NotFinishedActualTrans")
    return {one["ID"] for name in names for one in reply.body[name]}


WRONG: list[dict[str, Any]] = [
    {"gmt": {"N": "99"}},
    {"gmt": {"S": "2"}},
    {"phase": {"S": "?"}},
    {"agent": None},
    {"created_at": {"S": "9999-12-31T23:59:59.000000+00:00"}},
    {"currency": {"M": {"code": {"S": "ZAR"}, "number": {"S": "710"}, "digits": {"N": "99"}}}},
    {"amount_minor": {"N": "1.5"}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_history_goes_on_without_an_unreadable_payment(
    shop: Shop, paid: list[str], capsys: pytest.CaptureFixture[str], wrong: dict[str, Any]
) -> None:
    damage("transactions", lambda item: item["id"]["S"] == paid[0], **wrong)

    assert ids(shop.post(LIST, {}, shop.owner)) == {paid[1]}
    assert ids(shop.post("/api/v1/payment/listByDaysEx", {}, shop.owner)) == {paid[1]}
    assert shop.post("/api/v1/report/export", {}, shop.owner).error == (200, 0)
    assert shop.post("/api/v1/report/takings", {}, shop.owner).error == (200, 0)
    assert f'"record": "{paid[0]}"' in capsys.readouterr().out


@pytest.mark.parametrize("wrong", WRONG[:4], ids=str)
def test_an_unreadable_payment_alone_asks_to_come_again_and_takes_no_money_twice(
    shop: Shop, paid: list[str], wrong: dict[str, Any]
) -> None:
    damage("transactions", lambda item: item["id"]["S"] == paid[0], **wrong)

    shown = get(shop.stage, f"/api/v1/payment/{paid[0]}", shop.owner)
    repeated = shop.post(SUBMIT, a_body(ID=paid[0], Amount="12.30"), shop.owner)

    assert (shown.error, shown.headers["Retry-After"]) == ((503, 903), "300")
    assert repeated.error == (503, 903)


def test_a_history_goes_on_without_an_unreadable_entry(shop: Shop, paid: list[str]) -> None:
    damage("history", lambda item: paid[0] in item["at"]["S"], kind={"S": "?"})

    assert ids(shop.post(LIST, {}, shop.owner)) == {paid[1]}
    assert ids(shop.post(LIST, {"ListBasicModel": {"Search": "table"}}, shop.owner)) == set()


@pytest.mark.parametrize("wrong", [{"n99": {"N": "1"}}, {"d25": {"S": "?"}}], ids=str)
@pytest.mark.usefixtures("paid")
def test_a_history_goes_on_without_an_unreadable_counter(
    shop: Shop, wrong: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    damage("history", lambda item: item["month"]["S"].startswith(f"{shop.id}#"), **wrong)
    capsys.readouterr()

    for path in (LIST, TAKINGS, DRAWERS):
        assert shop.post(path, {}, shop.owner).error == (200, 0), path
    assert '"event": "unreadable"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "wrong", "path", "listed", "gone"),
    [
        ("agents", {"created_at": {"S": "?"}}, "{path}/pos/list", "PosList", 1),
        ("logins", {"state": {"S": "?"}}, "{path}/pos/list", "PosList", 0),
        ("terminals", {"currency": {"S": "?"}}, "{path}/terminal/list", "Terminals", 1),
        ("webhooks", {"created_at": {"S": "?"}}, "{path}/webhook/list", "Webhooks", 1),
        ("events", {"at": {"S": "?"}}, "{path}/event/list", "Events", 1),
        ("agents", {"created_at": {"S": "?"}}, DRAWERS, "Drawers", 0),
        ("drawers", {"movements": {"S": "?"}}, DRAWERS, "Drawers", 1),
        ("drawers", {"cash": {"S": "?"}}, DRAWERS, "Drawers", 1),
        ("agents", {"created_at": {"S": "?"}}, TAKINGS, "Takings", 0),
        ("drawers", {"last": {"S": "?"}}, TAKINGS, "Takings", 0),
    ],
)
def test_a_list_goes_on_without_an_unreadable_record(  # noqa: PLR0913, PLR0917  the columns of a table
    shop: Shop, table: str, wrong: dict[str, Any], path: str, listed: str, gone: int
) -> None:
    made, today = shop.agent(TID=shop.terminal(Name="TILL0002")["Name"]), f"{datetime.now(UTC) + timedelta(hours=2):%F}"
    shop.post(f"{shop.path}/webhook/create", a_webhook())
    shop.post(SUBMIT, a_body(), (made["Email"], PASSWORD))
    shop.post("/api/v1/report/drawer", {"Action": "open", "Float": 1}, (made["Email"], PASSWORD))
    support_events.deliver_all()
    body = {"Period": {"From": today, "To": today}} if path == TAKINGS else {}
    before = shop.post(path.format(path=shop.path), body, shop.owner)
    owner = shop.owner[0].lower()

    def is_another(item: dict[str, Any]) -> bool:
        return item.get("client_id") == {"N": str(shop.id)} and item.get("email", {}).get("S", "").lower() != owner

    damage(table, is_another, **wrong)
    after = shop.post(path.format(path=shop.path), body, shop.owner)

    assert (before.error, after.error) == ((200, 0), (200, 0)), after.text
    assert len(before.body[listed]) > 0
    assert len(after.body[listed]) <= len(before.body[listed]) - gone


def test_the_sweep_resolves_the_others(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    till = (shop.agent(TID=shop.terminal(Name="TILL0003")["Name"])["Email"], PASSWORD)
    lost = [shop.post(SUBMIT, a_card_body(12.68), till).body["TransactionID"] for _ in range(2)]
    damage("transactions", lambda item: item["id"]["S"] == lost[0], gmt={"N": "99"})

    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=5))

    assert stored_transaction(lost[1]).phase is Phase.APPROVED
    printed = capsys.readouterr().out
    assert '"unreadable"' in printed
    assert '"defect"' not in printed


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ("history", {f"{letter}{number:02d}": {"S": "?"} for letter in "nkm" for number in range(32)}),
        ("drawers", {"version": {"S": "?"}}),
        ("drawers", {"last": {"S": "?"}}),
        ("drawers", {"cash": {"S": "?"}}),
        ("transactions", {"version": {"S": "?"}}),
        ("agents", {"version": {"L": []}}),
        ("agents", {"state": {"S": "?"}}),
        ("logins", {"version": {"S": "?"}}),
    ],
    ids=["counters", "version", "last", "cash", "transaction", "agent", "state", "login"],
)
def test_a_value_that_refuses_a_write_asks_to_come_again(
    shop: Shop, paid: list[str], capsys: pytest.CaptureFixture[str], table: str, wrong: dict[str, Any]
) -> None:
    agent = shop.agent(TID="TILL0001")
    till, stored = (agent["Email"], PASSWORD), [one for page in items.pages(table_name(table)) for one in page]
    assert shop.post(SUBMIT, a_body(ID=a_guid()), till).error == (200, 0)
    back = {"TransactionID": paid[0], "ReverseMode": 2, "Amount": "10.00", "PartialReverse": True}
    requests = (
        (SUBMIT, a_body(ID=a_guid()), till),
        ("/api/v1/payment/reverse", {"BasicReverseTran": back}, shop.owner),
        (f"{shop.path}/pos/{agent['ID']}/update", {"Name": "Another name"}, shop.owner),
        (f"{shop.path}/pos/create", agent_body(shop.id), shop.owner),
    )
    damage(table, bool, **wrong)

    answers = [shop.post(*request) for request in requests]

    for item in stored:
        client().call("PutItem", TableName=table_name(table), Item=item)
    refused = [one for one in answers if one.error != (200, 0)]
    assert {one.error for one in refused} == {(503, 903)}
    assert {one.headers["Retry-After"] for one in refused} <= {"1", "300"}  # of the authorizer, of the API
    assert '"unreadable"' in capsys.readouterr().out
