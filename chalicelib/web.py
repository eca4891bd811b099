"""The HTTP edge: endpoints from annotated functions, exact JSON, the envelope of bodies, pages and files, CORS."""

import importlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, cast, get_type_hints

from chalice.app import Chalice, MultiDict, Request, Response
from pydantic import BaseModel

from chalicelib import exact_json
from chalicelib.authorizer import authorizer, verified_now
from chalicelib.domain.agent import Caller
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import Source
from chalicelib.errors import Check, ErrorCode, ServiceError, envelope
from chalicelib.log import log, log_defect
from chalicelib.schemas.base import KEY_HEADER, Answer, Headers
from chalicelib.schemas.base import Request as RequestModel
from chalicelib.schemas.bodies import from_query, merge_inputs, request_or_part, spelling_sent, unread
from chalicelib.schemas.misplaced_names import ignored_names, refused_names
from chalicelib.settings import settings

# CORS headers tell browsers which calls and answers pages of other origins may use. Nothing else depends on them: the
# credential decides about permissions. https://fetch.spec.whatwg.org/#http-cors-protocol
REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key"  # the request headers of the interface
EXPOSED_HEADERS = "Retry-After, Idempotent-Replayed, x-amzn-RequestId"
PREFLIGHT_SECONDS = 7200  # how long a browser may cache a preflight: Chromium's maximum


def allow_origin(response: "Enveloped | Document", request: Request) -> None:
    """Let pages of the allowed origins read the answer, and grant their preflights: no endpoint answers OPTIONS.

    If the stage lists no origins, the answer stays as it is.
    """
    allowed, origin, headers = settings().allowed_origins, request.headers.get("origin"), response.headers
    if not allowed:
        return
    headers["Vary"] = f"{headers['Vary']}, Origin" if "Vary" in headers else "Origin"
    if origin not in allowed:
        return
    headers |= {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED_HEADERS}
    if request.method == "OPTIONS":
        response.status_code, response.body, response.error_code = 204, "", 0
        headers |= {
            "Access-Control-Allow-Methods": headers["Allow"],
            "Access-Control-Allow-Headers": REQUEST_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
        }


# A page loads and calls only its own origin, and no other page may frame it. Inline styles are allowed, because the
# renderer of the reference creates them.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Of every answer: browsers use only HTTPS for so many seconds, and take an answer for nothing but what it says.
SAFETY = {"Strict-Transport-Security": f"max-age={180 * 24 * 3600}", "X-Content-Type-Options": "nosniff"}
HEADERS = {
    **SAFETY,
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",  # the gateway compresses it if the client accepts that, and caches store both
}
FOR_A_YEAR = "max-age=31536000, immutable"  # for files whose name changes with their content


class Document(Response):
    """A file of the service; `cached` is its Cache-Control, `policy` its Content-Security-Policy."""

    error_code, fields = 0, ()

    def __init__(self, text: str, media_type: str, cached: str = "max-age=300", policy: str = POLICY) -> None:
        headers = {"Content-Security-Policy": policy, "Content-Type": media_type, "Cache-Control": cached}
        super().__init__(text, {**HEADERS, **headers}, 200)


class Moved(Document):
    """A redirect to a document. `location` may be relative to the requested address."""

    def __init__(self, location: str) -> None:
        super().__init__("", "text/plain")
        self.status_code = 308
        self.headers["Location"] = location


KILOBYTE, MEGABYTE = 1024, 1024 * 1024
PUBLIC_BYTES = 16 * KILOBYTE  # of the body of a request that needs no credential
JSON = "application/json"
JSON_HEADERS = {"Content-Type": JSON, "Cache-Control": "no-store", **SAFETY}
# `Retry-After` in seconds, for refusals that do not set their own.
RETRY_AFTER = {ErrorCode.IN_PROGRESS: 1, ErrorCode.DEPENDENCY_UNAVAILABLE: 1, ErrorCode.STORE_UNAVAILABLE: 1}
LOCAL_HINT = "The local stage lacks its AWS or tables: start `make run` or payments-stage, or call create_resources."
FAILED = 400  # the least status of a failure
BY_STATUS = {405: ErrorCode.METHOD_NOT_ALLOWED, 404: ErrorCode.UNKNOWN_PATH}


class RequestPath(str):
    """The path of the request as the caller wrote it, after the name of the gateway's stage if there is one."""

    __slots__ = ()


UNKNOWN_ABOVE = (Check.SPELLING, Check.WITHOUT_EFFECT)
ITEM_PATH = re.compile(r"[A-Z][A-Za-z]*\[[0-9]+\][A-Za-z0-9.\[\]]*")  # a path in an item of a batch


class Enveloped(Response):
    """An answer with the envelope as its body. Its ErrorCode and the fields of its findings are logged."""

    def __init__(
        self,
        body: Mapping[str, Any],
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        may_name_values: bool = False,
    ) -> None:
        sent: dict[str, str | list[str]] = {**JSON_HEADERS, **(headers or {})}
        super().__init__(exact_json.text(body), sent, status)
        self.error_code = body["ErrorCode"]
        names = [_logged(one) for one in (body.get("Validations") or ())[:10]]
        self.fields = [name for name in names if not may_name_values or ITEM_PATH.fullmatch(name)]


def _logged(finding: Mapping[str, Any]) -> str:
    """Return the field of a finding for the log, without the unknown names above it, which may be any text."""
    path: str = finding["Property"]
    return path.rpartition(".")[2] if finding["Code"] in UNKNOWN_ABOVE else path


View = Callable[..., Answer | Document]


class Deferred:
    """A module of endpoint functions, imported when the first of them is needed."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> View:
        def function(**arguments: Any) -> Answer | Document:
            return _imported(function)(**arguments)

        function.__module__, function.__name__ = self._module, name
        return function


def _imported(function: View) -> View:
    """Return the function with this module and name."""
    view: View = getattr(importlib.import_module(function.__module__), function.__name__)
    return view


@dataclass(frozen=True)
class Endpoint:
    """One operation: method, path, and its function in `chalicelib.routes`, which may be deferred.

    The function receives these arguments: `body`, parsed and validated; `caller`, the authenticated agent; `headers`,
    `source` and a `RequestPath` from the request. All other arguments are parts of the path, an int or a str as
    annotated.
    """

    method: str
    path: str
    function: View
    public: bool = False
    max_bytes: int = MEGABYTE

    @property
    def methods(self) -> list[str]:
        """Return the methods of the route. HEAD needs no credential of its own, so only a public GET has it."""
        return [self.method, "HEAD"] if self.public and self.method == "GET" else [self.method]

    @property
    def most_bytes(self) -> int:
        """Return the most bytes of a body. To read a long one costs more than a caller without credential may."""
        return min(self.max_bytes, PUBLIC_BYTES) if self.public else self.max_bytes

    @property
    def name(self) -> str:
        """Return a one-word name of the operation."""
        return f"{self.function.__module__.rpartition('.')[2]}_{self.function.__name__}"

    @cached_property
    def view(self) -> View:
        """Return the imported function."""
        return _imported(self.function)

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """Return the types of the function's arguments, by name."""
        hints = get_type_hints(self.view)
        del hints["return"]
        return hints

    @property
    def body(self) -> type[RequestModel] | None:
        """Return the model of the body."""
        return self.arguments.get("body")

    @property
    def answer(self) -> type[Answer]:
        """Return the model of the answer."""
        model: type[Answer] = get_type_hints(self.view)["return"]
        return model

    @property
    def sentence(self) -> str:
        """Return the sentence that describes the operation."""
        return (self.view.__doc__ or "").strip().split("\n", 1)[0]


def mount(app: Chalice, endpoints: Sequence[Endpoint]) -> None:
    """Add a route for each endpoint."""
    for endpoint in endpoints:
        extra = {} if endpoint.public else {"authorizer": authorizer}
        route = app.route(  # `_body_of` checks the media type, because a request without a body needs none
            endpoint.path, methods=endpoint.methods, name=endpoint.name, content_types=["*/*"], **extra
        )
        route(_handler(app, endpoint))


def _handler(app: Chalice, endpoint: Endpoint) -> Callable[..., Response]:
    """Return the function for Chalice. It puts answers and refusals in the envelope, and answers a defect with 901."""

    def handle(**parts: str) -> Response:
        request = app.current_request
        assert request is not None  # noqa: S101  for mypy: a handler always has a request
        sent: dict[str, Any] = {}
        try:
            model = None if endpoint.public else endpoint.body
            return respond(_answer(endpoint, _arguments(request, endpoint, parts, sent)), model, sent)
        except ServiceError as refusal:
            if refusal.error.is_outage:
                log_defect(refusal, request_id=request_id_of(request))
                is_missing = refusal.error is ErrorCode.STORE_UNAVAILABLE and refusal.retry_after is None
                if is_missing and settings().is_local:  # an unreadable record says itself when to come back
                    refusal = ServiceError(refusal.error, LOCAL_HINT)
            return refuse(refusal, endpoint.body, sent)
        except Exception as defect:  # noqa: BLE001  after any defect, the caller gets the envelope
            return crash(defect, request)

    handle.__name__ = endpoint.name
    return handle


def _answer(endpoint: Endpoint, arguments: Mapping[str, Any]) -> Answer | Document:
    """Return the answer of the endpoint's function. A body with faults is refused with the function's findings."""
    body = arguments.get("body")
    try:
        return endpoint.view(**arguments)
    except ServiceError as refusal:
        if not isinstance(body, RequestModel) or refusal.error.is_outage:
            raise
        raise body.beside_faults(refusal) from None


def _arguments(request: Request, endpoint: Endpoint, parts: Mapping[str, str], sent: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the endpoint's function. `sent` receives the fields of the body."""
    caller = None if endpoint.public else _caller(request)  # first: a refused caller learns nothing about its request
    if request.method == "POST" and _is_of_another_page(request) and _media_type(request) != JSON:
        raise ServiceError(ErrorCode.MEDIA_TYPE)
    arguments: dict[str, Any] = {}
    by_name = {_snake(name): value for name, value in parts.items()}
    for name, hint in endpoint.arguments.items():
        if name == "body":
            arguments[name] = _body(request, endpoint, hint, sent, caller)
        elif hint is Caller:
            arguments[name] = caller
        elif hint is Headers:
            arguments[name] = _headers_of(request)
        elif hint is RequestPath:
            arguments[name] = RequestPath(request.context["path"])
        elif hint is Source:
            arguments[name] = Source(request.context["identity"]["sourceIp"])
        else:
            arguments[name] = _number(by_name[name]) if hint is int else by_name[name]
    return arguments


def _body(
    request: Request, endpoint: Endpoint, model: type[RequestModel], sent: dict[str, Any], caller: Caller | None
) -> RequestModel:
    """Return the body. If it has faults, is no JSON or names another caller, a service first judges the role."""
    try:
        sent |= _sent(request, model, endpoint.most_bytes)
    except ServiceError as refusal:
        if refusal.error is ErrorCode.MALFORMED_JSON:
            return unread(model, {}, refusal)
        raise
    # To look at a thousand unknown names costs more than a caller without credential may.
    body = request_or_part(model, sent, refused_names(model, sent) if caller else ())
    named = body.readable("current_account_id")
    if caller is not None and named not in (None, caller.agent_id):
        return unread(model, {}, ServiceError(ErrorCode.NOT_THE_CALLER))
    return body


def _is_of_another_page(request: Request) -> bool:
    """Return whether a page of another origin may have sent it: without JSON, a browser asks for no permission.

    But it adds a password of Basic that somebody once typed into its dialog.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    is_foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    return is_foreign or site in {"cross-site", "same-site"}


def _media_type(request: Request) -> str:
    return str(request.headers.get("content-type", "")).split(";")[0].strip().lower()


def _sent(request: Request, model: type[BaseModel], limit: int) -> dict[str, Any]:
    """Return the body of the request; for a GET together with the query string.

    No body is an empty object where no field is required.
    """
    if request.method not in {"GET", "HEAD"}:
        is_optional = not any(field.is_required() for field in model.model_fields.values())
        return {} if is_optional and not request.raw_body else exact_json.parse(_body_of(request, limit))
    values = request.query_params or MultiDict({})
    query = from_query(model, ((name, value) for name in values for value in values.getlist(name)))
    return merge_inputs(query, exact_json.parse(_body_of(request, limit))) if request.raw_body else query


def _headers_of(request: Request) -> Headers:
    """Return the headers, with all keys of the request: API Gateway has only the last one of a name in `headers`."""
    several = request.to_original_event().get("multiValueHeaders") or {}
    keys = [value for name, values in several.items() if name.lower() == KEY_HEADER for value in values]
    return Headers({**request.headers, KEY_HEADER: ", ".join(keys)} if keys else request.headers)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _number(text: str) -> int:
    """Return a path part as a number, or 0 for anything else. No record has the ID 0."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else 0  # noqa: PLR2004  10^15 IDs


def _caller(request: Request) -> Caller:
    """Return the caller that the authorizer let in. Verify the header again if it refused the caller for the moment."""
    context, header = request.context["authorizer"], Secret(request.headers.get("authorization", ""))

    def verify_again() -> Caller:
        return verified_now(header.reveal())

    if "code" in context:
        return verify_again()
    terminal_id = int(context["terminal"]) if context.get("terminal") else None
    ends = context.get("ends")
    ends_at = datetime.fromtimestamp(int(ends), UTC) if ends else None
    agent_id, client_id, version = (int(context[name]) for name in ("agent", "client", "version"))
    session, by = context.get("session"), context.get("by")
    return Caller(agent_id, client_id, version, terminal_id, ends_at, session, by, verify_again)


def _body_of(request: Request, limit: int) -> bytes:
    raw = request.raw_body or b""
    if raw and _media_type(request) not in {"", JSON}:
        raise ServiceError(ErrorCode.MEDIA_TYPE)
    body = raw.encode() if isinstance(raw, str) else raw
    if len(body) > limit:
        size = f"{limit // MEGABYTE} MB" if limit >= MEGABYTE else f"{limit // KILOBYTE} KB"
        raise ServiceError(ErrorCode.TOO_LARGE, f"The body is over {size}.")
    return body


def respond(answer: Answer | Document, model: type[RequestModel] | None, sent: Mapping[str, Any]) -> Response:
    """Return 200 with the answer's own headers, and warnings in the spelling sent. A document is unchanged."""
    if isinstance(answer, Document):
        return answer
    body = answer.model_dump(by_alias=True)
    found = body["Validations"] or []
    if not answer.FINDINGS_NAME_VALUES:
        for warning in found:
            warning["Property"] = spelling_sent(warning["Property"], sent, model)
    found += [one.on_the_wire() for one in ignored_names(model, sent)] if model else []
    body["Validations"] = found[: answer.MOST_FINDINGS] or None
    return Enveloped(body, headers=answer.headers, may_name_values=answer.FINDINGS_NAME_VALUES)


def refuse(
    refusal: ServiceError, model: type[RequestModel] | None = None, sent: Mapping[str, Any] | None = None
) -> Enveloped:
    """Return a refusal by the catalogue, with each finding under its path in the request (`sent`, read by `model`)."""
    headers = {}
    if seconds := refusal.retry_after or RETRY_AFTER.get(refusal.error):
        headers["Retry-After"] = str(seconds)
    if refusal.replayed:
        headers["Idempotent-Replayed"] = "true"
    if refusal.error.is_denial:
        headers["WWW-Authenticate"] = 'Basic realm="payments"'
    model, fields = model or RequestModel, sent or {}
    found = model.findings_of(refusal)
    items = tuple(replace(one, field=spelling_sent(one.field, fields, model)) for one in found)
    body = envelope(refusal.error.code, refusal.message, items, model.MOST_FINDINGS)
    return Enveloped(body, refusal.error.status, headers, may_name_values=model.FINDINGS_NAME_VALUES)


def crash(defect: BaseException, request: Request) -> Response:
    """Log the place of a defect, but no values, and return 901 with the request ID."""
    request_id = request_id_of(request)
    log_defect(defect, request_id=request_id)
    return refuse(ServiceError(ErrorCode.INTERNAL, f"An internal error; request {request_id}."))


def request_id_of(request: Request) -> str:
    """Return the request ID, which both the log and the caller have."""
    return str(request.context.get("requestId") or getattr(request.lambda_context, "aws_request_id", None))


def edge(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Put Chalice's own answers into the envelope, and log one line per request (the middleware)."""
    started = time.perf_counter()
    response: Any = get_response(request)
    if response.status_code >= FAILED and not isinstance(response, Enveloped | Document):
        response = _enveloped(response, request)
    allow_origin(response, request)
    if request.method == "HEAD":
        response.body = ""
    context = request.context.get("authorizer") or {}
    log(
        "request",
        request_id=request_id_of(request),
        method=request.method,
        route=request.context["resourcePath"],
        agent=context.get("agent"),
        merchant=context.get("client"),
        status=response.status_code,
        error_code=getattr(response, "error_code", 0),
        fields=getattr(response, "fields", ()),
        milliseconds=round((time.perf_counter() - started) * 1000, 1),
    )
    return cast("Response", response)


def _enveloped(response: Response, request: Request) -> Enveloped:
    """Return Chalice's own answer in the envelope, with the `Allow` of a 405."""
    error = BY_STATUS.get(response.status_code, ErrorCode.INTERNAL)
    message = f"An internal error; request {request_id_of(request)}." if error is ErrorCode.INTERNAL else None
    refused = refuse(ServiceError(error, message))
    if methods := str(response.headers.get("Allow", "")):  # written as the gateway writes its 404
        refused.body = json.dumps(envelope(error.code, error.message))
        allowed = ", ".join(sorted(methods.split(", ")))
        refused.headers = {"Content-Type": "application/json", "Allow": allowed, **SAFETY}
    return refused
