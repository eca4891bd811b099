"""The price list in the shop's page: changed by hand and by a file."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store
from tests.browser.test_shop_views import fits_everybody
from tests.support.http import get, post

TAX = {"Code": "VAT15", "Name": "VAT", "Rate": 15}
COFFEE = {"Code": "coffee", "Title": "Coffee", "Price": "38.00", "TaxCode": "VAT15", "Group": "Drinks"}
CAKE = {"Code": "cake", "Title": "Cake", "Price": "83.53"}
FILE = '\ufeffCode;Title;Price;TaxCode\r\ncoffee;"Coffee; black";40,50;vat15\r\ntea;Tea;;\r\n'


@pytest.fixture
def store(stage: str) -> Store:
    return a_store(stage)


def stored(store: Store) -> dict[str, Any]:
    found: dict[str, Any] = get(store.stage, path(store), store.owner).body["PriceList"]
    return found


def path(store: Store) -> str:
    return f"/api/v1/merchant/{store.client_id}/pricelist"


def replace(store: Store, version: int, *items: dict[str, Any]) -> None:
    body = {"Version": version, "Taxes": [TAX], "Items": items}
    assert post(store.stage, f"{path(store)}/update", body, store.owner).status == 200


def a_shop(visit: Visit, store: Store) -> Shop:
    shop = Shop(visit, store.stage)
    shop.sign_in(store.owner, "#/price-list")
    shop.wait_for("Price list")
    return shop


def fill(shop: Shop, **fields: str) -> None:
    for name, value in fields.items():
        shop.page.get_by_label(name, exact=True).fill(value)


def test_a_list_is_made_by_hand(visit_of_a_shop: Visit, store: Store) -> None:
    shop = a_shop(visit_of_a_shop, store)
    shop.button("New tax").click()
    fill(shop, Code="VAT15", Name="VAT", Rate="15")
    shop.button("New item").click()
    fill(shop, Code="coffee", Title="Coffee", Price="38,00", Group="Drinks", Barcode="6001240100012")
    shop.page.get_by_label("Tax", exact=True).select_option("VAT15")
    fits_everybody(shop)
    shop.look_at("Today")
    shop.look_at("Price list")
    expect(shop.page.get_by_text("Not stored yet: 2 changes.")).to_be_visible()
    assert stored(store)["Version"] == 0
    shop.button("Save").click()
    expect(shop.page.locator("#price-Barcode-problem")).to_contain_text("no EAN")
    expect(shop.page.get_by_label("Barcode")).to_be_focused()
    fits_everybody(shop)
    fill(shop, Barcode="6001240100011")
    shop.page.keyboard.press("Enter")
    shop.button("Save").click()
    expect(shop.page.get_by_text("Saved.")).to_be_visible()
    item = stored(store)["Items"][0]
    assert (str(item["Price"]), item["TaxCode"], item["Barcode"]) == ("38.00", "VAT15", "6001240100011")
    shop.button("Change Coffee").click()
    shop.page.get_by_label("On sale").uncheck()
    shop.button("Save").click()
    expect(shop.page.get_by_text("Saved.")).to_be_visible()
    assert stored(store)["Items"][0]["Active"] is False
    shop.button("Change Coffee").click()
    shop.button("Remove").click()
    shop.button("Save").click()
    expect(shop.page.get_by_text("Saved.")).to_be_visible()

    assert stored(store)["Items"] == []
    assert shop.visit.complaints == ["Failed to load resource: the server responded with a status of 400 (Bad Request)"]


def test_a_file_says_what_it_would_change_before_it_changes(visit_of_a_shop: Visit, store: Store) -> None:
    replace(store, 0, COFFEE, CAKE)
    shop = a_shop(visit_of_a_shop, store)
    chosen = shop.page.get_by_label("Import", exact=True)
    dialog = shop.page.get_by_role("dialog")

    def choose(text: str) -> None:
        chosen.set_input_files({"name": "list.csv", "mimeType": "text/csv", "buffer": text.encode()})

    choose("Code,Title,Price\ncoffee,Coffee,a lot\n")
    expect(dialog).to_contain_text("Line 2, Price This is no price")
    fits_everybody(shop)
    dialog.get_by_role("button", name="Cancel").click()
    choose("Name,Price,Group,VAT\nTea,25,Drinks,15\n")
    expect(dialog).to_contain_text("Line 1, Code, Title Missing in the first line.")
    expect(dialog).to_contain_text("The columns are Code, Title, Price, Unit, TaxCode, Group, Barcode, Active.")
    with shop.page.expect_download():
        dialog.get_by_role("button", name="Export").click()
    dialog.get_by_role("button", name="Cancel").click()
    for answer in ("Cancel", "Import"):
        choose(FILE)
        expect(dialog).not_to_contain_text("Taken away")  # the first choice changes what the file has
        dialog.get_by_label("Replace the whole list").check()
        for words in (
            "Added: 1",
            "Tea",
            "Price: R\xa038.00 → R\xa040.50",
            "Title: Coffee → Coffee; black",
            "Taken away: 1",
            "Cake",
        ):
            expect(dialog).to_contain_text(words)
        fits_everybody(shop)
        assert stored(store)["Version"] == 1
        dialog.get_by_role("button", name=answer).click()
    expect(shop.page.get_by_text("Saved.")).to_be_visible()
    assert [(one["Code"], one["Title"], one["Group"]) for one in stored(store)["Items"]] == [
        ("coffee", "Coffee; black", "Drinks"),
        ("tea", "Tea", None),
    ]
    with shop.page.expect_download() as started:
        shop.button("Export").click()
    choose(started.value.path().read_text(encoding="utf-8"))

    expect(dialog).to_contain_text("The file changes nothing.")
    assert shop.visit.complaints == []
