"""STRIPE by the answers it gets: each is a decision, or leaves the outcome unknown."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import AnswerLostError, ReversalKind, ReversalRequest, UnreachableError
from chalicelib.domain.money import Currency
from chalicelib.errors import Check
from chalicelib.gateways.acquirers.stripe import amounts, api
from chalicelib.gateways.acquirers.stripe.adapter import Stripe
from chalicelib.gateways.acquirers.stripe.declines import CODES, code_of
from chalicelib.network import Deadline
from tests.support.cards import PAN, STEADY, a_card, an_authorization, an_inquiry
from tests.support.giving import Give
from tests.support.transactions import ZAR, a_guid

Answer = tuple[int, Any]
CODE_OF_OTHERS = 5


class Line:
    """Answers in their order, of which each is used once, and the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.sent = list(answers), list[tuple[str, str, Mapping[str, str], str]]()

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, _: Deadline
    ) -> tuple[bytes, int, Mapping[str, str]]:
        self.sent.append((method, url.partition("/v1/")[2], headers, body.decode()))
        status, content = self.answers.pop(0)
        return content if isinstance(content, bytes) else json.dumps(content).encode(), status, {}


@pytest.fixture(autouse=True)
def key(give: Give) -> None:
    give(secret=lambda _: json.dumps({"digest_key": "d", "stripe": "sk_test_ofthetests"}))


REQUEST = an_authorization(card=a_card(pan=STEADY))


def intent(**changes: Any) -> dict[str, Any]:
    facts = {"id": "pi_1", "object": "payment_intent", "amount": 1230, "currency": "zar", "status": "succeeded"}
    return {**facts, "metadata": {"payments_id": REQUEST.reference}, "last_payment_error": None, **changes}


CREATED: Answer = (200, intent(status="requires_payment_method"))
METHOD: Answer = (200, {"id": "pm_1", "object": "payment_method"})
TORN = [
    (200, b"<html>"),
    (200, b'{"id": "pi_'),
    (200, []),
    (200, {}),
    (200, intent(metadata={})),
    (200, intent(metadata={"payments_id": "another"})),
    (200, intent(amount=1231)),
    (200, intent(currency="usd")),
    (200, intent(id="ch_1")),
    (302, b""),
    (400, b"Bad request"),
    (404, {"error": "not found"}),
    (409, {"error": {"type": "invalid_request_error", "code": "lock_timeout"}}),
    (400, {"error": {"type": "idempotency_error"}}),
    (500, {"error": {"type": "api_error"}}),
    (503, b""),
]


@pytest.mark.parametrize("answer", TORN, ids=range(len(TORN)))
def test_what_is_not_stripes_answer_about_our_intent_decides_nothing(answer: Answer) -> None:
    creation, confirmation = Line(answer), Line(CREATED, METHOD, answer)

    with pytest.raises(AnswerLostError) as lost:
        Stripe(creation).authorize(REQUEST, 5)
    with pytest.raises(AnswerLostError) as lost_later:
        Stripe(confirmation).authorize(REQUEST, 5)

    assert (lost.value.acquirer_tran_id, lost_later.value.acquirer_tran_id) == (None, "pi_1")
    assert (len(creation.sent), len(confirmation.sent)) == (1, 3)  # nothing is repeated


@pytest.mark.parametrize("status", ["processing", "requires_capture", "requires_payment_method", "something new"])
def test_an_intent_in_another_state_is_unknown(status: str) -> None:
    with pytest.raises(AnswerLostError):
        Stripe(Line(CREATED, METHOD, (200, intent(status=status)))).authorize(REQUEST, 5)


def test_another_intents_decline_is_not_ours() -> None:
    error = {"type": "card_error", "code": "card_declined", "payment_intent": {"id": "pi_2"}}

    with pytest.raises(AnswerLostError):
        Stripe(Line(CREATED, METHOD, (402, {"error": error}))).authorize(REQUEST, 5)


def test_an_action_that_remains_is_cancelled_before_it_is_a_decline() -> None:
    action, cancelled = (200, intent(status="requires_action")), (200, intent(status="canceled"))

    assert Stripe(Line(CREATED, METHOD, action, cancelled)).authorize(REQUEST, 5).code == 65
    with pytest.raises(AnswerLostError):
        Stripe(Line(CREATED, METHOD, action, (500, {}))).authorize(REQUEST, 5)


def test_stripes_text_is_told_without_the_cards_number() -> None:
    error = {"type": "card_error", "decline_code": "lost_card", "message": f"Card {PAN} and {STEADY} are lost."}

    answer = Stripe(Line(CREATED, METHOD, (402, {"error": error}))).authorize(REQUEST, 5)

    assert (answer.code, answer.message) == (41, "Card 411111******1111 and 424242******4242 are lost.")


def test_a_decline_whose_text_and_codes_are_odd_is_one_that_can_be_stored() -> None:
    error = {"type": "card_error", "code": ["x"], "decline_code": {}, "message": "Lost \ud83d"}

    answer = Stripe(Line(CREATED, METHOD, (402, {"error": error}))).authorize(REQUEST, 5)

    assert (answer.code, answer.message, answer.acquirer_tran_id) == (CODE_OF_OTHERS, "Lost ?", "pi_1")


@pytest.mark.parametrize("code", ["amount_too_small", "amount_too_large"])
@pytest.mark.parametrize("before", [(), (CREATED, METHOD)])
def test_an_amount_that_stripe_refuses_is_a_decline(code: str, before: tuple[Answer, ...]) -> None:
    refusal = (400, {"error": {"type": "invalid_request_error", "code": code, "param": "amount"}})

    assert Stripe(Line(*before, refusal)).authorize(REQUEST, 5).code == 13


def test_a_request_names_our_id_and_step_and_no_telemetry() -> None:
    line = Line(CREATED, METHOD, (200, intent()), CREATED, METHOD, (200, intent()))
    for _ in range(2):
        Stripe(line).authorize(REQUEST, 5)

    create, _, confirm = line.sent[3:]
    assert [one[2]["Idempotency-Key"] for one in (create, confirm)] == [
        f"{REQUEST.reference}:create",
        f"{REQUEST.reference}:confirm",
    ]
    assert not any("Telemetry" in name for one in line.sent for name in one[2])
    assert STEADY not in create[3] + confirm[3]
    assert not api.stripe.enable_telemetry  # type: ignore[attr-defined]


@pytest.mark.parametrize("secret", [{}, {"stripe": "sk_live_x"}, {"stripe": "rk_live_x"}])
def test_without_a_key_that_may_be_used_nothing_is_sent(
    secret: dict[str, str], give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRIPE_URL", "http://127.0.0.1:9")
    give(secret=lambda _: json.dumps({"digest_key": "d", **secret}))
    line = Line()

    with pytest.raises(UnreachableError):
        Stripe(line).authorize(REQUEST, 5)

    assert line.sent == []


def a_refund(**changes: Any) -> ReversalRequest:
    facts = {"created_at": outside.now(), "acquirer_tran_id": "pi_1", "kind": ReversalKind.RETURN, **changes}
    return ReversalRequest(a_guid(), REQUEST.reference, 500, ZAR, **facts)


def refund(request: ReversalRequest, **changes: Any) -> dict[str, Any]:
    facts = {"id": "re_1", "object": "refund", "amount": 500, "payment_intent": "pi_1", "status": "succeeded"}
    return {**facts, "metadata": {"payments_id": request.reference}, **changes}


@pytest.mark.parametrize(
    ("status", "code"), [("succeeded", 0), ("pending", 0), ("failed", CODE_OF_OTHERS), ("canceled", CODE_OF_OTHERS)]
)
def test_a_refund_counts_by_its_status(status: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    request = a_refund()

    answer = Stripe(Line((200, refund(request, status=status)))).reverse(request, 5)

    assert (answer.code, answer.acquirer_tran_id) == (code, "re_1")
    assert ("refund_pending" in capsys.readouterr().out) is (status == "pending")


def test_a_refund_whose_key_may_be_forgotten_is_not_sent() -> None:
    line = Line()

    with pytest.raises(AnswerLostError):
        Stripe(line).reverse(a_refund(created_at=outside.now() - timedelta(hours=23), is_repeat=True), 5)

    assert line.sent == []


@pytest.mark.parametrize("status", [401, 403, 429])
def test_a_refund_that_was_not_attempted_is_no_decline(status: int) -> None:
    with pytest.raises(UnreachableError):
        Stripe(Line((status, {"error": {"type": "api_error"}}))).reverse(a_refund(), 5)


def test_all_pages_of_refunds_are_read() -> None:
    request = a_refund()
    others = [refund(a_refund(), id=f"re_{number}") for number in range(2, 102)]
    line = Line((200, {"data": others, "has_more": True}), (200, {"data": [refund(request)], "has_more": False}))
    inquiry = an_inquiry(request.reference, amount_minor=500, original=REQUEST.reference, acquirer_tran_id="pi_1")

    answer = Stripe(line).inquire(inquiry, 5)

    assert answer is not None
    assert answer.acquirer_tran_id == "re_1"
    assert "starting_after=re_101" in line.sent[1][1]


def test_a_saved_failure_of_the_creation_is_looked_past() -> None:
    inquiry = an_inquiry(REQUEST.reference, created_at=outside.now())
    listed = (200, {"data": [intent()], "has_more": False})

    answer = Stripe(Line((500, {}), listed, (200, intent()))).inquire(inquiry, 5)

    assert answer is not None
    assert answer.is_approved
    assert Stripe(Line((500, {}), (200, {"data": [], "has_more": False}))).inquire(inquiry, 5) is None
    for status in (401, 409, 429):
        with pytest.raises(AnswerLostError):
            Stripe(Line((status, {"error": {}}))).inquire(inquiry, 5)


@pytest.mark.parametrize(
    ("code", "digits", "amount_minor", "found"),
    [
        ("ZAR", 2, 1230, 1230),
        ("JPY", 0, 500, 500),
        ("MGA", 2, 400_000, 4000),
        ("MGA", 2, 400_020, Check.TOO_MANY_DECIMALS),
        ("ISK", 0, 500, 50_000),
        ("UGX", 0, 500, 50_000),
        ("HUF", 2, 1045, 1045),
        ("TWD", 2, 80_045, 80_045),
        ("KWD", 3, 5120, 5120),
        ("KWD", 3, 1234, Check.TOO_MANY_DECIMALS),
        ("IQD", 3, 1230, 123),
        ("IQD", 3, 1234, Check.TOO_MANY_DECIMALS),
        ("CLP", 0, 99_999_999, 99_999_999),
        ("ZAR", 2, 100_000_000, Check.OUT_OF_RANGE),
        ("ISK", 0, 1_000_000, Check.OUT_OF_RANGE),
    ],
)
def test_amounts_are_counted_in_stripes_units(code: str, digits: int, amount_minor: int, found: int) -> None:
    currency = Currency(code, "000", digits)

    findings = amounts.refuse(amount_minor, currency)

    assert [(one.field, one.code) for one in findings] == ([("amount", found)] if isinstance(found, Check) else [])
    assert findings or amounts.units(amount_minor, currency) == found


def test_a_decline_code_wins_over_the_errors_code_and_others_are_do_not_honour() -> None:
    assert code_of({"code": "card_declined", "decline_code": "insufficient_funds"}) == 51
    assert code_of({"code": "expired_card"}) == 54
    assert {code_of({"code": code}) for code in ("card_declined", "generic_decline", None, 7)} == {CODE_OF_OTHERS}
    assert {code: CODES[code] for code in ("try_again_later", "fraudulent", "pin_try_exceeded", "invalid_cvc")} == {
        "try_again_later": 91,
        "fraudulent": 59,
        "pin_try_exceeded": 65,
        "invalid_cvc": 82,
    }
