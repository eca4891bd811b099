"""The till sells goods, and loses nothing of a sale in hand."""

from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.till import Seller, Till, a_seller
from tests.support.http import TILL, get, post

COFFEE = {
    "Code": "coffee",
    "Title": "Coffee",
    "Price": "38.00",
    "TaxCode": "VAT15",
    "Group": "Drinks",
    "Barcode": "6001240100011",
}
CAKE = {"Code": "cake", "Title": "Cake", "Price": "83.53", "TaxCode": "VAT15", "Group": "Bakery"}
BREAD = {"Code": "bread", "Title": "Brown bread", "Price": "24.50", "TaxCode": "VAT0", "Group": "Bakery"}
REPAIR = {"Code": "repair", "Title": "Repair", "Price": None}
OLIVES = {"Code": "olives", "Title": "Olives", "Price": "120.00", "Unit": "kg"}
PARTED = {"Code": "old", "Title": "Old cake", "Price": "1.00", "Active": False}


# Note each tone, and what is printed.
HEARD = """window.heard = [];
window.AudioContext = class extends AudioContext {
  createOscillator() {
    const tone = super.createOscillator();
    const { start } = tone;
    tone.start = (at) => heard.push(tone.frequency.value) && start.call(tone, at);
    return tone;
  }
};
window.print = () =>
  heard.push(document.querySelector("pre.sheet").innerText.includes("Cake") ? "a receipt" : "nothing");
"""


@pytest.fixture
def seller(stage: str) -> Seller:
    seller = a_seller(stage)
    seller.lists(COFFEE, CAKE, BREAD, REPAIR, OLIVES, PARTED)
    return seller


def coffee_and_cake(till: Till) -> None:
    for title in ("Coffee", "Coffee", "Cake"):
        till.item(title).click()


def of(till: Till, test_id: str, amount: str) -> None:
    expect(till.shown(test_id)).to_have_attribute("data-amount", amount)


def has_state(till: Till, state: str) -> None:
    expect(till.shown("result")).to_have_attribute("data-state", state)


def lines(till: Till) -> list[tuple[str | None, str | None]]:
    return [(one.get_attribute("data-code"), one.get_attribute("data-quantity")) for one in till.shown("line").all()]


def test_two_coffees_and_a_cake_are_paid_with_a_note_in_five_taps(till: Till) -> None:
    coffee_and_cake(till)
    of(till, "due", "159.53")
    till.button("Cash").click()
    of(till, "due", "159.50")  # rounded to the coin
    till.note("200.00").click()

    has_state(till, "paid")
    of(till, "change", "40.50")
    (paid,) = till.seller.payments()
    assert (paid["Amount"], paid["AmountCashGot"], paid["InputType"]) == (Decimal("159.50"), 200, 10)
    assert [(one["Code"], one["Tax"]) for one in paid["TaxAmounts"]] == [("VAT15", Decimal("20.80"))]


def test_correct_gives_a_sale_back_and_puts_its_basket_there_again(till: Till) -> None:
    coffee_and_cake(till)
    till.button("Cash").click()
    till.note("200.00").click()
    till.button("Correct").click()
    till.page.get_by_role("dialog").get_by_role("button", name="Return R\u00a0159.50").click()
    expect(till.page.get_by_text("R\u00a0159.50 was given back. Take the cash out")).to_be_visible()
    assert lines(till) == [("coffee", "2"), ("cake", "1")]
    till.page.reload()
    assert lines(till) == [("coffee", "2"), ("cake", "1")]
    till.button("Prepaid").click()
    till.button("Take payment").click()
    has_state(till, "paid")

    taken = {one["InputType"]: one["AmountEff"] for one in till.seller.payments() if one["OperationID"] == 1}
    assert taken == {10: 0, 8: Decimal("159.53")}


def test_a_sale_is_heard_and_printed_as_the_device_is_set(till: Till) -> None:
    till.page.add_init_script(HEARD)
    till.page.reload()

    def heard() -> list[object]:
        till.page.wait_for_timeout(100)
        found: list[object] = till.page.evaluate("heard.splice(0)")
        return found

    def pays() -> None:
        till.item("Cake").click()
        till.button("Prepaid").click()
        till.button("Take payment").click()
        has_state(till, "paid")

    pays()
    assert heard() == [784, 1175]
    till.scan("nothing")
    assert heard() == [247, 185]
    till.button("Settings").click()
    till.page.get_by_label("Sounds").uncheck()
    till.page.get_by_label("Print the receipt after each sale").check()
    till.button("Done").click()
    till.scan("nothing")
    assert heard() == []
    pays()
    expect(till.page.locator("pre.receipt")).to_be_visible()
    assert heard() == ["a receipt"]
    till.page.get_by_role("link", name="Sales").click()
    till.page.get_by_role("link", name="Sell").click()
    has_state(till, "paid")
    till.page.reload()
    has_state(till, "paid")
    assert heard() == []
    till.button("Print").click()
    expect(till.page.locator("pre.receipt")).to_be_visible()
    assert heard() == ["a receipt"]


def test_lines_are_changed_and_discounted(till: Till) -> None:
    coffee_and_cake(till)
    till.item("Brown bread").click()
    coffee, cake, _ = till.shown("line").all()
    coffee.get_by_role("button", name="One more").click()
    coffee.get_by_role("button", name="One less").click()
    cake.get_by_role("button", name="Remove").click()
    assert lines(till) == [("coffee", "2"), ("bread", "1")]
    till.shown("line").first.click()
    till.page.get_by_label("Discount", exact=True).fill("6")
    till.button("R").click()
    till.button("Done").click()
    till.button("Discount on all").click()
    till.button("10 %").click()
    till.button("Done").click()
    expect(till.page.get_by_text("-R\u00a09.45")).to_have_count(1)
    of(till, "due", "85.05")  # 94.50, less 10 %
    till.button("Prepaid").click()
    till.button("Take payment").click()
    has_state(till, "paid")
    till.button("Receipt").click()
    receipt = [line.split() for line in till.page.locator("pre").inner_text().splitlines() if "iscount" in line]
    assert receipt == [["Discount", "-13.00"], ["Discount", "10", "%", "-2.45"], ["All", "discounts", "-15.45"]]

    (paid,) = till.seller.payments()
    assert paid["Amount"] == Decimal("85.05")
    gross = {one["Code"]: one["Gross"] for one in paid["TaxAmounts"]}
    assert gross == {"VAT15": 63, "VAT0": Decimal("22.05")}


def test_a_price_and_a_quantity_are_typed_at_the_sale(till: Till) -> None:
    till.item("Repair").click()
    till.page.get_by_label("Price").fill("0")
    till.button("Add").click()
    expect(till.page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    till.page.get_by_label("Price").fill("250,50")
    till.button("Add").click()
    till.item("Olives").click()
    till.page.get_by_label("Quantity").fill("0,350")
    till.button("Add").click()
    of(till, "due", "292.50")
    till.page.get_by_role("link", name="Amount", exact=True).click()
    for key in ("5", "00"):
        till.button(key).click()
    of(till, "due", "297.50")
    till.page.get_by_role("link", name="Items", exact=True).click()
    expect(till.item("Old cake")).to_have_count(0)
    till.button("On account").click()
    till.page.get_by_label("Customer's name").fill("Ann Smith")
    till.button("Sign").click()
    till.page.get_by_role("img", name="Signature").hover()
    till.page.mouse.down()
    till.page.mouse.move(150, 300)
    till.page.mouse.up()
    till.button("Take payment").click()
    has_state(till, "paid")

    (paid,) = till.seller.payments()
    assert (paid["Amount"], paid["Description"], paid["HasSignature"]) == (
        Decimal("297.50"),
        "Ann Smith · Repair, Olives",
        True,
    )


def test_the_sheet_of_a_line_has_its_price_discount_and_note(till: Till) -> None:
    till.item("Repair").click()
    till.page.get_by_label("Price").fill("250")
    till.button("Add").click()
    till.shown("line").click()
    till.page.get_by_label("Price").fill("0")
    till.page.get_by_label("Discount", exact=True).fill("101")
    till.button("Done").click()
    expect(till.page.get_by_role("dialog").get_by_role("alert")).to_have_count(2)
    till.page.get_by_label("Price").click()
    for key in "3000⌫":
        till.button("Delete" if key == "⌫" else key).click()
    expect(till.page.get_by_text("The keys type into: Price")).to_be_visible()
    till.page.get_by_label("Discount", exact=True).click()
    till.button("1").click()
    till.button("0").click()
    expect(till.page.get_by_label("Discount", exact=True)).to_have_value("10")
    expect(till.page.get_by_label("Quantity")).to_have_value("")
    till.page.get_by_label("Note").fill("Left wheel")
    till.button("Done").click()
    expect(till.shown("line")).to_contain_text("Left wheel")
    of(till, "due", "270.00")
    till.item("Coffee").click()
    for percent, due in (("10", "277.20"), ("100", "0.00")):
        till.button("Discount on all").click()
        till.page.get_by_label("Discount", exact=True).fill(percent)
        till.button("Done").click()
        of(till, "due", due)
    expect(till.page.get_by_text("A sale of nothing is not a payment.")).to_be_visible()
    expect(till.button("Cash")).to_be_disabled()
    till.button("Clear").click()
    expect(till.shown("line")).to_have_count(0)
    till.button("Undo").click()
    till.button("Discount on all").click()
    till.button("10 %").click()
    till.button("Done").click()
    till.button("Prepaid").click()
    till.button("Take payment").click()
    has_state(till, "paid")
    (paid,) = till.seller.payments()
    assert paid["Amount"] == Decimal("277.20")
    receipt = get(till.seller.stage, f"/api/v1/payment/receipt/{paid['ID']}", till.seller.login).body["Receipt"][
        "Lines"
    ]
    assert [(one["Title"], one["Discount"]) for one in receipt] == [
        ("Repair · Left wheel", Decimal("57.00")),
        ("Coffee", Decimal("3.80")),
    ]


def test_at_a_desk_the_last_line_the_sum_and_the_tenders_stay_on_the_screen(visit_at_a_desk: Visit, stage: str) -> None:
    seller = a_seller(stage)
    seller.lists(
        *({"Code": f"{n}", "Title": f"Thing {n:02}", "Price": "10.00", "Group": f"G{n % 5}"} for n in range(40))
    )
    till = Till(visit_at_a_desk.page, seller)
    till.begin()
    till.page.set_viewport_size({"width": 1024, "height": 700})
    for n in range(12):
        till.item(f"Thing {n:02}").click()
    for _ in range(2):
        tender = till.page.get_by_role("button", name="Linked card")
        for one in (till.shown("line").last, till.shown("due"), till.page.get_by_role("button", name="Cash"), tender):
            expect(one).to_be_in_viewport(ratio=0.99)
        till.page.evaluate("scrollTo(0, 9999)")


def test_a_bar_opens_the_basket_on_a_telephone(till: Till) -> None:
    coffee_and_cake(till)
    till.button("3 · R 159.53 · Pay").click()
    expect(till.item("Coffee")).to_be_hidden()
    expect(till.page.get_by_role("heading", name="Basket")).to_be_visible()
    till.page.go_back()
    till.item("Coffee").click()
    till.button("4 · R 197.53 · Pay").click()
    till.shown("line").first.get_by_role("button", name="One less").click()
    till.button("Cash").click()
    till.button("Back").click()
    expect(till.item("Coffee")).to_be_hidden()
    till.button("Cash").click()
    till.note("160.00").click()
    has_state(till, "paid")
    till.page.go_back()
    expect(till.item("Coffee")).to_be_visible()


def test_a_search_by_hand_and_enter_take_the_one_hit(till: Till) -> None:
    till.page.get_by_label("Search").focus()
    till.page.keyboard.type("bread", delay=85)
    expect(till.page.locator(".item")).to_have_count(1)
    till.page.keyboard.press("Enter")
    assert lines(till) == [("bread", "1")]


def goes_back(page: Page) -> None:
    page.go_back()


def presses_escape(page: Page) -> None:
    page.keyboard.press("Escape")


def presses_back(page: Page) -> None:
    page.get_by_role("button", name="Back").click()


@pytest.mark.parametrize("back", [goes_back, presses_escape, presses_back])
def test_back_and_a_reload_lose_nothing(till: Till, back: object) -> None:
    coffee_and_cake(till)
    till.page.get_by_label("Description").fill("Table 4")
    till.button("Cash").click()
    expect(till.page.get_by_label("Received")).to_be_focused()
    till.page.get_by_label("Received").fill("300")
    till.page.reload()
    expect(till.page.get_by_label("Received")).to_have_value("300")
    back(till.page)  # type: ignore[operator]
    expect(till.button("On account")).to_be_visible()
    till.page.reload()
    expect(till.shown("line")).to_have_count(2)
    of(till, "due", "159.53")
    expect(till.page.get_by_label("Description")).to_have_value("Table 4")
    till.button("Afrikaans").click()
    expect(till.button("Kontant")).to_be_enabled()
    of(till, "due", "159.53")


def test_after_a_result_back_offers_no_sold_basket_and_a_reload_tells_the_sale(till: Till) -> None:
    coffee_and_cake(till)
    till.button("Cash").click()
    till.note("160.00").click()
    has_state(till, "paid")
    till.page.go_back()
    expect(till.shown("line")).to_have_count(0)
    till.page.go_forward()
    expect(till.shown("line")).to_have_count(0)
    till.page.reload()
    has_state(till, "paid")
    expect(till.shown("result")).to_contain_text("159.50")
    till.item("Cake").click()
    expect(till.shown("result")).to_have_count(0)
    of(till, "due", "83.53")

    assert len(till.seller.payments()) == 1


def test_cash_of_a_typed_amount_takes_seven_taps_and_a_keyboard_none(till: Till) -> None:
    till.page.get_by_role("link", name="Amount", exact=True).click()
    for key in "15950":
        till.button(key).click()
    till.button("Cash").click()
    till.note("200.00").click()
    of(till, "change", "40.50")
    till.page.keyboard.type("2000", delay=85)  # begins the next sale
    expect(till.shown("result")).to_have_count(0)
    of(till, "due", "20.00")
    till.page.keyboard.press("Enter")
    expect(till.page.get_by_label("Received")).to_be_focused()
    till.page.keyboard.type("50", delay=85)
    till.page.keyboard.press("Enter")
    has_state(till, "paid")
    of(till, "change", "30.00")

    assert [one["Amount"] for one in till.seller.payments()] == [20, Decimal("159.50")]


def test_each_step_with_goods_is_accessible_and_fits(visit_of_a_shop: Visit, seller: Seller) -> None:
    till = Till(visit_of_a_shop.page, seller)

    def looks_right() -> None:
        assert visit_of_a_shop.violations() == []
        assert visit_of_a_shop.overflow() <= 0
        assert till.page.evaluate("document.activeElement !== document.body")

    till.begin()
    looks_right()
    coffee_and_cake(till)
    till.page.set_viewport_size({"width": 320, "height": 640})
    looks_right()
    till.scan("nothing")
    looks_right()
    till.page.keyboard.type("25", delay=85)
    looks_right()
    till.item("Repair").click()
    looks_right()
    till.page.keyboard.press("Escape")
    till.page.keyboard.press("Escape")
    till.shown("line").first.click()
    till.scan("nothing")
    looks_right()
    till.page.keyboard.press("Escape")
    till.page.get_by_role("button", name="Pay").click()
    looks_right()
    till.page.evaluate("document.documentElement.style.fontSize = '200%'")
    till.page.set_viewport_size({"width": 360, "height": 740})
    looks_right()
    till.button("Cash").click()
    looks_right()
    till.note("200.00").click()
    has_state(till, "paid")
    looks_right()
    till.button("Settings").click()
    looks_right()
    till.button("Done").click()
    till.button("Correct").click()
    looks_right()
    till.page.get_by_role("dialog").get_by_role("button", name="Return").click()
    for tender in ("On account", "Card on another terminal"):
        till.button(tender).click()
        looks_right()
        till.page.go_back()
    till.button("Card on another terminal").click()
    till.button("Declined").click()
    has_state(till, "declined")
    looks_right()
    assert visit_of_a_shop.complaints == []


def test_a_payment_that_owes_a_signature_is_signed_at_the_till(visit_by_phone: Visit, stage: str) -> None:
    till = Till(visit_by_phone.page, a_seller(stage))
    till.open()
    till.sign_in(TILL)
    till.page.get_by_role("button", name="Linked card").wait_for()
    for key in ("1", "00", "8"):
        till.button(key).click()
    till.button("Linked card").click()
    till.page.get_by_label("1111").check()
    till.button("Take payment").click()
    expect(till.page.get_by_text("The bank wants the customer's signature")).to_be_visible()
    till.button("Sign").click()
    till.page.get_by_role("img", name="Signature").click(position={"x": 40, "y": 40})
    till.button("Send the signature").click()
    expect(till.page.get_by_text("The bank wants the customer's signature")).to_have_count(0)

    found = post(stage, "/api/v1/payment/listHistoryEx", {"ListBasicModel": {}}, TILL).body
    signed = next(one for one in found["Transactions"] if one["Amount"] == Decimal("10.08"))
    assert (signed["Substate"], signed["HasSignature"]) == (411, True)
