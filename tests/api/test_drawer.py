"""Drawers: from a float to a count, what is in one, and who may see it."""

import itertools
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain import drawer as domain
from chalicelib.domain.answer_size import bytes_in_answer
from chalicelib.errors import ErrorCode
from chalicelib.store import audit
from infra.bench.client import measure_capacity
from tests.support.builders import PASSWORD, Shop, a_shop, merchant_body
from tests.support.cards import a_card_body
from tests.support.cost import store_calls
from tests.support.giving import Give
from tests.support.http import SYSTEM, Reply, get, post
from tests.support.transactions import a_body, a_guid

DRAWER, DRAWERS = "/api/v1/report/drawer", "/api/v1/report/drawer/list"
SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reverse"
NOBODY = "00000000-0000-4000-8000-000000000001"
Login = tuple[str, str]
Clock = Callable[[datetime], None]
UTC_NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


def a_till_of(shop: Shop, name: str = "Door", **terminal: Any) -> tuple[Login, int]:
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


def ask(shop: Shop, login: Login, action: str | None = None, /, **body: Any) -> Reply:
    headers = {"Idempotency_Key": body.pop("key")} if "key" in body else {}
    return post(shop.stage, DRAWER, {**({"Action": action} if action else {}), **body}, login, **headers)


def drawer(shop: Shop, login: Login, action: str | None = None, /, **body: Any) -> dict[str, Any]:
    reply = ask(shop, login, action, **body)
    assert reply.error == (200, 0), reply.text
    found: dict[str, Any] = reply.body["Drawer"]
    return found


def listed(
    shop: Shop, login: Login | None = None, /, name: str = "Drawers", day: datetime | None = None, **body: Any
) -> list[dict[str, Any]]:
    period = {"Period": {"From": local(day), "To": local(day)}} if day else {}
    reply = shop.post(DRAWERS, {**period, **body}, login)
    assert reply.error == (200, 0), reply.text
    found: list[dict[str, Any]] = reply.body[name]
    return found


def offline(till_number: str, paid: datetime | None = None) -> dict[str, Any]:
    at = (paid or datetime.now(UTC)) + timedelta(hours=2)
    return {"OfflineMode": True, "Invoice": till_number, "Paid": f"{at:%Y-%m-%dT%H:%M:%S.000}"}


def amounts(found: dict[str, Any], *names: str) -> list[str]:
    return [str(found[name]) for name in names or ("Float", "Cash", "PaidIn", "PaidOut", "Expected")]


def allow_offline(shop: Shop, till_id: int) -> None:
    feature = {"MobileSettings": {"Features": {"Offline": True}}}
    assert shop.post(f"{shop.path}/pos/{till_id}/update", feature).error == (200, 0)


def test_a_drawer_goes_from_its_float_to_its_count(shop: Shop) -> None:
    till, till_id = a_till_of(shop)
    pay(shop, till, "7.00")
    opened = drawer(shop, till, "open", Float="500", Note="From the safe")

    assert opened == {
        "DrawerID": opened["DrawerID"],
        "AgentID": till_id,
        "AgentName": "Door",
        "CurrencyID": "ZAR",
        "OpenedAt": opened["OpenedAt"],
        "OpenedBy": till_id,
        "LastCounted": None,
        "Float": Decimal("500.00"),
        **dict.fromkeys(("Cash", "CashTaken", "CashGivenBack", "PaidIn", "PaidOut"), Decimal("0.00")),
        "Expected": Decimal("500.00"),
        **dict.fromkeys(("Counted", "Difference", "ClosedAt", "ClosedBy")),
        "Movements": [
            {
                "At": opened["OpenedAt"],
                "By": till_id,
                "Kind": "open",
                "Amount": Decimal("500.00"),
                "Note": "From the safe",
            }
        ],
    }
    opened_at = datetime.fromisoformat(f"{opened['OpenedAt']}+02:00")
    assert abs(opened_at - datetime.now(UTC)) < timedelta(minutes=2)
    paid = pay(shop, till, "159.50")
    give_back(shop, till, paid, "9.50")
    assert shop.post(SUBMIT, a_card_body("33.00"), till).error == (200, 0)
    drawer(shop, till, "in", Amount="20.00", Note="Coins")
    assert amounts(drawer(shop, shop.owner, "out", AgentID=till_id, Amount=100)) == [
        "500.00",
        "150.00",
        "20.00",
        "100.00",
        "570.00",
    ]
    closed = drawer(shop, till, "close", Counted="560.5", GMT=0)

    assert amounts(closed, "Expected", "Counted", "Difference") == ["570.00", "560.50", "-9.50"]
    assert amounts(closed, "CashTaken", "CashGivenBack") == ["159.50", "9.50"]
    assert (closed["DrawerID"], closed["ClosedBy"]) == (opened["DrawerID"], till_id)
    assert [(one["Kind"], one["By"], str(one["Amount"]), one["Note"]) for one in closed["Movements"]] == [
        ("open", till_id, "500.00", "From the safe"),
        ("in", till_id, "20.00", "Coins"),
        ("out", shop.owner_id, "100.00", None),
        ("close", till_id, "560.50", None),
    ]
    assert closed["ClosedAt"] == closed["Movements"][-1]["At"]
    assert drawer(shop, till, GMT=0) == closed


def test_a_closed_drawer_never_changes_and_a_correction_is_a_note(shop: Shop) -> None:
    till, till_id = a_till_of(shop)
    allow_offline(shop, till_id)
    paid = pay(shop, till, "10.00")
    drawer(shop, till, "open", Float=0)
    closed = drawer(shop, till, "close", Counted=0)
    give_back(shop, till, paid, "4.00")
    pay(shop, till, "3.00", OfflineTran=offline("T-1"))

    noted = drawer(shop, shop.owner, "note", DrawerID=closed["DrawerID"].lower(), Note="Three coins fell down")

    assert noted == closed | {"Movements": noted["Movements"]}
    assert noted["Movements"][:-1] == closed["Movements"]
    assert noted["Movements"][-1]["Amount"] is None
    assert [noted["Movements"][-1][name] for name in ("By", "Kind", "Note")] == [
        shop.owner_id,
        "note",
        "Three coins fell down",
    ]
    acts = audit.of(f"drawer#{shop.id}#{closed['DrawerID']}")
    assert [(one.kind, one.by, one.fields) for one in acts] == [
        ("open", till_id, ("float",)),
        ("close", till_id, ("counted",)),
        ("note", shop.owner_id, ("note",)),
    ]


def test_only_one_drawer_of_an_agent_is_open(shop: Shop) -> None:
    (till, _), (other, _) = a_till_of(shop), a_till_of(shop, "Bar")
    assert drawer(shop, till) is None
    for action, body in (("in", {"Amount": 1}), ("out", {"Amount": 1}), ("close", {"Counted": 1})):
        assert ask(shop, till, action, **body).error == (409, 317)
    first = drawer(shop, till, "open", Float=0)["DrawerID"]

    assert ask(shop, till, "open", Float=0).error == (409, 316)
    assert drawer(shop, other, "open", Float=0)["DrawerID"] != first
    drawer(shop, till, "close", Counted=0)
    for action, body in (("in", {"Amount": 1}), ("close", {"Counted": 1})):
        assert ask(shop, till, action, **body).error == (409, 317)
    second = drawer(shop, till, "open", Float=1)["DrawerID"]
    assert ask(shop, till, "close", Counted=0, DrawerID=first).error == (409, 317)
    assert drawer(shop, till, DrawerID=first)["DrawerID"] == first
    assert drawer(shop, till)["DrawerID"] == second
    assert drawer(shop, till, "close", Counted=1, DrawerID=second)["Difference"] == 0


def test_a_second_drawer_holds_only_what_came_after_the_first_count(shop: Shop) -> None:
    till, _ = a_till_of(shop)
    drawer(shop, till, "open", Float="100")
    pay(shop, till, "10.00")
    first = drawer(shop, till, "close", Counted="110")
    pay(shop, till, "1.00")  # into nobody's drawer
    drawer(shop, till, "open", Float="50")
    pay(shop, till, "20.00")
    second = drawer(shop, till, "close", Counted="70")
    drawer(shop, till, "open", Float="70")

    assert [amounts(one, "Cash", "Difference") for one in (first, second)] == [["10.00", "0.00"], ["20.00", "0.00"]]
    assert amounts(drawer(shop, till), "Cash", "Expected") == ["0.00", "70.00"]
    assert [amounts(one, "DrawerID", "Cash", "Float") for one in listed(shop)][3:] == [["None", "1.00", "None"]]


def test_cash_that_somebody_else_gives_back_comes_out_of_the_givers_drawer(shop: Shop) -> None:
    (first, _), (second, _) = a_till_of(shop), a_till_of(shop, "Bar")
    paid = pay(shop, first, "30.00")
    for login in (first, shop.owner):
        drawer(shop, login, "open", Float="10")
    give_back(shop, shop.owner, paid, "4.00")
    give_back(shop, SYSTEM, paid, "1.00")

    assert amounts(drawer(shop, first), "Cash", "Expected") == ["0.00", "10.00"]
    assert amounts(drawer(shop, shop.owner), "Cash", "Expected") == ["-4.00", "6.00"]
    assert drawer(shop, second) is None
    [of_system] = [one for one in listed(shop) if one["Cash"] == -1]
    assert (of_system["DrawerID"], of_system["AgentName"]) == (None, "System")


# Time


@pytest.fixture
def clock(give: Give) -> Clock:
    now = [UTC_NOON]

    def set_to(at: datetime) -> None:
        now[0] = at

    give(now=lambda: now[0])
    return set_to


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (datetime(2026, 11, 25, 21, 59, 59, tzinfo=UTC), datetime(2026, 11, 25, 22, 0, 1, tzinfo=UTC)),  # a day ends
        (datetime(2026, 11, 30, 21, 59, 59, tzinfo=UTC), datetime(2026, 11, 30, 22, 0, 1, tzinfo=UTC)),  # a month ends
        (datetime(2026, 12, 31, 21, 59, 59, tzinfo=UTC), datetime(2027, 1, 4, 9, tzinfo=UTC)),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),  # Europe's clocks
        (datetime(2026, 3, 31, 9, tzinfo=UTC), datetime(2026, 8, 1, 9, tzinfo=UTC)),  # months without a sale
    ],
    ids=["midnight", "month end", "year end", "clock change", "five months"],
)
def test_a_drawer_stays_open_at_any_hour(shop: Shop, clock: Clock, before: datetime, after: datetime) -> None:
    till, _ = a_till_of(shop)
    clock(before - timedelta(minutes=5))
    pay(shop, till, "1.00")
    drawer(shop, till, "open", Float="100")
    clock(before)
    pay(shop, till, "10.00")
    clock(after)
    pay(shop, till, "20.00")
    give_back(shop, till, pay(shop, till, "5.00"), "2.00")

    assert amounts(drawer(shop, till), "Cash", "Expected") == ["33.00", "133.00"]
    closed = drawer(shop, till, "close", Counted="133")
    assert amounts(closed, "Cash", "Difference") == ["33.00", "0.00"]
    clock(after + timedelta(days=40))
    assert drawer(shop, till) == closed
    drawer(shop, till, "open", Float=0)
    assert amounts(drawer(shop, till), "Cash") == ["0.00"]
    days = [before - timedelta(minutes=5), after]
    found = [listed(shop, Period={"From": local(day), "To": local(day)}) for day in days]
    assert [[(one["Cash"], one["DrawerID"]) for one in day] for day in found] == [
        [(33, closed["DrawerID"]), (1, None)],
        [(33, closed["DrawerID"]), (1, None)] if local(days[0]) == local(days[1]) else [],
    ]


def local(at: datetime) -> str:
    return f"{at + timedelta(hours=2):%Y-%m-%d}"


def test_a_late_sale_is_in_the_drawer_that_is_open_when_it_is_recorded(shop: Shop, clock: Clock) -> None:
    till, till_id = a_till_of(shop)
    allow_offline(shop, till_id)
    august = UTC_NOON - timedelta(days=100)
    clock(UTC_NOON - timedelta(days=1))
    drawer(shop, till, "open", Float="100")
    yesterday = drawer(shop, till, "close", Counted="100")
    clock(UTC_NOON)
    drawer(shop, till, "open", Float="100")
    late = pay(shop, till, "10.00", OfflineTran=offline("T-1", UTC_NOON - timedelta(days=1)))
    invented = pay(shop, till, "70.00", OfflineTran=offline("T-2", august))
    pay(shop, till, "0.50", OfflineTran={key: value for key, value in offline("", august).items() if value})
    give_back(shop, till, invented, "70.00")
    give_back(shop, till, late, "1.00")

    assert drawer(shop, till, DrawerID=yesterday["DrawerID"]) == yesterday
    assert amounts(drawer(shop, till), "Cash", "Expected") == ["9.50", "109.50"]
    assert listed(shop, Period={"From": local(august), "To": local(august)}) == []
    clock(UTC_NOON + timedelta(days=1))
    drawer(shop, till, "close", Counted="39.50")
    pay(shop, till, "2.00", OfflineTran=offline("T-3", UTC_NOON))
    assert [
        amounts(one, "Cash", "Difference")
        for one in listed(shop, Period={"From": local(UTC_NOON), "To": local(UTC_NOON)})
    ] == [["9.50", "-70.00"]]
    assert [
        amounts(one, "DrawerID", "Cash") for one in listed(shop, Period={"From": local(UTC_NOON + timedelta(days=1))})
    ] == [["None", "2.00"]]


def test_an_offline_sale_without_a_number_gets_one_of_the_day_on_which_it_is_recorded(shop: Shop, clock: Clock) -> None:
    till, till_id = a_till_of(shop)
    allow_offline(shop, till_id)
    clock(UTC_NOON)
    without = offline("", UTC_NOON - timedelta(days=60)) | {"Invoice": None}
    reply = shop.post(SUBMIT, a_body(OfflineTran=without), till)

    assert reply.body["Transaction"]["Invoice"] == f"261125.{till_id}.1"


# The currency


def test_a_drawer_has_the_currency_of_the_terminal_at_its_opening(shop: Shop) -> None:
    till, till_id = a_till_of(shop)
    path = f"{shop.path}/pos/{till_id}/update"
    drawer(shop, till, "open", Float="1.50")
    pay(shop, till, "12.30")
    assert shop.post(path, {"TID": shop.terminal(Currency="392")["Name"]}).error == (200, 0)
    pay(shop, till, "700", CurrencyID="JPY")

    assert amounts(drawer(shop, till), "CurrencyID", "Cash") == ["ZAR", "12.30"]
    assert ask(shop, till, "in", Amount="0.001").findings == [("Amount", 7)]
    drawer(shop, till, "close", Counted="13.80")
    assert ask(shop, till, "open", Float="1.5").findings == [("Float", 7)]
    drawer(shop, till, "open", Float="1000")
    pay(shop, till, "300", CurrencyID="JPY")
    assert ask(shop, till, "close", Counted="1300.5").findings == [("Counted", 7)]
    assert amounts(drawer(shop, till), "CurrencyID", "Cash", "Expected") == ["JPY", "300", "1300"]
    assert [amounts(one, "DrawerID", "CurrencyID", "Cash") for one in listed(shop)][2:] == [["None", "JPY", "700"]]


def test_a_drawer_without_terminal_and_currency_is_not_opened(stage: str) -> None:
    shop = a_shop(stage, CountryCode="AQ", Country="AQ")

    assert drawer(shop, shop.owner) is None
    assert ask(shop, shop.owner, "open", Float=1).error == (409, 315)


# Repeats and races


def test_a_repeat_with_one_key_is_the_same_action(shop: Shop) -> None:
    till, _ = a_till_of(shop)
    steps: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
        ("open", {"Float": "5"}, {"Float": "5.00", "Note": ""}, {"Float": "6"}),
        ("in", {"Amount": 2}, {"Amount": "2.00"}, {"Amount": 2, "Note": "x"}),
        ("note", {"Note": "x"}, {"Note": "x"}, {"Note": "y"}),
        ("close", {"Counted": 7}, {"Counted": "7.0"}, {"Counted": 8}),
    ]
    for action, body, equal, other in steps:
        named = {"DrawerID": drawer(shop, till)["DrawerID"]} if action == "note" else {}
        first = ask(shop, till, action, key=f"day-{action}", **body, **named)
        again = ask(shop, till, action, key=f"day-{action}", **equal, **named)
        assert (again.error, again.body) == ((200, 0), first.body)
        assert ("Idempotent-Replayed" in first.headers, again.headers["Idempotent-Replayed"]) == (False, "true")
        assert ask(shop, till, action, key=f"day-{action}", **other, **named).error == (422, 302)
    drawer(shop, till, "open", Float=0)

    assert len(ask(shop, till, "open", key="day-open", Float=5).body["Drawer"]["Movements"]) == 4  # of the first one
    assert ask(shop, till, "close", key="day-open", Counted=5).error == (422, 302)
    assert ask(shop, shop.owner, "open", key="day-open", Float=9).body["Drawer"]["Float"] == 9


def test_a_refused_action_leaves_its_key_free(shop: Shop) -> None:
    till, _ = a_till_of(shop)
    assert ask(shop, till, "in", key="coins", Amount=1).error == (409, 317)
    drawer(shop, till, "open", Float=0)

    assert ask(shop, till, "in", key="coins", Amount=1).body["Drawer"]["PaidIn"] == 1


def test_equal_requests_at_once_are_one_action(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    till, _ = a_till_of(shop)
    for action, body in (("open", {"Float": 5}), ("in", {"Amount": 2}), ("close", {"Counted": 7})):
        with ThreadPoolExecutor(4) as pool:
            sent = [pool.submit(ask, shop, till, action, key=f"once {action}", **body) for _ in range(4)]
        replies = [one.result() for one in sent]
        assert {one.error for one in replies} == {(200, 0)}, [one.text for one in replies]
        assert sum("Idempotent-Replayed" not in one.headers for one in replies) == 1

    assert [one["Kind"] for one in drawer(shop, till)["Movements"]] == ["open", "in", "close"]


def test_of_two_openings_or_counts_at_once_one_wins(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    till, _ = a_till_of(shop)
    for _ in range(3):
        for action, body, refused in (("open", {"Float": 5}, (409, 316)), ("close", {"Counted": 5}, (409, 317))):
            with ThreadPoolExecutor(3) as pool:
                sent = [pool.submit(ask, shop, till, action, **body) for _ in range(3)]
            assert sorted(one.result().error for one in sent) == [(200, 0), refused, refused]


def test_each_sale_that_races_with_a_count_is_in_one_drawer(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    till, till_id = a_till_of(shop)
    allow_offline(shop, till_id)
    sums, numbers = [], itertools.count()

    def sell(minor: int) -> None:
        sale = offline(f"T-{next(numbers)}") if minor % 2 else {}
        pay(shop, till, f"{minor}.00", **({"OfflineTran": sale} if sale else {}))

    for _ in range(3):
        drawer(shop, till, "open", Float=0)
        with ThreadPoolExecutor(5) as pool:
            sales = [pool.submit(sell, minor) for minor in (1, 2, 3, 4)]
            count = pool.submit(drawer, shop, till, "close", Counted=0)
        for one in sales:
            one.result()
        sums.append(count.result()["Cash"])

    in_none = [one["Cash"] for one in listed(shop) if one["DrawerID"] is None]
    assert sum(sums) + sum(in_none) == 3 * 10
    assert [one["Cash"] for one in listed(shop) if one["DrawerID"]] == sums[::-1]


# Lists


def test_a_list_has_the_drawers_of_its_days_and_the_cash_that_was_in_none(shop: Shop, clock: Clock) -> None:
    (first, first_id), (second, second_id) = a_till_of(shop), a_till_of(shop, "Bar")
    clock(UTC_NOON - timedelta(days=2))
    pay(shop, first, "1.00")
    old = drawer(shop, first, "open", Float=0)["DrawerID"]
    pay(shop, first, "2.00")
    clock(UTC_NOON)
    pay(shop, first, "4.00")
    drawer(shop, first, "close", Counted=6)
    paid = pay(shop, first, "8.00")
    give_back(shop, first, paid, "8.00")
    pay(shop, second, "16.00")
    shop.post(SUBMIT, a_card_body("33.00"), second)
    new = drawer(shop, second, "open", Float=0)["DrawerID"]
    pay(shop, second, "32.00")
    clock(UTC_NOON + timedelta(minutes=1))
    newer = drawer(shop, first, "open", Float=0)["DrawerID"]

    def rows(since: int, until: int) -> list[tuple[str | None, int, str]]:
        days = [local(UTC_NOON - timedelta(days=one)) for one in (since, until)]
        found = listed(shop, Period={"From": days[0], "To": days[1]})
        return [(one["DrawerID"], one["AgentID"], str(one["Cash"])) for one in found]

    assert rows(2, 2) == [(old, first_id, "6.00"), (None, first_id, "1.00")]
    assert rows(1, 1) == []
    today = [(newer, first_id, "0.00"), (new, second_id, "32.00")]
    outside = [(None, first_id, "0.00"), (None, second_id, "16.00")]
    assert rows(0, 0) == today + outside
    assert amounts(listed(shop, day=UTC_NOON)[2], "CashTaken", "CashGivenBack") == ["8.00", "8.00"]
    assert rows(2, 0) == [*today, (old, first_id, "6.00"), (None, first_id, "1.00"), (None, second_id, "16.00")]
    without = listed(shop)[-1]
    assert without == dict.fromkeys(without) | {
        "AgentID": second_id,
        "AgentName": "Bar",
        "CurrencyID": "ZAR",
        "Cash": Decimal("16.00"),
        "CashTaken": Decimal("16.00"),
        "CashGivenBack": Decimal("0.00"),
        "Movements": [],
    }
    assert [one["AgentID"] for one in listed(shop, AccountID=second_id)] == [second_id, second_id]


def test_a_drawer_that_is_open_for_months_stands_among_the_earlier_ones_until_its_count(
    shop: Shop, clock: Clock
) -> None:
    (till, till_id), (other, other_id) = a_till_of(shop), a_till_of(shop, "Bar")
    october, november, december = (datetime(2026, month, 2, 9, tzinfo=UTC) for month in (10, 11, 12))
    clock(october)
    own, theirs = (drawer(shop, login, "open", Float=0)["DrawerID"] for login in (till, other))
    for day, amount in ((october, "1.00"), (november, "2.00"), (december, "4.00")):
        clock(day)
        pay(shop, till, amount)

    assert listed(shop, day=december) == []
    held = [(theirs, other_id, "0.00", "None"), (own, till_id, "7.00", "None")]

    def earlier(day: datetime, **body: Any) -> list[tuple[str, int, str, str]]:
        found = listed(shop, name="Earlier", day=day, **body)
        return [(one["DrawerID"], one["AgentID"], *amounts(one, "Cash", "Counted")) for one in found]

    assert sorted(earlier(december)) == sorted(held)
    assert earlier(december, AccountID=till_id) == earlier(november, AccountID=till_id) == [held[1]]
    assert earlier(october) == []
    assert sorted(one["DrawerID"] for one in listed(shop, day=october)) == sorted([own, theirs])
    drawer(shop, till, "close", Counted=3)
    pay(shop, till, "8.00")
    drawer(shop, till, "open", Float=0)
    assert earlier(december, AccountID=till_id) == [(own, till_id, "7.00", "3.00")]
    assert [one["Cash"] for one in listed(shop, day=december)] == [0, 8]  # the new drawer, and no drawer
    assert earlier(november) == [held[0]]
    drawer(shop, till, "close", Counted=0)
    assert earlier(december + timedelta(days=1)) == [held[0]]
    both = listed(shop, name="Earlier", AccountID=till_id, Period={"From": "2026-10-02", "To": "2026-12-02"})
    assert both == []  # it was opened in this period


def test_a_return_after_the_honest_count_stands_in_the_report_of_the_next_day(shop: Shop, clock: Clock) -> None:
    till, _ = a_till_of(shop)
    clock(UTC_NOON)
    drawer(shop, till, "open", Float="500")
    paid = pay(shop, till, "1000.00")
    drawer(shop, till, "close", Counted="1500")
    clock(UTC_NOON + timedelta(hours=1))
    drawer(shop, till, "open", Float="400")
    give_back(shop, till, paid, "500.00")
    clock(UTC_NOON + timedelta(days=1))
    pay(shop, till, "3000.00")
    drawer(shop, till, "close", Counted="2900")

    [later] = listed(shop, name="Earlier", day=UTC_NOON + timedelta(days=1))

    assert amounts(later, "LastCounted", "Float", "CashTaken", "CashGivenBack", "Difference") == [
        "1500.00",
        "400.00",
        "3000.00",
        "500.00",
        "0.00",
    ]
    assert listed(shop, name="Earlier", day=UTC_NOON) == []


def test_a_drawer_says_what_was_counted_last_in_its_currency(shop: Shop) -> None:
    till, till_id = a_till_of(shop)
    counts = [drawer(shop, till, "open", Float=0)["LastCounted"]]
    for counted in ("12.50", "0"):
        drawer(shop, till, "close", Counted=counted)
        counts.append(drawer(shop, till, "open", Float="1")["LastCounted"])
    drawer(shop, till, "close", Counted="3")
    terminal = shop.terminal(Currency="840")["Name"]
    assert shop.post(f"{shop.path}/pos/{till_id}/update", {"TID": terminal}).error == (200, 0)
    dollars = drawer(shop, till, "open", Float=0)

    assert [str(one) for one in counts] == ["None", "12.50", "0.00"]
    assert (dollars["CurrencyID"], dollars["LastCounted"]) == ("USD", None)


@pytest.mark.parametrize(
    "period", [{"From": "0001-01-01", "To": "0001-01-02"}, {"From": "9999-12-30", "To": "9999-12-31"}]
)
def test_a_period_beyond_the_calendar_has_no_drawers(shop: Shop, period: dict[str, str]) -> None:
    assert listed(shop, Period=period) == []


def test_a_list_that_is_too_large_leaves_out_movements_and_at_last_is_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, note = '"Door"', "日" * 99
    till, _ = a_till_of(shop, name)
    own = drawer(shop, till, "open", Float=1, Note=note)["DrawerID"]
    rows = domain.DRAWER_BYTES + bytes_in_answer(name)
    movements = domain.MOVEMENT_BYTES + bytes_in_answer(note)
    for most, has_movements in ((rows + movements, True), (rows + movements - 1, False), (rows, False)):
        monkeypatch.setattr(domain, "MOST_BYTES", most)
        [one] = listed(shop)
        assert (one["Movements"] is not None, one["Float"]) == (has_movements, 1)

    assert drawer(shop, shop.owner, DrawerID=own)["Movements"][0]["Note"] == note
    monkeypatch.setattr(domain, "MOST_BYTES", rows - 1)
    assert shop.post(DRAWERS, {}).error == (400, ErrorCode.PERIOD_TOO_LONG.code)


def test_the_estimate_of_an_answer_is_not_too_small(shop: Shop) -> None:
    till, _ = a_till_of(shop, "日" * 256)
    for number in range(3):
        drawer(shop, till, "open", Float="9999999999.99")
        drawer(shop, till, "in", Amount="9999999999.99", Note=f'"{number}\\' * 100)
        drawer(shop, till, "close", Counted="9999999999.99")
    reply = shop.post(DRAWERS, {})
    sizes = [
        domain.DRAWER_BYTES
        + bytes_in_answer(one["AgentName"])
        + sum(domain.MOVEMENT_BYTES + bytes_in_answer(each["Note"] or "") for each in one["Movements"])
        for one in reply.body["Drawers"]
    ]

    assert sum(sizes) > len(json.dumps(reply.text))


def test_a_drawer_has_a_most_of_movements_and_can_always_be_closed_and_remarked(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "MOST_MOVEMENTS", 3)
    monkeypatch.setattr(domain, "MOST_REMARKS", 2)
    till, till_id = a_till_of(shop)
    own = drawer(shop, till, "open", Float=0)["DrawerID"]
    drawer(shop, till, "in", Amount=1)
    drawer(shop, till, "note", DrawerID=own, Note="x")
    remark = {"DrawerID": own, "Note": "Seen"}

    for action, body in (("in", {"Amount": 1}), ("note", {"DrawerID": own, "Note": "x"})):
        assert (reply := ask(shop, till, action, **body)).error == (400, 202)
        assert reply.findings == [("Action", 5)]
    assert ask(shop, shop.owner, "in", AgentID=till_id, Amount=1).findings == [("Action", 5)]
    assert drawer(shop, shop.owner, "note", **remark)["Movements"][-1]["By"] == shop.owner_id
    assert drawer(shop, till, "close", Counted=1)["Difference"] == 0
    assert ask(shop, till, "note", DrawerID=own, Note="x").findings == [("Action", 5)]
    drawer(shop, shop.owner, "note", **remark)
    assert ask(shop, shop.owner, "note", **remark).findings == [("Action", 5)]


def test_the_notes_of_a_drawer_have_a_most_of_bytes_and_leave_room_for_those_of_others(shop: Shop) -> None:
    till, till_id = a_till_of(shop)
    longest = "\U0001f600" * 512  # 2,048 bytes
    own = drawer(shop, till, "open", Float=0, Note=longest)["DrawerID"]
    for _ in range(2):
        drawer(shop, till, "out", Amount=1, Note=longest)
    left = (domain.MOST_NOTE_BYTES - 3 * len(longest.encode())) // 4

    assert ask(shop, till, "out", Amount=1, Note=longest).findings == [("Note", 4)]
    assert ask(shop, till, "note", DrawerID=own, Note=longest[:left] + "x").findings == [("Note", 4)]
    drawer(shop, till, "note", DrawerID=own, Note=longest[:left])
    drawer(shop, till, "out", Amount=1)
    drawer(shop, shop.owner, "note", DrawerID=own, Note=longest)
    drawer(shop, till, "close", Counted=0, Note=longest)
    drawer(shop, shop.owner, "note", DrawerID=own, Note=longest)
    assert len(listed(shop, AccountID=till_id)[0]["Movements"]) == 8


def test_a_note_is_one_line_that_reads_in_its_own_direction(shop: Shop) -> None:
    till, _ = a_till_of(shop)
    sent = " To the safe\r\n\u2028by \u202eagent\u2066 2\x1b\x00 "
    opened = drawer(shop, till, "open", Float=0, Note=sent)
    blank = ask(shop, till, "note", DrawerID=opened["DrawerID"], Note="\u202e \n")

    assert opened["Movements"][0]["Note"] == "To the safe   by  agent  2"
    assert blank.findings == [("Note", 1)]
    assert drawer(shop, till, "out", Amount=1, Note="\t")["Movements"][-1]["Note"] is None


def test_an_agent_opens_a_most_of_drawers_a_day(shop: Shop, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain, "MOST_A_DAY", 2)
    till, _ = a_till_of(shop)
    for hours in (0, 24):
        clock(UTC_NOON + timedelta(hours=hours))
        for _ in range(2):
            drawer(shop, till, "open", Float=0)
            drawer(shop, till, "close", Counted=0)
        assert ask(shop, till, "open", Float=0).findings == [("Action", 5)]


@pytest.mark.parametrize("name", ["MOST_PAGES", "MOST_READS"])
def test_drawers_of_more_agents_than_a_request_reads_are_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for title in ("Door", "Bar"):
        pay(shop, a_till_of(shop, title)[0], "10.00")
    monkeypatch.setattr("chalicelib.services.drawers.BATCH", 1)
    monkeypatch.setattr(f"chalicelib.services.drawers.{name}", 3)
    assert len(listed(shop)) == 2

    monkeypatch.setattr(f"chalicelib.services.drawers.{name}", 1)
    assert shop.post(DRAWERS, {}).error == (400, ErrorCode.PERIOD_TOO_LONG.code)


# Who may see it


def test_a_blind_agent_sees_what_is_expected_after_the_count(shop: Shop) -> None:
    till, till_id = a_till_of(shop)
    assert get(shop.stage, "/api/v1/user/me", till).body["Data"]["DrawerBlind"] is False
    make_blind(shop)
    assert get(shop.stage, "/api/v1/user/me", till).body["Data"]["DrawerBlind"] is True
    seen = [drawer(shop, till, "open", Float="5"), drawer(shop, till, "in", Amount=1), drawer(shop, till)]

    assert [[one[name] for name in ("Cash", "Expected", "Difference")] for one in seen] == [[None] * 3] * 3
    assert amounts(seen[-1], "Float", "PaidIn") == ["5.00", "1.00"]
    assert amounts(drawer(shop, shop.owner, AgentID=till_id), "Cash", "Expected") == ["0.00", "6.00"]
    assert amounts(drawer(shop, SYSTEM, AgentID=till_id), "Cash") == ["0.00"]
    assert amounts(listed(shop)[0], "Cash", "Expected") == ["0.00", "6.00"]
    closed = drawer(shop, till, "close", Counted=5)
    assert amounts(closed, "Cash", "Expected", "Difference") == ["0.00", "6.00", "-1.00"]
    assert drawer(shop, till) == closed


def make_blind(shop: Shop) -> None:
    names = ("Location", "Country", "CountryCode", "DeviceInfo", "GMT", "AppFramework", "Lang", "IP", "Name", "Phone")
    body = {name: value for name, value in merchant_body().items() if name in {*names, "AddressDeFacto"}}
    reply = shop.post(f"{shop.path}/update", {**body, "DrawerBlind": True})
    assert (reply.error, reply.body["Merchant"]["DrawerBlind"]) == ((200, 0), True)


def test_a_system_user_names_an_agent_or_the_merchant_of_an_account(shop: Shop) -> None:
    till, till_id = a_till_of(shop)
    own = drawer(shop, till, "open", Float=1)["DrawerID"]
    stranger = a_shop(shop.stage)

    for named in ({"AgentID": till_id}, {"AccountID": till_id}, {"AgentID": till_id, "AccountID": shop.owner_id}):
        assert drawer(shop, SYSTEM, **named)["AgentID"] == till_id
    assert drawer(shop, SYSTEM, DrawerID=own, AccountID=shop.owner_id)["AgentID"] == till_id
    assert [one["AgentID"] for one in listed(shop, SYSTEM, AccountID=shop.owner_id)] == [till_id]
    assert ask(shop, SYSTEM).findings == [("AccountID", 1)]
    assert ask(shop, SYSTEM, DrawerID=own).findings == [("AccountID", 1)]
    assert shop.post(DRAWERS, {}, SYSTEM).findings == [("AccountID", 1)]
    mixed = ask(shop, SYSTEM, AgentID=till_id, AccountID=stranger.owner_id)
    assert (mixed.error, mixed.findings) == ((404, 563), [("AgentID", 563)])


def test_a_stranger_is_not_found_and_a_colleague_is_refused(shop: Shop) -> None:
    (till, till_id), (other, colleague) = a_till_of(shop), a_till_of(shop, "Bar")
    stranger = a_shop(shop.stage)
    theirs = drawer(stranger, stranger.owner, "open", Float=1)["DrawerID"]
    colleagues = drawer(shop, other, "open", Float=1)["DrawerID"]

    for login in (till, shop.owner):
        for name, absent in itertools.product(("AgentID", "AccountID"), (stranger.owner_id, 10**15)):
            reply = ask(shop, login, "open", Float=1, **{name: absent})
            assert (reply.error, reply.findings) == ((404, 563), [(name, 563)])
        for missing in (theirs, NOBODY):
            reply = ask(shop, login, "note", DrawerID=missing, Note="x")
            assert (reply.error, reply.findings) == ((404, 563), [("DrawerID", 563)])
    for named in ({"AgentID": colleague}, {"AccountID": colleague}, {"DrawerID": colleagues}):
        assert ask(shop, till, **named).error == (403, 151)
        assert ask(shop, till, "note", Note="x", **{"DrawerID": colleagues, **named}).error == (403, 151)
        assert ask(shop, till, "close", Counted="x", **named).error == (403, 151)  # before the body is validated
    assert ask(shop, till, CurrentAccountID=colleague).error == (403, 152)
    assert ask(shop, shop.owner, DrawerID=colleagues, AgentID=till_id).findings == [("DrawerID", 12)]
    assert drawer(shop, shop.owner, DrawerID=colleagues)["AgentID"] == colleague
    assert shop.post(DRAWERS, {}, till).error == (403, 151)


# What is sent


@pytest.mark.parametrize(
    ("sent", "findings"),
    [
        ({"Action": "open", "Float": "-0.01"}, [("Float", 5)]),
        ({"Action": "open"}, [("Float", 1)]),
        ({"Action": "open", "Float": "10000000000.01"}, [("Float", 5)]),
        ({"Action": "open", "Float": "0.001"}, [("Float", 7)]),
        ({"Action": "open", "Counted": 1}, [("Float", 1)]),
        ({"Action": "in"}, [("Amount", 1)]),
        ({"Action": "in", "Amount": 0}, [("Amount", 5)]),
        ({"Action": "out", "Amount": "-1"}, [("Amount", 5)]),
        ({"Action": "close", "Amount": 1}, [("Counted", 1)]),
        ({"Action": "close", "Counted": True}, [("Counted", 2)]),
        ({"Action": "close", "Counted": "1,50"}, [("Counted", 3)]),
        ({"Action": "note"}, [("DrawerID", 1), ("Note", 1)]),
        ({"Action": "note", "DrawerID": "17", "Note": "x"}, [("DrawerID", 3)]),
        ({"Action": "Open", "Float": 1}, [("Action", 6)]),
        ({"Action": 1, "Float": 1}, [("Action", 2)]),
        ({"Float": 1}, [("Action", 1)]),
        ({"Action": "open", "float": 1}, [("float", 13)]),
        ({"Action": "open", "Float": 1, "Note": "x" * 513}, [("Note", 4)]),
        ({"Action": "open", "Float": 1, "AgentID": "5"}, [("AgentID", 2)]),
        ({"Action": "open", "Float": "10000000000.00"}, []),
        ({"Action": "open", "Float": "-0.000"}, []),
        ({"Action": "", "Float": None, "Note": "", "DrawerID": "", "AgentID": 0, "AccountID": 0}, []),
    ],
)
def test_a_request_is_read_strictly(shop: Shop, sent: Any, findings: list[Any]) -> None:
    reply = shop.post(DRAWER, sent)

    assert (reply.error, reply.findings) == ((400, 202) if findings else (200, 0), findings)


# What it costs


def test_a_drawer_costs_few_calls_and_a_sale_nothing_more(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    (first, first_id), (second, _) = a_till_of(shop), a_till_of(shop, "Bar")
    allow_offline(shop, first_id)

    def cost(act: Any) -> tuple[list[str], float]:
        with measure_capacity() as used, store_calls() as calls:
            act()
        return calls, used.write_units

    of_sign_in, _ = cost(lambda: get(shop.stage, "/api/v1/user/me", first))
    pay(shop, first, "1.00")
    sale, sale_units = cost(lambda: pay(shop, first, "1.00"))
    opening, opening_units = cost(lambda: drawer(shop, first, "open", Float=0))
    reading, _ = cost(lambda: drawer(shop, first))
    in_drawer, in_drawer_units = cost(lambda: pay(shop, first, "1.00"))
    late, late_units = cost(lambda: pay(shop, first, "1.00", OfflineTran=offline("T-9")))
    closing, closing_units = cost(lambda: drawer(shop, first, "close", Counted=0))
    for number in range(1, 6):
        give_back(shop, shop.owner, pay(shop, second, f"{number}.00"), "0.50")
        drawer(shop, first, "open", Float=0)
        drawer(shop, first, "close", Counted=0)
    listing, _ = cost(lambda: listed(shop))

    authorizer = of_sign_in[:-1]
    assert (sale, sale_units) == (in_drawer, in_drawer_units)
    assert (late, late_units) == (sale, sale_units)
    assert reading == [*authorizer, "BatchGetItem", "BatchGetItem", "GetItem"]
    assert opening == [*authorizer, "BatchGetItem", "BatchGetItem", "TransactWriteItems"]
    assert closing == [*reading, "TransactWriteItems"]
    assert listing == [*authorizer, "BatchGetItem", *["Query"] * 4, "BatchGetItem"]
    assert (opening_units, closing_units) == (9, 9)  # one of them is the sign-in's
