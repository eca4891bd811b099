"""The adapter of STRIPE (`Acquirer` describes its methods).

A payment is a Payment Intent in three steps: the creation, which has no card and can be repeated from stored facts; the
payment method, made from the card; the confirmation, which charges and is sent once. An inquiry finds the intent and
reads it. An intent that was not confirmed is cancelled, so that it is never confirmed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from chalicelib import outside
from chalicelib.domain.acquirer import (
    APPROVED_CODE,
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    InquiryRequest,
    LinkAnswer,
    LinkRequest,
    ReversalKind,
    ReversalRequest,
    Reversed,
    UnreachableError,
    text_of_code,
)
from chalicelib.domain.card import CENTURY, CardData
from chalicelib.domain.kinds import InputType
from chalicelib.domain.masking import mask_foreign
from chalicelib.domain.transaction import CardDetails
from chalicelib.errors import Finding
from chalicelib.gateways.acquirers.stripe import amounts
from chalicelib.gateways.acquirers.stripe.declines import (
    AUTHENTICATION,
    DO_NOT_HONOUR,
    INVALID_AMOUNT,
    code_of,
    is_about_amount,
)
from chalicelib.gateways.acquirers.stripe.refusals import RefusedError, ServerFailedError
from chalicelib.log import log
from chalicelib.settings import STRIPE, settings
from chalicelib.settings.stripe import Account

if TYPE_CHECKING:
    from chalicelib.gateways.acquirers.stripe.api import Api, Object, Send

KEYS_LAST = timedelta(hours=23)  # Stripe forgets an idempotency key after 24 hours at the earliest
BEFORE, AFTER = timedelta(minutes=5), timedelta(hours=1)  # of a payment: its intent was created within this time
PAGE = 100  # objects, the most that a list has
MOST_TEXT = 256  # characters of Stripe's text for people
OUR_ID = "payments_id"  # the name of our ID in the metadata of Stripe's objects
PAID, UNPAID, CANCELLED, ACTION = "succeeded", "requires_payment_method", "canceled", "requires_action"
CANCELLABLE = frozenset({UNPAID, ACTION, "requires_confirmation", "requires_capture"})
PENDING, REFUNDED, NOT_REFUNDED = "pending", frozenset({"succeeded", "pending"}), frozenset({"failed", "canceled"})
ALL_REFUNDED = "charge_already_refunded"
ACTION_ERROR = {"message": "The issuer asks the cardholder to authenticate, which a till cannot do."}


class Stripe:
    """The adapter. `send` replaces the connections to Stripe."""

    name = "Stripe"
    takes = frozenset({InputType.MANUAL_ENTRY, InputType.LINKED_CARD})
    can_inquire, links_cards, institution, quiet = True, True, "", timedelta(seconds=60)

    def __init__(self, send: "Send | None" = None) -> None:
        self._send = send

    def refuse(self, request: AuthorizationRequest | ReversalRequest) -> tuple[Finding, ...]:
        """Return the finding about an amount that Stripe cannot take."""
        return amounts.refuse(request.amount_minor, request.currency)

    def authorize(self, request: AuthorizationRequest, within_s: float) -> AcquirerAnswer:
        """Create an intent, and confirm it with the card or with the payment method of the linked card."""
        api = self._api(within_s)
        facts = InquiryRequest(
            request.reference, request.amount_minor, request.currency, outside.now(), link_id=request.link_id
        )
        try:
            intent = _created(api, facts)
        except RefusedError as refused:
            return _without_charge(refused, request.card)
        method = _method_of(request.link_id)
        if request.card is not None:
            try:
                with _named(intent):
                    method = _method(api, request.card)
            except RefusedError as refused:
                if refused.is_passing:
                    raise AnswerLostError(intent) from None
                return _without_charge(refused, request.card, intent)
        return _confirmed(api, intent, method, request)

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Refund a payment. For an automatic reversal, find its intent, and cancel or refund it."""
        api, now = self._api(within_s), outside.now()
        created_at = request.created_at or now
        if request.kind is ReversalKind.AUTOMATIC:
            with _undecided():
                return _undone(api, request, created_at)
        if request.acquirer_tran_id is None or now >= created_at + KEYS_LAST:
            raise AnswerLostError  # the key of an earlier request may be forgotten: an inquiry looks for the refund
        try:
            return _refund(api, request, request.acquirer_tran_id)
        except RefusedError as refused:
            if refused.is_of_used_key:
                raise AnswerLostError from None
            if refused.is_passing:
                raise UnreachableError from None
            code = INVALID_AMOUNT if is_about_amount(refused.error) else DO_NOT_HONOUR
            return AcquirerAnswer(code, _text(refused.error, request.card), reverses=_reverses(request))

    def inquire(self, request: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        """Return the outcome of the intent or the refund; None for an intent that is cancelled or was never created."""
        api = self._api(within_s)
        with _undecided():
            if request.original is not None:
                return _found_refund(api, request, request.acquirer_tran_id)
            intent = _found(api, request)
            return None if intent is None else _outcome(api, intent, request.reference)

    def link(self, request: LinkRequest, within_s: float) -> LinkAnswer:
        """Store the card as the payment method of a new customer, if its issuer accepts that.

        The token is the ID of the payment method, a slash, and the ID of the customer.
        """
        api, card = self._api(within_s), request.card
        key = f"{request.reference}@{outside.now():%Y-%m-%dT%H:%M:%S.%f}"  # stages of one account have the same numbers
        try:
            customer = _id(api.post("customers", {"metadata": {OUR_ID: request.reference}}, f"{key}:customer"), "cus_")
            method = _method(api, card)
            params = {"customer": customer, "usage": "off_session", "payment_method_types": ["card"]}
            setup = _id(api.post_setup_intent(params, f"{key}:setup"), "seti_")
            answer = api.post(f"setup_intents/{setup}/confirm", {"payment_method": method}, f"{key}:confirm")
        except RefusedError as refused:
            declined = _without_charge(refused, card)
            return LinkAnswer(declined.code, declined.message, card.details)
        if _id(answer, "seti_") != setup:
            raise AnswerLostError
        if answer.get("status") == ACTION:
            return LinkAnswer(AUTHENTICATION, ACTION_ERROR["message"], card.details)
        if answer.get("status") != PAID:
            raise AnswerLostError
        return LinkAnswer(APPROVED_CODE, text_of_code(APPROVED_CODE), card.details, f"{method}/{customer}")

    def _api(self, within_s: float) -> "Api":
        from chalicelib.gateways.acquirers.stripe.api import Api  # noqa: PLC0415  it loads Stripe's library

        return Api(within_s, self._send)


# Payments


def _created(api: "Api", facts: InquiryRequest) -> str:
    """Create the intent of a payment, or find it as it was created under the same key. Return its ID."""
    params: dict[str, Any] = {
        "amount": amounts.units(facts.amount_minor, facts.currency),
        "currency": facts.currency.code.lower(),
        "payment_method_types": ["card"],
        "metadata": {OUR_ID: facts.reference},
    }
    if customer := (facts.link_id or "").partition("/")[2]:
        params["customer"] = customer
    try:
        return _id(_checked(api.post("payment_intents", params, f"{facts.reference}:create"), facts), "pi_")
    except RefusedError as refused:
        if refused.is_of_used_key:  # of an intent, which therefore may exist
            raise ServerFailedError from None
        raise


def _method(api: "Api", card: CardData) -> str:
    exp = card.details.exp or ""
    data = {"number": card.pan.reveal(), "exp_month": int(exp[:2]), "exp_year": CENTURY + int(exp[2:])}
    if card.cvv2 is not None:
        data["cvc"] = card.cvv2.reveal()
    return _id(api.post("payment_methods", {"type": "card", "card": data}), "pm_")


def _method_of(link_id: str | None) -> str:
    return (link_id or "").partition("/")[0]


def _confirmed(api: "Api", intent: str, method: str, request: AuthorizationRequest) -> AcquirerAnswer:
    """Confirm the intent, which charges the card. Whatever is no clear answer leaves the outcome unknown."""
    params: dict[str, Any] = {"payment_method": method, "error_on_requires_action": True}
    if request.card is None:
        params["off_session"] = True
    elif (settings().stripe or Account()).moto:
        params["payment_method_options"] = {"card": {"moto": True}}
    try:
        with _named(intent):
            answer = api.post(f"payment_intents/{intent}/confirm", params, f"{request.reference}:confirm")
    except RefusedError as refused:
        about = refused.error.get("payment_intent")
        is_ours = not isinstance(about, dict) or about.get("id") == intent
        if refused.is_passing or refused.is_of_used_key or not is_ours:
            raise AnswerLostError(intent) from None
        if is_about_amount(refused.error):
            return _declined(INVALID_AMOUNT, refused.error, request.card, intent)
        if not refused.is_of_card:
            raise AnswerLostError(intent) from None
        code = code_of(refused.error)
        if code == AUTHENTICATION:
            with suppress(AcquirerError, RefusedError):  # declined already, and nobody else has the intent's secret
                _cancel(api, intent, f"{request.reference}:cancel")
        return _declined(code, refused.error, request.card, intent)
    with _named(intent):
        _checked(answer, request)
        if _id(answer, "pi_") != intent:
            raise AnswerLostError
        return _after_confirmation(api, answer, request)


def _after_confirmation(api: "Api", answer: "Object", request: AuthorizationRequest) -> AcquirerAnswer:
    status, error = answer.get("status"), answer.get("last_payment_error")
    if status == PAID:
        return _approved(answer)
    if status == ACTION:
        with _undecided():
            _cancel(api, answer["id"], f"{request.reference}:cancel")
        return _declined(AUTHENTICATION, ACTION_ERROR, request.card, answer["id"])
    if status == UNPAID and isinstance(error, dict):
        return _declined(code_of(error), error, request.card, answer["id"])
    raise AnswerLostError


def _without_charge(refused: RefusedError, card: CardData | None, intent: str | None = None) -> AcquirerAnswer:
    """Return the decline of a card or an amount before anything could be charged. Else raise UnreachableError."""
    if not refused.is_passing and is_about_amount(refused.error):
        return _declined(INVALID_AMOUNT, refused.error, card, intent)
    if card is not None and refused.is_of_card:
        return _declined(code_of(refused.error), refused.error, card, intent)
    if not refused.is_passing:
        refused.tell()
    raise UnreachableError


def _found(api: "Api", facts: InquiryRequest) -> "Object | None":
    """Return the intent of a payment as it is now; None when there is none among those of its time."""
    intent = facts.acquirer_tran_id
    if intent is None and outside.now() < facts.created_at + KEYS_LAST:
        try:
            intent = _created(api, facts)  # the answer is of the creation: the intent is read below
        except ServerFailedError:
            intent = None
        except RefusedError as refused:
            if refused.is_passing:
                raise
    if intent is None:
        begin, end = facts.created_at - BEFORE, facts.created_at + AFTER
        created = {"gte": int(begin.timestamp()), "lte": int(end.timestamp())}
        listed = _listed(api, "payment_intents", {"created": created})
        intent = next((_id(one, "pi_") for one in listed if _our_id(one) == facts.reference), None)
    return None if intent is None else _checked(api.get(f"payment_intents/{intent}", {}), facts)


def _outcome(api: "Api", intent: "Object", reference: str) -> AcquirerAnswer | None:
    """Return the outcome of an intent. Cancel one that was not confirmed; None once that is acknowledged."""
    status, error = intent.get("status"), intent.get("last_payment_error")
    if status == PAID:
        return _approved(intent)
    if status in {UNPAID, CANCELLED} and isinstance(error, dict):
        return _declined(code_of(error), error, None, intent["id"])
    if status in CANCELLABLE:
        _cancel(api, intent["id"], f"{reference}:cancel")
    elif status != CANCELLED:
        raise AnswerLostError
    return None


def _cancel(api: "Api", intent: str, key: str) -> None:
    """Cancel an intent. Return when Stripe has acknowledged it."""
    answer = api.post(f"payment_intents/{intent}/cancel", {}, key)
    if _id(answer, "pi_") != intent or answer.get("status") != CANCELLED:
        raise AnswerLostError


def _undone(api: "Api", request: ReversalRequest, created_at: datetime) -> AcquirerAnswer:
    """Cancel or refund a payment, whatever became of it. It may never have arrived; then it never can."""
    facts = InquiryRequest(
        request.original,
        request.amount_minor,
        request.currency,
        created_at,
        link_id=request.link_id,
        acquirer_tran_id=request.acquirer_tran_id,
    )
    intent = _found(api, facts)
    done = AcquirerAnswer(APPROVED_CODE, text_of_code(APPROVED_CODE), reverses=_reverses(request))
    if intent is None or intent.get("status") == CANCELLED:
        return done
    if intent.get("status") in CANCELLABLE:
        _cancel(api, intent["id"], f"{request.reference}:cancel")
        return done
    if intent.get("status") != PAID:
        raise AnswerLostError
    try:
        # Looked for first: this reversal may be repeated after Stripe has forgotten its key.
        return _found_refund(api, request, intent["id"]) or _refund(api, request, intent["id"])
    except RefusedError as refused:
        if refused.error.get("code") == ALL_REFUNDED:
            return done
        raise


# Refunds


def _refund(api: "Api", request: ReversalRequest, intent: str) -> AcquirerAnswer:
    params = {
        "payment_intent": intent,
        "amount": amounts.units(request.amount_minor, request.currency),
        "metadata": {OUR_ID: request.reference},
    }
    return _outcome_of_refund(api.post("refunds", params, f"{request.reference}:refund"), request, intent)


def _found_refund(api: "Api", request: InquiryRequest | ReversalRequest, intent: str | None) -> AcquirerAnswer | None:
    """Return the outcome of a refund of the intent; None when there is none with our ID."""
    if intent is None:
        raise AnswerLostError
    refunds = _listed(api, "refunds", {"payment_intent": intent})
    found = next((one for one in refunds if _our_id(one) == request.reference), None)
    return None if found is None else _outcome_of_refund(found, request, intent)


def _outcome_of_refund(refund: "Object", request: InquiryRequest | ReversalRequest, intent: str) -> AcquirerAnswer:
    status, said = refund.get("status"), (_our_id(refund), refund.get("payment_intent"), refund.get("amount"))
    if said != (request.reference, intent, amounts.units(request.amount_minor, request.currency)):
        raise AnswerLostError
    if status == PENDING:
        log("refund_pending", acquirer=STRIPE, transaction=request.reference)
    if status not in REFUNDED | NOT_REFUNDED:
        raise AnswerLostError
    code = APPROVED_CODE if status in REFUNDED else DO_NOT_HONOUR
    return AcquirerAnswer(code, text_of_code(code), acquirer_tran_id=_id(refund, ""), reverses=_reverses(request))


def _reverses(request: InquiryRequest | ReversalRequest) -> Reversed:
    return Reversed(request.original or "", request.amount_minor)


# Answers


@contextmanager
def _named(intent: str) -> Iterator[None]:
    """Leave the outcome unknown, with the intent's ID, when an answer is missing after the creation."""
    try:
        yield
    except AcquirerError:
        raise AnswerLostError(intent) from None


@contextmanager
def _undecided() -> Iterator[None]:
    """Let a refusal decide nothing."""
    try:
        yield
    except RefusedError:
        raise AnswerLostError from None


def _approved(intent: "Object") -> AcquirerAnswer:
    return AcquirerAnswer(APPROVED_CODE, text_of_code(APPROVED_CODE), acquirer_tran_id=intent["id"])


def _declined(code: int, error: "Object", card: CardData | None, intent: str | None) -> AcquirerAnswer:
    return AcquirerAnswer(code, _text(error, card) or text_of_code(code), acquirer_tran_id=intent)


def _text(error: "Object", card: CardData | None) -> str:
    """Return Stripe's text for people, with card numbers masked. Half a surrogate pair cannot be stored: it is `?`."""
    text, details = error.get("message"), card.details if card else None
    return _masked(text.encode(errors="replace").decode(), details) if isinstance(text, str) else ""


def _masked(text: str, details: CardDetails | None) -> str:
    return mask_foreign(text[: 4 * MOST_TEXT], details)[:MOST_TEXT]


def _checked(intent: "Object", facts: InquiryRequest | AuthorizationRequest) -> "Object":
    """Return the intent; raise AnswerLostError if it is not that of this payment."""
    said = (_our_id(intent), intent.get("amount"), intent.get("currency"))
    units = amounts.units(facts.amount_minor, facts.currency)
    if said != (facts.reference, units, facts.currency.code.lower()):
        raise AnswerLostError
    _id(intent, "pi_")
    return intent


def _our_id(found: "Object") -> str | None:
    metadata = found.get("metadata")
    return metadata.get(OUR_ID) if isinstance(metadata, dict) else None


def _id(found: "Object", prefix: str) -> str:
    """Return the ID of an object of Stripe; raise AnswerLostError for another text."""
    name = found.get("id")
    if not (isinstance(name, str) and name.startswith(prefix) and name.replace("_", "a").isalnum() and name.isascii()):
        raise AnswerLostError
    return name


def _listed(api: "Api", path: str, params: "Object") -> "Iterator[Object]":
    """Yield the objects of all pages of a list."""
    after: dict[str, str] = {}
    while True:
        page = api.get(path, {**params, "limit": PAGE, **after})
        found = page.get("data")
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise AnswerLostError
        yield from found
        if not (page.get("has_more") and found):
            return
        after = {"starting_after": _id(found[-1], "")}
