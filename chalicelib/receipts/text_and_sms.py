"""A receipt as plain text for a receipt printer, and as an SMS."""

from chalicelib.domain import money
from chalicelib.domain.printed_text import beginning, one_line, width_of, without_last
from chalicelib.domain.transaction import Transaction
from chalicelib.receipts.content import Fact, Receipt, Words, kind_of, number, taxes_in, time_of, words_of

WIDTH = 40  # columns of a receipt printer


def as_text(receipt: Receipt) -> str:
    """Return the receipt as plain text, with lines of at most `WIDTH` columns."""
    heading = [receipt.merchant, *receipt.letterhead]
    rule = "-" * WIDTH
    blocks = [
        [_centred(line) for text in heading for line in _wrapped(text)],
        ["", *(_centred(line) for line in (receipt.title, receipt.copy) if line), ""],
        _lines(receipt.facts),
        [rule] if receipt.lines else [],
        [
            text
            for line in receipt.lines
            for text in [
                *_wrapped(line.title),
                *_pair(line.detail, line.amount, indent="  "),
                *(_pair(*line.discount, indent="  ") if line.discount else ()),
                *_wrapped(line.taxes, indent="  "),
            ]
        ],
        [rule, *_lines(receipt.totals)],
        [line for label, amounts in receipt.taxes for line in _sentence(label, amounts)],
        [rule, *_lines(receipt.payment), ""],
        [_centred(line) for note in receipt.notes for line in _wrapped(note)],
    ]
    return "\n".join(line for block in blocks for line in block) + "\n"


def _lines(facts: tuple[Fact, ...]) -> list[str]:
    return [line for label, value in facts for line in _pair(label, value)]


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Return a text in lines of at most `WIDTH` columns, without breaking a word that fits on a line."""
    lines, room = [""], WIDTH - len(indent)
    for word in text.strip().split(" "):
        if lines[-1] and width_of(lines[-1]) + 1 + width_of(word) <= room:
            lines[-1] += f" {word}"
            continue
        rest = word
        while width_of(rest) > room:
            lines.append(beginning(rest, room))
            rest = rest[len(lines[-1]) :]
        lines.append(rest)
    return [indent + line.rstrip() for line in lines if line.strip()]


def _centred(text: str) -> str:
    return " " * ((WIDTH - width_of(text)) // 2) + text


def _on_the_right(text: str, width: int) -> str:
    return " " * (width - width_of(text)) + text


def _pair(label: str, value: str, indent: str = "") -> list[str]:
    """Return a label on the left and its value on the right, on separate lines if they are too long for one."""
    left = indent + label
    if width_of(left) + 1 + width_of(value) <= WIDTH:
        return [left + _on_the_right(value, WIDTH - width_of(left))]
    return [*_wrapped(label, indent), *(_on_the_right(line, WIDTH) for line in _wrapped(value))]


def _sentence(label: str, value: str) -> list[str]:
    """Return a label and its value next to each other, on separate lines if they are too long for one."""
    whole = f"{label} {value}"
    return [whole] if width_of(whole) <= WIDTH else _pair(label, value)


# 3GPP TS 23.038: one message holds 160 of these letters, and some count twice. A text with any other letter is sent as
# up to two messages of 67 letters, which a telephone joins.
TWICE = frozenset("^{}\\[~]|€")
PLAIN = TWICE.union(
    "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
PLAIN_LENGTH, OTHER_LENGTH = 160, 2 * 67
SHORTEST_NAME = 10  # the merchant's name keeps at least so many letters


def as_sms(transaction: Transaction, *, stage: str | None = None, is_copy: bool = False) -> str:
    """Return the receipt in one SMS, or two if its letters require it. The merchant's name is shortened first.

    A merchant chooses its own name, also the name of somebody's bank. So a message begins with the `stage` that sends.
    """
    words = words_of(transaction.receipt.language)
    last4 = transaction.card.last4 if transaction.card else None
    facts = words["sms"].format(
        done=words[f"{kind_of(transaction)}_done"],
        amount=_amount(transaction.amount_minor, transaction, words),
        means=words["card"].format(last4=last4) if last4 else words[f"kind_{transaction.input_type:d}"].lower(),
        time=time_of(transaction, words),
        number=one_line(transaction.invoice),
    )
    heading = "".join(f"{word}: " for word in (stage, words["copy"] if is_copy else None) if word)
    name = one_line(transaction.merchant.name)
    while not _fits(heading + name + facts):
        if len(name) > SHORTEST_NAME:
            name = without_last(name)
        else:
            facts = without_last(facts)
    return _with_taxes(heading + name + facts, transaction, words)


def _with_taxes(text: str, transaction: Transaction, words: Words) -> str:
    """Return a message with its taxes and the tax number, as many as fit into no further message."""

    def amount(minor: int) -> str:
        return _amount(minor, transaction, words)

    taxes = [" ".join(tax) for tax in taxes_in(transaction, words, amount)]
    tax_id = words["tax_id"].format(number=one_line(transaction.merchant.tax_number or ""))
    for fact in (*taxes, tax_id) if taxes else ():
        longer = f"{text}, {fact}"
        if not _fits(longer) or PLAIN.issuperset(longer) != PLAIN.issuperset(text):
            break
        text = longer
    return text


def _amount(amount_minor: int, transaction: Transaction, words: Words) -> str:
    """Return an amount with the code of its currency, because a sign could halve the room in the message."""
    currency = transaction.currency
    return f"{currency.code} {number(money.from_minor(amount_minor, currency), words, grouped=False)}"


def _fits(text: str) -> bool:
    """Return whether the text fits into one message, or into two if it has other letters."""
    if PLAIN.issuperset(text):
        return len(text) + sum(letter in TWICE for letter in text) <= PLAIN_LENGTH
    return len(text.encode("utf-16-be")) // 2 <= OTHER_LENGTH
