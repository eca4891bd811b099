"""Partner services, which fill the fields of a product: what they are sent, and what counts as an answer."""

import json
from datetime import datetime
from http import HTTPStatus
from typing import Any

from chalicelib.domain.partner import PartnerRequest, PreparedField, Problem, sign
from chalicelib.domain.secret import Secret
from chalicelib.gateways import https
from chalicelib.gateways.https import FailedError
from chalicelib.settings import Partner, settings

MAX_FIELDS = 100
MAX_CODE = 256
MAX_VALUE = 1024


class RefusedError(Exception):
    """The partner does not take the fields."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("refused")
        self.problems = problems


def ask(partner: Partner, secret: Secret, question: PartnerRequest, at: datetime) -> tuple[PreparedField, ...]:
    """What the partner filled in, within its time limit.

    Raises `RefusedError` when it answers 422, `FailedError` for whatever is neither that nor 200 with valid fields.
    """
    body = _body_of(question)
    timestamp = str(int(at.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "X-Timestamp": timestamp,
        "X-Signature": sign(secret, timestamp, body),
    }
    reply = https.post(partner.url, body, headers, seconds=partner.timeout_seconds, public_only=not settings().is_local)
    if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY:
        raise RefusedError(_problems(_object(reply.body)))
    if reply.status != HTTPStatus.OK:
        message = f"it answered {reply.status}"
        raise FailedError(message)
    return _prepared(_object(reply.body))


def _body_of(question: PartnerRequest) -> bytes:
    body = {
        "ProductDescCode": question.product,
        "ClientProductCode": question.client_product_code,
        "PrepareFields": [{"Name": name, "Value": value} for name, value in question.fields],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        message = "its answer is not a JSON object"
        raise FailedError(message)
    return value


def _prepared(answer: dict[str, Any]) -> tuple[PreparedField, ...]:
    fields = answer.get("PreparedFields")
    if not isinstance(fields, list) or len(fields) > MAX_FIELDS or not all(_is_field(field) for field in fields):
        message = "its answer has no valid PreparedFields"
        raise FailedError(message)
    return tuple(PreparedField(field["Code"], field["Value"]) for field in fields)


def _is_field(field: object) -> bool:
    if not isinstance(field, dict):
        return False
    code, value = field.get("Code"), field.get("Value")
    return _is_text(code, MAX_CODE) and bool(code) and _is_text(value, MAX_VALUE)


def _problems(answer: dict[str, Any]) -> tuple[Problem, ...]:
    """What it said is wrong, as far as it can be understood: that it refused is certain."""
    listed = answer.get("Problems")
    found = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return tuple(
        Problem(item["Name"] if _is_text(item.get("Name"), MAX_CODE) else None, item["Message"])
        for item in found[:MAX_FIELDS]
        if _is_text(item.get("Message"), MAX_VALUE)
    )


def _is_text(value: object, most: int) -> bool:
    """Half of a surrogate pair is no text: it could not be passed on."""
    return isinstance(value, str) and len(value) <= most and not any("\ud800" <= sign <= "\udfff" for sign in value)
