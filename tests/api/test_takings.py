"""report/takings over HTTP: what a shop took and gave back, who may see it, and everything that is no request."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.support.builders import PASSWORD, Shop
from tests.support.cards import a_card_body
from tests.support.export_files import rows_of
from tests.support.http import SYSTEM, Reply, post
from tests.support.transactions import a_body, a_guid

TAKINGS = "/api/v1/report/takings"
SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reverse"
HISTORY = "/api/v1/payment/listHistoryEx"
Login = tuple[str, str]


def a_till_of(shop: Shop, name: str) -> tuple[Login, int]:
    agent = shop.agent(TID=shop.terminal()["Name"], BranchesActions=None, Name=name)
    return (agent["Email"], PASSWORD), agent["ID"]


def pay(shop: Shop, till: Login, amount: str, **basic: Any) -> str:
    reply = shop.post(SUBMIT, a_body(ID=a_guid(), Amount=amount, **basic), till)
    assert reply.status == 200, reply.text
    paid: str = reply.body["TransactionID"]
    return paid


def give_back(shop: Shop, login: Login, payment: str, amount: str) -> None:
    basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": amount, "PartialReverse": True, "ID": a_guid()}
    assert shop.post(REVERSE, {"BasicReverseTran": basic}, login).error == (200, 0)


def rows(reply: Reply) -> list[dict[str, Any]]:
    assert reply.error == (200, 0), reply.text
    found: list[dict[str, Any]] = reply.body["Takings"]
    return found


def test_a_shop_sees_what_each_till_took_and_gave_back_today(shop: Shop) -> None:
    (first, first_id), (second, second_id) = a_till_of(shop, "Door"), a_till_of(shop, "Bar")
    paid = [pay(shop, first, amount) for amount in ("12.30", "0.70")]
    pay(shop, second, "100.00")
    give_back(shop, first, paid[0], "2.30")
    give_back(shop, shop.owner, paid[0], "1.00")

    found = rows(shop.post(TAKINGS, {}, shop.owner))

    days = {f"{datetime.now(UTC) + timedelta(hours=2, minutes=-minutes):%Y-%m-%d}" for minutes in (0, 1)}
    kind = {"Hour": None, "InputType": 10, "AcquirerCode": "CASH", "CurrencyID": "ZAR"}
    assert {row.pop("Day") for row in found} <= days
    assert found == [
        {"AgentID": shop.owner_id, **kind, **_sums(0, "0", 1, "1.00"), "AgentName": found[0]["AgentName"]},
        {"AgentID": first_id, "AgentName": "Door", **kind, **_sums(2, "13.00", 1, "2.30")},
        {"AgentID": second_id, "AgentName": "Bar", **kind, **_sums(1, "100.00", 0, "0")},
    ]
    by_hour = rows(shop.post(TAKINGS, {"By": "hour"}, shop.owner))
    assert all(0 <= row["Hour"] <= 23 for row in by_hour)
    assert sum(row["Net"] for row in by_hour) == sum(row["Net"] for row in found) == Decimal("109.70")
    listed = shop.post(HISTORY, {}, shop.owner).body["TransactionsCounters"]
    assert listed["AmountCvt"] == sum(row["Amount"] for row in found)


def _sums(payments: int, amount: str, reversals: int, back: str) -> dict[str, Any]:
    taken, given = Decimal(amount), Decimal(back)
    return {
        "Payments": payments,
        "Amount": taken,
        "Discounts": Decimal(0),
        "LeftToPay": Decimal(0),
        "Reversals": reversals,
        "AmountReversed": given,
        "Net": taken - given,
    }


def day(back: int = 0) -> str:
    """Return the day of the merchant, whose zone is UTC+2, so many days ago."""
    return f"{datetime.now(UTC) + timedelta(hours=2) - timedelta(days=back):%Y-%m-%d}"


def sell_offline(shop: Shop, till: Login, amount: str, days: int, **basic: Any) -> str:
    """Take an offline sale that was made so many days ago."""
    offline = {"OfflineMode": True, "Invoice": a_guid(), "Paid": f"{day(days)}T00:00:01"}
    return pay(shop, till, amount, OfflineTran=offline, **basic)


def test_late_sales_are_listed_reported_and_exported_by_the_day_of_their_recording(shop: Shop) -> None:
    (door, door_id), (bar, bar_id) = a_till_of(shop, "Door"), a_till_of(shop, "Bar")
    late = [sell_offline(shop, door, "10.00", 3, ExtID="late-1"), sell_offline(shop, door, "0.50", 200)]
    late.append(sell_offline(shop, bar, "2.00", 1, InputType=10, Description="of yesterday"))
    sell_offline(shop, bar, "4.00", 0)  # of today, so it is not late
    pay(shop, bar, "8.00")
    give_back(shop, shop.owner, late[0], "10.00")

    def listed(login: Login = shop.owner, path: str = HISTORY, period: Any = None, **model: Any) -> list[str]:
        body = {"Period": period or {}, "ListBasicModel": {"Late": True, **model}}
        reply = shop.post(path, body, login)
        assert reply.error == (200, 0), reply.text
        found = [one["ID"] for one in reply.body["Transactions"]]
        assert reply.body["TransactionsCounters"]["ItemCountTtl"] == len(found)
        return found

    today, earlier = {"From": day(), "To": day()}, {"From": day(250), "To": day(1)}
    assert listed(period=today) == listed(path="/api/v1/payment/listByDaysEx") == late[::-1]
    assert listed(period=today, Sort="Date asc") == late
    assert listed(period=earlier) == []
    assert listed(door) == listed(AccountID=door_id) == late[1::-1]
    assert listed(Search="yesterday") == listed(InputType=10, ID=late[2]) == [late[2]]
    assert listed(ExtID="late-1") == [late[0]]
    assert listed(AcquirerCode="PREPAID") == []

    def of(login: Login, period: Any, **sent: Any) -> list[tuple[Any, ...]]:
        rows = shop.post(TAKINGS, {"Period": period, **sent}, login).body["Late"]
        return [tuple(one.values()) for one in rows]

    door_row, bar_row = (door_id, "Door", "ZAR", 2, Decimal("10.50")), (bar_id, "Bar", "ZAR", 1, Decimal("2.00"))
    for by in ("day", "hour"):
        assert of(shop.owner, today, By=by) == [door_row, bar_row]
        assert of(door, today, By=by) == of(shop.owner, today, By=by, AccountID=door_id) == [door_row]
    assert of(shop.owner, earlier) == []

    url = shop.post("/api/v1/report/export", {"Period": today, "ListBasicModel": {"Late": True}}, shop.owner).body[
        "Url"
    ]
    exported = rows_of(url)
    assert [row["ID"] for row in exported] == late[::-1]
    assert [row["Date"][:10] for row in exported] == [day(1), day(200), day(3)]
    assert {row["Received"][:10] for row in exported} == {day()}


def test_a_till_sees_its_own_and_not_that_of_another_by_naming_it(shop: Shop) -> None:
    (first, first_id), (second, second_id) = a_till_of(shop, "Door"), a_till_of(shop, "Bar")
    pay(shop, first, "12.30")
    pay(shop, second, "100.00")

    assert [row["AgentID"] for row in rows(shop.post(TAKINGS, {}, first))] == [first_id]
    assert [row["AgentID"] for row in rows(shop.post(TAKINGS, {"AccountID": first_id}, first))] == [first_id]
    assert shop.post(TAKINGS, {"AccountID": second_id}, first).error == (403, 151)
    assert [row["AgentID"] for row in rows(shop.post(TAKINGS, {"AccountID": second_id}, shop.owner))] == [second_id]


def test_a_system_user_names_the_merchant_through_an_account(shop: Shop) -> None:
    till, till_id = a_till_of(shop, "Door")
    pay(shop, till, "12.30")

    assert [row["Amount"] for row in rows(shop.post(TAKINGS, {"AccountID": shop.owner_id}, SYSTEM))] == [
        Decimal("12.3")
    ]
    assert [row["AgentID"] for row in rows(shop.post(TAKINGS, {"AccountID": till_id}, SYSTEM))] == [till_id]
    assert shop.post(TAKINGS, {}, SYSTEM).findings == [("AccountID", 1)]


def test_what_took_no_money_is_in_no_row(shop: Shop) -> None:
    till, _ = a_till_of(shop, "Door")
    declined, lost = a_card_body(pan="4000000000000002"), a_card_body("10.68")
    assert [shop.post(SUBMIT, sent, till).error for sent in (declined, lost)] == [(200, 1005), (200, 310)]

    assert rows(shop.post(TAKINGS, {}, till)) == []


@pytest.mark.parametrize(
    ("sent", "error", "findings"),
    [
        ({"By": "week"}, (400, 202), [("By", 6)]),
        ({"by": "day"}, (400, 202), [("by", 13)]),
        ({"Period": {"From": "2026-02-30"}}, (400, 202), [("Period.From", 3)]),
        ({"Period": {"From": "2026-03-02", "To": "2026-03-01"}}, (400, 202), [("Period.From", 12)]),
        ({"AccountID": 10**15 + 1}, (400, 202), [("AccountID", 5)]),
        ({"CurrentAccountID": 1}, (403, 152), []),
        ({"Period": {"From": "2025-01-01", "To": "2026-01-02"}}, (400, 404), []),
        ({"Period": {"From": "2026-01-01", "To": "2026-02-01"}, "By": "hour"}, (400, 404), []),
        ({"Period": {"From": "0001-01-01"}}, (400, 404), []),
        ({"Period": {"To": "9999-12-31"}}, (200, 0), []),
        ({"Period": {"From": "0001-01-01", "To": "0001-01-31"}, "By": "hour"}, (200, 0), []),
        ({"Period": {"From": "2025-01-01", "To": "2026-01-01"}}, (200, 0), []),
        ({"Period": {"From": "2026-01-01", "To": "2026-01-31"}, "By": "hour"}, (200, 0), []),
        ({"Period": None, "AccountID": 0, "By": ""}, (200, 0), []),
    ],
)
def test_a_request_is_read_strictly(stage: str, sent: Any, error: tuple[int, int], findings: list[Any]) -> None:
    reply = post(stage, TAKINGS, sent)

    assert (reply.error, reply.findings) == (error, findings)
