"""Partner services, which fill in the fields of a product: the request, and the checks of the response."""

import json
from datetime import datetime
from http import HTTPStatus
from typing import Any

from chalicelib import outside
from chalicelib.domain.partner import PartnerRequest, PreparedField, Problem, sign
from chalicelib.domain.secret import Secret
from chalicelib.domain.url_guard import is_public
from chalicelib.gateways import https
from chalicelib.gateways.https import FailedError
from chalicelib.settings import Partner, settings

MAX_FIELDS = 100
MAX_CODE = 256
MAX_VALUE = 1024


class RefusedError(Exception):
    """The partner refused the fields, with these problems."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("refused")
        self.problems = problems


def request_fields(
    partner: Partner, secret: Secret, request: PartnerRequest, at: datetime
) -> tuple[PreparedField, ...]:
    """Send the fields of a product to its partner and return the filled-in fields, within the partner's time limit.

    Raise RefusedError for a 422, and FailedError for anything else but a 200 with valid fields.
    """
    body = _body_of(request)
    timestamp = str(int(at.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "X-Timestamp": timestamp,
        "X-Signature": sign(secret, timestamp, body),
    }
    post = outside.current.post or https.post
    reply = post(partner.url, body, headers, seconds=partner.timeout_seconds, allowed=_is_allowed)
    if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        raise RefusedError(_problems_of(_parse_object(reply.body)))
    if reply.status != HTTPStatus.OK:
        message = f"it answered {reply.status}"
        raise FailedError(message)
    return _fields_of(_parse_object(reply.body))


def _is_allowed(address: str) -> bool:
    return settings().is_local or is_public(address)


def _body_of(request: PartnerRequest) -> bytes:
    body = {
        "ProductDescCode": request.product,
        "ClientProductCode": request.client_product_code,
        "PrepareFields": [{"Name": name, "Value": value} for name, value in request.fields],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        message = "its answer is not a JSON object"
        raise FailedError(message)
    return value


def _fields_of(answer: dict[str, Any]) -> tuple[PreparedField, ...]:
    fields = answer.get("PreparedFields")
    if not isinstance(fields, list) or len(fields) > MAX_FIELDS or not all(_is_valid_field(field) for field in fields):
        message = "its answer has no valid PreparedFields"
        raise FailedError(message)
    return tuple(PreparedField(field["Code"], field["Value"]) for field in fields)


def _is_valid_field(field: object) -> bool:
    if not isinstance(field, dict):
        return False
    code, value = field.get("Code"), field.get("Value")
    return _is_text(code, MAX_CODE) and bool(code) and _is_text(value, MAX_VALUE)


def _problems_of(answer: dict[str, Any]) -> tuple[Problem, ...]:
    """Return the readable problems and skip the rest, because the refusal is certain without them."""
    problems = answer.get("Problems")
    readable = [item for item in problems if isinstance(item, dict)] if isinstance(problems, list) else []
    return tuple(
        Problem(item["Name"] if _is_text(item.get("Name"), MAX_CODE) else None, item["Message"])
        for item in readable[:MAX_FIELDS]
        if _is_text(item.get("Message"), MAX_VALUE)
    )


def _is_text(value: object, most: int) -> bool:
    """Return whether the value is a text of at most `most` characters that UTF-8 can encode."""
    return isinstance(value, str) and len(value) <= most and not any("\ud800" <= letter <= "\udfff" for letter in value)
