"""Receipts in a browser, as a mail program or the shop's page shows them."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from playwright.sync_api import Browser, Page

from chalicelib.domain.kinds import LANGUAGES, InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import CardDetails, EmvData, MerchantSnapshot, Purchase, Taxes
from chalicelib.receipts.content import receipt_of
from chalicelib.receipts.html import as_html
from tests.browser.conftest import Visit
from tests.support.transactions import a_guid, a_payment, altered

SHOP = MerchantSnapshot(
    "Bean & Leaf", "12 Long Street", "+27 82 987 6543", "4123456789", "000000001234567", "7/logo.png"
)
LOGO = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
VAT = TaxAmount("VAT15", "VAT", Decimal(15), 13257, 1729)
LONG = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 3
# The texts that are set on more than one line.
BROKEN = """() => [...document.querySelectorAll("td[dir]")].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1;
}).map((cell) => cell.textContent)"""


def a_receipt(language: str, **changes: object) -> str:
    payment = a_payment(
        id=a_guid(),
        input_type=InputType.MAGNETIC_STRIPE,
        currency=Currency("CHF", "756", 2),
        amount_minor=10**12,
        card=CardDetails("MASTERCARD", "555566", "1111"),
        approval_code="A12345",
        rrn="612312345678",
        emv=EmvData("A0000000031010", "VISA CREDIT", "E800", "0000008000"),
        purchases=(
            Purchase("Flat white", Decimal("32.00"), Decimal(2), ("VAT15",)),
            Purchase("Milk", Decimal("12.00"), Decimal(1), ("CITY",)),
        ),
        taxes=Taxes(("VAT15", "VAT0"), "STANDARD"),
        tax_amounts=(VAT,),
        language=language,
    )
    return as_html(receipt_of(altered(payment, merchant=SHOP, **changes)), LOGO)


@pytest.fixture
def narrow(browser: Browser) -> Iterator[Page]:
    """A page of the narrowest telephone."""
    context = browser.new_context(viewport={"width": 360, "height": 800})
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("reverse_mode", [None, 1, 2])
def test_nothing_breaks_into_two_lines_on_the_narrowest_telephone(
    narrow: Page, language: str, reverse_mode: int | None
) -> None:
    facts = {"original_id": "X", "original_invoice": "260314000777", "phase": Phase.REVERSAL_APPROVED}
    narrow.set_content(a_receipt(language, **({**facts, "original_mode": reverse_mode} if reverse_mode else {})))

    assert narrow.evaluate(BROKEN) == []


def test_what_must_break_is_no_wider_than_the_screen(narrow: Page) -> None:
    price = Decimal("0.1234567890123456789012345678901234567890")
    lines = (Purchase(LONG, price, Decimal(10**14) + price, (LONG,)),)
    taxes = tuple(TaxAmount(f"T{n}", "東" * 40, Decimal("12.3456"), 10**12, 10**12) for n in range(20))
    names = {"invoice": LONG, "terminal_name": "W" * 36, "approval_code": "W" * 24}
    narrow.set_content(a_receipt("en", purchases=lines, tax_amounts=taxes, **names))

    assert LONG in narrow.evaluate(BROKEN)
    assert narrow.evaluate("() => document.documentElement.scrollWidth") == 360


def test_a_text_that_is_read_from_the_right_stands_right(narrow: Page) -> None:
    narrow.set_content(a_receipt("en", purchases=(Purchase("\u05e7\u05e4\u05d4", Decimal(32), Decimal(1)),)))
    cell = narrow.get_by_text("\u05e7\u05e4\u05d4")

    assert cell.evaluate("(cell) => getComputedStyle(cell).direction") == "rtl"
    assert narrow.get_by_text("Tax invoice", exact=True).evaluate("(cell) => getComputedStyle(cell).direction") == "ltr"


def test_a_receipt_can_be_read_by_everybody_on_every_screen(visit: Visit) -> None:
    # A mail has no landmarks: what shows it has them.
    shown = a_receipt("af").replace("<table", "<main><h1>Mail</h1><table", 1).replace("</body>", "</main></body>")
    visit.page.set_content(shown)

    assert visit.violations() == []
    assert visit.overflow() == 0
    assert visit.complaints == []
