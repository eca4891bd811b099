"""The size of answers: every stored transaction and event can be answered, also a hundred of them on a page.

An answer of Lambda has at most 6 MB. It is a JSON text in a JSON text, so quotes and backslashes count again.
"""

from json import dumps

from chalicelib.domain.transaction import Particulars, Transaction
from chalicelib.errors import Check, Finding, invalid

MOST_SHOWN = 40_000  # bytes of a transaction in an answer, so that a page of a hundred has 4 MB
FRAME = 10_000  # of these, at most: amounts, times, names, addresses of the receipt, two signed addresses
MOST_TEXTS = MOST_SHOWN - FRAME
TAX_NAMES = 5_000  # of these, at most: the names of twenty taxes
LONGEST = 6  # bytes of a character, as in \u0001
OF_LAMBDA = 2 / 3  # Lambda takes 60 KB of each transaction of a page


def bytes_in_answer(text: str) -> int:
    """Return the size of a text in an answer of Lambda: a JSON text in a JSON text, the outer one in ASCII."""
    return len(dumps(dumps(text, ensure_ascii=False)))


def check_size(transaction: Transaction, original: Transaction | None = None) -> None:
    """Raise 202 when texts that are legal one by one are together too long for an answer.

    `original` is the payment of a reversal. A reversal that inherits all its texts is never refused.
    """
    if _fits(transaction):
        return
    own = {"description": (transaction.particulars.description or "") * 3}
    if original is None:
        own["ext_tran_data"] = transaction.particulars.ext_tran_data or ""
    longest = max(own, key=lambda name: _size_of(own[name]))
    message = "The texts are too long together, with the characters that JSON escapes."
    raise invalid(Finding(longest, Check.TOO_LONG, message))


def longest_text(carried: Particulars, invoice: str | None) -> str | None:
    """Return the name of the text to leave out of a payment whose texts are too long together; None if they fit."""
    texts = _texts_of(carried, invoice or "")
    if sum(map(_size_of, texts)) <= MOST_TEXTS - TAX_NAMES:
        return None
    own = {"description": (carried.description or "") * 3, "ext_tran_data": carried.ext_tran_data or ""}
    return max(own, key=lambda name: _size_of(own[name]))


def shortened(text: str | None, most: int) -> str | None:
    """Return a text cut to at most so many bytes in an answer."""
    while text and (size := _size_of(text)) > most:
        text = text[: min(len(text) - 1, len(text) * most // size)]
    return text


def _fits(transaction: Transaction) -> bool:
    """Return whether the long texts fit. Nearly always their number of characters tells it."""
    texts = _texts(transaction)
    return sum(map(len, texts)) * LONGEST <= MOST_TEXTS or sum(map(_size_of, texts)) <= MOST_TEXTS


def _size_of(text: str) -> int:
    return size_of_json(dumps(text, ensure_ascii=False))


def size_of_json(written: str) -> int:
    """Return the size of a JSON text in an answer: its bytes, or its part of an answer of Lambda if that is more."""
    return max(len(written.encode()), round(len(dumps(written, ensure_ascii=False).encode()) * OF_LAMBDA))


def _texts(transaction: Transaction) -> list[str]:
    """Return the long texts of a transaction, as often as an answer shows them. A reversal inherits its payment's."""
    texts = _texts_of(transaction.particulars, transaction.invoice)
    more = (transaction.original.invoice, *(tax.name for tax in transaction.tax_amounts))
    return [*texts, *(text for text in more if text)]  # a reversal shows its payment's invoice once more


def _texts_of(carried: Particulars, invoice: str) -> list[str]:
    shown = (
        *([carried.description] * 3),
        *(carried.ext_tran_data, carried.ext_id, carried.client_product_code, str(carried.offline_queue_id or "")),
        *(invoice, invoice),
    )
    return [text for text in shown if text]
