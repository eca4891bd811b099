"""Drawers: what an agent's drawer should hold, what was counted, and who may see it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain import takings
from chalicelib.domain.answer_size import bytes_in_answer
from chalicelib.errors import ErrorCode
from chalicelib.store import audit, drawers
from infra.bench.client import measure_capacity
from tests.support.builders import PASSWORD, Shop, a_shop
from tests.support.cards import a_card_body
from tests.support.cost import store_calls
from tests.support.giving import Give
from tests.support.http import SYSTEM
from tests.support.transactions import a_body, a_guid

DRAWER, DRAWERS = "/api/v1/report/drawer", "/api/v1/report/drawer/list"
SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reverse"
Login = tuple[str, str]
EMPTY = {
    "CurrencyID": "ZAR",
    **dict.fromkeys(("Float", "Counted", "Difference", "Note", "CountedAt", "CountedBy")),
    **dict.fromkeys(("Cash", "ReturnedByOthers", "Expected"), Decimal("0.00")),
}


def a_till_of(shop: Shop, name: str, **terminal: Any) -> tuple[Login, int]:
    agent = shop.agent(TID=shop.terminal(**terminal)["Name"], BranchesActions=None, Name=name)
    return (agent["Email"], PASSWORD), agent["ID"]


def pay(shop: Shop, till: Login, amount: str, **basic: Any) -> str:
    reply = shop.post(SUBMIT, a_body(ID=a_guid(), Amount=amount, **basic), till)
    assert reply.error == (200, 0), reply.text
    paid: str = reply.body["TransactionID"]
    return paid


def give_back(shop: Shop, login: Login, payment: str, amount: str) -> None:
    basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": amount, "PartialReverse": True, "ID": a_guid()}
    assert shop.post(REVERSE, {"BasicReverseTran": basic}, login).error == (200, 0)


def drawer(shop: Shop, login: Login, **body: Any) -> dict[str, Any]:
    reply = shop.post(DRAWER, body, login)
    assert reply.error == (200, 0), reply.text
    found: dict[str, Any] = reply.body["Drawer"]
    return found


def listed(shop: Shop, login: Login | None = None, **body: Any) -> list[dict[str, Any]]:
    reply = shop.post(DRAWERS, body, login)
    assert reply.error == (200, 0), reply.text
    found: list[dict[str, Any]] = reply.body["Drawers"]
    return found


def today(days: int = 0) -> str:
    return f"{datetime.now(UTC) + timedelta(days=days, hours=2):%Y-%m-%d}"


def amounts(found: dict[str, Any], *names: str) -> list[str]:
    return [str(found[name]) for name in names or ("Cash", "ReturnedByOthers", "Expected")]


def test_a_drawer_has_the_cash_taken_less_the_cash_given_back_by_its_agent(shop: Shop) -> None:
    (first, first_id), (second, second_id) = a_till_of(shop, "Door"), a_till_of(shop, "Bar")
    paid = [pay(shop, first, amount) for amount in ("100.00", "0.70")]
    other = pay(shop, second, "40.00")
    assert shop.post(SUBMIT, a_card_body("33.00"), first).error == (200, 0)
    assert shop.post(SUBMIT, a_card_body(pan="4000000000000002"), first).error == (200, 1005)
    give_back(shop, first, paid[0], "2.30")
    give_back(shop, shop.owner, paid[0], "1.00")
    give_back(shop, shop.owner, other, "0.50")

    found = drawer(shop, first, Float=500)

    assert (found["AgentID"], found["AgentName"], found["Day"]) == (first_id, "Door", today())
    assert amounts(found) == ["98.40", "1.00", "598.40"]
    assert {one["AgentID"]: amounts(one) for one in listed(shop)} == {
        shop.owner_id: ["-1.50", "0.00", "-1.50"],
        first_id: ["98.40", "1.00", "598.40"],
        second_id: ["40.00", "0.50", "40.00"],
    }


def test_a_float_and_a_count_stay_until_they_are_entered_again(shop: Shop) -> None:
    till, till_id = a_till_of(shop, "Door")
    pay(shop, till, "12.30")

    read = drawer(shop, till)
    named = {"Day": today(), "AgentID": till_id, "AgentName": "Door"}
    assert read == EMPTY | named | dict.fromkeys(("Cash", "Expected"), Decimal("12.30"))
    assert drawer(shop, till, Note="Nothing is entered") == read
    opened = drawer(shop, till, Float="500.00", Note="From the safe")
    assert opened == read | {"Float": 500, "Expected": Decimal("512.30"), "Note": "From the safe"}
    counted = drawer(shop, till, Counted="0")
    assert amounts(counted, "Float", "Expected", "Counted", "Difference") == ["500.00", "512.30", "0.00", "-512.30"]
    assert (counted["Note"], counted["CountedBy"]) == (None, till_id)
    counted_at = datetime.fromisoformat(f"{counted['CountedAt']}+02:00")
    assert abs(counted_at - datetime.now(UTC)) < timedelta(minutes=2)
    corrected = drawer(shop, shop.owner, AgentID=till_id, Float="0.5")
    assert corrected == counted | {
        "Float": Decimal("0.50"),
        "Expected": Decimal("12.80"),
        "Difference": Decimal("-12.80"),
    }
    again = drawer(shop, shop.owner, AgentID=till_id, Counted="12.80", Note="ok", GMT=0)
    assert (amounts(again, "Difference"), again["CountedBy"], again["Note"]) == (["0.00"], shop.owner_id, "ok")
    assert drawer(shop, till, GMT=0) == again


@pytest.mark.parametrize(("hour", "day"), [(21, "2026-11-25"), (23, "2026-11-26")])
def test_without_a_day_it_is_the_day_of_the_merchant(shop: Shop, give: Give, hour: int, day: str) -> None:
    till, _ = a_till_of(shop, "Door")
    give(now=lambda: datetime(2026, 11, 25, hour, 30, tzinfo=UTC))

    assert drawer(shop, till)["Day"] == day
    assert drawer(shop, till, Counted=1)["Day"] == day
    assert [one["Day"] for one in listed(shop)] == [day]


def test_each_count_is_kept_with_the_cash_it_was_counted_against(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    till, till_id = a_till_of(shop, "Door")
    drawer(shop, till, Counted=1)
    pay(shop, till, "12.30")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: drawer(shop, till, **number), [{"Counted": 2}, {"Float": 3}, {"Counted": 4}]))

    kept = [one for one in drawers.of_merchant(shop.id) if "#count#" in one.place]
    shown = drawer(shop, till)

    assert [one.number for one in kept] == [1, 2, 3, 4]
    assert [one.cash_minor for one in kept] == [0, 1230, 1230, 1230]
    assert {one.counted_minor for one in kept} == {100, 200, 400}
    assert amounts(shown, "Float", "Counted") == ["3.00", f"{(kept[-1].counted_minor or 0) // 100}.00"]
    acts = audit.of(f"drawer#{shop.id}#{today()}#{till_id}")
    assert sorted(one.fields for one in acts) == [("counted",)] * 3 + [("float",)]


def test_an_offline_sale_of_yesterday_changes_the_counted_drawer_of_yesterday(shop: Shop) -> None:
    till, till_id = a_till_of(shop, "Door")
    feature = {"MobileSettings": {"Features": {"Offline": True}}}
    assert shop.post(f"{shop.path}/pos/{till_id}/update", feature).error == (200, 0)
    yesterday = today(-1)
    before = drawer(shop, till, Day=yesterday, Float="100", Counted="110")
    pay(shop, till, "10.00", OfflineTran={"OfflineMode": True, "Invoice": "T-1", "Paid": f"{yesterday}T23:59:59.999"})
    pay(shop, till, "0.01", OfflineTran={"OfflineMode": True, "Invoice": "T-2", "Paid": f"{today()}T00:00:00.000"})

    after = drawer(shop, till, Day=yesterday)

    assert amounts(before, "Cash", "Difference") == ["0.00", "10.00"]
    assert amounts(after, "Cash", "Difference") == ["10.00", "0.00"]
    assert amounts(drawer(shop, till), "Cash") == ["0.01"]
    assert [amounts(one, "Cash") for one in listed(shop, Day=yesterday)] == [["10.00"]]


def test_a_reversal_leaves_the_drawer_of_the_day_on_which_it_was_made(shop: Shop) -> None:
    (first, first_id), (second, second_id) = a_till_of(shop, "Door"), a_till_of(shop, "Bar")
    feature = {"MobileSettings": {"Features": {"Offline": True}}}
    assert shop.post(f"{shop.path}/pos/{first_id}/update", feature).error == (200, 0)
    offline = {"OfflineMode": True, "Invoice": "T-1", "Paid": f"{today(-1)}T12:00:00.000"}
    paid = pay(shop, first, "10.00", OfflineTran=offline)
    give_back(shop, shop.owner, paid, "4.00")

    assert amounts(drawer(shop, first, Day=today(-1))) == ["10.00", "0.00", "10.00"]
    assert amounts(drawer(shop, first)) == ["0.00", "4.00", "0.00"]
    assert [one["AgentID"] for one in listed(shop)] == [shop.owner_id]
    drawer(shop, second, Float=0)
    assert [one["AgentID"] for one in listed(shop)] == [shop.owner_id, second_id]


def test_a_drawer_has_the_currency_of_the_terminal_or_of_what_was_stored_that_day(shop: Shop) -> None:
    till, till_id = a_till_of(shop, "Door")
    path = f"{shop.path}/pos/{till_id}/update"
    pay(shop, till, "12.30")
    yen = shop.terminal(Currency="392")["Name"]
    assert shop.post(path, {"TID": yen}).error == (200, 0)

    assert amounts(drawer(shop, till), "CurrencyID", "Cash") == ["ZAR", "12.30"]
    pay(shop, till, "700", CurrencyID="JPY")
    assert amounts(drawer(shop, till), "CurrencyID", "Cash") == ["JPY", "700"]
    assert shop.post(DRAWER, {"Counted": "1.5"}, till).findings == [("Counted", 7)]
    drawer(shop, till, Counted=700)
    assert shop.post(path, {"TID": shop.terminal()["Name"]}).error == (200, 0)
    assert amounts(drawer(shop, till), "CurrencyID", "Cash", "Difference") == ["JPY", "700", "0"]


def test_more_drawers_than_an_answer_holds_with_names_and_notes_are_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, note = '"Door"', "日" * 99
    till, _ = a_till_of(shop, name)
    drawer(shop, till, Counted=1, Note=note)
    most = 2 * takings.ROW_BYTES + bytes_in_answer(name) + bytes_in_answer(note)
    monkeypatch.setattr(takings, "MOST_BYTES", most)

    assert len(listed(shop)) == 1
    monkeypatch.setattr(takings, "MOST_BYTES", most - 1)
    assert shop.post(DRAWERS, {}).error == (400, 404)


def test_a_drawer_without_terminal_and_currency_can_only_be_read(stage: str) -> None:
    shop = a_shop(stage, CountryCode="AQ", Country="AQ")

    assert amounts(drawer(shop, shop.owner), "CurrencyID", "Expected") == ["None", "0"]
    assert shop.post(DRAWER, {"Float": 1}).error == (409, 315)


def test_a_system_user_names_an_agent_or_the_merchant_of_an_account(shop: Shop) -> None:
    till, till_id = a_till_of(shop, "Door")
    drawer(shop, till, Float=1)
    stranger = a_shop(shop.stage)

    for named in ({"AgentID": till_id}, {"AccountID": till_id}, {"AgentID": till_id, "AccountID": shop.owner_id}):
        assert drawer(shop, SYSTEM, **named)["AgentID"] == till_id
    assert [one["AgentID"] for one in listed(shop, SYSTEM, AccountID=till_id)] == [till_id]
    assert shop.post(DRAWER, {}, SYSTEM).findings == [("AccountID", 1)]
    assert shop.post(DRAWERS, {}, SYSTEM).findings == [("AccountID", 1)]
    mixed = shop.post(DRAWER, {"AgentID": till_id, "AccountID": stranger.owner_id}, SYSTEM)
    assert (mixed.error, mixed.findings) == ((404, 563), [("AgentID", 563)])


@pytest.mark.parametrize("name", ["AgentID", "AccountID"])
def test_a_stranger_is_not_found_and_a_colleague_is_refused(shop: Shop, name: str) -> None:
    (till, _), (_, colleague) = a_till_of(shop, "Door"), a_till_of(shop, "Bar")
    stranger = a_shop(shop.stage).owner_id

    for login in (till, shop.owner):
        for missing in (stranger, 10**15):
            reply = shop.post(DRAWER, {name: missing, "Float": 1}, login)
            assert (reply.error, reply.findings) == ((404, 563), [(name, 563)])
    assert shop.post(DRAWER, {name: colleague}, till).error == (403, 151)
    assert shop.post(DRAWER, {"CurrentAccountID": colleague}, till).error == (403, 152)


@pytest.mark.parametrize(
    ("sent", "findings"),
    [
        ({"Float": "-0.01"}, [("Float", 5)]),
        ({"Float": "10000000000.01", "Counted": "0.001"}, [("Float", 5), ("Counted", 7)]),
        ({"Counted": True}, [("Counted", 2)]),
        ({"Counted": "1,50"}, [("Counted", 3)]),
        ({"Counted": ""}, [("Counted", 3)]),
        ({"counted": 1}, [("counted", 13)]),
        ({"Day": today(1)}, [("Day", 5)]),
        ({"Day": "2026-02-30"}, [("Day", 3)]),
        ({"Day": 20260230}, [("Day", 2)]),
        ({"Note": "x" * 513, "Float": 1}, [("Note", 4)]),
        ({"AgentID": "5"}, [("AgentID", 2)]),
        ({"Float": "10000000000.00", "Counted": "-0.000", "Day": "0001-01-01"}, []),
        ({"Float": None, "Counted": None, "Note": "", "Day": "", "AgentID": 0, "AccountID": 0}, []),
    ],
)
def test_a_request_is_read_strictly(shop: Shop, sent: Any, findings: list[Any]) -> None:
    reply = shop.post(DRAWER, sent)

    assert (reply.error, reply.findings) == ((400, 202) if findings else (200, 0), findings)
    if "Day" in sent:
        assert shop.post(DRAWERS, {"Day": sent["Day"]}).findings == findings


def test_drawers_of_more_agents_than_a_request_reads_are_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Door", "Bar"):
        pay(shop, a_till_of(shop, name)[0], "10.00")
    monkeypatch.setattr("chalicelib.services.drawers.BATCH", 1)
    monkeypatch.setattr("chalicelib.services.drawers.MOST_READS", 2 * 2)  # two agents and their terminals
    assert len(listed(shop)) == 2

    monkeypatch.setattr("chalicelib.services.drawers.MOST_READS", 2 * 2 - 1)
    assert shop.post(DRAWERS, {}).error == (400, ErrorCode.PERIOD_TOO_LONG.code)


def test_a_drawer_costs_few_calls_however_much_was_sold_and_counted(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    (first, _), (second, _) = a_till_of(shop, "Door"), a_till_of(shop, "Bar")
    for number in range(1, 6):
        pay(shop, first, f"{number}.00")
        give_back(shop, shop.owner, pay(shop, second, f"{number}.00"), "0.50")
        drawer(shop, first, Counted=number)

    with measure_capacity() as reading, store_calls() as read:
        drawer(shop, first)
    with measure_capacity() as counting, store_calls() as counted:
        drawer(shop, first, Counted=1)
    with measure_capacity() as listing, store_calls() as whole:
        assert len(listed(shop)) == 3

    authorizer = read[:-3]
    assert read == [*authorizer, "BatchGetItem", "BatchGetItem", "Query"]
    assert counted == [*read, "TransactWriteItems"]
    assert whole == [*authorizer, "BatchGetItem", "Query", "Query", "BatchGetItem", "BatchGetItem"]
    of_sign_in = reading.write_units
    assert [one.write_units - of_sign_in for one in (reading, counting, listing)] == [0, 6, 0]
    assert max(one.read_units for one in (reading, counting, listing)) <= 12
