"""Books: takings as entries for a bookkeeper, one for each day, currency and tender. Pure functions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

from chalicelib.domain.takings import Moved
from chalicelib.domain.transaction import KINDS, InputType
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record

MOST_ENTRIES = 20_000
SALES, RETURNS, CLEARING = "sales", "returns", "clearing"
ACCOUNT_OF = {
    KINDS[InputType.CASH].acquirer: "cash",
    KINDS[InputType.POSTPAID].acquirer: "receivable",
    KINDS[InputType.PREPAYMENT].acquirer: "prepaid",
}


class Posting(Record):
    """An amount in an account of an entry: a debit above zero, a credit below. The text gives the reason."""

    account: str
    amount: Decimal
    text: str


class BookEntry(Record):
    """The money that a tender (an acquirer's code) took and gave back on a day, in one currency."""

    day: date
    currency: str
    tender: str
    payments: int  # those that took money
    taken: Decimal
    reversals: int  # those that gave money back
    given_back: Decimal

    @property
    def code(self) -> str:
        """Return the code of the entry, which never changes: 2026-03-14-ZAR-CASH."""
        return f"{self.day}-{self.currency}-{self.tender}"

    @property
    def postings(self) -> Sequence[Posting]:
        """Return the postings, which sum to zero. The taken and the returned money are never netted."""
        tender = ACCOUNT_OF.get(self.tender, CLEARING)
        pairs = (
            ("payment", self.payments, self.taken, tender, SALES),
            ("reversal", self.reversals, self.given_back, RETURNS, tender),
        )
        return [
            Posting(account, amount, f"{count} {word}" if count == 1 else f"{count} {word}s")
            for word, count, moved, debit, credit in pairs
            if moved
            for account, amount in ((debit, moved), (credit, -moved))
        ]


def entries_of(moved: Iterable[Moved]) -> list[BookEntry]:
    """Return one entry for each day, currency and tender with moved money, in this order.

    Raise PERIOD_TOO_LONG for more than `MOST_ENTRIES`.
    """
    counts = Counter[tuple[date, str, str, bool]]()
    money = defaultdict[tuple[date, str, str, bool], Decimal](Decimal)
    entries: set[tuple[date, str, str]] = set()
    for one in moved:
        if one.amount_minor == 0:
            continue
        counter = one.counter
        key = one.day, counter.currency, counter.acquirer
        is_reversal = counter.reverse_mode != 0
        counts[*key, is_reversal] += one.number
        money[*key, is_reversal] += Decimal(one.amount_minor).scaleb(-counter.digits)
        entries.add(key)
        if len(entries) > MOST_ENTRIES:
            raise too_many(MOST_ENTRIES, "entries")
    return [
        BookEntry(*key, counts[*key, False], money[*key, False], counts[*key, True], money[*key, True])
        for key in sorted(entries)
    ]


def too_many(number: int, unit: str) -> ServiceError:
    """Return the refusal of a journal with more entries or lines than its format takes."""
    return ServiceError(ErrorCode.PERIOD_TOO_LONG, f"A journal has at most {number} {unit}: narrow the period.")
