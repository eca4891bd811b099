"""A receipt as one short message."""

from chalicelib.domain import money
from chalicelib.domain.outbox import one_line
from chalicelib.domain.transaction import KINDS, Transaction
from chalicelib.receipts.receipt import time_of, title_of

SMS_LENGTH = 160  # one message of the network


def as_sms(transaction: Transaction, merchant: str) -> str:
    """Return the receipt in one SMS: the currency by its code, because a sign would halve what a message holds."""
    merchant = one_line(merchant)
    currency = transaction.currency
    verb = {"RECEIPT": "paid", "CANCEL": "cancelled", "RETURN": "returned"}[title_of(transaction)]
    amount = f"{currency.code} {money.from_minor(transaction.amount_minor, currency):f}"
    last4 = transaction.card.last4 if transaction.card else None
    means = f"card ..{last4}" if last4 else KINDS[transaction.input_type].name.lower()
    facts = f": {verb} {amount}, {means}, {time_of(transaction)}, receipt {one_line(transaction.invoice)}"
    return merchant[: max(SMS_LENGTH - len(facts), 10)] + facts[: SMS_LENGTH - 10]
