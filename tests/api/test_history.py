"""History through HTTP: pages of ten thousand payments, days, external IDs, and everything that is no request."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain.agent import Agent
from chalicelib.domain.transaction import Transaction
from chalicelib.store import agents, merchants
from infra.bench.shop import write_in_bulk
from tests.support import http
from tests.support.builders import CONTEXT, PASSWORD, Shop, a_shop
from tests.support.cards import a_card_body
from tests.support.http import OTHER_TILL, SYSTEM, TILL, Reply, get, post
from tests.support.ledger import Books, local, paid
from tests.support.stored import stored_record
from tests.support.transactions import a_body

HISTORY = "/api/v1/payment/listHistoryEx"
DAYS = "/api/v1/payment/listByDaysEx"
SUBMIT = "/api/v1/payment/submit"
REVERSE = "/api/v1/payment/reverse"
HOUR = timedelta(hours=1)


def listed(stage: str, login: tuple[str, str] = TILL, path: str = HISTORY, /, **sent: Any) -> Reply:
    """A list: From and To are fields of Period, the others of ListBasicModel."""
    period = {name: sent.pop(name) for name in ("From", "To") if name in sent}
    return post(stage, path, {"Period": period, "ListBasicModel": sent}, login)


def ids(reply: Reply) -> list[str]:
    """Return the IDs in the three lists of the wrapper."""
    assert reply.status == 200, reply.text
    names = ("NotFinishedActualTrans", "InProcess", "Transactions")
    return [one["ID"] for name in names for one in reply.body[name]]


def counters(reply: Reply) -> tuple[int, int, int]:
    found = reply.body["TransactionsCounters"]
    assert found["Pagesize"] == 100
    return found["ItemCountPage"], found["ItemCountTtl"], found["PageCount"]


def a_till_of(shop: Shop, **changes: Any) -> tuple[str, str]:
    """The login of a new till of the shop."""
    agent = shop.agent(TID=shop.terminal()["Name"], BranchesActions=None, **changes)
    return agent["Email"], PASSWORD


def pay(shop: Shop, till: tuple[str, str], **basic: Any) -> str:
    reply = shop.post(SUBMIT, a_body(**basic), till)
    assert reply.body["ErrorCode"] == 0, reply.text
    name: str = reply.body["TransactionID"]
    return name


def test_what_was_acknowledged_is_in_the_next_list(shop: Shop) -> None:
    till = a_till_of(shop)
    names: list[str] = []
    for _ in range(4):
        names.insert(0, pay(shop, till))

        assert ids(listed(shop.stage, till)) == names
        assert ids(listed(shop.stage, shop.owner, DAYS)) == names


def test_a_list_is_the_wrapper_of_the_specification(shop: Shop) -> None:
    till = a_till_of(shop)
    paid_id = pay(shop, till, Amount="120.50")
    body = {"BasicReverseTran": {"TransactionID": paid_id, "ReverseMode": 2, "InputType": 10, "Amount": "20.50"}}
    given_back = shop.post(REVERSE, body, till).body["TransactionReverseID"]

    reply = listed(shop.stage, till)

    shown = http.get(shop.stage, f"/api/v1/payment/{paid_id}", till).body["Transactions"][0]
    assert set(reply.body) == {
        *("ErrorCode", "ErrorMessage", "Validations", "Days", "NotFinishedActualTrans", "InProcess"),
        *("Transactions", "TransactionsCounters"),
    }
    assert (reply.body["Days"], reply.body["NotFinishedActualTrans"], reply.body["InProcess"]) == (None, [], [])
    assert ids(reply) == [given_back, paid_id]
    assert reply.body["Transactions"][1] == shown
    assert reply.body["TransactionsCounters"] == {
        "AmountCvt": Decimal("120.50"),
        "Pagesize": 100,
        "ItemCountPage": 2,
        "ItemCountTtl": 2,
        "PageCount": 1,
    }


def test_a_request_with_everything_in_it_is_answered(shop: Shop) -> None:
    till = a_till_of(shop)
    body = {**a_body(ExtID="order-1", Description="Two coffees"), "ClientProductCode": "CAFE"}
    name = shop.post(SUBMIT, body, till).body["TransactionID"]
    shown = post(shop.stage, HISTORY, CONTEXT, till).body["Transactions"][0]  # its date in the zone of CONTEXT
    today = shown["Date"][:10]
    model = {
        "Search": "COFFEE",
        "AccountID": shown["PosID"],
        "Sort": "Date desc",
        "ID": name.lower(),
        "Invoice": shown["Invoice"],
        "InputType": 10,
        "AcquirerCode": "CASH",
        "ExtID": "order-1",
        "Fiscal": {"FiscalStatus": 0},
        "OfflineRequestModel": {"Offline": True},
        "Page": 1,
    }
    period = {"From": str(datetime.fromisoformat(today).date() - timedelta(days=1)), "To": today}
    sent = {**CONTEXT, "Period": period, "ListBasicModel": model, "ClientProductCode": "CAFE"}

    for path in (HISTORY, DAYS):
        assert ids(post(shop.stage, path, {**sent, "CurrentAccountID": shown["PosID"]}, till)) == [name]
        for only in ("Invoice", "RRN", "InvoiceOriginal"):
            elsewhere = {**sent, "ListBasicModel": {**model, only: "elsewhere"}}
            assert ids(post(shop.stage, path, elsewhere, till)) == []
        assert ids(post(shop.stage, path, {**sent, "ClientProductCode": "cafe"}, till)) == []


def test_each_role_sees_what_it_may(shop: Shop) -> None:
    first, second, third = a_till_of(shop), a_till_of(shop), a_till_of(shop)
    viewer = shop.agent(BranchesActions=[{"BranchID": shop.id, "Actions": [201]}])
    names = [pay(shop, till) for till in (first, second)][::-1]
    account = shown_account(shop, second)

    assert ids(listed(shop.stage, first)) == names[1:]
    assert ids(listed(shop.stage, third)) == []
    assert ids(listed(shop.stage, (viewer["Email"], PASSWORD))) == names
    assert ids(listed(shop.stage, shop.owner)) == names
    assert ids(listed(shop.stage, shop.owner, AccountID=account)) == names[:1]
    assert ids(listed(shop.stage, SYSTEM, AccountID=shop.owner_id)) == names
    assert ids(listed(shop.stage, SYSTEM, AccountID=account)) == names[:1]
    assert listed(shop.stage, first, AccountID=account).error == (403, 151)
    assert listed(shop.stage, SYSTEM).findings == [("ListBasicModel.AccountID", 1)]


def shown_account(shop: Shop, till: tuple[str, str]) -> int:
    account: int = listed(shop.stage, till).body["Transactions"][0]["PosID"]
    return account


@pytest.mark.parametrize("path", [HISTORY, DAYS])
@pytest.mark.parametrize(
    ("sent", "finding"),
    [
        ({"From": "2026-02-02", "To": "2026-02-01"}, ("Period.From", 12)),
        ({"From": "2025-02-30"}, ("Period.From", 3)),
        ({"To": "2025-2-3"}, ("Period.To", 3)),
        ({"To": "20250203"}, ("Period.To", 3)),
        ({"To": "2025-02-03T00:00:00"}, ("Period.To", 3)),
        ({"To": "\uff12\uff10\uff12\uff15-02-03"}, ("Period.To", 3)),
        ({"To": "yesterday"}, ("Period.To", 3)),
        ({"Page": -1}, ("ListBasicModel.Page", 5)),
        ({"Page": 1.5}, ("ListBasicModel.Page", 2)),
        ({"Page": True}, ("ListBasicModel.Page", 2)),
        ({"Sort": "Amount desc"}, ("ListBasicModel.Sort", 6)),
        ({"Sort": "Dates"}, ("ListBasicModel.Sort", 6)),
        ({"Search": "x" * 10_000}, ("ListBasicModel.Search", 4)),
        ({"ExtID": "x" * 129}, ("ListBasicModel.ExtID", 4)),
        ({"ID": "17"}, ("ListBasicModel.ID", 3)),
        ({"AccountID": -17}, ("ListBasicModel.AccountID", 5)),
        ({"InputType": 6}, ("ListBasicModel.InputType", 6)),
        ({"Operation": 3}, ("ListBasicModel.Operation", 6)),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(stage: str, path: str, sent: dict[str, Any], finding: tuple[str, int]) -> None:
    reply = listed(stage, TILL, path, **sent)

    assert (reply.error, reply.findings) == ((400, 202), [finding])


@pytest.mark.parametrize("path", [HISTORY, DAYS])
def test_payments_or_what_was_given_back_are_listed_apart(shop: Shop, path: str) -> None:
    till = a_till_of(shop)
    paid = pay(shop, till)
    pay(shop, till, Amount="7.00")
    given_back = [
        shop.post(REVERSE, {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": mode, **part}}, till).body
        for mode, part in ((2, {"Amount": "1.00", "PartialReverse": True}), (2, {}))
    ]

    back = listed(shop.stage, till, path, Operation=2)
    assert ids(back) == [one["TransactionReverseID"] for one in reversed(given_back)]
    assert back.body["TransactionsCounters"]["ItemCountTtl"] == 2
    assert ids(listed(shop.stage, till, path, Operation=2, Search="nothing")) == []
    assert len(ids(listed(shop.stage, till, path, Operation=1))) == 2
    assert len(ids(listed(shop.stage, till, path, Operation=None))) == 4


@pytest.mark.parametrize("path", [HISTORY, DAYS])
def test_the_order_is_read_in_any_capitals(shop: Shop, path: str) -> None:
    till = a_till_of(shop)
    oldest_first = [pay(shop, till) for _ in range(3)]

    for sort in ("DATE ASC", "date asc", "Date Asc"):
        assert ids(listed(shop.stage, till, path, Sort=sort)) == oldest_first
    for sort in ("DATE DESC", "date", "Date", ""):
        assert ids(listed(shop.stage, till, path, Sort=sort)) == oldest_first[::-1]


@pytest.mark.parametrize("path", [HISTORY, DAYS])
def test_four_hundred_days_are_too_long(stage: str, path: str) -> None:
    assert listed(stage, TILL, path, From="2025-01-01", To="2026-02-04").error == (400, 404)


@pytest.mark.parametrize("path", [HISTORY, DAYS])
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar_hold_nothing(stage: str, path: str, day: str) -> None:
    reply = listed(stage, OTHER_TILL, path, To=day)

    assert ids(reply) == []


ODD = "".join(map(chr, range(32, 127))) + "\\\"'\u0000\t\n\u2028ßİ\U0001f4b3\ud83d"


def test_a_search_may_hold_every_character(shop: Shop) -> None:
    till = a_till_of(shop)
    name = pay(shop, till, Description=f"before {ODD[:95]} after")

    assert ids(listed(shop.stage, till, Search=ODD[:95])) == [name]
    for letter in ODD[:-1]:
        reply = listed(shop.stage, till, Search=f"{letter}no such thing{letter}")
        assert ids(reply) == []


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    """The shop with ten thousand payments, once it is written."""
    return {}


NOW = datetime.now(UTC)


@pytest.fixture
def busy(stage_on_dynamodb_local: str, written: dict[str, Any]) -> tuple[Shop, Books]:
    """A shop on Amazon's own engine with ten thousand payments of three agents in the last 40 days."""
    if not written:
        shop = a_shop(stage_on_dynamodb_local)
        own = [record(shop.owner_id), *(record(shop.agent()["ID"]) for _ in range(2))]
        merchant = stored_record(merchants.key(shop.id))
        books = Books(merchant, own)
        for number in range(10_000):
            at = NOW - (40 * 24 * HOUR) * number / 10_000
            facts = {"ext_id": f"order-{number}", "invoice": f"INV-{number}", "description": f"Table {number % 500}"}
            books.kept.append(paid(books, own[number % 3], at, **facts))
        write_in_bulk(books.kept)
        written["shop"], written["books"] = shop, books
    return written["shop"], written["books"]


def record(agent_id: int) -> Agent:
    return stored_record(agents.key(agent_id))


def names(transactions: list[Transaction]) -> list[str]:
    return [one.id for one in transactions]


@pytest.mark.release
def test_ten_thousand_payments_are_paged(busy: tuple[Shop, Books]) -> None:
    shop, books = busy
    today = local(books.kept[0]).date()
    period = {"From": str(today - timedelta(days=60))}
    for page in (1, 2, 50, 99, 100):
        reply = listed(shop.stage, shop.owner, **period, Page=page)

        assert counters(reply) == (100, 10_000, 100)
        assert ids(reply) == names(books.kept[(page - 1) * 100 : page * 100])
        assert reply.body["TransactionsCounters"]["AmountCvt"] == Decimal("123000.00")
    assert counters(listed(shop.stage, shop.owner, **period, Page=101)) == (0, 10_000, 100)
    assert ids(listed(shop.stage, shop.owner, **period, Sort="Date asc")) == names(books.kept[:-101:-1])


@pytest.mark.release
def test_ten_thousand_payments_are_listed_by_days(busy: tuple[Shop, Books]) -> None:
    shop, books = busy
    day = local(books.kept[5000]).date()
    older = [one for one in books.kept if local(one).date() <= day]

    first, second = (listed(shop.stage, shop.owner, DAYS, To=str(day), Page=page) for page in (1, 2))

    assert ids(first) == names(older[:100])
    assert ids(second) == names(older[100:200])
    assert counters(first) == (100, len(older), -(-len(older) // 100))


@pytest.mark.release
def test_one_of_ten_thousand_is_found_by_its_references(busy: tuple[Shop, Books]) -> None:
    shop, books = busy
    wanted = books.kept[7777]
    day = {"From": str(local(wanted).date()), "To": str(local(wanted).date())}

    assert ids(listed(shop.stage, shop.owner, ExtID="order-7777")) == [wanted.id]
    assert ids(listed(shop.stage, shop.owner, ID=wanted.id)) == [wanted.id]
    assert ids(listed(shop.stage, shop.owner, **day, Invoice="inv-7777")) == [wanted.id]
    assert ids(listed(shop.stage, shop.owner, **day, Search="order-7777")) == [wanted.id]
    assert ids(listed(shop.stage, SYSTEM, AccountID=shop.owner_id, ExtID="order-7777")) == [wanted.id]


@pytest.mark.release
def test_ten_thousand_payments_are_searched(busy: tuple[Shop, Books]) -> None:
    shop, books = busy
    period = {"From": str(local(books.kept[-1]).date())}
    model = [one for one in books.kept if one.particulars.description == "Table 77"]
    reply = listed(shop.stage, shop.owner, **period, Search="table 77", Page=1)

    assert (ids(reply), counters(reply)) == (names(model), (20, 20, 1))


@pytest.mark.release
def test_pages_are_right_while_tills_submit(busy: tuple[Shop, Books]) -> None:
    shop, books = busy
    tills = [a_till_of(shop) for _ in range(2)]
    account = [shown_account_of(shop, till) for till in tills]

    def submit(till: tuple[str, str]) -> list[str]:
        acknowledged = []
        for _ in range(12):
            acknowledged.append(pay(shop, till))
            assert set(acknowledged) <= set(ids(listed(shop.stage, till)))
        return acknowledged

    with ThreadPoolExecutor(2) as pool:
        submitting = [pool.submit(submit, till) for till in tills]
        pages = [ids(listed(shop.stage, shop.owner, Page=page)) for page in (1, 2, 3, 1, 2, 3)]
        done = {name for one in submitting for name in one.result()}

    assert all(len(page) == len(set(page)) == 100 for page in pages)
    assert done <= set(ids(listed(shop.stage, shop.owner)))
    for number in account:
        assert counters(listed(shop.stage, shop.owner, AccountID=number)) == (12, 12, 1)
    assert len(done) == 24
    assert set(names(books.kept[:100])) <= {name for page in pages[:2] for name in page}


def shown_account_of(shop: Shop, till: tuple[str, str]) -> int:
    found = shop.post(f"{shop.path}/pos/list", {"Email": till[0]}).body["PosList"]
    account: int = found[0]["ID"]
    return account


def test_the_sum_by_id_is_the_money_taken(stage: str) -> None:
    paid = post(stage, SUBMIT, a_body()).body["TransactionID"]
    reversal = post(stage, REVERSE, {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": 2}}).body
    declined = post(stage, SUBMIT, a_card_body(5, "4000000000000002")).body
    sums = {
        name: get(stage, f"/api/v1/payment/{name}", login).body["TransactionsCounters"]["AmountCvt"]
        for name in (paid, reversal["TransactionReverseID"], declined["TransactionID"])
        for login in (TILL, SYSTEM)
    }

    assert list(sums.values()) == [Decimal("12.30"), 0, 0]
