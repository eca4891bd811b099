"""The price list of a merchant: the request that replaces it, and its view."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from chalicelib.domain import price_list
from chalicelib.domain.business_days import text_of, zone_of
from chalicelib.domain.money import MAX_MINOR, Currency, from_minor
from chalicelib.domain.price_list import MOST_ITEMS, MOST_TAXES, PriceList, compared_barcode, is_barcode
from chalicelib.domain.taxes import Tax
from chalicelib.errors import Check, Finding
from chalicelib.schemas.base import (
    Answer,
    Exact,
    Identifier,
    Request,
    Rule,
    RuledRequest,
    View,
    checked,
    pattern,
)
from chalicelib.schemas.names import NO_CONTROL, VISIBLE
from chalicelib.schemas.request_context import Context, ZoneQuery

MAX_RATE_DIGITS = 4  # after the point


RATE = checked(
    lambda value: value == value.quantize(Decimal(1).scaleb(-MAX_RATE_DIGITS)),
    Check.TOO_MANY_DECIMALS,
    f"A rate has at most {MAX_RATE_DIGITS} decimals.",
)
BARCODE_EXPECTED = "An EAN-8, UPC-A, EAN-13 or GTIN-14 with its check digit is expected."
TaxCode = Annotated[str, pattern("^[A-Za-z0-9_-]{1,16}$", "1 to 16 letters, digits, _ or - are expected.")]


class TaxIn(Request):
    """A tax. Its rate is a percentage."""

    code: TaxCode
    name: Annotated[str, Field(min_length=1, max_length=40), VISIBLE, NO_CONTROL]
    rate: Annotated[Exact, Field(ge=0, le=100), RATE]


class ItemIn(Request):
    """An item. Its price includes the tax; without one it is typed at each sale."""

    code: Annotated[str, Field(min_length=1, max_length=64)]
    title: Annotated[str, Field(min_length=1, max_length=128), VISIBLE, NO_CONTROL]
    price: Annotated[Exact, Field(ge=0, le=MAX_MINOR)] | None = None
    unit: Annotated[str, Field(max_length=8)] | None = None
    tax_code: Annotated[str, Field(max_length=64)] | None = None
    group: Annotated[str, Field(max_length=40)] | None = None
    barcode: Annotated[str, Field(max_length=64), checked(is_barcode, Check.FORMAT, BARCODE_EXPECTED)] | None = None
    active: bool = True


def _unknown_typed_tax(sent: "UpdatePriceList", _: Mapping[str, Any]) -> Iterable[Finding]:
    if sent.typed_tax_code is not None and sent.typed_tax_code.casefold() not in sent.tax_codes:
        yield Finding("typed_tax_code", Check.NOT_IN_DICTIONARY, "Taxes has no such code.")


def _unknown_taxes(sent: "UpdatePriceList", _: Mapping[str, Any]) -> Iterable[Finding]:
    for number, item in enumerate(sent.items):
        if item and item.tax_code is not None and item.tax_code.casefold() not in sent.tax_codes:
            yield Finding(f"items[{number}].tax_code", Check.NOT_IN_DICTIONARY, "Taxes has no such code.")


def _once(place: str, field: str, compared: Callable[[str], str] = str) -> Rule:
    """Return the rule that no two readable entries of a list have the same value."""

    def twice(sent: "UpdatePriceList", _: Mapping[str, Any]) -> Iterable[Finding]:
        seen: set[str] = set()
        for number, one in enumerate(getattr(sent, place)):
            if one and (written := getattr(one, field)) is not None:
                value = compared(written)
                if value in seen:
                    yield Finding(f"{place}[{number}].{field}", Check.TWICE, "An earlier entry has it as well.")
                seen.add(value)

    return Rule((f"{place}*.{field}",), twice, judged_by_service=True)


class UpdatePriceList(Context, RuledRequest):
    """The body of merchant/{merchantId}/pricelist/update: the whole list, and the version that it replaces."""

    RULES: ClassVar[Sequence[Rule]] = (
        _once("taxes", "code", str.casefold),
        _once("items", "code"),
        _once("items", "barcode", compared_barcode),
        Rule(("taxes.code", "typed_tax_code"), _unknown_typed_tax, judged_by_service=True),
        Rule(("taxes.code", "items*.tax_code"), _unknown_taxes, judged_by_service=True),
    )
    JUDGED: ClassVar[tuple[str, ...]] = ("items*.price",)

    version: Identifier
    taxes: Annotated[list[TaxIn], Field(max_length=MOST_TAXES)] = []  # noqa: RUF012  pydantic copies it
    typed_tax_code: Annotated[str, Field(max_length=64)] | None = None
    items: Annotated[list[ItemIn], Field(max_length=MOST_ITEMS)] = []  # noqa: RUF012

    def findings(self, currency: Currency | None) -> list[Finding]:
        """Return the findings about codes and barcodes that occur twice, unknown tax codes, and prices.

        Those of a request with faults are about prices, because its faults have the others. `currency` is the
        merchant's; None: its country has none, so prices may have any decimals.
        """
        found = [] if self.faults else [finding for rule in self.RULES for finding in rule.judge(self, {})]
        return [*found, *(_wrong_prices(self.readable("items") or (), currency) if currency else ())]

    @property
    def tax_codes(self) -> frozenset[str]:
        """Return the codes of Taxes as they are compared."""
        return frozenset(tax.code.casefold() for tax in self.taxes)

    def to_domain(self, currency: Currency | None) -> dict[str, Any]:
        """Return the taxes and the items. A tax code is written as in Taxes, a price in the currency's decimals."""
        written = {tax.code.casefold(): tax.code for tax in self.taxes}
        typed = self.typed_tax_code and written[self.typed_tax_code.casefold()]
        items = tuple(
            price_list.Item(
                **item.model_dump()
                | {
                    "tax_code": item.tax_code and written[item.tax_code.casefold()],
                    "price": _in_digits(item.price, currency),
                }
            )
            for item in self.items
        )
        taxes = tuple(Tax(**tax.model_dump()) for tax in self.taxes)
        return {"taxes": taxes, "typed_tax_code": typed or None, "items": items}


def _wrong_prices(items: Sequence[ItemIn | None], currency: Currency) -> Iterable[Finding]:
    """Yield a finding for each price with more decimals than the currency has, or above the largest payment."""
    for number, item in enumerate(items):
        if item is None or item.price is None:
            continue
        if item.price != _in_digits(item.price, currency):
            message = f"{currency.code} has {currency.digits} decimals."
            yield Finding(f"items[{number}].price", Check.TOO_MANY_DECIMALS, message)
        elif item.price > (most := from_minor(MAX_MINOR, currency)):
            yield Finding(f"items[{number}].price", Check.OUT_OF_RANGE, f"A price is at most {most:f}.")


def _in_digits(price: Decimal | None, currency: Currency | None) -> Decimal | None:
    if price is None or currency is None:
        return price
    return abs(price.quantize(Decimal(1).scaleb(-currency.digits)))  # 0 instead of -0


class PriceListQuery(ZoneQuery):
    """The query string of merchant/{merchantId}/pricelist: the version that the caller knows."""

    version: Identifier | None = None


class TaxView(View):
    """A tax of the price list."""

    code: str
    name: str
    rate: Decimal


class ItemView(View):
    """An item of the price list."""

    code: str
    title: str
    price: Decimal | None
    unit: str | None
    tax_code: str | None
    group: str | None
    barcode: str | None
    active: bool


class PriceListView(View):
    """The price list; version 0 is the empty list of a merchant that has stored none."""

    version: int
    updated: str | None
    updated_by: int | None
    taxes: list[TaxView]
    typed_tax_code: str | None = None
    items: list[ItemView]

    @classmethod
    def of(cls, stored: PriceList | None, gmt: int | None, merchant_gmt: int) -> Self:
        """Return the view of a stored list, with times in the zone of the request's `gmt`."""
        if stored is None:
            return cls(version=0, updated=None, updated_by=None, taxes=[], items=[])
        return cls(
            version=stored.version,
            updated=text_of(stored.updated_at, zone_of(gmt, merchant_gmt)),
            updated_by=stored.updated_by,
            taxes=[TaxView.carried(tax) for tax in stored.taxes],
            typed_tax_code=stored.typed_tax_code,
            items=[ItemView.carried(item) for item in stored.items],
        )


class PriceListAnswer(Answer):
    """The answer with a price list; null when the caller knows the current version."""

    price_list: PriceListView | None
