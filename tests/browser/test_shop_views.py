"""Every view of the shop's page, on a desk and on a small phone, light and dark."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Visit
from tests.browser.shop import VIEWS, Shop, Store, a_store
from tests.support import events
from tests.support.receivers import a_receiver

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
    shop.look_at("Tills")
    shop.button("Change").first.click()
    shop.wait_for("Change the till")
    fits_everybody(shop)
    for dialog in ("Sign out everywhere", "New password", "Block"):
        shop.button(dialog).click()
        expect(shop.page.get_by_role("dialog")).to_be_visible()
        fits_everybody(shop)
        shop.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
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
    for opened in ("Send receipt", "Return…"):
        shop.button(opened).click()
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
    assert len({one["x"] for one in fields}) == {320: 1, 360: 2, 768: 4, 1280: 7}[width]
    assert max(one["x"] + one["width"] for one in fields) > 0.9 * width


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
