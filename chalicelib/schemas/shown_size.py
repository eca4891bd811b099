"""The size of a merchant or a terminal in an answer: a hundred of them fit on a page."""

from chalicelib import exact_json
from chalicelib.domain.answer_size import MOST_SHOWN, size_of_json
from chalicelib.errors import Check, Validation, invalid
from chalicelib.schemas.base import Request, View


def check_shown(view: View, body: Request) -> None:
    """Raise 202 for the longest field of a request if its record is too large for a page of a hundred."""
    shown = view.model_dump(by_alias=True)
    if size_of_json(exact_json.text(shown)) <= MOST_SHOWN:
        return
    sent = {field.alias or name: getattr(body, name) for name, field in type(body).model_fields.items()}
    sizes = {
        name: size_of_json(exact_json.text(value)) if isinstance(value, str) else 0
        for name, value in sent.items()
        if name in shown
    }
    message = "The texts are too long together, with the characters that JSON escapes."
    raise invalid(Validation(max(sizes, key=sizes.__getitem__), Check.TOO_LONG, message))
