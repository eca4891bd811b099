"""A browser for the tests of pages: the Chromium of the machine, driven by Playwright, and axe-core.

What a page asks for and complains about is noted, so that a test can expect nothing of it.
"""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect, sync_playwright

from infra.reference import ROOT
from tests.conftest import CI

if TYPE_CHECKING:
    from tests.browser.till import Seller, Till

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the first takes half the time
AXE = ROOT / ".engines" / "node_modules" / "axe-core" / "axe.min.js"
WAIT_MILLISECONDS = 60_000  # for what a page shows at last, on a busy machine
expect.set_options(timeout=WAIT_MILLISECONDS)
VIOLATIONS = """async () => {
  const roots = [document];
  for (const root of roots) {
    roots.push(...[...root.querySelectorAll("*")].flatMap(({ shadowRoot }) => shadowRoot ?? []));
    for (const one of root.getAnimations()) if (one.effect.getTiming().iterations !== Infinity) one.finish();
  }
  const { violations } = await axe.run();
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`));
}"""


class Screen(NamedTuple):
    """A size in CSS pixels, and the colours the person prefers."""

    width: int
    height: int
    colours: Any

    def __str__(self) -> str:
        return f"{self.width}-{self.colours}"


DESK, PHONE = (1440, 900), (390, 844)
SCREENS = [Screen(*DESK, "light"), Screen(*PHONE, "dark")]  # each size and each scheme; the others before a release
OTHER_SCREENS = [Screen(*DESK, "dark"), Screen(*PHONE, "light")]
SHOPS_DESK, SMALL_PHONE = (1280, 900), (360, 740)
SHOPS_SCREENS = [Screen(*SHOPS_DESK, "dark"), Screen(*SMALL_PHONE, "light")]
OTHER_SHOPS_SCREENS = [Screen(*SHOPS_DESK, "light"), Screen(*SMALL_PHONE, "dark")]


def on_screens(usual: list[Screen], others: list[Screen]) -> list[Any]:
    """Return the parameters of a fixture: some screens in each run, the others only before a release."""
    return [*usual, *(pytest.param(screen, marks=pytest.mark.release) for screen in others)]


class Visit:
    """A page in the browser, with what it asked for and what it complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.set_default_timeout(WAIT_MILLISECONDS)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def requests_elsewhere(self, origin: str) -> list[str]:
        """Return the addresses that were asked for and are not at the origin."""
        return [url for url in self.requests if not url.startswith((f"{origin}/", "data:", "blob:"))]

    def violations(self) -> list[str]:
        """Return what axe finds wrong with the page as it is now."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[str] = self.page.evaluate(VIOLATIONS)
        return found

    def overflow(self) -> int:
        """Return how many pixels of the page are right of the screen."""
        pixels: int = self.page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        return pixels


def _missing(what: str) -> NoReturn:
    """Skip for want of a tool; fail in CI, unless CI says that it can have no browser."""
    (pytest.fail if CI and os.environ.get("NO_BROWSER") != "true" else pytest.skip)(what)


def chromium() -> str:
    """Return the program of the browser."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None) or _missing(
        "Chromium is not installed: `apt-get install chromium-headless-shell` runs the tests of pages."
    )


@pytest.fixture(autouse=True)
def served_pages(joined_pages: None) -> None:
    """The pages are those of the package."""


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """The driver of browsers."""
    if not AXE.exists():
        _missing("axe-core is not installed: `make tools` fetches it, where npm is at hand.")
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A browser for the tests of this folder."""
    running = playwright.chromium.launch(executable_path=chromium())
    yield running
    running.close()


@pytest.fixture(scope="module", params=on_screens(SCREENS, OTHER_SCREENS), ids=str)
def visit(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Visit]:
    """A page on a desk and on a phone, in light and in dark colours."""
    yield from _visit(browser, request.param)


@pytest.fixture
def visit_at_a_desk(browser: Browser) -> Iterator[Visit]:
    """A new page on a desk."""
    yield from _visit(browser, SCREENS[0])


@pytest.fixture(params=on_screens(SHOPS_SCREENS, OTHER_SHOPS_SCREENS), ids=str)
def visit_of_a_shop(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Visit]:
    """A new page on a desk and on a small phone, in light and in dark colours."""
    yield from _visit(browser, request.param)


@pytest.fixture
def visit_by_phone(browser: Browser) -> Iterator[Visit]:
    """A new page on a small phone."""
    yield from _visit(browser, Screen(*SMALL_PHONE, "light"))


def _visit(browser: Browser, screen: Screen) -> Iterator[Visit]:
    context = browser.new_context(
        viewport={"width": screen.width, "height": screen.height}, color_scheme=screen.colours
    )
    yield Visit(context.new_page())
    context.close()


@pytest.fixture
def till(visit_by_phone: Visit, seller: "Seller") -> "Till":
    """The till with the agent of the module's `seller` signed in, on a telephone."""
    from tests.browser.till import Till  # noqa: PLC0415  it imports this module

    till = Till(visit_by_phone.page, seller)
    till.begin()
    return till
