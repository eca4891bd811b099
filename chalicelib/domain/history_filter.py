"""The filter of a list: the kinds, references and texts that it searches. Pure functions."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from chalicelib.domain.history_entry import SEARCHED, CounterKey, HistoryEntry, folded

NUMBER = re.compile(r"[0-9]{1,13}(\.[0-9]{1,10})?")  # short enough for exact multiplication
DECIMALS = range(5)  # the numbers of decimals of currencies
PHONE = re.compile(r"[0-9 ()./+-]+")
TRUNK = "(0)"  # in numbers for callers at home and abroad: +27 (0)82 987 6543
MIN_PHONE_DIGITS = 5  # fewer digits occur in almost every number


@dataclass(frozen=True)
class SearchText:
    """A text to search for, in any case. It may be an amount, or a telephone number as people write it."""

    sought: str

    @cached_property
    def text(self) -> str:
        """Return the case-folded text, comparable with the texts of an entry."""
        return folded(self.sought)

    @cached_property
    def amount(self) -> Decimal | None:
        """Return the text as an amount; None when it is not a decimal number."""
        return Decimal(self.sought) if NUMBER.fullmatch(self.sought) else None

    @cached_property
    def phone(self) -> str | None:
        """Return the digits of a possible telephone number, without leading zeros, which no stored number has."""
        if not PHONE.fullmatch(self.sought) or (self.amount is not None and "." in self.sought):
            return None
        digits = "".join(filter(str.isdigit, self.sought.replace(TRUNK, ""))).lstrip("0")
        return digits if len(digits) >= MIN_PHONE_DIGITS else None

    @cached_property
    def amounts_minor(self) -> tuple[int, ...]:
        """Return the amount in minor units, for each number of decimals that can express it."""
        scaled = [self.amount.scaleb(digits) for digits in DECIMALS] if self.amount is not None else []
        return tuple(int(minor) for minor in scaled if minor == int(minor))

    def is_in(self, entry: HistoryEntry) -> bool:
        """Return whether an entry holds the text, has this amount, or has a receipt for this telephone number."""
        texts = (entry.id.casefold(), *(getattr(entry, name) for name in SEARCHED), *entry.receipts)
        return (
            any(self.text in text for text in texts if text)
            or (self.amount is not None and self.amount == entry.amount)
            or (self.phone is not None and any(self.phone in to for to in entry.receipts if to.startswith("+")))
        )


@dataclass(frozen=True)
class HistoryFilter:
    """The filter of a list; None matches anything. Texts are case-folded, except those that match exactly."""

    agent_id: int | None = None
    input_type: int | None = None
    acquirer: str | None = None
    id: str | None = None
    ext_id: str | None = None  # exactly as the till sent it
    search: SearchText | None = None
    invoice: str | None = None
    original_invoice: str | None = None
    rrn: str | None = None
    client_product_code: str | None = None  # exactly as the till sent it
    is_reversal: bool | None = None  # cancels and returns, or payments
    late: bool = False  # late sales only, under the day of their recording

    @property
    def by_text(self) -> bool:
        """Return whether it filters by a text, so that counters cannot count the matches."""
        texts = (self.search, self.invoice, self.original_invoice, self.rrn, self.client_product_code)
        return any(text is not None for text in texts)

    @property
    def by_kind(self) -> bool:
        """Return whether it excludes some kinds of an agent's transactions."""
        return any(one is not None for one in (self.input_type, self.acquirer, self.is_reversal))

    def takes(self, counter: CounterKey) -> bool:
        """Return whether transactions of this counter may match."""
        return (
            self.agent_id in (None, counter.agent_id)
            and self.input_type in (None, counter.input_type)
            and self.acquirer in (None, counter.acquirer)
            and self.is_reversal in (None, counter.reverse_mode != 0)
        )

    def matches(self, entry: HistoryEntry) -> bool:
        """Return whether the entry matches. ID and ExtID are not compared, because entries are read by them."""
        return (
            self.takes(entry.counter)
            and self.invoice in (None, entry.invoice)
            and self.original_invoice in (None, entry.original_invoice)
            and self.rrn in (None, entry.rrn)
            and self.client_product_code in (None, entry.client_product_code)
            and (self.search is None or self.search.is_in(entry))
        )
