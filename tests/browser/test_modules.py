"""The pages as the local stage serves them: each module by itself. The other tests look at those of the package."""

from dataclasses import replace

import pytest

from tests.browser.conftest import Visit
from tests.browser.shop import VIEWS, Shop
from tests.browser.till import Line, Till, a_seller


@pytest.fixture
def joined_pages() -> None:
    """In place of the pages of the package: nothing is joined."""


def modules_of(visit: Visit) -> list[str]:
    return [url for url in visit.requests if "/kit/" in url and url.endswith(".js")]


def test_the_shops_page_shows_its_views(visit_by_phone: Visit, stage: str) -> None:
    shop = Shop(visit_by_phone, stage)
    shop.sign_in()
    for view in VIEWS:
        shop.look_at(view)

    assert len(modules_of(visit_by_phone)) > 10
    assert visit_by_phone.complaints == []


def test_the_till_opens_and_sells_without_connection(visit_by_phone: Visit, stage: str) -> None:
    line = Line(stage)
    seller = a_seller(stage)
    till = Till(visit_by_phone.page, replace(seller, stage=line.url))
    till.begin()
    till.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    assert len(modules_of(visit_by_phone)) > 10
    line.cut()
    till.page.reload()
    till.sell_and_see("waiting")
    line.mend()
    till.wait_until_sent()

    assert len(seller.payments()) == 1
    line.cut()
