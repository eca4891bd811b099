"""The edge: routes from annotated functions, exact JSON both ways, the envelope around every body, one log line."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Any, get_type_hints

import simplejson
from chalice.app import Blueprint, Request, Response
from pydantic import BaseModel, ValidationError

from chalicelib.authorizer import gate
from chalicelib.domain.agent import Caller
from chalicelib.errors import ErrorCode, ServiceError, envelope
from chalicelib.log import log, log_defect
from chalicelib.schemas.common import Answer, from_query, together, validations_of

MEGABYTE = 1024 * 1024
JSON_HEADERS = {"Content-Type": "application/json"}
BY_STATUS = {405: ErrorCode.METHOD_NOT_ALLOWED, 415: ErrorCode.MEDIA_TYPE, 404: ErrorCode.UNKNOWN_PATH}


@dataclass(frozen=True)
class Endpoint:
    """One operation of the interface, as the reference and the tests read it."""

    method: str
    path: str
    name: str
    summary: str
    body: type[BaseModel] | None
    answer: type[Answer]
    public: bool
    max_bytes: int


ENDPOINTS: list[Endpoint] = []


class Headers(dict[str, str]):
    """The request's headers, lower case, for a function that asks for them."""


class Enveloped(Response):
    """An answer of ours: its body has the envelope, and its ErrorCode can be logged without parsing it."""

    def __init__(self, body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        text = simplejson.dumps(body, use_decimal=True, ensure_ascii=False, separators=(",", ":"))
        super().__init__(text, {**JSON_HEADERS, **(headers or {})}, status)
        self.error_code = body["ErrorCode"]


View = Callable[..., Answer]


def typed(
    routes: Blueprint, path: str, *, method: str = "POST", public: bool = False, max_bytes: int = MEGABYTE
) -> Callable[[View], View]:
    """Make a route of an annotated function.

    `body` comes parsed and validated, `caller` is who the authorizer let in, `headers` are the request's headers and
    everything else is a part of the path, an int or a str as annotated. What it returns is enveloped; a ServiceError
    is answered as the catalogue says; anything else is a defect, logged without its values and answered with 901.
    """

    def register(function: View) -> View:
        hints = get_type_hints(function)
        answer = hints.pop("return")
        body = hints.get("body")

        def view(**parts: str) -> Response:
            request = routes.current_request
            try:
                return respond(function(**_arguments(request, hints, parts, max_bytes)))
            except ServiceError as refusal:
                return refuse(refusal)
            except Exception as defect:  # noqa: BLE001  the last line: whatever it is, the caller gets the envelope
                return crash(defect, request)

        handler = f"{function.__module__.rsplit('.', 1)[-1]}_{function.__name__}"
        view.__name__ = handler
        extra = {} if public else {"authorizer": gate}
        routes.route(path, methods=[method], name=handler, **extra)(view)
        summary = (function.__doc__ or "").strip().split("\n", 1)[0]
        ENDPOINTS.append(Endpoint(method, path, handler, summary, body, answer, public, max_bytes))
        return function

    return register


def _arguments(request: Request, hints: Mapping[str, Any], parts: Mapping[str, str], limit: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    by_name = {_snake(name): value for name, value in parts.items()}
    for name, hint in hints.items():
        if name == "body":
            arguments[name] = validated(hint, _sent(request, hint, limit))
        elif hint is Caller:
            arguments[name] = _caller(request)
        elif hint is Headers:
            arguments[name] = Headers(request.headers)
        else:
            arguments[name] = _number(by_name[name]) if hint is int else by_name[name]
    return arguments


def _sent(request: Request, model: type[BaseModel], limit: int) -> dict[str, Any]:
    """What the caller sent: the body, and before it the query string where the method is GET."""
    if request.method != "GET":
        return parse(_body_of(request, limit))
    query = from_query(model, request.query_params.items() if request.query_params else ())
    return together(query, parse(_body_of(request, limit))) if request.raw_body else query


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _number(text: str) -> int:
    """A path part that is not a number names nothing: 0 is the ID of no record."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else 0  # noqa: PLR2004  10^15 IDs


def _caller(request: Request) -> Caller:
    context = request.context["authorizer"]
    terminal = context.get("terminal")
    return Caller(
        agent_id=int(context["agent"]),
        client_id=int(context["client"]),
        credential_version=int(context["version"]),
        terminal_id=int(terminal) if terminal else None,
    )


def _body_of(request: Request, limit: int) -> bytes:
    media_type = request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise ServiceError(ErrorCode.MEDIA_TYPE)
    raw = request.raw_body or b""
    body = raw.encode() if isinstance(raw, str) else raw
    if len(body) > limit:
        raise ServiceError(ErrorCode.TOO_LARGE, f"The body is over {limit // MEGABYTE} MB.")
    return body


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a body: numbers exact, nulls left out, no key twice."""
    try:
        value = json.loads(body, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError, DecimalException) as error:
        reason = str(error) if isinstance(error, _DuplicateKeyError) else None
        raise ServiceError(ErrorCode.MALFORMED_JSON, reason) from None
    if not isinstance(value, dict):
        raise ServiceError(ErrorCode.MALFORMED_JSON)
    return value


class _DuplicateKeyError(ValueError):
    """A key is given twice: which of the two was meant, nobody can tell."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        message = "The body is not a JSON object without repeated names."
        raise _DuplicateKeyError(message)
    return {key: value for key, value in pairs if value is not None}


def _no_constant(text: str) -> None:
    raise ValueError(text)


def validated(model: type[BaseModel], data: dict[str, Any]) -> BaseModel:
    """The request as its model, or 202 with everything that is wrong with it."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ServiceError(ErrorCode.VALIDATION_FAILED, validations=validations_of(error)) from None


def respond(answer: Answer) -> Response:
    """200, with the answer's own headers."""
    return Enveloped(answer.model_dump(by_alias=True), headers=answer.headers)


def refuse(refusal: ServiceError) -> Enveloped:
    """A refusal, as the catalogue says."""
    headers = dict(refusal.headers)
    if refusal.error.status == 401:  # noqa: PLR2004  the status is its own name
        headers["WWW-Authenticate"] = 'Basic realm="payments"'
    body = envelope(refusal.error.code, refusal.message, refusal.validations)
    return Enveloped(body, refusal.error.status, headers)


def crash(defect: BaseException, request: Request) -> Response:
    """A defect: where it happened goes to the log, never a value; the caller gets the ID to quote."""
    request_id = request_id_of(request)
    log_defect(defect, request_id=request_id)
    return refuse(ServiceError(ErrorCode.INTERNAL, f"An internal error; request {request_id}."))


def request_id_of(request: Request) -> str:
    """What the log and the caller know this request by."""
    return str(request.context.get("requestId") or getattr(request.lambda_context, "aws_request_id", None))


def edge(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """The middleware: whatever Chalice answers itself gets the envelope too, and each request its log line."""
    started = time.perf_counter()
    answered = get_response(request)
    response = answered if isinstance(answered, Enveloped) else _enveloped(answered, request)
    context = request.context.get("authorizer") or {}
    log(
        "request",
        request_id=request_id_of(request),
        method=request.method,
        route=request.context["resourcePath"],
        agent=context.get("agent"),
        merchant=context.get("client"),
        status=response.status_code,
        error_code=response.error_code,
        milliseconds=round((time.perf_counter() - started) * 1000, 1),
    )
    return response


def _enveloped(response: Response, request: Request) -> Enveloped:
    """What Chalice answered itself. `Allow` of a 405 is kept."""
    error = BY_STATUS.get(response.status_code, ErrorCode.INTERNAL)
    message = f"An internal error; request {request_id_of(request)}." if error is ErrorCode.INTERNAL else None
    headers = {name: str(value) for name, value in response.headers.items() if name == "Allow"}
    return refuse(ServiceError(error, message, headers=headers))
