"""Calls of Stripe's API with its own library: one HTTP client for each operation, and no repeats."""

import http.client
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import closing
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import stripe

from chalicelib import network
from chalicelib.domain.acquirer import AnswerLostError, UnreachableError
from chalicelib.errors import ServiceError
from chalicelib.gateways import secrets
from chalicelib.gateways.acquirers.stripe.refusals import REFUSES_US, RefusedError, ServerFailedError
from chalicelib.log import log
from chalicelib.network import BrokenAnswerError, Connection, Deadline
from chalicelib.settings import STRIPE, settings
from chalicelib.settings.stripe import Account

ANSWER_BYTES = 4 * 1024 * 1024  # a page of 100 objects
LIVE = ("sk_live_", "rk_live_")
OK = range(200, 300)
KEY = "Idempotency-Key"  # the library makes one for each POST that has none; an empty one is not sent

stripe.enable_telemetry = False
logging.getLogger("stripe").setLevel(logging.WARNING)  # its lines of DEBUG have the card

Object = Mapping[str, Any]
# Send a request (method, URL, headers, body) and return the body, the status and the headers of the answer.
Send = Callable[[str, str, Mapping[str, str], bytes, Deadline], tuple[bytes, int, Mapping[str, str]]]
Request = Callable[[stripe.StripeClient], Any]


class Api:
    """The API of Stripe, or of its stand-in, for one operation of `within_s` seconds.

    Each method returns the object of the answer. It raises UnreachableError when no connection was made, RefusedError,
    and AnswerLostError in any other case. `key` is the idempotency key.
    """

    def __init__(self, within_s: float, send: Send | None = None) -> None:
        self._deadline, self._send = Deadline(within_s), send or _send
        self._client: stripe.StripeClient | None = None

    def post(self, path: str, params: Object, key: str | None = None) -> Object:
        """Send a POST."""
        options: dict[str, Any] = {"idempotency_key": key} if key else {"headers": {KEY: ""}}
        return self._call(lambda client: client.raw_request("post", f"/v1/{path}", **params, **options))

    def post_setup_intent(self, params: Any, key: str) -> Object:
        """Create a setup intent. `raw_request` does not send its parameter `usage`."""
        return self._call(lambda client: client.v1.setup_intents.create(params, {"idempotency_key": key}).last_response)

    def get(self, path: str, params: Object) -> Object:
        """Send a GET."""
        return self._call(lambda client: client.raw_request("get", f"/v1/{path}", **params))

    def _call(self, request: Request) -> Object:
        try:
            found: Any = request(self._connected()).data
        except (stripe.StripeError, AttributeError, RecursionError):  # not Stripe's JSON
            raise AnswerLostError from None
        if not isinstance(found, dict):
            raise AnswerLostError
        return found

    def _connected(self) -> stripe.StripeClient:
        """Return Stripe's client. Raise UnreachableError without a usable key: nothing is sent."""
        if self._client is None:
            url = (settings().stripe or Account()).url
            try:
                key = secrets.stripe_key()
            except ServiceError:
                raise UnreachableError from None
            if key is None or (url and key.reveal().startswith(LIVE)):
                log("acquirer_refuses_us", acquirer=STRIPE, reason="no key is stored that may be used here")
                raise UnreachableError
            self._client = stripe.StripeClient(
                key.reveal(),
                base_addresses={"api": url or stripe.DEFAULT_API_BASE},
                max_network_retries=0,
                http_client=_HttpClient(self._deadline, self._send),
            )
        return self._client


def _failure_of(status: int, body: bytes) -> Exception:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerFailedError()
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict) or status < HTTPStatus.BAD_REQUEST or status == HTTPStatus.CONFLICT:
        return AnswerLostError()
    refused = RefusedError(status, error)
    if status in REFUSES_US:
        refused.tell()
    return refused


class _HttpClient(stripe.HTTPClient):
    """The HTTP client of Stripe's library, with the deadline of one operation.

    It judges the statuses itself: the library makes an object of each object in an error, with hundreds of classes.
    """

    name = "payments"

    def __init__(self, deadline: Deadline, send: Send) -> None:
        super().__init__()
        self._deadline, self._exchange = deadline, send

    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None, post_data: str | None = None, **_: Any
    ) -> Any:
        given = {name: value for name, value in (headers or {}).items() if value}
        answer = self._exchange(method.upper(), url, given, (post_data or "").encode(), self._deadline)
        if answer[1] not in OK:
            raise _failure_of(answer[1], answer[0])
        return answer


def _send(
    method: str, url: str, headers: Mapping[str, str], body: bytes, deadline: Deadline
) -> tuple[bytes, int, Mapping[str, str]]:
    target = urlsplit(url)
    name, is_secure = target.hostname or "", target.scheme == "https"
    try:
        addresses = network.look_up(name, target.port or (443 if is_secure else 80), deadline)
        sock = network.connect(addresses, name, deadline, network.tls() if is_secure else None)
    except OSError:
        raise UnreachableError from None
    path = target.path + (f"?{target.query}" if target.query else "")
    sent = {"Host": target.netloc, "Accept-Encoding": "identity", "Connection": "close", **headers}
    try:
        with closing(Connection(sock)) as connection:
            response = connection.send(method, path, sent, body, deadline, ANSWER_BYTES)
            return network.body_of(response, ANSWER_BYTES), response.status, dict(response.headers)
    except (OSError, http.client.HTTPException, ValueError, BrokenAnswerError):
        raise AnswerLostError from None
