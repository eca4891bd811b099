"""Times on the wire: local times of the request's GMT, else of the merchant's zone, in answers and in what is sent."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any
from urllib.parse import quote

import pytest

from chalicelib.domain.business_days import to_local
from tests.api.test_linked_cards import a_stored_card
from tests.support.accounts import a_stored_merchant, an_account
from tests.support.builders import NOW, PASSWORD, Shop
from tests.support.cards import STEADY, a_card_body
from tests.support.cost import store_calls
from tests.support.giving import Give
from tests.support.http import OWNER, SYSTEM, TILL, Reply, get, post
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body, a_guid

SUBMIT, REVERSE, REVERSE_CNP = (f"/api/v1/payment/{name}" for name in ("submit", "reverse", "reversecnp"))
HISTORY, DAYS = "/api/v1/payment/listHistoryEx", "/api/v1/payment/listByDaysEx"
ZONE = 2  # of the merchant
ZONES = (-12, -5, 0, 2, 14)
NOW_THERE = to_local(datetime.now(UTC), ZONE)
TODAY = NOW_THERE.date()
NOON = datetime.combine(TODAY, time(12), UTC)
MALFORMED = [
    ("x", 2),
    ("15", 5),
    ("-13", 5),
    ("2.5", 2),
    ("+2", 2),
    ("", 2),
    ("--2", 2),
    ("9" * 40, 5),
    ("9" * 41, 2),
    ("null", 2),
]

Login = tuple[str, str]
Times = Callable[[int | None], list[str]]


@pytest.fixture
def till(shop: Shop) -> Login:
    return shop.agent(TID=shop.terminal()["Name"])["Email"], PASSWORD


def in_zone(gmt: int | None) -> dict[str, int]:
    return {} if gmt is None else {"GMT": gmt}


def with_zone(path: str, gmt: int | None) -> str:
    return path if gmt is None else f"{path}?GMT={gmt}"


def ok(reply: Reply) -> Any:
    assert reply.error == (200, 0), reply.text
    return reply.body


def times_of(transaction: dict[str, Any]) -> list[str]:
    return [transaction["Date"], transaction["Deadline"]]


def is_local_in_every_zone(times: Times) -> bool:
    """Return whether the times are the merchant's without a GMT, and those of each zone with it."""
    merchants = times(None)
    for gmt in ZONES:
        shift = timedelta(hours=gmt - ZONE)
        expected = [(datetime.fromisoformat(time) + shift).isoformat(timespec="milliseconds") for time in merchants]
        assert times(gmt) == expected
    return len(merchants) > 0


def test_a_payment_is_answered_in_the_zone_of_the_request_else_in_the_merchants(stage: str) -> None:
    body = a_body()

    def submitted(gmt: int | None) -> list[str]:
        return times_of(ok(post(stage, SUBMIT, body | in_zone(gmt)))["Transaction"])

    assert is_local_in_every_zone(submitted)
    assert submitted(None)[1].endswith("T00:00:00.000")  # the Deadline is the merchant's midnight


def test_the_zone_of_a_request_changes_nothing_that_is_stored(stage: str, give: Give) -> None:
    give(now=lambda: NOON)
    times = set()
    for gmt in (None, *ZONES):
        paid = ok(post(stage, SUBMIT, a_card_body("1.00", STEADY) | in_zone(gmt)))["TransactionID"]
        part = {"TransactionID": paid, "ReverseMode": 5}
        back = ok(post(stage, REVERSE_CNP, {"BasicReverseTran": part} | in_zone(gmt)))["TransactionID"]
        times.add(tuple((one.created_at, one.deadline, one.gmt) for one in map(stored_transaction, (paid, back))))

    assert len(times) == 1


@pytest.mark.parametrize("login", [TILL, OWNER, SYSTEM], ids=itemgetter(0))
def test_a_payment_is_looked_up_in_the_zone_of_the_query_else_in_the_merchants(stage: str, login: Login) -> None:
    paid = ok(post(stage, SUBMIT, a_body()))

    def shown(gmt: int | None) -> list[str]:
        path = with_zone(f"/api/v1/payment/{paid['TransactionID']}", gmt)
        return times_of(ok(get(stage, path, login))["Transactions"][0])

    assert is_local_in_every_zone(shown)
    assert shown(None) == times_of(paid["Transaction"])


@pytest.mark.parametrize("path", [HISTORY, DAYS])
@pytest.mark.parametrize("who", ["owner", "system"])
def test_a_list_is_in_the_zone_of_the_request_or_the_merchant(shop: Shop, till: Login, path: str, who: str) -> None:
    paid = ok(shop.post(SUBMIT, a_body(), till))
    sent = {"ListBasicModel": {"AccountID": shop.owner_id}} if who == "system" else {}

    def listed(gmt: int | None) -> list[str]:
        body = ok(shop.post(path, sent | in_zone(gmt), SYSTEM if who == "system" else shop.owner))
        return times_of(body["Transactions"][0])

    assert is_local_in_every_zone(listed)
    assert listed(None) == times_of(paid["Transaction"])


@pytest.mark.parametrize("path", [REVERSE, REVERSE_CNP])
@pytest.mark.parametrize("login", [TILL, SYSTEM], ids=itemgetter(0))
def test_a_reversal_is_answered_in_the_zone_of_the_request_or_merchant(stage: str, path: str, login: Login) -> None:
    paid = ok(post(stage, SUBMIT, a_body() if path == REVERSE else a_card_body(100, STEADY)))["TransactionID"]
    body = {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": 2 if path == REVERSE else 5}}
    key = a_guid()

    def given_back(gmt: int | None) -> list[str]:
        return times_of(ok(post(stage, path, body | in_zone(gmt), login, Idempotency_Key=key))["Transaction"])

    assert is_local_in_every_zone(given_back)


@pytest.fixture
def locked(shop: Shop) -> dict[str, Any]:
    """An agent that signed in once, and is locked after ten wrong passwords."""
    agent = shop.agent()
    session = "/api/v1/user/login/session"
    post(shop.stage, session, {"Email": agent["Email"], "Password": PASSWORD}, None)
    for _ in range(10):
        post(shop.stage, session, {"Email": agent["Email"], "Password": "a wrong password"}, None)
    return agent


def logon_times(pos: dict[str, Any]) -> list[str]:
    return [pos["Logon"]["LastLogon"], pos["Logon"]["LockedUntil"]]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["owner", "system"])
def test_a_logon_is_in_the_zone_of_the_request_or_merchant(shop: Shop, locked: dict[str, Any], who: str) -> None:
    path, login = f"{shop.path}/pos/{locked['ID']}", shop.owner if who == "owner" else SYSTEM

    def got(gmt: int | None) -> list[str]:
        return logon_times(ok(get(shop.stage, with_zone(path, gmt), login))["Pos"])

    def updated(gmt: int | None) -> list[str]:
        return logon_times(ok(shop.post(f"{path}/update", {"Name": "Till"} | in_zone(gmt), login))["Pos"])

    def listed(gmt: int | None) -> list[str]:
        body = {"Search": locked["Email"]} | in_zone(gmt)
        return logon_times(ok(shop.post(f"{shop.path}/pos/list", body, login))["PosList"][0])

    assert is_local_in_every_zone(got)
    assert is_local_in_every_zone(updated)
    assert is_local_in_every_zone(listed)
    assert got(None) == updated(None) == listed(None)


@pytest.mark.parametrize("who", ["agent", "system"])
def test_linked_cards_are_in_the_zone_of_the_request_else_in_the_merchants(stage: str, who: str) -> None:
    account = an_account(merchant=a_stored_merchant(gmt=ZONE))
    a_stored_card(account.agent.id, account.agent.client_id)
    login = (account.email, account.key) if who == "agent" else SYSTEM

    def listed(gmt: int | None) -> list[str]:
        body = {"AccountId": account.agent.id} | in_zone(gmt)
        [card] = ok(post(stage, "/api/v1/payment/GetLinkedCards", body, login))["LinkedCards"]
        return [card["Created"], card["Updated"], card["CardExp"]]

    assert is_local_in_every_zone(listed)
    assert listed(0)[0] == NOW.replace(tzinfo=None).isoformat(timespec="milliseconds")
    assert listed(None)[2] == "2030-12-31T23:59:59.000"  # the merchant's last second of the month


def test_a_merchant_in_the_west_has_its_own_zone(stage: str) -> None:
    account = an_account(merchant=a_stored_merchant(gmt=-5))
    a_stored_card(account.agent.id, account.agent.client_id)
    [card] = ok(post(stage, "/api/v1/payment/GetLinkedCards", {}, (account.email, account.key)))["LinkedCards"]

    assert card["Created"] == "2026-03-14T04:26:53.589"
    assert card["CardExp"] == "2030-12-31T23:59:59.000"


@pytest.mark.parametrize(("gmt", "code"), MALFORMED)
@pytest.mark.parametrize("path", ["payment/1", "merchant/1/pos/1", "payment/AuthAccount", "user/me"])
def test_a_malformed_gmt_of_a_query_is_named(stage: str, path: str, gmt: str, code: int) -> None:
    reply = get(stage, f"/api/v1/{path}?GMT={quote(gmt)}")

    assert (reply.error, reply.findings) == ((400, 202), [("GMT", code)])


def test_a_gmt_in_other_capitals_is_named(stage: str) -> None:
    reply = get(stage, f"/api/v1/payment/{a_guid()}?gmt=2")

    assert (reply.error, reply.findings) == ((400, 202), [("gmt", 13)])


def test_auth_account_takes_a_gmt(stage: str) -> None:
    account = an_account()

    assert get(stage, "/api/v1/payment/AuthAccount?GMT=-5", (account.email, account.key)).error == (200, 0)


@pytest.mark.parametrize("gmt", ["2", "-5", "x", "", "99"])
def test_the_public_status_is_answered_whatever_gmt_is_sent(stage: str, gmt: str) -> None:
    paid = ok(post(stage, SUBMIT, a_body()))["TransactionID"]
    reply = get(stage, f"/api/v1/payment/statusPublic/{paid}?GMT={gmt}", None)

    assert ok(reply)["Transaction"]["ID"] == paid


def offline(stage: str, paid: str, gmt: int | None = None, till: Login = TILL) -> dict[str, Any]:
    """Take a payment that a till took offline, and return its Transaction."""
    body = a_body(OfflineTran={"OfflineMode": True, "Paid": paid})
    shown: dict[str, Any] = ok(post(stage, SUBMIT, body | in_zone(gmt), till))["Transaction"]
    return shown


def day_before(days: int) -> str:
    """Return the merchant's day so many days before today."""
    return str(TODAY - timedelta(days=days))


def ids_of_day(shop: Shop, path: str, day: str, gmt: int | None) -> list[str]:
    period = {"From": day, "To": day}
    return [one["ID"] for one in ok(shop.post(path, {"Period": period} | in_zone(gmt)))["Transactions"]]


@pytest.mark.parametrize("gmt", [None, *ZONES])
@pytest.mark.parametrize("clock", ["23:30:00", "00:30:00", "12:00:00.250"])
def test_the_date_of_an_offline_payment_is_the_time_that_was_sent(stage: str, gmt: int | None, clock: str) -> None:
    paid = f"{day_before(3)}T{clock}"
    shown = offline(stage, paid, gmt)
    again = offline(stage, shown["Date"], gmt)

    assert datetime.fromisoformat(shown["Date"]) == datetime.fromisoformat(paid)
    assert again["Date"] == shown["Date"]
    assert again["Invoice"][:6] == shown["Invoice"][:6]


def test_an_offline_payment_shows_when_it_was_taken_and_when_it_came(shop: Shop, till: Login) -> None:
    paid = f"{day_before(3)}T12:00:00.000"
    shown = offline(shop.stage, paid, 2, till)
    [found] = ok(get(shop.stage, f"/api/v1/payment/{shown['ID']}?GMT=0", till))["Transactions"]
    period = {"Period": {"From": day_before(3), "To": day_before(3)}}
    [listed] = ok(post(shop.stage, HISTORY, period, till))["Transactions"]
    here = datetime.now(UTC).replace(tzinfo=None)

    assert (shown["Date"], listed["Date"]) == (paid, paid)
    assert shown["Received"] == listed["Received"]
    assert timedelta(0) <= here - datetime.fromisoformat(found["Received"]) < timedelta(seconds=30)
    assert datetime.fromisoformat(shown["Date"]) - datetime.fromisoformat(found["Date"]) == timedelta(hours=2)


def test_only_an_offline_payment_has_a_time_at_which_it_came(stage: str) -> None:
    payments = [a_body(), a_body(OfflineTran={"OfflineMode": True})]
    online, now = (ok(post(stage, SUBMIT, body))["Transaction"] for body in payments)
    back = {"BasicReverseTran": {"TransactionID": now["ID"], "ReverseMode": 2}}

    assert online["Received"] is None
    assert now["Received"] is None  # its Date is that time
    assert ok(post(stage, REVERSE, back))["Transaction"]["Received"] is None


@pytest.mark.parametrize(
    ("clock", "gmt", "days_later"),
    [
        ("23:30:00", None, 0),
        ("23:30:00", -5, 1),
        ("00:30:00", 14, -1),
        ("22:00:00Z", -12, 1),
    ],
)
def test_an_offline_payment_is_counted_on_the_merchants_day_of_its_instant(
    shop: Shop, till: Login, clock: str, gmt: int | None, days_later: int
) -> None:
    day, sent_day = day_before(3), day_before(3 + days_later)
    shown = offline(shop.stage, f"{sent_day}T{clock}", gmt, till)

    assert shown["Invoice"][:6] != day.replace("-", "")[2:]  # its number is of the day of its recording
    for asked in (None, gmt, -12, 14):
        assert ids_of_day(shop, HISTORY, day, asked) == [shown["ID"]]
        assert ids_of_day(shop, HISTORY, day_before(4), asked) == ids_of_day(shop, HISTORY, day_before(2), asked) == []
        assert ids_of_day(shop, DAYS, day, asked) == [shown["ID"]]
        assert ids_of_day(shop, DAYS, day_before(4), asked) == []


@pytest.mark.parametrize(("gmt", "is_taken"), [(None, False), (2, False), (-12, False), (14, True)])
def test_a_day_ahead_is_counted_from_the_instant(stage: str, gmt: int | None, *, is_taken: bool) -> None:
    paid = (NOW_THERE + timedelta(hours=30)).isoformat()
    body = a_body(OfflineTran={"OfflineMode": True, "Paid": paid}) | in_zone(gmt)
    reply = post(stage, SUBMIT, body)

    assert reply.error == ((200, 0) if is_taken else (400, 202))
    assert reply.findings == ([] if is_taken else [("BasicTran.OfflineTran.Paid", 5)])


def returned(stage: str, payment: str, time: str, gmt: int | None = None) -> str:
    """Return 1 of a payment at the client's time, and answer with the ID of the reversal."""
    basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": 1, "ClientDateTime": time}
    name: str = ok(post(stage, REVERSE, {"BasicReverseTran": basic} | in_zone(gmt)))["TransactionReverseID"]
    return name


def test_one_client_time_in_several_writings_is_one_reversal(stage: str) -> None:
    payment = ok(post(stage, SUBMIT, a_body()))["TransactionID"]
    first = returned(stage, payment, "2026-11-21T10:00:00")
    other = returned(stage, payment, "2026-11-21T10:00:01")
    again = [
        returned(stage, payment, "2026-11-21T10:00:00.000"),
        returned(stage, payment, "2026-11-21T10:00:00", 2),
        returned(stage, payment, "2026-11-21T03:00:00", -5),
        returned(stage, payment, "2026-11-20T20:00:00", -12),
        returned(stage, payment, "2026-11-21T08:00:00Z", 14),
    ]
    in_another_zone = returned(stage, payment, "2026-11-21T10:00:00", -5)

    assert set(again) == {first}
    assert len({first, other, in_another_zone}) == 3


WRITINGS = [
    ("2026-11-21T10:00:00", None),
    ("2026-11-21T10:00:00.000", 2),
    ("2026-11-21T08:00:00Z", 5),
    ("2026-11-21T03:00:00", -5),
]


@pytest.mark.parametrize("amount", ["5", "12.30"])
def test_sixteen_writings_of_one_client_time_at_once_give_back_once(stage_on_dynamodb_local: str, amount: str) -> None:
    stage = stage_on_dynamodb_local
    payment = ok(post(stage, SUBMIT, a_body()))["TransactionID"]

    def give_back(writing: tuple[str, int | None]) -> Reply:
        time, gmt = writing
        basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": amount, "ClientDateTime": time}
        return post(stage, REVERSE, {"BasicReverseTran": basic} | in_zone(gmt))

    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(give_back, WRITINGS * 4))
    shown = ok(get(stage, f"/api/v1/payment/{payment}"))["Transactions"][0]

    assert {reply.error for reply in replies} <= {(200, 0), (409, 301)}
    assert len({reply.body["TransactionReverseID"] for reply in replies if reply.status == 200}) == 1
    assert (shown["AmountRvs"], shown["CountRvs"]) == (Decimal(amount), 1)


def test_a_reversal_with_a_client_time_is_one_read_and_one_transaction(stage: str) -> None:
    payment = ok(post(stage, SUBMIT, a_body()))["TransactionID"]
    with store_calls() as calls:
        returned(stage, payment, "2026-11-21T10:00:00", -5)

    assert calls == ["GetItem", "BatchGetItem", "TransactWriteItems"]  # the first is the authorizer's
