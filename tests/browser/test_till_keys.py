"""The keys and taps of the till: a scan is not typing, no character of a person is lost, a double tap is one tap."""

import json
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.test_till_goods import CAKE, COFFEE, OLIVES, REPAIR, has_state, lines
from tests.browser.till import Seller, Till, a_seller

COFFEE_CODE = COFFEE["Barcode"]
STATE = """() => JSON.stringify([location.hash.replace("#/sell", ""), scrollY,
  document.querySelectorAll("dialog").length,
  [...document.querySelectorAll("input")].map(({ id, value }) => `${id}: ${value}`),
  [...document.querySelectorAll("[data-testid=amount], [data-testid=result]")].map((one) => one.outerHTML)])"""


@pytest.fixture
def seller(stage: str) -> Seller:
    seller = a_seller(stage)
    seller.lists(COFFEE, CAKE, REPAIR, OLIVES, {"Code": "124", "Title": "Part of a code", "Price": "1.00"})
    return seller


def types(page: Page, text: str) -> None:
    """Type as a fast person does."""
    page.keyboard.type(text, delay=85)


def link(till: Till, name: str) -> None:
    till.page.get_by_role("link", name=name, exact=True).click()


def opens_repair(till: Till) -> None:
    till.item("Repair").click()
    types(till.page, "12")


def changes_a_line(field: str) -> Any:
    def act(till: Till) -> None:
        till.item("Repair").click()
        types(till.page, "12")
        till.page.keyboard.press("Enter")
        till.shown("line").first.click()
        till.page.get_by_label(field, exact=True).fill("1")

    return act


def pays_cash(till: Till) -> None:
    till.item("Cake").click()
    till.button("Cash").click()
    expect(till.page.get_by_label("Received")).to_be_focused()
    types(till.page, "2")
    expect(till.page.get_by_label("Received")).to_have_value("2")


def pays_by_button(till: Till) -> None:
    till.item("Cake").click()
    till.button("Prepaid").click()
    expect(till.button("Take payment")).to_be_focused()


def sees_a_result(till: Till) -> None:
    pays_by_button(till)
    till.page.keyboard.press("Enter")
    expect(till.button("New sale")).to_be_focused()


def sends_a_receipt(till: Till) -> None:
    sees_a_result(till)
    till.button("Send receipt").click()
    expect(till.page.get_by_label("E-mail")).to_be_focused()


def asks_before_a_correction(till: Till) -> None:
    sees_a_result(till)
    till.button("Correct").click()


def looks_at(name: str, field: str = "") -> Any:
    def act(till: Till) -> None:
        link(till, name)
        if field:
            till.page.get_by_label(field).focus()

    return act


def searches(till: Till) -> None:
    till.page.get_by_label("Search").focus()
    types(till.page, "ca")


PLACES = {
    "the items": lambda _: None,
    "the search": searches,
    "the amount": looks_at("Amount"),
    "the description": lambda till: till.page.get_by_label("Description").focus(),
    "the dialog of an item": opens_repair,
    "the quantity of a line": changes_a_line("Quantity"),
    "the price of a line": changes_a_line("Price"),
    "the discount of a line": changes_a_line("Discount"),
    "the note of a line": changes_a_line("Note"),
    "the cash received": pays_cash,
    "the button that pays": pays_by_button,
    "the result": sees_a_result,
    "the address of a receipt": sends_a_receipt,
    "the question before a correction": asks_before_a_correction,
    "the settings": lambda till: till.button("Settings").click(),
    "the sales": looks_at("Sales"),
    "the search of sales": looks_at("Sales", "Search"),
    "the day of sales": looks_at("Sales", "Day"),
    "my day": looks_at("My day", "Note"),
    "the question before signing out": lambda till: till.button("Sign out").click(),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_scan_adds_its_item_and_changes_nothing_else(till: Till, place: Any) -> None:
    place(till)
    till.page.wait_for_timeout(100)
    before = till.page.evaluate(STATE)
    for code, *ends in (
        ("124 9", "Enter"),
        ("9001240", "Enter", "Enter"),
        ("6001240100012", "Tab"),
        ("]E0124X", "Enter", "Tab"),
    ):
        till.scan(code, *ends)
        expect(till.page.get_by_text(f"No item has the code {code}.")).to_be_visible()
        till.page.wait_for_function(f"({STATE})() === {json.dumps(before)}")
    till.page.keyboard.press("Shift")
    till.scan(COFFEE_CODE, "Enter", "Enter")
    till.scan(f"]C101{COFFEE_CODE:0>14}17261231", "Tab", "Enter")
    if place is asks_before_a_correction:
        expect(till.page.get_by_role("dialog")).to_contain_text("Coffee was not added.")
        return
    if "pay" not in before and "result" not in before:
        assert till.page.evaluate(STATE) == before
    if till.page.get_by_role("dialog").count():
        expect(till.page.get_by_role("dialog")).to_contain_text("Coffee is in the basket.")
        till.scan("olives")
        expect(till.page.get_by_role("dialog")).to_contain_text("Olives is weighed.")
        till.page.keyboard.press("Escape")
    if "pay" in till.page.url:
        till.page.go_back()
    link(till, "Sell")
    expect(till.shown("line").last).to_have_attribute("data-code", "coffee")
    assert lines(till)[-1] == ("coffee", "2")


@pytest.mark.parametrize("field", ["Search", "Description"])
def test_every_character_of_a_person_is_in_its_field(till: Till, field: str) -> None:
    till.page.get_by_label(field).focus()
    types(till.page, "Two CUPS")
    till.page.keyboard.press("ArrowLeft")
    till.page.keyboard.type("123456789")  # fast, and not an end of a scan
    till.page.keyboard.press("Home")
    keyboard = till.page.context.new_cdp_session(till.page)
    till.page.keyboard.down("x")
    till.page.keyboard.down("x")  # held down
    till.page.keyboard.up("x")
    keyboard.send("Input.imeSetComposition", {"text": "\u4e00", "selectionStart": 1, "selectionEnd": 1})
    keyboard.send("Input.insertText", {"text": "\u4e00"})
    till.page.keyboard.press("End")
    till.page.keyboard.type("ab")
    till.page.get_by_role("link", name="Sales").focus()
    expect(till.page.get_by_label(field)).to_have_value("xx\u4e00Two CUP123456789Sab")
    till.page.wait_for_timeout(100)

    expect(till.page.get_by_label(field)).to_have_value("xx\u4e00Two CUP123456789Sab")


def test_figures_at_the_items_are_a_quantity(till: Till) -> None:
    shown = till.page.get_by_role("status").filter(has_text="Choose or scan")
    types(till.page, "257")
    expect(shown).to_contain_text("257")
    till.page.keyboard.press("Backspace")
    till.item("Cake").click()
    expect(shown).to_have_count(0)
    types(till.page, "12")
    till.scan(COFFEE_CODE)
    types(till.page, "9")
    expect(shown).to_contain_text("9")
    till.page.keyboard.press("Enter")  # nothing is paid before it is clear of what
    till.page.keyboard.press("Escape")
    expect(shown).to_have_count(0)
    till.item("Coffee").click()
    types(till.page, "2")
    till.item("Olives").click()
    expect(till.page.get_by_label("Quantity")).to_have_value("2")
    till.page.keyboard.press("Escape")
    expect(till.page.get_by_role("dialog")).to_have_count(0)
    till.page.keyboard.press("Escape")
    types(till.page, "0.3")
    types(till.page, "5")
    expect(shown).to_contain_text("0.35")
    till.item("Olives").click()
    expect(till.page.get_by_label("Quantity")).to_have_value("0.35")
    till.page.get_by_label("Quantity").fill("1,500")
    till.button("Add").click()
    expect(till.page.get_by_text("can mean thousands or a fraction")).to_be_visible()
    till.page.get_by_label("Quantity").fill("0,350")
    till.button("Add").click()
    assert lines(till) == [("cake", "25"), ("coffee", "13"), ("olives", "0.350")]
    weight = till.shown("line").last
    weight.get_by_role("button", name="One less").click()
    weight.get_by_role("button", name="One less").click()
    weight.get_by_role("button", name="Remove").click()
    expect(till.shown("line")).to_have_count(2)
    till.button("Undo").click()
    assert lines(till) == [("cake", "25"), ("coffee", "13"), ("olives", "0.350")]
    link(till, "Amount")
    types(till.page, "25")
    expect(till.shown("line")).to_have_count(3)
    expect(till.page.locator(".sum").first).to_contain_text("0.25")


def test_a_scan_that_stumbles_leaves_no_quantity(till: Till) -> None:
    shown, too_many = till.page.locator(".times"), till.page.get_by_text("At most 999 can be typed here.")
    till.page.keyboard.type("600")
    expect(shown).to_contain_text("600")
    till.scan(COFFEE_CODE[3:])
    expect(till.page.get_by_text("No item has the code")).to_be_visible()
    expect(shown).to_have_count(0)
    till.page.keyboard.type("60010")
    expect(too_many).to_be_visible()
    till.page.keyboard.type("1")  # the last figure of that scan
    till.page.wait_for_timeout(100)
    expect(too_many).to_be_visible()
    expect(shown).to_have_count(0)
    till.scan(COFFEE_CODE)
    types(till.page, "0.0")
    till.item("Coffee").click()
    expect(till.page.get_by_text("Type a quantity, such as 0.5.")).to_be_visible()
    till.page.get_by_label("Search").focus()
    types(till.page, "cof")
    till.page.keyboard.press("Enter")
    expect(till.page.get_by_label("Search")).to_have_value("")
    expect(till.page.get_by_label("Search")).not_to_be_focused()
    till.page.keyboard.type("3")
    expect(shown).to_contain_text("3")
    till.scan(COFFEE_CODE)
    assert lines(till) == [("coffee", "5")]


def test_twenty_five_of_an_item_are_five_taps(till: Till) -> None:
    till.item("Coffee").click()
    till.shown("line").click()
    dialog = till.page.get_by_role("dialog")
    for name in ("2", "5", "Done"):
        dialog.get_by_role("button", name=name, exact=True).click()
    assert lines(till) == [("coffee", "25")]
    till.shown("line").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(till.shown("line")).to_have_count(0)
    till.button("Undo").click()
    assert lines(till) == [("coffee", "25")]


def test_before_signing_in_and_in_a_password_all_keys_are_typing(visit_by_phone: Visit, seller: Seller) -> None:
    till = Till(visit_by_phone.page, seller)
    till.open()
    till.page.get_by_label("E-mail").focus()
    till.scan(seller.login[0], "Tab")
    till.scan(seller.login[1])
    expect(till.button("Cash")).to_be_visible()


@pytest.mark.parametrize("pointer", ["mouse", "touch"])
def test_the_second_tap_of_a_double_tap_is_for_nothing_beneath(browser: Browser, seller: Seller, pointer: str) -> None:
    seller.lists(REPAIR, *({"Code": f"{n}", "Title": f"Thing {n}", "Price": "10.00"} for n in range(60)), version=1)
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=pointer == "touch")
    till = Till(context.new_page(), seller)
    till.begin()

    def taps_twice(name: Locator) -> None:
        name.scroll_into_view_if_needed()
        box = name.bounding_box()
        assert box
        at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if pointer == "touch":
            till.page.touchscreen.tap(*at)
            till.page.touchscreen.tap(*at)
        else:
            till.page.mouse.dblclick(*at)
        beneath = "([x, y]) => document.elementFromPoint(x, y).closest('button')?.className ?? ''"
        till.page.wait_for_timeout(100)
        places.append(till.page.evaluate(beneath, at))

    places: list[str] = []
    till.item("Repair").click()
    till.page.get_by_label("Price").fill("5")
    taps_twice(till.button("Add"))
    assert lines(till) == [("repair", "1")]
    till.button("Cash").click()
    expect(till.page.get_by_label("Received")).to_be_focused()
    taps_twice(till.note("5.00"))
    has_state(till, "paid")
    till.item("Thing 1").first.click()  # right after the result
    expect(till.shown("result")).to_have_count(0)
    taps_twice(till.item("Thing 1").first)
    assert lines(till) == [("1", "3")]
    taps_twice(till.button("Cash"))
    till.page.wait_for_timeout(400)
    taps_twice(till.button("Take payment"))
    has_state(till, "paid")
    assert places[0] == "item"
    assert [one["Amount"] for one in seller.payments()] == [30, 5]
    context.close()


def test_at_a_desk_the_keyboard_alone_sells(visit_at_a_desk: Visit, seller: Seller) -> None:
    till = Till(visit_at_a_desk.page, seller)
    till.begin()
    page = till.page
    page.get_by_role("link", name="Skip to the content").press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    for title in ("Coffee", "Cake"):
        till.item(title).click()  # leaves the focus where the next key belongs
    expect(till.page.get_by_role("button", name="Pay")).to_have_count(0)
    page.get_by_label("Description").click()
    types(page, "Table 4")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Received")).to_be_focused()
    page.keyboard.press("Alt+3")
    expect(page.get_by_role("heading", name="On account")).to_be_visible()
    page.keyboard.press("Escape")
    expect(till.shown("line")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Received")).to_be_focused()
    page.locator("h1").click()  # nowhere
    types(page, "200")
    expect(till.shown("change")).to_have_attribute("data-amount", "78.50")
    page.locator("h1").click()
    page.keyboard.press("Enter")
    has_state(till, "paid")
    page.wait_for_timeout(800)
    page.keyboard.press("Enter")
    expect(till.shown("result")).to_have_count(0)
    types(page, "2")
    till.scan(COFFEE_CODE)
    expect(till.button("Prepaid").locator("kbd")).to_have_text("Alt+2")
    page.keyboard.press("Alt+2")
    expect(till.button("Take payment")).to_be_focused()
    page.keyboard.press("Enter")
    has_state(till, "paid")

    assert [(one["Amount"], one["InputType"]) for one in seller.payments()] == [(76, 8), (Decimal("121.50"), 10)]
