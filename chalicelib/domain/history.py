"""History: entries, totals, filters, and the places of a list's pages. Pure functions."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import TypeVar
from unicodedata import normalize

from chalicelib.domain.business_days import Period, text_of, to_local
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record

T = TypeVar("T")

PAGE_SIZE = 100


def page_of(items: list[T], number: int | None) -> list[T]:
    """Return one page of a list: page 1 for number 0 or none, an empty page after the last one."""
    start = (max(number or 1, 1) - 1) * PAGE_SIZE
    return items[start : start + PAGE_SIZE]


def page_count(total: int) -> int:
    """Return the number of pages for `total` items."""
    return -(-total // PAGE_SIZE)


MAX_CANDIDATES = 50_000  # entries that one list may read
QUARTER = timedelta(minutes=15)


class CounterKey(Record):
    """The key of a counter: the transactions of one agent, one kind and one currency."""

    agent_id: int
    input_type: int
    reverse_mode: int  # 0: a payment
    digits: int  # after the decimal point of its amounts
    currency: str
    acquirer: str


class HistoryEntry(Record):
    """The thin entry of a transaction in the history. Texts are case-folded, because a search ignores case."""

    id: str
    at: datetime  # in the merchant's zone
    counter: CounterKey
    amount_minor: int
    taken_minor: int = 0  # the amount of a payment that took money
    ext_id: str | None = None
    invoice: str | None = None
    original_invoice: str | None = None
    rrn: str | None = None
    approval_code: str | None = None
    description: str | None = None
    card: str | None = None
    reverse_invoice: str | None = None
    cardholder: str | None = None
    terminal: str | None = None
    agent: str | None = None  # the agent's name
    receipts: tuple[str, ...] = ()  # e-mail addresses and E.164 numbers
    client_product_code: str | None = None  # exactly as the till sent it
    phase: Phase | None = None  # a final phase; None: only the record has it
    original_id: str | None = None  # the payment of a reversal
    exact: Mapping[str, str] = field(default_factory=dict)  # exported texts that case-folding changes

    @property
    def moved_minor(self) -> int:
        """Return the moved money: the amount that a payment took, or minus the amount that a reversal gave back."""
        given_back = self.counter.reverse_mode and self.phase is Phase.REVERSAL_APPROVED
        return -self.amount_minor if given_back else self.taken_minor

    def text(self, name: str) -> str:
        """Return a text of the entry with its original case; empty without one."""
        return self.exact.get(name) or getattr(self, name) or ""

    @property
    def amount(self) -> Decimal:
        """Return the amount of the transaction."""
        return Decimal(self.amount_minor).scaleb(-self.counter.digits)

    @property
    def order(self) -> tuple[datetime, str]:
        """Return the key by which lists are ordered."""
        return self.at, self.id


SEARCHED = (
    *("ext_id", "invoice", "original_invoice", "reverse_invoice", "rrn", "approval_code", "description", "card"),
    *("cardholder", "terminal", "agent"),
)
# The texts in an export.
EXPORTED = ("agent", "terminal", "invoice", "rrn", "approval_code", "card", "ext_id", "description")


def folded(text: str) -> str:
    """Return the form of a text that a search compares: without case, with composed accents."""
    return normalize("NFC", text).casefold()


def entry_of(transaction: Transaction) -> HistoryEntry:
    """Return the entry of a transaction."""
    at = transaction.counts_at
    carried, card = transaction.particulars, transaction.card
    texts = {
        "ext_id": carried.ext_id,
        "invoice": transaction.invoice,
        "original_invoice": transaction.original.invoice,
        "rrn": transaction.result.rrn,
        "approval_code": transaction.result.approval_code,
        "description": carried.description,
        "card": card.masked if card else None,
        "reverse_invoice": transaction.reversals.latest_invoice,
        "cardholder": card.cardholder if card else None,
        "terminal": transaction.terminal_name,
        "agent": transaction.agent.name,
    }
    exact = {name: text for name in EXPORTED if (text := texts[name]) and text != folded(text)}
    if transaction.date is not None and transaction.date > at:  # the till's clock is fast
        exact["date"] = text_of(transaction.date, transaction.gmt)
    return HistoryEntry(
        id=transaction.id,
        at=to_local(at, transaction.gmt),
        counter=CounterKey(
            agent_id=transaction.agent.id,
            input_type=int(transaction.input_type),
            reverse_mode=int(transaction.original.mode or 0),
            digits=transaction.currency.digits,
            currency=transaction.currency.code,
            acquirer=transaction.acquirer,
        ),
        taken_minor=transaction.amount_minor if transaction.took_money else 0,
        amount_minor=transaction.amount_minor,
        receipts=_receipts_of(transaction),
        client_product_code=carried.client_product_code,
        phase=None if TRANSITIONS[transaction.phase] else transaction.phase,
        original_id=transaction.original.id,
        exact=exact,
        **{name: folded(text) for name, text in texts.items() if text},
    )


def _receipts_of(transaction: Transaction) -> tuple[str, ...]:
    """Return the addresses of its receipts."""
    addresses = transaction.receipt.addresses
    return tuple(map(folded, (*addresses.emails, *addresses.phones))) if addresses else ()


class DayTotal(Record):
    """A counter's transactions on a day, and the money that its payments took, in minor units."""

    counter: CounterKey
    day: date
    count: int
    taken_minor: int


class TimeRange(Record):
    """A range of time in the merchant's zone, without its end, and the number of its transactions."""

    begin: datetime
    end: datetime
    count: int


def ranges_of_page(ranges: Iterable[TimeRange], skip: int, size: int) -> tuple[list[TimeRange], int]:
    """Return the time ranges that hold the `size` transactions after the first `skip`, in the order of the list.

    Also return how many transactions of the first range to skip. This reads no entry.
    """
    held: list[TimeRange] = []
    wanted = size
    for time_range in ranges:
        if not held and skip >= time_range.count:
            skip -= time_range.count
        elif time_range.count:
            held.append(time_range)
            wanted -= time_range.count if len(held) > 1 else time_range.count - skip
        if wanted <= 0:
            break
    return held, skip


def amount_taken(counted: Iterable[DayTotal | HistoryEntry], currency: str | None) -> Decimal:
    """Return AmountCvt: the money that payments took in the merchant's currency. Currencies are never added.

    A merchant without a currency gets the currency of its payments, if they have only one.
    """
    taken = [one for one in counted if one.taken_minor]
    currencies = {one.counter.currency for one in taken}
    own = currency or (currencies.pop() if len(currencies) == 1 else None)
    amounts = (Decimal(one.taken_minor).scaleb(-one.counter.digits) for one in taken if one.counter.currency == own)
    return sum(amounts, Decimal())


def entries_of_page(
    entries: Sequence[HistoryEntry], page: int, *, newest_first: bool, skip: int = 0
) -> list[HistoryEntry]:
    """Return page `page` (from 1) of the entries after the first `skip`."""
    start = skip + (page - 1) * PAGE_SIZE
    return sorted(entries, key=lambda entry: entry.order, reverse=newest_first)[start : start + PAGE_SIZE]


def is_within(period: Period | None, entry: HistoryEntry) -> bool:
    """Return whether the entry's day is in the period. Without a period, every day is."""
    return period is None or entry.at.date() in period


def days_of(day_totals: Iterable[DayTotal], *, newest_first: bool) -> list[TimeRange]:
    """Return the days with transactions, in the order of the list."""
    counts = Counter[date]()
    for day_total in day_totals:
        counts[day_total.day] += day_total.count
    days = sorted(((day, count) for day, count in counts.items() if count), reverse=newest_first)
    return [_range(datetime.combine(day, time.min), timedelta(days=1), count) for day, count in days]


def quarters_of(day: TimeRange, slots: Iterable[Mapping[str, int]], *, newest_first: bool) -> list[TimeRange]:
    """Return the quarters of an hour of a day that have transactions, in the order of the list.

    `slots` have counts by the number of the quarter, 00 to 95. If they count fewer transactions than the day has,
    return the whole day: a range may be too long, never too short.
    """
    counts = Counter[str]()
    for numbers in slots:
        counts.update(numbers)
    if counts.total() < day.count:
        return [day]
    quarters = sorted(counts.items(), reverse=newest_first)
    return [_range(day.begin + int(number) * QUARTER, QUARTER, count) for number, count in quarters]


def _range(begin: datetime, length: timedelta, count: int) -> TimeRange:
    return TimeRange(begin, begin + length, count)


class Page(Record):
    """A page of transactions in the order of the list, with the number and amount of all matches."""

    transactions: list[Transaction]
    total: int
    amount: Decimal


NUMBER = re.compile(r"[0-9]{1,13}(\.[0-9]{1,10})?")  # short enough for exact multiplication
DECIMALS = range(5)  # the numbers of decimals of currencies
PHONE = re.compile(r"[0-9 ()./+-]+")
TRUNK = "(0)"  # in numbers for callers at home and abroad: +27 (0)82 987 6543
MIN_PHONE_DIGITS = 5  # fewer digits occur in almost every number


class SearchText(Record):
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


class HistoryFilter(Record):
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

    @property
    def by_text(self) -> bool:
        """Return whether it filters by a text, so that totals cannot count the matches."""
        texts = (self.search, self.invoice, self.original_invoice, self.rrn, self.client_product_code)
        return any(text is not None for text in texts)

    @property
    def by_kind(self) -> bool:
        """Return whether it excludes some kinds of an agent's transactions."""
        return self.input_type is not None or self.acquirer is not None

    def takes(self, counter: CounterKey) -> bool:
        """Return whether transactions of this counter may match."""
        return (
            self.agent_id in (None, counter.agent_id)
            and self.input_type in (None, counter.input_type)
            and self.acquirer in (None, counter.acquirer)
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
