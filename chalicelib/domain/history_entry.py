"""The entry of a transaction in the history. Pure functions."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from unicodedata import normalize

from chalicelib.domain.business_days import text_of, to_local
from chalicelib.domain.counters import CounterKey
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record


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
    original_agent: int | None = None  # the payment's agent, when another one reverses it
    taxes: tuple[TaxAmount, ...] = ()
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

    def text(self, name: str) -> str:
        """Return a text of the entry with its original case; empty without one."""
        return self.exact.get(name) or getattr(self, name) or ""

    @property
    def amount(self) -> Decimal:
        """Return the amount of the transaction."""
        return Decimal(self.amount_minor).scaleb(-self.counter.digits)


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
        original_agent=transaction.original.agent_id,
        taxes=transaction.tax_amounts,
        exact=_exact(transaction, texts),
        **{name: folded(text) for name, text in texts.items() if text},
    )


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
