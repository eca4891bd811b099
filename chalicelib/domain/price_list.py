"""A merchant's price list: its taxes, and the items that it sells. Prices include their taxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate

from chalicelib.domain.taxes import FormerTax, Tax

MOST_TAXES, MOST_ITEMS = 20, 500
KEPT_FOR = timedelta(days=367)  # a former tax: an offline sale is at most 366 days old
MOST_FORMER, FRAME = 100_000, 80  # bytes of all former taxes, and of one without its code and name
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
    typed_tax_code: str | None = None  # one of the taxes: that of amounts which are typed at a till
    items: tuple[Item, ...] = ()
    former: tuple[FormerTax, ...] = ()  # the latest first


def former_after(new: PriceList, taxes: Sequence[Tax], former: Sequence[FormerTax]) -> tuple[FormerTax, ...]:
    """Return the former taxes after a new list: those of `taxes` that it takes away or changes, and the earlier ones.

    Codes that it adds to a list are there without a rate. All are kept while an offline sale may be older, and only as
    far as they are small enough.
    """
    gone = (FormerTax(tax.code, tax.name, new.updated_at, tax.rate) for tax in taxes if tax not in new.taxes)
    known = {tax.code.lower() for tax in taxes}
    is_first = new.version == 1 and not taxes
    added = (tax for tax in new.taxes if tax.code.lower() not in known and not is_first)
    every = (*gone, *(FormerTax(tax.code, "", new.updated_at) for tax in added), *former)
    sizes = accumulate(len(one.code) + len(one.name.encode()) + FRAME for one in every)
    kept = (one for one, size in zip(every, sizes, strict=True) if size <= MOST_FORMER)
    return tuple(one for one in kept if one.until > new.updated_at - KEPT_FOR)


def is_barcode(text: str) -> bool:
    """Return whether it is an EAN-8, UPC-A, EAN-13 or GTIN-14 with a right check digit (GS1 General Specifications)."""
    if len(text) not in BARCODE_LENGTHS or not (text.isascii() and text.isdigit()):
        return False
    weighted = (int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(text)))
    return sum(weighted) % 10 == 0


def compared_barcode(text: str) -> str:
    """Return the form in which barcodes are compared, 14 digits: zeros in front make no other number."""
    return text.zfill(BARCODE_LENGTHS[-1])
