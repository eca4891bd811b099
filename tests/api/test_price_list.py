"""The price list: one for each merchant, replaced as a whole, and never lost to a second writer."""

import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.errors import Check
from chalicelib.store import audit, merchants
from chalicelib.store.table import update, write_one
from tests.support.builders import Shop, a_shop
from tests.support.cost import store_calls
from tests.support.giving import Give
from tests.support.http import Reply, get
from tests.support.outages import lose_an_answer
from tests.support.stored import stored_record

TAXES: list[dict[str, Any]] = [
    {"Code": "VAT15", "Name": "VAT", "Rate": 15},
    {"Code": "CITY", "Name": "City", "Rate": "0.0025"},
]
ITEMS: list[dict[str, Any]] = [
    {"Code": "flat-white", "Title": "Flat white", "Price": "32.5", "TaxCode": "vat15", "Group": "Coffee"},
    {"Code": "beans", "Title": "Beans", "Price": 280, "Unit": "kg", "Barcode": "6001240100011", "Active": False},
    {"Code": "BEANS", "Title": "Catering"},
]
NOTHING: dict[str, Any] = {**dict.fromkeys(("Unit", "TaxCode", "Group", "Barcode", "Price")), "Active": True}
CHANGED: list[dict[str, Any]] = [
    {"Price": Decimal("32.50"), "TaxCode": "VAT15"},
    {"Price": Decimal("280.00")},
    {},
]
SHOWN: list[dict[str, Any]] = [
    {
        **NOTHING,
        **item,
        **changed,
    }
    for item, changed in zip(ITEMS, CHANGED, strict=True)
]


def path_of(shop: Shop) -> str:
    return f"{shop.path}/pricelist"


def replace_list(shop: Shop, version: int, **changes: Any) -> Reply:
    return shop.post(f"{path_of(shop)}/update", {"Version": version, "Taxes": TAXES, "Items": ITEMS, **changes})


def shown(shop: Shop, query: str = "") -> Any:
    reply = get(shop.stage, path_of(shop) + query, shop.owner)
    assert reply.error == (200, 0)
    return reply.body["PriceList"]


def test_a_list_is_stored_shown_and_replaced(stage: str) -> None:
    shop = a_shop(stage)
    none_yet = shown(shop)
    first = replace_list(shop, 0).body["PriceList"]
    second = replace_list(shop, 1, Items=ITEMS[:1], Taxes=TAXES[:1]).body["PriceList"]

    assert none_yet == {
        "Version": 0,
        "Updated": None,
        "UpdatedBy": None,
        "Taxes": [],
        "TypedTaxCode": None,
        "Items": [],
    }
    assert first["Items"] == SHOWN
    assert [(one["Code"], one["Rate"]) for one in first["Taxes"]] == [("VAT15", 15), ("CITY", Decimal("0.0025"))]
    assert (first["Version"], second["Version"]) == (1, 2)
    assert shown(shop) == second
    assert [one["Code"] for one in second["Items"]] == ["flat-white"]


def test_every_agent_reads_it_and_no_other_merchants_agent(stage: str) -> None:
    shop, other = a_shop(stage), a_shop(stage)
    replace_list(shop, 0)
    agent = shop.agent(SecretKey="a key of some length")
    reply = get(stage, path_of(shop), (agent["Email"], "a key of some length"))

    assert reply.body["PriceList"]["Items"] == SHOWN
    assert get(stage, path_of(shop), other.owner).error == (404, 561)


def test_a_caller_that_knows_the_version_gets_null_and_the_list_is_not_read(stage: str) -> None:
    shop = a_shop(stage)
    assert shown(shop, "?Version=0") is None
    replace_list(shop, 0)

    with store_calls() as calls:
        known = shown(shop, "?Version=1")
    with store_calls() as more:
        unknown = shown(shop, "?Version=0")
    assert (known, unknown["Version"]) == (None, 1)
    assert len(more) == len(calls) + 1


def test_a_caller_that_knows_a_list_stored_a_moment_ago_gets_null(stage: str) -> None:
    shop = a_shop(stage)
    replace_list(shop, 0)
    replace_list(shop, 1)
    write_one(update(merchants.key(shop.id), {"price_list_version": 1}))  # read before the last one

    assert [shown(shop, f"?Version={version}") for version in (1, 2)] == [None, None]
    assert shown(shop, "?Version=3")["Version"] == 2


def test_the_second_of_two_writers_is_refused_and_changes_nothing(stage: str) -> None:
    shop = a_shop(stage)
    first = replace_list(shop, 0).body["PriceList"]
    refused = [replace_list(shop, version, Items=[]) for version in (0, 2, 7)]

    assert {reply.error for reply in refused} == {(409, 314)}
    assert shown(shop) == first


def test_of_writers_at_once_exactly_one_succeeds(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    for version in range(3):
        with ThreadPoolExecutor(8) as pool:
            items = [[{"Code": f"{version}-{number}", "Title": "Tea"}] for number in range(8)]
            replies = list(pool.map(lambda one, now=version: replace_list(shop, now, Items=one), items))

        assert sorted(reply.error for reply in replies) == [(200, 0), *[(409, 314)] * 7]
        (stored,) = (reply.body["PriceList"] for reply in replies if reply.status == 200)
        assert shown(shop) == stored


def test_changes_of_the_merchant_at_the_same_time_lose_nothing(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)

    def change(number: int) -> Reply:
        if number % 2:
            return shop.post(f"{shop.path}/webhook/create", {"Url": "https://shop.example/events"})
        return replace_list(shop, 0)

    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(change, range(4)))

    stored = stored_record(merchants.key(shop.id))
    assert [reply.status for reply in replies].count(200) >= 3
    assert (stored.webhooks, stored.price_list_version, [one.code for one in stored.taxes]) == (2, 1, ["VAT15", "CITY"])


def test_a_repeat_gets_the_stored_list(stage: str) -> None:
    shop = a_shop(stage)
    first = replace_list(shop, 0)
    again = replace_list(shop, 0)

    assert (again.error, again.body) == ((200, 0), first.body)
    assert replace_list(shop, 1, Items=[]).error == (200, 0)
    assert replace_list(shop, 0).error == (409, 314)


@pytest.mark.usefixtures("dynamodb_local")
def test_a_list_whose_answer_is_lost_is_stored_once(stage_on_dynamodb_local: str, give: Give) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    lose_an_answer(give, "TransactWriteItems", "pricelists")

    assert replace_list(shop, 0).error == (200, 0)
    assert shown(shop)["Version"] == 1


def item(**changes: Any) -> dict[str, Any]:
    return {"Code": "a", "Title": "Tea", **changes}


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"Version": None}, "Version", Check.REQUIRED),
        ({"Version": "1"}, "Version", Check.TYPE),
        ({"Taxes": [TAXES[0], {**TAXES[0], "Code": "vat15"}]}, "Taxes[1].Code", Check.TWICE),
        ({"Taxes": [{**TAXES[0], "Code": "VAT 15"}], "Items": []}, "Taxes[0].Code", Check.FORMAT),
        ({"Taxes": [{**TAXES[0], "Code": "V" * 17}], "Items": []}, "Taxes[0].Code", Check.FORMAT),
        ({"Taxes": [{**TAXES[0], "Rate": "100.01"}]}, "Taxes[0].Rate", Check.OUT_OF_RANGE),
        ({"Taxes": [{**TAXES[0], "Rate": -1}]}, "Taxes[0].Rate", Check.OUT_OF_RANGE),
        ({"Taxes": [{**TAXES[0], "Rate": "1.00001"}]}, "Taxes[0].Rate", Check.TOO_MANY_DECIMALS),
        ({"Taxes": [{**TAXES[0], "Name": "x" * 41}]}, "Taxes[0].Name", Check.TOO_LONG),
        ({"Taxes": [{**TAXES[0], "Code": f"T{n}"} for n in range(21)]}, "Taxes", Check.TOO_LONG),
        ({"Items": [item(Code=str(n)) for n in range(501)]}, "Items", Check.TOO_LONG),
        ({"Items": [item(), item()]}, "Items[1].Code", Check.TWICE),
        ({"Items": [item(Title="")]}, "Items[0].Title", Check.OUT_OF_RANGE),
        ({"Items": [item(Title="x" * 129)]}, "Items[0].Title", Check.TOO_LONG),
        ({"Items": [item(Code="x" * 65)]}, "Items[0].Code", Check.TOO_LONG),
        ({"Items": [item(Price="1.234")]}, "Items[0].Price", Check.TOO_MANY_DECIMALS),
        ({"Items": [item(Price=-1)]}, "Items[0].Price", Check.OUT_OF_RANGE),
        ({"Items": [item(Price="10000000000.01")]}, "Items[0].Price", Check.OUT_OF_RANGE),
        ({"Items": [item(Price=True)]}, "Items[0].Price", Check.TYPE),
        ({"Items": [item(Price="1e400")]}, "Items[0].Price", Check.FORMAT),
        ({"Items": [item(Unit="x" * 9)]}, "Items[0].Unit", Check.TOO_LONG),
        ({"Items": [item(Group="x" * 41)]}, "Items[0].Group", Check.TOO_LONG),
        ({"Items": [item(TaxCode="VAT14")]}, "Items[0].TaxCode", Check.NOT_IN_DICTIONARY),
        ({"Items": [item(Active=1)]}, "Items[0].Active", Check.TYPE),
        ({"Items": [*ITEMS, item(Barcode="6001240100012")]}, "Items[3].Barcode", Check.FORMAT),
        (
            {"Items": [item(Barcode="036000291452"), item(Code="b", Barcode="0036000291452")]},
            "Items[1].Barcode",
            Check.TWICE,
        ),
    ],
)
def test_a_wrong_list_is_refused_with_its_path_and_changes_nothing(
    stage: str, changes: dict[str, Any], path: str, code: int
) -> None:
    shop = a_shop(stage)
    reply = replace_list(shop, **{"version": 0, **changes})

    assert (reply.error, reply.findings) == ((400, 202), [(path, code)])
    assert shown(shop)["Version"] == 0


def padded(size: int) -> bytes:
    """Return a request of so many bytes."""
    body = json.dumps({"Version": 0, "Taxes": [], "Items": [], "IP": ""}).encode()
    return body + b" " * (size - len(body))


@pytest.mark.parametrize(("size", "expected"), [(256 * 1024, (200, 0)), (256 * 1024 + 1, (413, 203))])
def test_a_list_has_at_most_256_kb(stage: str, size: int, expected: tuple[int, int]) -> None:
    shop = a_shop(stage)

    assert shop.post(f"{path_of(shop)}/update", padded(size)).error == expected


def test_the_largest_list_is_stored_and_shown(stage_on_dynamodb_local: str) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    largest = [
        {"Code": f"{n:064}", "Title": "日" * 98, "Price": "1.00", "Unit": "x" * 8, "Group": "é" * 40}
        for n in range(500)
    ]
    body = json.dumps({"Version": 0, "Items": largest}, ensure_ascii=False).encode()
    assert 240 * 1024 < len(body) <= 256 * 1024

    assert shop.post(f"{path_of(shop)}/update", body).error == (200, 0)
    assert [one["Title"] for one in shown(shop)["Items"]] == ["日" * 98] * 500


@pytest.mark.parametrize(("country", "price", "code"), [("JP", "12", 0), ("JP", "12.5", 7), ("BH", "1.234", 0)])
def test_prices_have_the_decimals_of_the_merchants_currency(stage: str, country: str, price: str, code: int) -> None:
    shop = a_shop(stage, CountryCode=country)
    reply = replace_list(shop, 0, Items=[item(Price=price)])

    assert [found for _, found in reply.findings] == ([code] if code else [])


def test_numbers_that_are_equal_are_shown_alike(stage: str) -> None:
    shop = a_shop(stage)
    reply = replace_list(shop, 0, Taxes=[{**TAXES[0], "Rate": "15.50000"}], Items=[item(Price=-0.0)])

    assert reply.error == (200, 0)
    assert '"Price":0.00,' in reply.text


def test_the_audit_says_who_changed_the_list(stage: str) -> None:
    shop = a_shop(stage)
    replace_list(shop, 0)
    *_, entry = audit.of(f"merchant#{shop.id}")

    assert (entry.kind, entry.by) == ("update", shop.owner_id)
    assert {"price_list_version", "taxes"} <= set(entry.fields)
