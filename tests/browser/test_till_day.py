"""A cashier's day at the till: sales of every device, their receipts and returns, and the drawer."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.till import Seller, Till, a_seller
from tests.support import events
from tests.support.accounts import an_account
from tests.support.receipts import mails, messages

TODAY = datetime.now(UTC) + timedelta(hours=2)  # of a merchant in South Africa
YESTERDAY = f"{TODAY - timedelta(days=1):%Y-%m-%d}"
# A text longer than a page, as the till stores the goods of a sale.
LINES = 90
WITH_GOODS = """(lines) => new Promise((resolve) => {
  const opened = indexedDB.open("payments.till");
  opened.onsuccess = () => {
    const sales = opened.result.transaction("sales", "readwrite").objectStore("sales");
    sales.transaction.oncomplete = resolve;
    sales.getAll().onsuccess = ({ target: { result } }) => {
      const sale = result.find(({ state }) => state === "waiting");
      sale.draft.lines = Array(lines).fill({ code: "FW", title: "Flat white", quantity: 1, minor: 100 });
      sales.put(sale);
    };
  };
})"""


@pytest.fixture
def seller(stage: str) -> Seller:
    return a_seller(stage)


def row_of(till: Till, sale: str) -> Locator:
    return till.page.locator(f'[data-sale-id="{sale}"]')


def printed(till: Till) -> str:
    """Return the texts that paper has."""
    till.page.emulate_media(media="print")
    text: str = till.page.evaluate("document.body.innerText")
    till.page.emulate_media(media="null")
    return text.strip()


def test_sales_of_every_device_are_found_by_day_and_by_search_and_nobody_elses(till: Till, seller: Seller) -> None:
    other_device = seller.pay(Amount="159.50", Description="W" * 99)
    yesterdays = seller.pay(Amount="77.00", OfflineTran={"OfflineMode": True, "Paid": f"{YESTERDAY}T12:00:00"}, GMT=2)
    agent = seller.account.agent
    colleague = an_account(
        merchant=seller.merchant, terminal_id=agent.terminal_id, mobile_settings=agent.mobile_settings
    )
    theirs = Seller(seller.stage, colleague, seller.merchant).pay(Amount="159.50")
    till.sell_and_see("paid")

    till.page.set_viewport_size({"width": 320, "height": 640})
    expect(till.sales()).to_have_count(2)
    assert till.page.evaluate("document.documentElement.scrollWidth") == 320
    till.page.get_by_label("Search").fill("R 159,50")
    expect(till.page.locator("[data-sale-id]")).to_have_count(1)
    expect(row_of(till, other_device)).to_have_attribute("data-state", "paid")
    till.page.get_by_label("Search").fill("77.00")
    expect(row_of(till, yesterdays)).to_be_visible()  # of the days before too
    till.page.get_by_label("Search").fill("")
    till.page.get_by_label("Day").fill(YESTERDAY)
    expect(row_of(till, yesterdays)).to_be_visible()
    expect(till.page.locator("[data-sale-id]")).to_have_count(1)
    expect(row_of(till, theirs)).to_have_count(0)


def test_a_return_of_a_card_on_another_terminal_says_where_the_money_must_be_given_back(till: Till) -> None:
    till.sell_and_see("paid", figures="1000", tender="Card on another terminal")
    till.sales().get_by_role("button", name="Return…").click()
    dialog = till.page.get_by_role("dialog")
    expect(dialog).to_contain_text("must be given back on the other terminal")
    till.page.get_by_label("Amount").fill("4")
    dialog.get_by_role("button", name="Return").click()
    row = till.page.locator("[data-sale-id]")
    expect(row).to_contain_text("4.00 was given back. The money must be given back on the other terminal")
    till.page.reload()

    expect(row).to_contain_text("4.00 was given back.")
    row.get_by_role("button", name="Receipt of the return").click()
    expect(till.page.locator("pre.receipt")).to_contain_text("RETURN")


def test_a_line_of_a_sale_comes_back_by_four_taps_and_gives_back_what_the_service_computes(
    till: Till, seller: Seller
) -> None:
    lines = [
        {"Title": "Flat white", "Price": "38.00", "Quantity": 3, "Discount": "3.80"},
        {"Title": "Ham", "Price": "99.99", "Quantity": "0.350"},
    ]
    sale = seller.pay(Amount="145.20", AuxDataInput={"AuxData": {"Purchases": lines}})
    dialog = till.page.get_by_role("dialog")
    till.page.get_by_role("link", name="Sales").click()
    till.button("Return…").click()
    dialog.get_by_role("button", name="+ Flat white").click()
    assert till.page.evaluate("document.documentElement.scrollWidth") <= 360
    dialog.get_by_role("button", name="Return R\u00a036.70").click()
    expect(row_of(till, sale)).to_contain_text("R\u00a036.70 was given back. Take the cash out")
    till.button("Return…").click()
    expect(dialog.get_by_role("listitem").first).to_contain_text("0 of 2")
    till.button("All of it").click()
    dialog.get_by_role("button", name="Return R\u00a0108.50").click()
    expect(till.button("Return…")).to_have_count(0)

    assert [seller.payment(sale)[name] for name in ("AmountRvs", "CountRvs")] == [Decimal("145.20"), 2]


def test_a_receipt_is_sent_later_to_a_local_number_and_its_refusal_is_told_at_the_field(till: Till) -> None:
    till.sell()
    till.button("Receipt").click()
    till.button("Send receipt").click()
    till.page.get_by_label("E-mail").fill("ann@localhost")
    till.button(
        "Send",
    ).click()
    expect(till.page.get_by_text("This is not in the right form.")).to_be_visible()
    till.page.get_by_label("E-mail").fill("ann.at.the.till@example.com")
    till.page.get_by_label("Telephone").fill("082 987 6501")
    till.button("Send").click()
    expect(till.page.get_by_text("was sent to ann.at.the.till@example.com, 082 987 6501.")).to_be_visible()
    events.deliver_all()

    assert (len(mails("ann.at.the.till@example.com")), len(messages("+27829876501"))) == (1, 1)


def test_a_receipt_is_in_the_language_of_the_page(till: Till) -> None:
    till.sell_and_see("paid", tender="Prepaid")
    till.button("Afrikaans").click()
    till.page.get_by_role("link", name="Transaksies").click()
    till.button("Kwitansie").click()

    expect(till.page.locator("pre.receipt")).to_contain_text("Betaal met")


def test_the_whole_receipt_and_nothing_else_is_printed_from_each_place(till: Till) -> None:
    receipt = till.page.locator("pre.receipt")
    till.sell()
    till.button("Receipt").click()
    expect(receipt).to_contain_text("Please keep")
    assert printed(till) == receipt.inner_text().strip()
    till.button("New sale").click()
    till.page.context.set_offline(True)
    till.sell_and_see("waiting", figures="9000")
    till.page.evaluate(WITH_GOODS, LINES)
    rows = till.sales()
    rows.nth(1).get_by_role("button", name="Receipt").click()
    rows.nth(0).get_by_role("button", name="Receipt").click()  # and the first one is closed

    expect(receipt).to_contain_text("Flat white")
    assert printed(till).count("Flat white") == LINES
    assert printed(till) == receipt.inner_text().strip()
    for size in ({"width": "80mm", "height": "200mm"}, {"format": "A4"}):
        assert len(re.findall(rb"/Type\s*/Page\b", till.page.pdf(**size))) in {2, 3}  # type: ignore[arg-type]


def test_the_day_has_takings_by_tender_and_the_drawer(till: Till) -> None:
    till.page.get_by_role("link", name="My day").click()
    report = till.page.locator("article")
    till.page.get_by_label("Float").fill("500.123")
    till.button("Open the drawer").click()
    expect(till.page.get_by_text("This has too many decimals.")).to_be_visible()
    till.page.get_by_label("Float").fill("R 500,00")
    till.button("Open the drawer").click()
    till.page.get_by_label("Amount").fill("100")
    till.page.get_by_label("Note").first.fill("x" * 512)
    till.button("Take out").click()
    expect(report).to_contain_text("R\u00a0400.00")  # expected
    till.page.get_by_role("link", name="Sell").click()
    till.sell_and_see("paid", figures="15950")
    till.sell_and_see("paid", figures="1000", tender="Prepaid")
    till.page.context.set_offline(True)
    till.sell_and_see("waiting", figures="700")
    till.page.get_by_role("link", name="My day").click()
    expect(till.page.get_by_text("No connection. The figures come back with it.")).to_be_visible()
    expect(till.page.get_by_text("One sale of R\u00a07.00 waits on this device.")).to_be_visible()
    till.page.context.set_offline(False)
    till.wait_until_sent()
    expect(report).to_contain_text("R\u00a0566.50")  # expected: 500 less 100, and 159.50, and 7
    till.page.context.set_offline(True)
    expect(till.page.get_by_text("The figures are those of the time below.")).to_be_visible()
    till.page.context.set_offline(False)
    amounts = report.locator("h3:has-text('Cash') + dl [data-amount]")
    for place, amount in enumerate(["166.50", "0.00", "166.50"]):
        expect(amounts.nth(place)).to_have_attribute("data-amount", amount)  # the takings may come after the drawer
    till.page.set_viewport_size({"width": 360, "height": 800})
    assert till.page.evaluate("document.documentElement.scrollWidth") <= 360
    till.page.get_by_text("Count notes and coins").click()
    till.page.get_by_label("R\u00a00.10").fill("5660")
    expect(till.page.get_by_text("Counted: R\u00a0566.00")).to_be_in_viewport()
    till.button("Count and close").click()
    expect(till.page.get_by_role("dialog")).to_contain_text("Expected R\u00a0566.50, difference -R\u00a00.50.")
    till.button("Close the drawer").click()
    expect(till.page.get_by_text("Difference: -R\u00a00.50.")).to_be_in_viewport()
    expect(report.locator("dl.sums").last.locator("[data-amount]").last).to_have_attribute("data-amount", "-0.50")
    expect(till.button("Open the drawer")).to_be_visible()

    assert printed(till).startswith(till.seller.merchant.name)
    assert "Open the drawer" not in printed(till)
