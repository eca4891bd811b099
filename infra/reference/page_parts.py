"""Parts of the page: the first steps, authentication, the errors, and code to paste."""

import re
from html import escape
from typing import Any

from chalicelib.errors import ErrorCode
from infra.local import URL
from infra.reference import HERE, read_json, to_json
from infra.reference.examples import Example, documented_values, examples, fill_placeholders

ORIGIN = f'<span class="origin">{URL}</span>'


def json_block(value: Any) -> str:
    """Return JSON as a block of code."""
    return f"<pre>{escape(to_json(value).rstrip())}</pre>"


def curl_block(example: Example) -> str:
    """Return the request as a command of curl."""
    method, path = example.request_line(documented_values())
    lines = [f"curl '{ORIGIN}{escape(path)}'"]
    if example.login:
        login, secret = fill_placeholders(read_json("examples.json")["logins"][example.login], documented_values())
        lines.append(f"-u '{escape(login)}:{escape(secret)}'")
    if example.body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d '{escape(to_json(example.shown).rstrip(), quote=False)}'"]
    elif method == "POST":
        lines.append("-X POST")
    return "<pre>" + " \\\n  ".join(lines) + "</pre>"


def render_first_steps() -> str:
    """Return the steps that take a card payment and give half of it back."""
    by_name = {one.name: one for one in examples()}
    paid, back, seen = by_name["card"], by_name["card_half_back"], by_name["by_id"]
    card = ("ID", "State", "Substate", "Status", "Amount", "AmountEff", "Card", "CanReturnCNPpartial", "Result")
    return _read_template("start.html").format(
        pay=curl_block(paid),
        paid=_excerpt(paid, "Transaction", card),
        give_back=curl_block(back),
        given_back=_excerpt(
            back, "Transaction", ("ID", "State", "Substate", "Status", "Amount", "ReverseMode", "Result")
        ),
        look=curl_block(seen),
        seen=_excerpt(seen, "Transactions", ("ID", "Amount", "AmountRvs", "AmountEff", "CountRvs", "CanReturnCNP")),
    )


def _read_template(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _excerpt(example: Example, name: str, fields: tuple[str, ...]) -> str:
    """Return these fields of the transaction in the answer of the example."""
    answer = example.answer or {}
    whole = answer.get(name) or {}
    one = whole[0] if isinstance(whole, list) else whole
    shown = {field: one.get(field) for field in fields}
    return json_block({"ErrorCode": answer.get("ErrorCode"), name: [shown] if isinstance(whole, list) else shown})


def render_authentication(document: dict[str, Any]) -> str:
    """Return the table of the three schemes."""
    rows = "".join(
        f"<tr><td><code>Authorization: {name} …</code><td>{escape(scheme['description'])}"
        for name, scheme in document["components"]["securitySchemes"].items()
    )
    return (
        '<section data-find="auth" id="auth"><h3>Authentication</h3><p>One header, in one of three forms; a stage may '
        f'enable fewer of them.</p><div class="scroll"><table>{rows}</table></div></section>'
    )


def render_errors() -> str:
    """Return the catalogue of errors, with the action to take on each."""
    advice = read_json("advice.json")
    rows = "".join(
        f'<tr data-find="errors" id="error-{error.code}"><td>{error.code}<td>{error.status}<td>{escape(error.message)}'
        f"<td>{render_prose(advice[error.name])}"
        for error in ErrorCode
    )
    return _read_template("errors.html").format(rows=rows)


def render_prose(text: str) -> str:
    """Return plain text as HTML, with `code` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
