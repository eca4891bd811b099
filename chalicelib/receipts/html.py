"""A receipt as a complete HTML page, without script. It loads only its logo; styles are inline for mail programs.

The first letter of each text decides its reading direction. A label and its value share a line in their own table, so
that other lines do not narrow them. A value that does not fit stands below its label.
"""

from html import escape

from chalicelib.domain.printed_text import width_of
from chalicelib.receipts.content import Fact, Line, Receipt

SCREEN = (
    "margin:0;padding:12px;background:#f2f3f5;color:#1a1c1f;"
    "font:16px/1.45 -apple-system,Roboto,Helvetica,Arial,sans-serif"
)
PAPER = (
    "width:100%;max-width:420px;margin:0 auto;background:#fff;border-radius:8px;border-collapse:separate;padding:16px"
)
LOGO_ROW = "text-align:center;padding-bottom:8px"
LOGO = "max-width:200px;max-height:80px"
NAME = "text-align:center;font-size:20px;font-weight:700;overflow-wrap:anywhere"
FAINT = "text-align:center;font-size:14px;color:#5a6068;overflow-wrap:anywhere"
NOTE = f"{FAINT};padding-top:14px"
TITLE = "text-align:center;padding:14px 0 10px;font-weight:700;letter-spacing:2px"
BOUGHT = "padding-top:3px;overflow-wrap:anywhere"
TAXES = "padding-top:3px;font-size:14px;color:#5a6068;overflow-wrap:anywhere"
RULE_ROW, RULE_LINE = "padding:8px 0", "border-top:1px dashed #b6bbc2"
ROW = "width:100%;border-collapse:collapse"
LABEL = "padding:3px 12px 3px 0;vertical-align:top;color:#5a6068;white-space:nowrap"
VALUE = "padding:3px 0;vertical-align:top;text-align:right;overflow-wrap:anywhere"
ABOVE = "padding:3px 0;color:#5a6068;overflow-wrap:anywhere"
BELOW = "padding:0 0 3px;text-align:right;overflow-wrap:anywhere"
SIZES = ("font-size:12px", "font-size:14px", "font-size:16px", "font-size:20px;font-weight:700;color:#1a1c1f")
SMALL, FINE, PLAIN, LARGE = SIZES
ROOM = {FINE: 38, PLAIN: 32, LARGE: 24}  # letters for a label and its value on one line of the narrowest telephone

# Every style of a receipt. A page that shows one can allow exactly these by their hashes.
STYLES = frozenset((
    *(SCREEN, PAPER, LOGO_ROW, LOGO, NAME, FAINT, NOTE, TITLE, BOUGHT, TAXES, RULE_ROW, RULE_LINE, ROW),
    *(f"{place};{size}" for place in (LABEL, VALUE, ABOVE, BELOW) for size in SIZES),
))  # fmt: skip
PAGE = (
    '<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title></head>'
    f'<body style="{SCREEN}"><table role="presentation" align="center" cellpadding="0" cellspacing="0" style="{PAPER}">'
    "{rows}</table></body></html>"
)
RULE = f'<tr><td style="{RULE_ROW}"><div style="{RULE_LINE}"></div></td></tr>'
PAIR = f'<tr><td><table role="presentation" cellpadding="0" cellspacing="0" style="{ROW}">{{rows}}</table></td></tr>'


def as_html(receipt: Receipt, logo: str | None = None) -> str:
    """Return the receipt as HTML with escaped texts. `logo` is the address of the merchant's picture."""
    total, *totals = receipt.totals
    rows = [
        f'<tr><td style="{LOGO_ROW}"><img src="{escape(logo)}" alt="" style="{LOGO}"></td></tr>' if logo else "",
        _whole(receipt.merchant, NAME),
        *(_whole(line, FAINT) for line in receipt.letterhead),
        *(_whole(line, TITLE) for line in (receipt.title, receipt.copy) if line),
        *(_pair(fact, FINE) for fact in receipt.facts),
        RULE if receipt.lines else "",
        *(_line(line) for line in receipt.lines),
        RULE,
        _pair(total, LARGE),
        *(_pair(fact, PLAIN) for fact in totals),
        *(_whole(" ".join(tax), TAXES) for tax in receipt.taxes),
        RULE,
        *(_pair(fact, FINE) for fact in receipt.payment),
        *(_whole(note, NOTE) for note in receipt.notes),
    ]
    return PAGE.format(language=receipt.language, title=escape(receipt.subject), rows="".join(rows))


def _whole(text: str, style: str) -> str:
    return f"<tr>{_cell(text, style)}</tr>"


def _line(line: Line) -> str:
    taxes = _whole(line.taxes, TAXES) if line.taxes else ""
    discount = _pair(line.discount, FINE) if line.discount else ""
    return _whole(line.title, BOUGHT) + _pair((line.detail, line.amount), FINE) + discount + taxes


def _pair(fact: Fact, size: str) -> str:
    label, value = fact
    if width_of(label) + width_of(value) <= ROOM[size]:
        return PAIR.format(rows=f"<tr>{_cell(label, f'{LABEL};{size}')}{_cell(value, f'{VALUE};{size}')}</tr>")
    smaller = SMALL if size == FINE else size  # so that a transaction's ID fits on a line
    return PAIR.format(rows=_whole(label, f"{ABOVE};{size}") + _whole(value, f"{BELOW};{smaller}"))


def _cell(text: str, style: str) -> str:
    return f'<td dir="auto" style="{style}">{escape(text)}</td>'
