"""A receipt as plain text, as a receipt printer would print it."""

import textwrap

from chalicelib.receipts.receipt import Fact, Receipt

WIDTH = 40  # characters a receipt printer prints on a line


def as_text(receipt: Receipt) -> str:
    """Return the receipt as plain text, no line wider than a receipt printer's."""
    heading = [receipt.merchant.upper(), *receipt.letterhead]
    rule = "-" * WIDTH
    blocks = [
        [line.center(WIDTH).rstrip() for text in heading for line in textwrap.wrap(text, WIDTH)],
        ["", receipt.title.center(WIDTH).rstrip(), ""],
        _lines(receipt.facts),
        [rule] if receipt.lines else [],
        [
            text
            for line in receipt.lines
            for text in [*textwrap.wrap(line.title, WIDTH), *_pair(line.detail, line.amount), *_indented(line.taxes)]
        ],
        [rule, *_lines(receipt.totals), rule, *_lines(receipt.payment), ""],
        [line.center(WIDTH).rstrip() for note in receipt.notes for line in textwrap.wrap(note, WIDTH)],
    ]
    return "\n".join(line for block in blocks for line in block) + "\n"


def _lines(facts: tuple[Fact, ...]) -> list[str]:
    return [line for label, value in facts for line in _pair(label, value)]


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _pair(label: str, value: str) -> list[str]:
    """Return a label at the left edge and its value at the right one, on lines of its own where it is too long."""
    if len(label) + 1 + len(value) <= WIDTH:
        return [label + value.rjust(WIDTH - len(label))]
    return [label, *(line.rjust(WIDTH) for line in textwrap.wrap(value, WIDTH))]
