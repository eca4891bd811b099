"""A merchant's price list: its taxes, and the items that it sells. Prices include their taxes."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from chalicelib.domain.taxes import Tax

MOST_TAXES, MOST_ITEMS = 20, 500
BARCODE_LENGTHS = (8, 12, 13, 14)  # EAN-8, UPC-A, EAN-13, GTIN-14


@dataclass(frozen=True)
class Item:
    """An item that the merchant sells. Without a price, the price is typed at each sale."""

    code: str
    title: str
    price: Decimal | None = None
    unit: str | None = None  # None: pieces
    tax_code: str | None = None
    group: str | None = None
    barcode: str | None = None
    active: bool = True


@dataclass(frozen=True)
class PriceList:
    """A merchant's price list, replaced as a whole. Its merchant's record has a copy of its version and taxes."""

    client_id: int
    version: int
    updated_at: datetime
    updated_by: int  # the agent's ID
    taxes: tuple[Tax, ...] = ()
    items: tuple[Item, ...] = ()


def is_barcode(text: str) -> bool:
    """Return whether it is an EAN-8, UPC-A, EAN-13 or GTIN-14 with a right check digit (GS1 General Specifications)."""
    if len(text) not in BARCODE_LENGTHS or not (text.isascii() and text.isdigit()):
        return False
    weighted = (int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(text)))
    return sum(weighted) % 10 == 0


def compared_barcode(text: str) -> str:
    """Return the form in which barcodes are compared: a UPC-A is the EAN-13 with a 0 in front."""
    return f"0{text}" if len(text) == BARCODE_LENGTHS[1] else text
