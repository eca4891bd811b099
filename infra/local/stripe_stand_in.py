"""A stand-in for Stripe's API on this machine: the parts that a payment service needs, with state. No money moves.

It is written from Stripe's documentation (https://docs.stripe.com/api and https://docs.stripe.com/testing), without
code of the service: idempotency keys as Stripe documents them, its test numbers, refunds up to what was paid. The cents
of an amount choose a fault of the confirmation or the refund (`FAULTS`).
"""

import contextlib
import csv
import io
import json
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from chalicelib import outside
from infra.local import http_server
from infra.local.http_server import Handler

Object = dict[str, Any]
LOST, NEVER_ARRIVED = "lost", "never arrived"
FAULTS = {68: LOST, 69: NEVER_ARRIVED, 49: "409", 42: "429", 50: "500"}  # by the cents of an amount; a status
KEY_LASTS = timedelta(hours=24)
NOT_SAVED = frozenset({400, 401, 403, 404, 409, 429})  # answers that no idempotency key keeps
ACTION = "authentication_required"
DECLINES = {
    "4000000000000002": ("card_declined", "generic_decline", "Your card was declined."),
    "4000000000009995": ("card_declined", "insufficient_funds", "Your card has insufficient funds."),
    "4000000000009987": ("card_declined", "lost_card", "Your card was declined."),
    "4000000000009979": ("card_declined", "stolen_card", "Your card was declined."),
    "4000000000006975": ("card_declined", "card_velocity_exceeded", "Your card was declined."),
    "4100000000000019": ("card_declined", "fraudulent", "Your card was declined."),
    "4000000000000069": ("expired_card", None, "Your card has expired."),
    "4000000000000127": ("incorrect_cvc", None, "Your card's security code is incorrect."),
    "4000000000000119": ("processing_error", None, "An error occurred while processing your card."),
    "4000002500003155": (ACTION, None, "Your card was declined. This transaction requires authentication."),
    "4000002760003184": (ACTION, None, "Your card was declined. This transaction requires authentication."),
    "4000000000000341": ("card_declined", "generic_decline", "Your card was declined."),
}
LINKABLE = frozenset({"4000002500003155", "4000000000000341"})  # they are declined only when they are charged
REFUND_FAILS, REFUND_PENDS = "4000000000005126", "4000000000007726"
TEST_METHOD = "pm_card_visa"  # https://docs.stripe.com/testing: a payment method of every account in test mode
OPEN = ("requires_payment_method", "requires_confirmation", "requires_action")
WITHOUT_DECIMALS = frozenset(
    ("bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf")
)
THREE_DECIMALS = frozenset(("bhd", "jod", "kwd", "omr", "tnd"))
COLUMNS = ("balance_transaction_id", "created_utc", "currency", "gross", "reporting_category", "source_id")


class NoAnswerError(Exception):
    """The connection ends without an answer."""


class ApiError(Exception):
    """An answer with an error."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"type": "invalid_request_error", "message": message, **more}}


def declined(number: str, **more: Any) -> ApiError:
    """Return the answer for a test number that is declined."""
    code, decline_code, message = DECLINES[number]
    reason = {"decline_code": decline_code} if decline_code else {}
    return ApiError(402, message, type="card_error", code=code, **reason, **more)


@dataclass(frozen=True)
class Request:
    """A request as it was received. `key` is its idempotency key."""

    method: str
    path: str
    params: Object
    key: str | None
    api_key: str

    @property
    def step(self) -> str:
        """Return the path with {id} for an ID: `POST payment_intents/{id}/confirm`."""
        return f"{self.method} {re.sub('(pi|seti|re|cus|pm)_[A-Za-z0-9]+', '{id}', self.path)}"


@dataclass
class StripeStandIn:
    """The objects of one account, by their IDs, and the answers kept under idempotency keys."""

    clock: Callable[[], datetime] = outside.now
    account: str = field(default_factory=lambda: secrets.token_hex(6))  # a part of every ID
    objects: dict[str, Object] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)  # of the cards, by payment method
    requests: list[Request] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)  # of the next requests: a step and its fault
    check: Callable[[Request], None] = lambda _: None  # of each request, in tests
    _kept: dict[str, tuple[Request, datetime, int, Object]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def forget(self) -> None:
        """Empty the account."""
        with self._lock:
            for kept in (self.objects, self.numbers, self.requests, self.faults, self._kept):
                kept.clear()

    def of(self, kind: str) -> list[Object]:
        """Return the objects of a kind, such as `charge`, the latest first."""
        return [one for one in reversed(self.objects.values()) if one["object"] == kind]

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Object]:
        """Return the status and the body of an answer. Raise NoAnswerError when there is none."""
        url = urlsplit(target)
        params = nested(parse_qsl(body.decode() if method == "POST" else url.query, keep_blank_values=True))
        given = {name.lower(): value for name, value in headers.items()}
        api_key = given.get("authorization", "").removeprefix("Bearer ")
        request = Request(method, url.path.removeprefix("/v1/"), params, given.get("idempotency-key"), api_key)
        with self._lock:
            self.requests.append(request)
            fault = self._fault(request)
            if fault == NEVER_ARRIVED:
                raise NoAnswerError
            answer = self._kept_or_new(request, int(fault) if fault and fault.isdigit() else None)
            if fault == LOST:
                raise NoAnswerError
            return answer

    def _fault(self, request: Request) -> str | None:
        found = next((one for one in self.faults if one[0] in request.step), None)
        if found:
            self.faults.remove(found)
            return found[1]
        if request.method != "POST" or not request.path.endswith(("/confirm", "refunds")):
            return None
        intent = self.objects.get(request.path.split("/")[1]) if "/" in request.path else None
        return FAULTS.get(int(request.params.get("amount") or (intent or {}).get("amount", 0)) % 100)

    def _kept_or_new(self, request: Request, failure: int | None) -> tuple[int, Object]:
        if not re.fullmatch("(sk|rk)_test_[A-Za-z0-9_]+", request.api_key):
            error = ApiError(401, "Invalid API Key provided.")
            return error.status, error.body
        now, kept = self.clock(), self._kept.get(request.key or "")
        if kept and now < kept[1] + KEY_LASTS:
            if (kept[0].path, kept[0].params) == (request.path, request.params):
                return kept[2], kept[3]
            message = (
                "Keys for idempotent requests can only be used with the same parameters they were first used with."
            )
            error = ApiError(400, message, type="idempotency_error")
            return error.status, error.body
        try:
            self.check(request)
            if failure:
                raise ApiError(failure, "A fault of the stand-in.", type="api_error")  # noqa: TRY301
            status, body = 200, json.loads(json.dumps(self._carried_out(request)))
        except ApiError as failed:
            status, body = failed.status, failed.body
        if request.key and request.method == "POST" and status not in NOT_SAVED:
            self._kept[request.key] = (request, now, status, body)
        return status, body

    def _carried_out(self, request: Request) -> Object:
        kind, *rest = request.path.split("/")
        name = f"{request.method} {'/'.join([kind, *('' if not number else part for number, part in enumerate(rest))])}"
        make = {
            "POST customers": lambda: self._new("cus", "customer", **request.params),
            "POST payment_methods": lambda: self._payment_method(request.params),
            "POST payment_intents": lambda: self._intent(request.params),
            "GET payment_intents": lambda: self._listed("payment_intent", request.params),
            "GET payment_intents/": lambda: self._get(rest[0]),
            "POST payment_intents//confirm": lambda: self._confirmed(self._get(rest[0]), request.params),
            "POST payment_intents//cancel": lambda: self._cancelled(self._get(rest[0])),
            "POST refunds": lambda: self._refund(request.params),
            "GET refunds": lambda: self._listed("refund", request.params),
            "POST setup_intents": lambda: self._new("seti", "setup_intent", status=OPEN[0], **request.params),
            "POST setup_intents//confirm": lambda: self._set_up(self._get(rest[0]), request.params),
        }.get(name)
        if make is None:
            raise ApiError(404, f"Unrecognized request URL ({request.method}: /v1/{request.path}).")
        return make()

    def _new(self, prefix: str, kind: str, **facts: Any) -> Object:
        name = f"{prefix}_{self.account}N{len(self.objects) + 1:08}"
        created = int(self.clock().timestamp())
        self.objects[name] = {"id": name, "object": kind, "created": created, "livemode": False, "metadata": {}} | facts
        return self.objects[name]

    def _get(self, name: str) -> Object:
        if name not in self.objects:
            raise ApiError(404, f"No such object: '{name}'.", code="resource_missing", param="id")
        return self.objects[name]

    def _listed(self, kind: str, params: Object) -> Object:
        found = [one for one in self.of(kind) if params.get("payment_intent") in {None, one.get("payment_intent")}]
        created = params.get("created", {})
        found = [one for one in found if one["created"] >= int(created.get("gte", 0))]
        found = [one for one in found if one["created"] <= int(created.get("lte", one["created"]))]
        if after := params.get("starting_after"):
            found = found[[one["id"] for one in found].index(after) + 1 :]
        limit = int(params.get("limit", 10))
        return {"object": "list", "data": found[:limit], "has_more": len(found) > limit}

    def _payment_method(self, params: Object) -> Object:
        number = params["card"]["number"]
        if not has_check_digit(number):
            raise ApiError(402, "Your card number is incorrect.", type="card_error", code="incorrect_number")
        method = self._new("pm", "payment_method", type="card", customer=None, card={"last4": number[-4:]})
        self.numbers[method["id"]] = number
        return method

    def _intent(self, params: Object) -> Object:
        amount, currency = int(params["amount"]), params["currency"]
        if amount < 1 or amount > 99_999_999:  # noqa: PLR2004  eight digits
            code = "amount_too_large" if amount > 1 else "parameter_invalid_integer"
            raise ApiError(400, "Amount must be between 1 and 99,999,999.", code=code, param="amount")
        if (currency in THREE_DECIMALS and amount % 10) or (currency in {"isk", "ugx"} and amount % 100):
            raise ApiError(400, "Invalid amount.", code="invalid_charge_amount_no_decimal_compatible", param="amount")
        facts = {**params, "amount": amount, "status": OPEN[0], "last_payment_error": None, "latest_charge": None}
        return self._new("pi", "payment_intent", **facts)

    def _confirmed(self, intent: Object, params: Object) -> Object:
        if intent["status"] not in OPEN:
            message = f"This PaymentIntent's status is {intent['status']}, so it cannot be confirmed."
            raise ApiError(400, message, code="payment_intent_unexpected_state", payment_intent=intent)
        if (name := params["payment_method"]) == TEST_METHOD:
            name = self._payment_method({"card": {"number": "4242424242424242"}})["id"]
        method = self._get(name)
        if method["customer"] != intent.get("customer"):
            raise ApiError(
                400, "The payment method belongs to another customer.", code="payment_method_customer_mismatch"
            )
        number = self.numbers[method["id"]]
        failure = declined(number) if number in DECLINES else None
        charge = self._new("ch", "charge", payment_intent=intent["id"], amount=intent["amount"])
        charge |= {
            "currency": intent["currency"],
            "status": "failed" if failure else "succeeded",
            "number": number[-4:],
        }
        intent |= {"latest_charge": charge["id"], "status": OPEN[0] if failure else "succeeded"}
        if failure:
            intent["last_payment_error"] = dict(failure.body["error"])
            failure.body["error"]["payment_intent"] = dict(intent)
            raise failure
        intent |= {"payment_method": method["id"], "last_payment_error": None}
        return intent

    @staticmethod
    def _cancelled(intent: Object) -> Object:
        if intent["status"] not in OPEN:
            message = f"This PaymentIntent's status is {intent['status']}, so it cannot be cancelled."
            raise ApiError(400, message, code="payment_intent_unexpected_state", payment_intent=intent)
        intent["status"] = "canceled"
        return intent

    def _refund(self, params: Object) -> Object:
        intent = self._get(params["payment_intent"])
        if intent["status"] != "succeeded":
            message = f"This PaymentIntent ({intent['id']}) does not have a successful charge to refund."
            raise ApiError(400, message, code="charge_not_refundable")
        rest = intent["amount"] - sum(
            one["amount"]
            for one in self.of("refund")
            if one["payment_intent"] == intent["id"] and one["status"] != "failed"
        )
        amount = int(params.get("amount", rest))
        if not rest:
            raise ApiError(400, "The charge has already been refunded.", code="charge_already_refunded")
        if not 0 < amount <= rest:
            raise ApiError(400, f"Refund amount ({amount}) is greater than unrefunded amount ({rest}).", param="amount")
        number = self.numbers[intent["payment_method"]]
        status = {REFUND_FAILS: "failed", REFUND_PENDS: "pending"}.get(number, "succeeded")
        return self._new("re", "refund", **{**params, "amount": amount}, currency=intent["currency"], status=status)

    def _set_up(self, setup: Object, params: Object) -> Object:
        method = self._get(params["payment_method"])
        number = self.numbers[method["id"]]
        if number in DECLINES and number not in LINKABLE:
            raise declined(number, setup_intent=dict(setup))
        method["customer"] = setup.get("customer")
        setup |= {"status": "succeeded", "payment_method": method["id"]}
        return setup

    def balance_report(self, day: date) -> str:
        """Return the charges and refunds of a day (UTC) as Stripe's report balance_change_from_activity.itemized."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow((*COLUMNS, "payment_intent_id"))
        with self._lock:
            moved = [one for one in self.objects.values() if one["object"] in {"charge", "refund"}]
        for number, one in enumerate(moved):
            at = datetime.fromtimestamp(one["created"], self.clock().tzinfo)
            if one["status"] == "failed" or at.date() != day:
                continue
            digits = 0 if one["currency"] in WITHOUT_DECIMALS else 3 if one["currency"] in THREE_DECIMALS else 2
            gross = f"{one['amount'] / 10**digits * (1 if one['object'] == 'charge' else -1):.{digits}f}"
            row = (f"txn_{number}", f"{at:%Y-%m-%d %H:%M:%S}", one["currency"], gross, one["object"], one["id"])
            writer.writerow((*row, one["payment_intent"]))
        return written.getvalue()


def nested(pairs: list[tuple[str, str]]) -> Object:
    """Return the parameters of a form: `card[number]=4` and `types[0]=a` as objects and lists."""
    found: Object = {}
    for name, value in pairs:
        *path, last = re.findall(r"[^\[\]]+", name)
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return {name: _list_or(value) for name, value in found.items()}


def _list_or(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    items = {name: _list_or(one) for name, one in value.items()}
    return list(items.values()) if items and all(name.isdigit() for name in items) else items


def has_check_digit(number: str) -> bool:
    """Return whether the last digit of a card number is right (ISO/IEC 7812-1)."""
    digits = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number))]
    return sum(one - 9 if one > 9 else one for one in digits) % 10 == 0  # noqa: PLR2004  two digits are added


REPORT = "/balance_report/"


class _Handler(Handler):
    timeout = 30

    def __init__(self, *arguments: Any, stand_in: StripeStandIn) -> None:
        self.stand_in = stand_in
        super().__init__(*arguments)

    def do_GET(self) -> None:  # noqa: N802  the name is http.server's
        """Answer a request, or with the report of a day."""
        if self.path.startswith(REPORT):
            with contextlib.suppress(ValueError):
                report = self.stand_in.balance_report(date.fromisoformat(self.path.removeprefix(REPORT)))
                self.write(200, "text/csv", report.encode())
                return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            status, answer = self.stand_in.exchange(self.command, self.path, dict(self.headers), body)
        except NoAnswerError:
            self.close_connection = True
            return
        self.write(status, "application/json", json.dumps(answer).encode())

    do_POST = do_GET  # noqa: N815  the name is http.server's


def serve(stand_in: StripeStandIn, port: int = 0) -> AbstractContextManager[str]:
    """Serve the API until the block ends; yield its URL."""
    return http_server.serve(partial(_Handler, stand_in=stand_in), port)
