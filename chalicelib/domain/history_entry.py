"""The entry of a transaction in the history, and the counters that it adds to.

Counters have a number for each day of a month and for each hour of a day, by agent and kind.
"""

import json
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from operator import attrgetter
from unicodedata import normalize

from chalicelib.domain.business_days import text_of, to_local
from chalicelib.domain.money import from_minor
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.taxes import Tax, TaxAmount
from chalicelib.domain.transaction import Transaction


@dataclass(frozen=True)
class CounterKey:
    """The key of a counter: the transactions of one agent, one kind and one currency."""

    agent_id: int
    input_type: int
    reverse_mode: int  # 0: a payment
    digits: int  # after the decimal point of its amounts
    currency: str
    acquirer: str


@dataclass(frozen=True)
class HistoryEntry:
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
    taxes: tuple[TaxAmount, ...] = ()
    taxed_again_minor: int = 0  # counted in the gross amounts of several taxes
    discounts_minor: int = 0  # off the lines of a payment
    left_minor: int = 0  # of the price of a payment's lines, not paid; only counted
    lines: str | None = None  # what was sold or given back: 2 x Coffee 76.00
    received: datetime | None = None  # in the merchant's zone: when an offline sale was recorded, if it was not at `at`
    exact: Mapping[str, str] = field(default_factory=dict)  # exported texts that case-folding changes

    @property
    def moved_minor(self) -> int:
        """Return the moved money: the amount that a payment took, or minus the amount that a reversal gave back."""
        given_back = self.counter.reverse_mode and self.phase is Phase.REVERSAL_APPROVED
        return -self.amount_minor if given_back else self.taken_minor

    @property
    def moved_taxes(self) -> tuple[TaxAmount, ...]:
        """Return the taxes in the moved money."""
        return self.taxes if self.moved_minor else ()

    @property
    def is_late(self) -> bool:
        """Return whether it is an offline sale that was recorded after its day."""
        return self.received is not None and self.received.date() > self.at.date()

    @property
    def as_received(self) -> "HistoryEntry":
        """Return the entry of a late sale as it stands among those of the day of its recording."""
        if self.received is None:
            return self
        return replace(self, at=self.received, exact={**self.exact, "date": self.at.isoformat(timespec="milliseconds")})

    def text(self, name: str) -> str:
        """Return a text of the entry with its original case; empty without one."""
        return self.exact.get(name) or getattr(self, name) or ""

    @property
    def amount(self) -> Decimal:
        """Return the amount of the transaction."""
        return Decimal(self.amount_minor).scaleb(-self.counter.digits)


MOST_OF_LINES = 250  # characters
ORDER = attrgetter("at", "id")  # the order of lists
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
    texts = _texts(transaction)
    return HistoryEntry(
        id=transaction.id,
        at=to_local(transaction.counts_at, transaction.gmt),
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
        client_product_code=transaction.particulars.client_product_code,
        phase=None if TRANSITIONS[transaction.phase] else transaction.phase,
        original_id=transaction.original.id,
        taxes=transaction.tax_amounts,
        taxed_again_minor=transaction.taxed_again_minor or 0,
        discounts_minor=transaction.discounts_minor or 0,
        left_minor=0 if transaction.is_reversal else transaction.price_minor - transaction.amount_minor,
        lines=_lines(transaction),
        received=transaction.received_at and to_local(transaction.received_at, transaction.gmt),
        exact=_exact(transaction, texts),
        **{name: folded(text) for name, text in texts.items() if text},
    )


def _texts(transaction: Transaction) -> dict[str, str | None]:
    """Return the texts of an entry with their original case."""
    carried, card = transaction.particulars, transaction.card
    return {
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


def _lines(transaction: Transaction) -> str | None:
    """Return the lines in one text for an export, cut when there are many."""
    parts, currency = list[str](), transaction.currency
    for one in transaction.receipt.purchases:
        parts.append(f"{one.quantity.normalize():f} x {one.title} {from_minor(one.sum_in(currency), currency):f}")
        if sum(map(len, parts)) > MOST_OF_LINES:
            break
    text = "; ".join(parts)
    return (text if len(text) <= MOST_OF_LINES else f"{text[:MOST_OF_LINES]}…") or None


def _exact(transaction: Transaction, texts: Mapping[str, str | None]) -> dict[str, str]:
    """Return the exported texts that case-folding changes, and the time of a till whose clock is fast."""
    exact = {name: text for name in EXPORTED if (text := texts[name]) and text != folded(text)}
    if transaction.date is not None and transaction.date > transaction.counts_at:
        exact["date"] = text_of(transaction.date, transaction.gmt)
    return exact


def _receipts_of(transaction: Transaction) -> tuple[str, ...]:
    """Return the addresses of its receipts."""
    addresses = transaction.receipt.addresses
    return tuple(map(folded, (*addresses.emails, *addresses.phones))) if addresses else ()


# The letter of a number's name. A day or hour follows it, then the key of a tax: n05, g05mzxw6ytb. `GIVEN` is of cash.
COUNT, MOVED, MONEY, GROSS, TAX, AGAIN, DISCOUNTS, GIVEN, LEFT = "n", "k", "m", "g", "t", "a", "d", "b", "l"

Counters = Mapping[str, int]


def added_numbers(when: str, entry: HistoryEntry, *, is_new: bool) -> Counters:
    """Return the numbers that a transaction adds to its day or hour.

    A new transaction counts once. If it moved money, it counts once more, with the money and the taxes in it. A counter
    has either payments or reversals, so no number is below zero.
    """
    numbers = {f"{COUNT}{when}": 1} if is_new else {}
    if entry.moved_minor:
        amounts = {
            f"{MONEY}{when}": abs(entry.moved_minor),
            f"{AGAIN}{when}": entry.taxed_again_minor,
            f"{DISCOUNTS}{when}": entry.discounts_minor,
            f"{LEFT}{when}": entry.left_minor,
        }
        for tax in entry.taxes:
            key = tax_key(tax)
            amounts |= {f"{GROSS}{when}{key}": tax.gross_minor, f"{TAX}{when}{key}": tax.tax_minor}
        numbers |= {f"{MOVED}{when}": 1, **{name: minor for name, minor in amounts.items() if minor}}
    return numbers


def tax_key(tax: Tax | TaxAmount) -> str:
    """Return the key of a tax in the names of numbers: eight characters from its code, name and rate."""
    text = json.dumps([tax.code, tax.name, f"{tax.rate.normalize():f}"])
    return b32encode(sha256(text.encode()).digest()[:5]).decode().lower()
