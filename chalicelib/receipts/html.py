"""A receipt as a page of its own: no script, nothing fetched, styles inline because mail programs drop the others."""

from html import escape

from chalicelib.receipts.receipt import Fact, Receipt

PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title></head>'
    '<body style="margin:0;padding:12px;background:#f2f3f5;color:#1a1c1f;'
    'font:16px/1.45 -apple-system,Roboto,Helvetica,Arial,sans-serif">'
    '<table role="presentation" align="center" cellpadding="0" cellspacing="0" style="width:100%;max-width:420px;'
    'margin:0 auto;background:#fff;border-radius:8px;border-collapse:separate;padding:20px">{rows}</table>'
    "</body></html>"
)
WHOLE = '<tr><td colspan="2" style="{style}">{text}</td></tr>'
PAIR = (
    '<tr><td style="padding:3px 12px 3px 0;vertical-align:top;color:#5a6068;{style}">{label}</td>'
    '<td style="padding:3px 0;vertical-align:top;text-align:right;word-break:break-word;{style}">{value}</td></tr>'
)
RULE = '<tr><td colspan="2" style="padding:8px 0"><div style="border-top:1px dashed #b6bbc2"></div></td></tr>'
CENTRE = "text-align:center;"
FAINT = f"{CENTRE}font-size:14px;color:#5a6068;"
LARGE = "font-size:20px;font-weight:700;color:#1a1c1f;"
FINE = "font-size:14px;"


def as_html(receipt: Receipt) -> str:
    """Return the receipt as HTML; every text in it is escaped."""
    (label, value), *totals = receipt.totals
    rows = [
        _whole(receipt.merchant, f"{CENTRE}font-size:20px;font-weight:700"),
        *(_whole(line, FAINT) for line in receipt.letterhead),
        _whole(receipt.title, f"{CENTRE}padding:14px 0 10px;font-weight:700;letter-spacing:2px"),
        *_pairs(receipt.facts, FINE),
        RULE if receipt.lines else "",
        *(_whole(line.title, "padding-top:3px") + _pair((line.detail, line.amount), FINE) for line in receipt.lines),
        RULE,
        _pair((label, value), LARGE),
        *_pairs(tuple(totals)),
        RULE,
        *_pairs(receipt.payment, FINE),
        *(_whole(note, f"{FAINT}padding-top:14px") for note in receipt.notes),
    ]
    return PAGE.format(title=escape(f"{receipt.title.capitalize()}: {receipt.merchant}"), rows="".join(rows))


def _whole(text: str, style: str) -> str:
    return WHOLE.format(text=escape(text), style=style)


def _pairs(facts: tuple[Fact, ...], style: str = "") -> list[str]:
    return [_pair(fact, style) for fact in facts]


def _pair(fact: Fact, style: str) -> str:
    label, value = fact
    return PAIR.format(label=escape(label), value=escape(value), style=style)
