"""A receipt as one short message."""

from chalicelib.domain import money
from chalicelib.domain.outbox import one_line
from chalicelib.domain.transaction import Transaction
from chalicelib.receipts.receipt import kind_of, time_of
from chalicelib.receipts.words import number, words_of

# 3GPP TS 23.038: the letters of which 160 make one message, some of which count twice. With any other letter in it the
# text goes as two messages of 67, which a telephone joins.
TWICE = frozenset("^{}\\[~]|€")
PLAIN = TWICE.union(
    "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
PLAIN_LENGTH, OTHER_LENGTH = 160, 2 * 67
SHORTEST_NAME = 10  # letters of the merchant's name that stay, whatever is long


def as_sms(transaction: Transaction) -> str:
    """Return the receipt in one SMS, or two where letters need it: its merchant is shortened first, then its end.

    The currency stands by its code, because a sign would halve what a message holds.
    """
    words, currency = words_of(transaction.receipt.language), transaction.currency
    last4 = transaction.card.last4 if transaction.card else None
    facts = words["sms"].format(
        done=words[f"{kind_of(transaction)}_done"],
        amount=f"{currency.code} {number(money.from_minor(transaction.amount_minor, currency), words, grouped=False)}",
        means=words["card"].format(last4=last4) if last4 else words[f"kind_{transaction.input_type:d}"].lower(),
        time=time_of(transaction, words),
        number=one_line(transaction.invoice),
    )
    name = one_line(transaction.merchant.name)
    while not _fits(name + facts):
        if len(name) > SHORTEST_NAME:
            name = name[:-1]
        else:
            facts = facts[:-1]
    return name + facts


def _fits(text: str) -> bool:
    """Return whether a message holds the text, or two where it is not of plain letters."""
    if PLAIN.issuperset(text):
        return len(text) + sum(letter in TWICE for letter in text) <= PLAIN_LENGTH
    return len(text.encode("utf-16-be")) // 2 <= OTHER_LENGTH
