"""Every view of the shop's page, on a desk and on a small phone, light and dark; and who may see what."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Visit
from tests.browser.shop import VIEWS, Shop, Store, a_store
from tests.browser.test_shop_returns import carried_out_without_an_answer
from tests.support import events
from tests.support.builders import an_email
from tests.support.http import get
from tests.support.receipts import mails
from tests.support.receivers import a_receiver

SALE = ("Sold offline", "Received", "Number")
SCRIPT = '<script>document.title="run"</script><img src=x onerror="document.title=\'run\'">'


@pytest.fixture
def store(stage: str) -> Store:
    """A store with payments of each kind of outcome."""
    store = a_store(stage)
    store.give_back(store.pay("12.30", Description=SCRIPT), "2.30")
    store.pay_by_card("10.05")  # declined
    store.pay_by_card("10.69")  # unknown
    store.pay_by_card("1234.00")
    return store


@pytest.fixture
def by_phone(visit_by_phone: Visit, stage: str) -> Shop:
    return Shop(visit_by_phone, stage)


def fits_everybody(shop: Shop) -> None:
    assert shop.visit.violations() == []
    assert shop.visit.overflow() <= 0


def test_everybody_can_use_every_view_on_every_screen(visit_of_a_shop: Visit, store: Store) -> None:
    events.forget()
    shop = Shop(visit_of_a_shop, store.stage)
    shop.open()
    fits_everybody(shop)
    shop.sign_in(store.owner)
    for view in VIEWS:
        shop.look_at(view)
        fits_everybody(shop)
    shop.look_at("Payments")
    shop.page.get_by_text("More filters").click()
    fits_everybody(shop)
    shop.button("Export").click()
    shop.page.get_by_label("Format").select_option("Xero")
    shop.page.get_by_label("Sales").fill("no code")
    fits_everybody(shop)
    shop.button("Export").click()
    expect(shop.page.get_by_role("alert").first).to_be_visible()
    fits_everybody(shop)
    assert shop.visit.complaints.pop().endswith("400 (Bad Request)")  # the browser's own note of the refusal
    shop.button("Cancel").click()
    expect(shop.button("Export")).to_be_focused()
    shop.row(store.pay()).or_(shop.page.locator("[data-id]").last).first.click()
    shop.wait_for("Payment")
    shop.button("Show the receipt").click()
    shop.wait_until_loaded()
    expect(shop.page.frame_locator("iframe").get_by_text("Corner Store").first).to_be_visible()
    shop.button("Send receipt").click()
    fits_everybody(shop)
    shop.button("Cancel").click()
    shop.button("Return…").click()
    fits_everybody(shop)
    shop.button("Cancel").click()
    with a_receiver(lambda _: 503, body=SCRIPT.encode() * 3) as closed:
        store.subscribe(closed.url)
        store.pay()
        events.deliver_all()
    shop.look_at("Webhooks")
    shop.page.get_by_role("button", name="Details").click()
    expect(shop.page.get_by_text("503", exact=True)).to_be_visible()
    fits_everybody(shop)
    shop.button("Change").click()
    fits_everybody(shop)

    assert shop.visit.complaints == []
    assert shop.visit.requests_elsewhere(store.stage) == []


def test_a_view_is_used_by_keyboard_alone(by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner)
    by_phone.look_at("Payments")
    by_phone.page.locator("[data-id] a").first.focus()
    by_phone.page.keyboard.press("Enter")
    by_phone.wait_for("Payment")
    by_phone.page.get_by_role("link", name="Skip to the content").focus()
    by_phone.page.keyboard.press("Enter")

    expect(by_phone.page.locator("main")).to_be_focused()


def test_a_script_in_a_description_does_nothing(by_phone: Shop, store: Store) -> None:
    paid = store.pay("1.00", Description=SCRIPT)
    by_phone.sign_in(store.owner, "#/payments")
    expect(by_phone.row(paid)).to_contain_text("<script>")
    by_phone.row(paid).click()
    by_phone.button("Show the receipt").click()

    expect(by_phone.page.locator("dd", has_text="<script>")).to_be_visible()
    expect(by_phone.page.frame_locator("iframe").get_by_text("<script>").first).to_be_visible()
    assert by_phone.page.title() != "run"
    assert by_phone.visit.complaints == []


def test_an_agent_sees_its_own(by_phone: Shop, store: Store) -> None:
    own, others = store.pay("3.00", store.colleague), store.pay("100.00")
    by_phone.sign_in(store.colleague)
    assert by_phone.net == 3
    by_phone.look_at("Payments")
    expect(by_phone.row(own)).to_be_visible()
    expect(by_phone.row(others)).to_have_count(0)
    expect(by_phone.page.get_by_role("link", name="Webhooks")).to_have_count(0)
    by_phone.look_at("Tills")

    expect(by_phone.page.get_by_text(store.colleague[0])).to_be_visible()
    expect(by_phone.page.get_by_text(store.till[0])).to_have_count(0)
    expect(by_phone.button("Block")).to_have_count(0)


def test_an_agent_cannot_see_the_payments_of_another_till_by_typing_addresses(by_phone: Shop, store: Store) -> None:
    paid = store.pay("100.00", Description="of another till")
    another = get(store.stage, "/api/v1/user/me", store.till).body["Data"]["AgentID"]
    refusal = get(store.stage, f"/api/v1/payment/{paid}", store.colleague).body["ErrorMessage"]
    by_phone.sign_in(store.colleague, f"#/payments/{paid}")
    expect(by_phone.page.get_by_role("alert")).to_contain_text(refusal)
    by_phone.open(f"#/payments?till={another}")
    expect(by_phone.page.get_by_role("alert")).to_contain_text(refusal)
    by_phone.open(f"#/payments?search={paid}")
    expect(by_phone.page.get_by_text("No payment matches.")).to_be_visible()

    assert "of another till" not in by_phone.page.inner_text("body")


def test_an_offline_sale_is_marked_with_when_it_was_taken_and_when_it_came(by_phone: Shop, store: Store) -> None:
    store.allow("Offline")
    online = store.pay("2.00")
    day = f"{datetime.now(UTC) - timedelta(days=3):%Y-%m-%d}"
    paid = store.pay("1.00", OfflineTran={"OfflineMode": True, "Paid": f"{day}T11:26:53", "Invoice": "T1-7"})
    by_phone.sign_in(store.owner, "#/payments")
    expect(by_phone.row(paid).locator(".means")).to_have_text("Cash · Offline")
    expect(by_phone.row(online).locator(".means")).to_have_text("Cash")
    by_phone.row(paid).click()
    facts = {name: by_phone.page.locator(f"div:has(> dt:text-is('{name}')) dd") for name in SALE}

    expect(facts["Sold offline"]).to_have_text(re.compile(rf"\b{int(day[8:])}, 20\d\d, 11:26"))
    expect(facts["Received"]).not_to_have_text(re.compile(rf"\b{int(day[8:])}, 20"))
    expect(facts["Number"]).to_have_text("T1-7")
    fits_everybody(by_phone)


def test_filters_stand_in_the_address(by_phone: Shop, store: Store) -> None:
    found, other = store.pay("1.00", Description="Rooibos"), store.pay("2.00", Description="Espresso")
    by_phone.sign_in(store.owner, "#/payments")
    by_phone.page.get_by_label("Search", exact=True).fill("rooibos")
    by_phone.button("Search").click()
    expect(by_phone.row(other)).to_have_count(0)
    expect(by_phone.page).to_have_url(f"{store.stage}/app#/payments?search=rooibos")
    by_phone.page.reload()
    expect(by_phone.row(found)).to_be_visible()
    by_phone.row(found).click()
    by_phone.page.get_by_role("link", name="Back to the list").click()

    expect(by_phone.page.get_by_label("Search", exact=True)).to_have_value("rooibos")
    expect(by_phone.row(other)).to_have_count(0)


def test_the_list_goes_on_page_by_page(by_phone: Shop, store: Store) -> None:
    for _ in range(101):
        store.pay("1.00")
    by_phone.sign_in(store.owner, "#/payments")
    expect(by_phone.page.locator("[data-id]")).to_have_count(100)
    by_phone.page.get_by_role("link", name="Next").click()
    expect(by_phone.page.get_by_text("Page 2 of 2")).to_be_visible()
    expect(by_phone.page.locator("[data-id]")).to_have_count(6)
    by_phone.page.get_by_role("link", name="Previous").click()

    expect(by_phone.page.locator("[data-id]")).to_have_count(100)


@pytest.mark.parametrize(
    "address",
    [
        "#/nothing",
        "#/payments/x",
        "#/days?from=2026-13-99&to=x",
        "#/day-report?day=x",
        "#/%",
        "#/constructor",
        "#/day-report?day=2026-02-30",
    ],
)
def test_an_address_that_somebody_mistyped_is_answered(address: str, by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner, address)
    by_phone.wait_until_loaded()

    expect(by_phone.page.get_by_role("heading", level=1)).to_be_visible()
    assert "undefined" not in by_phone.page.title()
    assert [one for one in by_phone.visit.complaints if "404" not in one] == []


def test_the_focus_returns_to_what_opened_a_dialog(by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner, "#/tills")
    by_phone.button("New till").press("Enter")
    expect(by_phone.page.get_by_label("Name")).to_be_focused()
    by_phone.page.keyboard.press("Escape")

    expect(by_phone.button("New till")).to_be_focused()


def test_the_id_of_a_payment_stands_in_one_line_on_a_desk(visit_at_a_desk: Visit, store: Store) -> None:
    shop = Shop(visit_at_a_desk, store.stage)
    paid = store.pay()
    shop.sign_in(store.owner, f"#/payments/{paid}")
    shown = shop.page.locator("dd", has_text=paid)
    expect(shown).to_be_hidden()
    shop.page.get_by_text("Technical details").click()
    expect(shown).to_be_visible()

    assert shown.evaluate("(one) => one.clientHeight < 2 * parseFloat(getComputedStyle(one).lineHeight)")


@pytest.mark.parametrize("typed", ["159,50", "R 159,50", "R\u00a0159.50", "-R 159.50", "159.50", "ZAR 159.50"])
def test_a_search_finds_an_amount_as_it_is_shown(typed: str, by_phone: Shop, store: Store) -> None:
    paid = store.pay("159.50")
    other = store.pay("9.50", Description="159 and 50")
    by_phone.sign_in(store.owner, "#/payments")
    by_phone.page.get_by_label("Search", exact=True).fill(typed)
    by_phone.button("Search").click()

    expect(by_phone.row(other)).to_have_count(0)
    expect(by_phone.row(paid)).to_be_visible()


def test_amounts_look_alike_on_the_page_in_the_dialog_and_on_the_receipt(browser: Browser, store: Store) -> None:
    paid = store.pay("1159.50")
    visit = Visit(browser.new_context(locale="en-ZA").new_page())
    shop = Shop(visit, store.stage)
    shop.sign_in(store.owner, f"#/payments/{paid}")
    expect(shop.page.locator(".net")).to_have_text("R\u00a01,159.50")
    shop.button("Show the receipt").click()
    expect(shop.page.frame_locator("iframe").get_by_text("R 1,159.50").first).to_be_visible()
    shop.button("Return…").click()
    expect(shop.page.get_by_label("Amount")).to_have_value("1,159.50")
    visit.page.context.close()


def test_a_list_says_of_which_days_it_is_and_how_each_payment_was_made(visit_at_a_desk: Visit, store: Store) -> None:
    shop = Shop(visit_at_a_desk, store.stage)
    shop.sign_in(store.owner, "#/payments?from=2026-01-02&to=2026-01-03")
    expect(shop.page.get_by_text("No payment matches.")).to_be_visible()
    shop.look_at("Payments")
    expect(shop.page.locator(".counted")).to_have_text(
        re.compile(r"^5 payments and returns, .+2\d{3}.+2\d{3}\. The payments took R\s1,246\.30 before returns\.$")
    )
    expect(shop.page.locator(".heads span")).to_have_text(["Time", "Description", "Paid by", "Till", "State", "Amount"])
    for width in (1280, 768, 360):
        shop.page.set_viewport_size({"width": width, "height": 800})
        assert shop.page.locator(".rows .what").first.evaluate("(one) => one.clientWidth > 100")
        for means in shop.page.locator(".rows .means").all()[:5]:
            assert means.evaluate("(one) => one.scrollWidth <= one.clientWidth && one.getClientRects().length > 0")


def test_a_filter_that_is_refused_says_so_at_its_field(by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner, f"#/payments?search={'x' * 600}")

    expect(by_phone.page.locator("#filter-search-problem")).to_have_text("This is too long.")
    expect(by_phone.page.get_by_text("Validations")).to_have_count(0)


def test_totals_do_not_overlap_on_a_telephone(by_phone: Shop, store: Store) -> None:
    store.give_back(store.pay("9876543.00"), "1234567.00")
    by_phone.sign_in(store.owner, "#/days")
    by_phone.wait_for("Days")
    cells = by_phone.page.locator("tfoot tr > *").evaluate_all(
        "(all) => all.map((one) => { const range = document.createRange(); range.selectNodeContents(one);"
        " const box = range.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom]; })"
    )

    for number, (left, right, top, bottom) in enumerate(cells):
        for other_left, other_right, other_top, other_bottom in cells[number + 1 :]:
            assert right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
    assert by_phone.visit.overflow() <= 0


def test_the_technical_details_of_a_payment_are_folded(by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner, f"#/payments/{store.pay()}")
    expect(by_phone.page.get_by_text("400/411")).to_be_hidden()
    by_phone.page.get_by_text("Technical details").click()

    expect(by_phone.page.get_by_text("400/411")).to_be_visible()


@pytest.mark.parametrize(("width", "text"), [(320, "100%"), (360, "200%")])
def test_no_view_is_wider_than_a_small_telephone(width: int, text: str, by_phone: Shop, store: Store) -> None:
    store.give_back(store.pay("1234567.00"), "1.00")
    by_phone.page.set_viewport_size({"width": width, "height": 740})
    by_phone.sign_in(store.owner, f"#/payments/{store.pay()}")
    by_phone.page.evaluate("(text) => { document.documentElement.style.fontSize = text; }", text)
    by_phone.wait_for("Payment")
    assert by_phone.visit.overflow() <= 0
    for view in VIEWS:
        by_phone.look_at(view)
        assert by_phone.visit.overflow() <= 0, view


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_the_filters_use_the_width(width: int, by_phone: Shop, store: Store) -> None:
    by_phone.page.set_viewport_size({"width": width, "height": 900})
    by_phone.sign_in(store.owner, "#/payments")
    by_phone.page.get_by_text("More filters").click()
    expect(by_phone.page.get_by_label("Till", exact=True)).to_be_visible()  # it comes with the list of tills
    fields: list[Any] = [one.bounding_box() for one in by_phone.page.locator("details .field").all()]
    assert len({one["x"] for one in fields}) == {320: 1, 360: 2, 768: 4, 1280: 6}[width]
    assert max(one["x"] + one["width"] for one in fields) > 0.9 * width


def test_an_empty_shop_says_so_without_pages(by_phone: Shop, stage: str) -> None:
    by_phone.sign_in(a_store(stage).owner)
    expect(by_phone.page.get_by_text("No payments yet today.")).to_be_visible()
    by_phone.look_at("Payments")

    expect(by_phone.page.get_by_text("No payments in the last 31 days.")).to_be_visible()
    expect(by_phone.page.get_by_text("Page 1")).to_have_count(0)


@pytest.mark.parametrize("by_link", [False, True])
def test_back_keeps_the_place_in_a_list(by_phone: Shop, store: Store, *, by_link: bool) -> None:
    for _ in range(25):
        store.pay("1.00")
    by_phone.sign_in(store.owner, "#/payments")
    last = by_phone.page.locator("[data-id]").last
    last.scroll_into_view_if_needed()
    top = by_phone.page.evaluate("scrollY")
    assert top > 0
    last.click()
    by_phone.wait_for("Payment")
    by_phone.page.wait_for_function("() => scrollY === 0")
    if by_link:
        by_phone.page.get_by_role("link", name="Back to the list").click()
    else:
        by_phone.page.go_back()
    by_phone.wait_for("Payments")

    by_phone.page.wait_for_function("(top) => Math.abs(scrollY - top) < 2", arg=top)


def test_a_tab_beside_keeps_the_session_until_both_are_closed(by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner)
    with by_phone.page.context.expect_page() as opened:
        by_phone.page.get_by_role("link", name="Days", exact=True).click(modifiers=["Control"])
    beside = opened.value

    expect(beside.get_by_role("heading", level=1, name="Days")).to_be_visible()
    expect(by_phone.page.get_by_role("heading", level=1, name="Today")).to_be_visible()
    beside.close()


def test_today_refreshes_itself_until_nobody_uses_it(by_phone: Shop, store: Store) -> None:
    by_phone.page.clock.install()
    by_phone.sign_in(store.owner)
    net = by_phone.net
    store.pay("1000.00")
    by_phone.page.clock.run_for(61_000)
    expect(by_phone.page.get_by_test_id("net")).to_have_attribute("data-amount", str(net + 1000))
    expect(by_phone.page.locator(".chart .ground")).to_have_count(6)  # the shortest day of business
    by_phone.page.clock.fast_forward(31 * 60_000)
    by_phone.visit.requests.clear()
    by_phone.page.clock.run_for(120_000)
    assert by_phone.visit.requests == []
    with by_phone.page.expect_response("**/report/takings"):
        by_phone.page.mouse.move(10, 10)


def test_a_day_report_is_never_of_a_day_after_today(by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner, "#/day-report?day=2999-01-01")
    today = get(store.stage, "/api/v1/user/me", store.owner).body["Data"]["Today"]
    expect(by_phone.page.get_by_label("Day", exact=True)).to_have_value(today)
    expect(by_phone.page.get_by_role("link", name="Day after")).to_have_count(0)
    by_phone.page.get_by_role("link", name="Day before").click()
    before, after = (
        by_phone.page.get_by_role("link", name=f"Day {name}").bounding_box() for name in ("before", "after")
    )

    assert before is not None
    assert after is not None
    assert before["y"] == after["y"]
    assert before["x"] < after["x"]


def test_a_receipt_is_printed_alone_and_whole(by_phone: Shop, store: Store) -> None:
    lines = [{"Title": f"Thing {number}", "Price": "1.00", "Quantity": 1} for number in range(60)]
    paid = store.pay("60.00", AuxDataInput={"AuxData": {"Purchases": lines}})
    by_phone.sign_in(store.owner, f"#/payments/{paid}")
    by_phone.button("Show the receipt").click()
    by_phone.page.evaluate("() => { window.print = () => { document.title = 'printed'; }; }")
    by_phone.button("Print").click()
    assert by_phone.page.title() == "printed"
    by_phone.page.emulate_media(media="print")
    for width in (280, 700):  # pixels of what 80 mm and A4 leave
        by_phone.page.set_viewport_size({"width": width, "height": 900})
        shown = by_phone.page.locator("body").inner_text()
        assert all(f"Thing {number}\n" in shown for number in range(60))
        assert paid in shown.replace("\n", "")
        assert "Paid by" in shown
        for other in ("Send receipt", "Back to the list", "Technical details", "Sign out"):
            expect(by_phone.page.get_by_text(other, exact=True)).to_be_hidden()
        expect(by_phone.page.locator("iframe")).to_be_hidden()
        assert by_phone.visit.overflow() <= 0


def test_a_receipt_is_sent_later_and_once(by_phone: Shop, store: Store) -> None:
    to = an_email()
    by_phone.sign_in(store.owner, f"#/payments/{store.pay()}")
    by_phone.button("Send receipt").click()
    expect(by_phone.page.get_by_label("E-mail")).to_be_focused()
    by_phone.button("Send").click()
    expect(by_phone.page.get_by_role("alert")).to_have_text("Type an e-mail address or a telephone number.")
    by_phone.page.get_by_label("E-mail").fill(to)
    by_phone.page.get_by_label("Telephone").fill("082 x")
    by_phone.button("Send").click()
    expect(by_phone.page.locator("#send-phone-problem")).to_have_text("This is not in the right form.")
    by_phone.page.get_by_label("Telephone").fill("082 987 6543")
    by_phone.page.route("**/payment/receipt/*", carried_out_without_an_answer)
    by_phone.button("Send").click()
    expect(by_phone.page.get_by_role("alert")).to_contain_text("No answer came")
    by_phone.page.unroute("**/payment/receipt/*")
    by_phone.button("Send").click()

    sentence = by_phone.page.get_by_role("status").filter(has_text=f"The receipt was sent to {to}, 082 987 6543.")
    expect(sentence).to_be_focused()
    events.deliver_all()
    assert len(mails(to)) == 1
    assert mails(to)[0].subject.startswith("Receipt")


def test_an_address_beyond_its_limit_is_told_at_its_field(by_phone: Shop, store: Store) -> None:
    by_phone.sign_in(store.owner, f"#/payments/{store.pay()}")
    by_phone.button("Send receipt").click()
    to = an_email()
    by_phone.page.get_by_label("E-mail").fill(to)
    by_phone.page.get_by_label("Telephone").fill("+49 151 23456789")  # no SMS go to that country
    by_phone.button("Send").click()

    expect(by_phone.page.locator("#send-phone-problem")).to_contain_text("Nothing was sent there")
    expect(by_phone.page.get_by_role("status").filter(has_text=f"The receipt was sent to {to}.")).to_be_visible()
