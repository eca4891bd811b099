"""Books: takings as entries for a bookkeeper, one for each day, currency and tender. Pure functions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from chalicelib.domain.kinds import OWN_ACQUIRERS
from chalicelib.domain.takings import Moved
from chalicelib.errors import ErrorCode, ServiceError

MOST_ENTRIES = 20_000
SALES, RETURNS, CLEARING, TAX = "sales", "returns", "clearing", "tax"


@dataclass(frozen=True)
class Posting:
    """An amount in an account of an entry: a debit above zero, a credit below. The text gives the reason."""

    account: str
    amount: Decimal
    text: str


@dataclass(frozen=True)
class BookEntry:
    """The money that a tender (an acquirer's code) took and gave back on a day, in one currency."""

    day: date
    currency: str
    tender: str
    payments: int  # those that took money
    taken: Decimal
    reversals: int  # those that gave money back
    given_back: Decimal
    tax_taken: Decimal = Decimal()  # the part of the taken money that is tax, when entries split it off
    tax_given_back: Decimal = Decimal()

    @property
    def code(self) -> str:
        """Return the code of the entry, which never changes: 2026-03-14-ZAR-CASH."""
        return f"{self.day}-{self.currency}-{self.tender}"

    @property
    def postings(self) -> Sequence[Posting]:
        """Return the postings, which sum to zero. The taken and the returned money are never netted."""
        kind = OWN_ACQUIRERS.get(self.tender)
        tender = (kind and kind.account) or CLEARING
        taken, tax = self.taken, self.tax_taken
        given_back, tax_back = self.given_back, self.tax_given_back
        pairs = (
            ("payment", self.payments, ((tender, taken), (SALES, tax - taken), (TAX, -tax))),
            ("reversal", self.reversals, ((RETURNS, given_back - tax_back), (TAX, tax_back), (tender, -given_back))),
        )
        return [
            Posting(account, amount, f"{count} {word}" if count == 1 else f"{count} {word}s")
            for word, count, amounts in pairs
            for account, amount in amounts
            if amount
        ]


def entries_of(moved: Iterable[Moved], *, splits_tax: bool = False) -> list[BookEntry]:
    """Return one entry for each day, currency and tender with moved money, in this order.

    With `splits_tax`, the tax in the money has postings of its own. Raise PERIOD_TOO_LONG for more than `MOST_ENTRIES`.
    """
    counts = Counter[tuple[date, str, str, bool]]()
    money = defaultdict[tuple[date, str, str, bool], Decimal](Decimal)
    tax = defaultdict[tuple[date, str, str, bool], Decimal](Decimal)
    entries: set[tuple[date, str, str]] = set()
    for one in moved:
        if one.amount_minor == 0:
            continue
        counter = one.counter
        key = one.day, counter.currency, counter.acquirer
        is_reversal = counter.reverse_mode != 0
        counts[*key, is_reversal] += one.number
        money[*key, is_reversal] += Decimal(one.amount_minor).scaleb(-counter.digits)
        if splits_tax:
            tax[*key, is_reversal] += Decimal(sum(part.tax_minor for part in one.taxes)).scaleb(-counter.digits)
        entries.add(key)
        if len(entries) > MOST_ENTRIES:
            raise too_many(MOST_ENTRIES, "entries")
    return [
        BookEntry(
            *(*key, counts[*key, False], money[*key, False], counts[*key, True], money[*key, True]),
            tax_taken=tax[*key, False],
            tax_given_back=tax[*key, True],
        )
        for key in sorted(entries)
    ]


def too_many(number: int, unit: str) -> ServiceError:
    """Return the refusal of a journal with more entries or lines than its format takes."""
    return ServiceError(ErrorCode.PERIOD_TOO_LONG, f"A journal has at most {number} {unit}: narrow the period.")
