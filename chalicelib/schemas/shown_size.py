"""The size of a merchant or a terminal in an answer: a hundred of them fit on a page."""

from chalicelib import exact_json
from chalicelib.domain.answer_size import MOST_SHOWN, size_of_json
from chalicelib.errors import Check, ErrorCode, ServiceError, Validation, invalid
from chalicelib.schemas.base import Answer, Request, View

MOST_OF_A_PAGE = 100 * MOST_SHOWN


def check_page(answer: Answer, message: str) -> None:
    """Raise 404 (PERIOD_TOO_LONG) with this message if a page is too large for an answer of Lambda."""
    if size_of_json(exact_json.text(answer.model_dump(by_alias=True))) > MOST_OF_A_PAGE:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, message)


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
