"""The guides in a browser."""

import pytest
from playwright.sync_api import expect

from chalicelib.routes.pages import GUIDES
from tests.browser.conftest import Visit


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_can_be_read_by_everybody_on_every_screen(name: str, visit: Visit, server: str) -> None:
    visit.page.goto(f"{server}/docs/{name}")

    assert visit.violations() == []
    assert visit.overflow() == 0
    assert visit.complaints == []
    assert visit.requests_elsewhere(server) == []


def test_a_guide_names_the_stage_it_is_read_at(visit_at_a_desk: Visit, server: str) -> None:
    page = visit_at_a_desk.page
    page.goto(f"{server}/docs/first-payment")

    expect(page.locator(".origin").first).to_have_text(server)
    assert "127.0.0.1:8000" not in page.inner_text("main")


def test_every_page_leads_to_every_other(visit_at_a_desk: Visit, server: str) -> None:
    page = visit_at_a_desk.page
    page.goto(f"{server}/docs/errors/")

    for name in GUIDES:
        page.locator(f".pages a[href$='{name}']").click()
        expect(page).to_have_url(f"{server}/docs/{name}")
        expect(page.locator(".pages [aria-current]")).to_have_count(1)
    page.get_by_role("link", name="Reference").click()
    expect(page).to_have_url(f"{server}/docs")
