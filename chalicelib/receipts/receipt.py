"""A receipt: its content, decided once, which text, HTML and SMS then set.

Of a card it shows the brand and the last four digits: card schemes want no more on a cardholder's copy.
"""

from decimal import Decimal, localcontext

from chalicelib.domain import money
from chalicelib.domain.local_time import to_local
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.outbox import one_line
from chalicelib.domain.purchase import PRECISION, total_of
from chalicelib.domain.reversibility import CANCELS
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import KINDS, MONEY_TAKEN, EmvData, Phase, Transaction
from chalicelib.record import Record

WITH_RECEIPT = MONEY_TAKEN | {Phase.REVERSAL_APPROVED}  # money moved
Fact = tuple[str, str]


class Line(Record):
    """One purchase: what, how many at which price, and what they come to."""

    title: str
    detail: str
    amount: str


class Receipt(Record):
    """The content of a receipt, in its order; no character in it can break a line or a header."""

    title: str
    merchant: str
    letterhead: tuple[str, ...]
    facts: tuple[Fact, ...]
    lines: tuple[Line, ...]
    totals: tuple[Fact, ...]  # the first of them is the one people look for
    payment: tuple[Fact, ...]
    notes: tuple[str, ...]

    @property
    def subject(self) -> str:
        """Return the subject of the e-mail."""
        return f"{self.title.capitalize()} from {self.merchant}: {self.totals[0][1]}"


def has_receipt(transaction: Transaction) -> bool:
    """Return whether money moved; a transaction that was declined or is pending has no receipt."""
    return transaction.phase in WITH_RECEIPT


def receipt_of(transaction: Transaction, merchant: Merchant, terminal: Terminal) -> Receipt:
    """Return the receipt of a transaction, with times in the merchant's zone."""
    with localcontext(prec=PRECISION):
        return _receipt(transaction, merchant, terminal)


def _receipt(transaction: Transaction, merchant: Merchant, terminal: Terminal) -> Receipt:
    title = title_of(transaction)
    amount = money.text(transaction.amount_minor, transaction.currency)
    name = one_line(merchant.name)
    letterhead = (merchant.address_de_jure or merchant.address_de_facto, merchant.phone)
    tax = (f"Tax no. {merchant.tax_id}",) if merchant.tax_id else ()
    notes = (
        transaction.particulars.description,
        "AUTHORIZED, NOT YET COMPLETED" if transaction.phase is Phase.AWAITING_COMPLETION else None,
        "Please keep this receipt.",
    )
    return Receipt(
        title=title,
        merchant=name,
        letterhead=tuple(map(one_line, (*letterhead, *tax))),
        facts=_present(_facts(transaction, terminal)),
        lines=_lines(transaction),
        totals=_present(_totals(transaction, amount)),
        payment=_present(_payment(transaction)),
        notes=tuple(one_line(note) for note in notes if note),
    )


def title_of(transaction: Transaction) -> str:
    """Return RECEIPT, CANCEL or RETURN."""
    if not transaction.is_reversal:
        return "RECEIPT"
    return "CANCEL" if transaction.reverse_mode in CANCELS else "RETURN"


def _present(facts: list[tuple[str, str | None]]) -> tuple[Fact, ...]:
    return tuple((label, one_line(value)) for label, value in facts if value)


def _facts(transaction: Transaction, terminal: Terminal) -> list[tuple[str, str | None]]:
    return [
        ("Receipt no.", transaction.invoice),
        ("Original receipt no.", transaction.original_invoice),
        ("Date", time_of(transaction)),
        ("Terminal (TID)", transaction.terminal_name),
        ("Merchant (MID)", terminal.back_retailer_id),
        ("Served by", transaction.agent.name),
    ]


def time_of(transaction: Transaction) -> str:
    """Return when it was made, in the merchant's zone: 2026-03-14 11:26 (UTC+2)."""
    at = to_local(transaction.date or transaction.created_at, transaction.gmt)
    return f"{at:%Y-%m-%d %H:%M} (UTC{transaction.gmt:+d})"


def _totals(transaction: Transaction, amount: str) -> list[tuple[str, str | None]]:
    label = {"RECEIPT": "PAID", "CANCEL": "CANCELLED", "RETURN": "RETURNED"}[title_of(transaction)]
    goods = total_of(transaction.purchases)
    differs = goods and goods != money.from_minor(transaction.amount_minor, transaction.currency)
    got = None if transaction.is_reversal else transaction.amount_cash_got_minor
    return [
        (f"{label} {transaction.currency.code}", amount),
        ("Purchases come to", _exact(goods, transaction) if differs else None),
        ("Cash received", None if got is None else money.text(got, transaction.currency)),
        ("Change", None if got is None else money.text(got - transaction.amount_minor, transaction.currency)),
    ]


def _payment(transaction: Transaction) -> list[tuple[str, str | None]]:
    card, emv = transaction.card, transaction.emv or EmvData()
    return [
        ("Returned by" if transaction.is_reversal else "Paid by", KINDS[transaction.input_type].name),
        (card.brand if card else "", f"************{card.last4}" if card and card.last4 else None),
        ("Approval code", transaction.approval_code),
        ("RRN", transaction.rrn),
        ("Application", emv.apn),
        ("AID", emv.aid),
        ("TVR", emv.tvr),
        ("TSI", emv.tsi),
        ("Transaction", transaction.id),
    ]


def _lines(transaction: Transaction) -> tuple[Line, ...]:
    return tuple(
        Line(
            one_line(line.title),
            f"  {line.quantity.normalize():f} x {_exact(line.price, transaction)}",
            _exact(line.total, transaction),
        )
        for line in transaction.purchases
    )


def _exact(amount: Decimal, transaction: Transaction) -> str:
    """Return an amount that was not rounded: with the decimals of the currency, or more where it has more."""
    cut = amount.quantize(Decimal(1).scaleb(-transaction.currency.digits))
    return f"{cut if cut == amount else amount.normalize():,f}"
