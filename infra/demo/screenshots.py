"""`python -m infra.demo.screenshots` writes docs/images: the shop's page with the demo month, and the till."""

import re
import shutil
import sys
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from infra.demo import data as demo_data
from infra.local import ports
from infra.reference import ROOT

IMAGES = ROOT / "docs" / "images"
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
DESK, PHONE = (1280, 860), (360, 740)
WAIT_MILLISECONDS = 180_000  # the stage listens before it has filled the month


class View(NamedTuple):
    """A picture: the address of a view, and the size of the screen."""

    name: str
    address: str
    size: tuple[int, int]


VIEWS = (
    View("shop-today", "#/today", DESK),
    View("shop-week", "#/week", DESK),
    View("shop-payments", "#/payments", PHONE),
    View("shop-price-list", "#/price-list", PHONE),
)


def main() -> None:
    """Start a stage with the demo month, and take a picture of each view."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        sys.exit("Chromium is not installed: it takes the pictures.")
    port = ports.free_port()
    settings = {"PORT": str(port), "AWS_PORT": str(ports.free_port()), "DEMO": "month", "LOG": "json"}
    with ports.running(port, sys.executable, "-m", "infra.local", **settings), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        for view in VIEWS:
            page = _signed_in(browser, demo_data.OWNER, view.size, f"http://{ports.HOST}:{port}/app{view.address}")
            page.locator(".loaded").first.wait_for()
            for waiting in (".loading", "[aria-busy=true]"):
                page.locator(waiting).first.wait_for(state="hidden")
            _write(view.name, page)
            if view.name == "shop-payments":
                _show_first(page)
            page.close()
        _sell(_signed_in(browser, demo_data.TILL, PHONE, f"http://{ports.HOST}:{port}/till"))
        browser.close()


def _show_first(page: Page) -> None:
    page.locator("[data-id] a").first.click()
    page.get_by_role("button", name="Show the receipt").click()
    page.locator("iframe.receipt").wait_for()
    page.evaluate("scrollTo(0, 0)")
    _write("shop-payment", page)


def _sell(page: Page) -> None:
    """Take pictures of goods that are sold in cash, of a sale without connection, and of the day."""

    def press(*names: str) -> None:
        for name in names:
            page.get_by_role("button", name=re.compile(f"^{name}")).first.click()

    press("Flat white", "Flat white", "Croissant")
    page.evaluate("scrollTo(0, 0)")
    _write("till-goods", page)
    press("Cash")
    _write("till-cash", page)
    page.get_by_test_id("note").nth(1).click()
    page.get_by_test_id("result").wait_for()
    _write("till-paid", page)
    page.context.set_offline(True)
    press("New sale", "Espresso", "On account", "Take payment")
    page.get_by_test_id("result").wait_for()
    page.wait_for_function("() => document.querySelector('[data-testid=waiting]').textContent === '1'")
    _write("till-offline", page)
    page.context.set_offline(False)
    page.wait_for_function("() => document.querySelector('[data-testid=waiting]').textContent === '0'")
    page.get_by_role("link", name="My day").click()
    page.locator(".report dl").first.wait_for()
    _write("till-day", page)
    page.context.close()


def _signed_in(browser: Browser, login: tuple[str, str], size: tuple[int, int], url: str) -> Page:
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light", locale="en-ZA")
    page.set_default_timeout(WAIT_MILLISECONDS)
    page.goto(url)
    email, password = login
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    return page


def _write(name: str, page: Page) -> None:
    IMAGES.mkdir(exist_ok=True)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    print(f"{path.stat().st_size:>9} {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
