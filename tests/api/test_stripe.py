"""Payments over HTTP at a stage whose acquirer is STRIPE, at the stand-in."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import AnswerLostError
from chalicelib.domain.card import FAILED, VERIFIED
from chalicelib.domain.transaction import Transaction
from chalicelib.services import payment_sweep
from infra.local.stripe_stand_in import LOST, NEVER_ARRIVED, StripeStandIn
from infra.operator import commands
from tests.infra.reference.test_guides import CODES, STRIPES_GUIDE
from tests.support import guides
from tests.support.cards import STEADY, a_card_body, chip_data
from tests.support.giving import environment, typing
from tests.support.http import TILL, Reply, get, post
from tests.support.intercepted_calls import broken, failing
from tests.support.stored import stored_transaction
from tests.support.stripe_stage import held, held_by_us, paying_at_stripe

SUBMIT = "/api/v1/payment/submit"
CREATE, METHOD, CONFIRM = "POST payment_intents", "POST payment_methods", "POST payment_intents/{id}/confirm"
MORNING = datetime(2026, 3, 14, 7, tzinfo=UTC)
ACTION = "4000002760003184"


class Clock:
    now = MORNING

    def later(self, **by: int) -> None:
        self.now += timedelta(**by)

    def resolve(self) -> None:
        """Let what is pending be resolved: inquiries until the quiet time is over, then those of the next day."""
        for minutes in (1, 2, 2, 5):
            self.later(minutes=minutes)
            payment_sweep.run(self.now)


@pytest.fixture
def clock() -> Iterator[Clock]:
    found = Clock()
    with outside.given(now=lambda: found.now):
        yield found


@pytest.fixture
def stripe(stage: str, clock: Clock) -> Iterator[StripeStandIn]:
    del stage, clock
    with paying_at_stripe() as stand_in:
        yield stand_in


def pay(stage: str, amount: str = "12.30", pan: str = STEADY, **parts: Any) -> Reply:
    return post(stage, SUBMIT, a_card_body(amount, pan, **parts), TILL)


def give_back(stage: str, payment_id: str, mode: int, **basic: Any) -> Reply:
    body = {"BasicReverseTran": {"TransactionID": payment_id, "ReverseMode": mode, **basic}}
    return post(stage, "/api/v1/payment/reversecnp", body)


def ours(reply: Reply) -> Transaction:
    return stored_transaction(reply.body["TransactionID"])


def test_a_keyed_payment_is_an_intent_charged_once_and_a_repeat_charges_nothing(
    stage: str, stripe: StripeStandIn
) -> None:
    body = a_card_body("12.30", STEADY)
    first, again = post(stage, SUBMIT, body, TILL), post(stage, SUBMIT, body, TILL)

    shown = first.body["Transaction"]
    [intent] = stripe.of("payment_intent")
    assert first.error == again.error == (200, 0)
    assert (shown["State"], shown["Substate"], shown["Result"]["Code"]) == (400, 411, 0)
    assert (shown["AcquirerTranID"], shown["RRN"], shown["ApprovalCode"]) == (intent["id"], None, None)
    assert held(stripe) == held_by_us(ours(first)) == {body["BasicTran"]["ID"]: 1230}
    assert [one.step for one in stripe.requests] == [CREATE, METHOD, CONFIRM]
    assert stripe.requests[2].params["error_on_requires_action"] == "true"
    assert STEADY not in str(stripe.requests[0])


@pytest.mark.parametrize(
    ("pan", "code", "text"),
    [
        ("4000000000000002", 5, "Your card was declined."),
        ("4000000000009995", 51, "Your card has insufficient funds."),
        ("4000000000009987", 41, "Your card was declined."),
        ("4000000000009979", 43, "Your card was declined."),
        ("4000000000000069", 54, "Your card has expired."),
        ("4000000000000127", 82, "Your card's security code is incorrect."),
        ("4000000000000119", 96, "An error occurred while processing your card."),
        ("4000000000006975", 61, "Your card was declined."),
        ("4100000000000019", 59, "Your card was declined."),
        (ACTION, 65, "Your card was declined. This transaction requires authentication."),
    ],
)
def test_a_decline_has_its_code_and_stripes_text(
    stage: str, stripe: StripeStandIn, pan: str, code: int, text: str
) -> None:
    declined = pay(stage, pan=pan)

    assert declined.error == (200, 1000 + code)
    assert declined.body["Transaction"]["Result"] == {"Code": code, "Message": text}
    assert held(stripe) == held_by_us(ours(declined)) == {}
    assert (stripe.of("payment_intent")[0]["status"] == "canceled") is (code == 65)  # nobody can complete the action


def test_a_linked_card_pays_off_session_and_a_declined_one_is_not_linked(
    stage: str, stripe: StripeStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    for pan in (STEADY, "4000000000000002", ACTION):
        with typing(f"{pan}\n1230\n"):
            commands.main(["link-card", "--email", TILL[0], "--acquirer", "STRIPE"])
    cards = post(stage, "/api/v1/payment/GetLinkedCards", {}, TILL).body["LinkedCards"]
    linked, *others = cards[-3:]

    paid = pay(stage, basic={"InputType": 5}, Card={"CardInputMode": 2, "LinkedCardId": linked["ID"]})

    assert capsys.readouterr().out.count("is not linked") == 2
    assert (linked["Status"], [one["Status"] for one in others]) == (VERIFIED, [FAILED, FAILED])
    assert paid.error == (200, 0)
    assert stripe.requests[-1].params["off_session"] == "true"
    assert held(stripe) == held_by_us(ours(paid))
    assert STEADY not in linked["LinkID"]


def test_returns_in_part_and_in_full_and_a_cancel_are_refunds(stage: str, stripe: StripeStandIn) -> None:
    first, second = pay(stage, "20.00"), pay(stage, "30.00")
    parts = [give_back(stage, ours(first).id, 5, Amount=amount, PartialReverse=True) for amount in ("5.00", "6.00")]
    too_much = give_back(stage, ours(first).id, 5, Amount="10.00", PartialReverse=True)
    rest = give_back(stage, ours(first).id, 5)
    cancelled = give_back(stage, ours(second).id, 3)

    assert [one.error for one in (*parts, too_much, rest, cancelled)] == [
        (200, 0),
        (200, 0),
        (409, 304),
        (200, 0),
        (200, 0),
    ]
    assert [one["amount"] for one in reversed(stripe.of("refund"))] == [500, 600, 900, 3000]
    assert parts[0].body["Transaction"]["AcquirerTranID"] == stripe.of("refund")[-1]["id"]
    assert held(stripe) == held_by_us(ours(first), ours(second)) == {}


POINTS = [(step, fault) for step in (CREATE, METHOD, CONFIRM) for fault in (LOST, NEVER_ARRIVED, "409", "500")]


@pytest.mark.parametrize(("step", "fault"), [*POINTS, (METHOD, "429"), (CONFIRM, "429")])
def test_an_answer_that_is_missing_leaves_the_outcome_unknown_until_an_inquiry_finds_it(
    stage: str, clock: Clock, stripe: StripeStandIn, step: str, fault: str
) -> None:
    stripe.faults.append((step, fault))

    unknown = pay(stage)
    assert (unknown.error, unknown.body["Transaction"]["IsNotFinished"]) == ((200, 310), True)
    clock.resolve()

    payment = ours(unknown)
    assert held(stripe) == held_by_us(payment)
    assert payment.took_money is ((step, fault) == (CONFIRM, LOST))
    assert sum(one.step == CONFIRM for one in stripe.requests) <= 1
    assert all(one["status"] in {"succeeded", "canceled"} for one in stripe.of("payment_intent"))


@pytest.mark.parametrize("fault", [LOST, NEVER_ARRIVED, "409", "500"])
def test_a_refund_whose_answer_is_missing_is_found_or_made_once(
    stage: str, clock: Clock, stripe: StripeStandIn, fault: str
) -> None:
    paid = pay(stage)
    stripe.faults.append(("POST refunds", fault))

    assert give_back(stage, ours(paid).id, 5, Amount="2.30", PartialReverse=True).error == (200, 310)
    clock.resolve()

    assert held(stripe) == held_by_us(ours(paid))
    assert len(stripe.of("refund")) == (0 if fault == "500" else 1)  # Stripe keeps that answer for the key


def test_lost_inquiries_and_cancellations_decide_nothing(stage: str, clock: Clock, stripe: StripeStandIn) -> None:
    stripe.faults += [(METHOD, LOST), ("GET payment_intents/{id}", "429"), ("/cancel", "409"), ("/cancel", LOST)]

    unknown = pay(stage)
    for _ in range(6):
        clock.later(minutes=5)
        get(stage, f"/api/v1/payment/{ours(unknown).id}")

    assert (ours(unknown).phase, stripe.faults) == ("rejected", [])
    assert stripe.of("payment_intent")[0]["status"] == "canceled"


@pytest.mark.parametrize("at", ["before the deadline", "after it"])
def test_what_is_older_than_a_key_is_looked_for_and_never_repeated(
    stage: str, clock: Clock, stripe: StripeStandIn, at: str
) -> None:
    stripe.faults += [(CONFIRM, LOST), *(("GET", "500"),) * 50]
    unknown = pay(stage)
    del stripe.requests[:]

    clock.later(hours=25 if at == "after it" else 1)
    stripe.faults.clear()
    clock.resolve()

    assert held(stripe) == held_by_us(ours(unknown))
    assert {one.step for one in stripe.requests} <= {"GET payment_intents/{id}", "GET refunds", "POST refunds"}


def test_an_intent_without_a_known_id_is_found_by_our_id_among_those_of_its_time(
    stage: str, clock: Clock, stripe: StripeStandIn
) -> None:
    others = [pay(stage) for _ in range(3)]
    stripe.faults.append((CREATE, LOST))
    unknown = pay(stage)
    clock.later(hours=23, minutes=30)
    del stripe.requests[:]
    clock.resolve()

    assert CREATE not in {one.step for one in stripe.requests}
    assert ours(unknown).phase == "rejected" or not ours(unknown).took_money
    assert held(stripe) == held_by_us(ours(unknown), *map(ours, others))


@pytest.mark.parametrize(("status", "tells"), [("401", 1), ("403", 1), ("400", 1), ("404", 1), ("429", 0)])
def test_what_stripe_refuses_at_the_creation_was_not_attempted(
    stage: str, stripe: StripeStandIn, capsys: pytest.CaptureFixture[str], status: str, tells: int
) -> None:
    stripe.faults.append((CREATE, status))

    refused = pay(stage)

    assert refused.error == (503, 902)
    assert capsys.readouterr().out.count("acquirer_refuses_us") == tells
    assert [one.step for one in stripe.requests] == [CREATE]


def test_an_account_that_may_not_send_card_numbers_is_refused_and_its_operator_is_told(
    stage: str, stripe: StripeStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    stripe.faults.append((METHOD, "400"))

    assert pay(stage).error == (503, 902)
    assert '"acquirer_refuses_us"' in capsys.readouterr().out
    assert held(stripe) == {}


def test_without_a_connection_nothing_was_attempted(stage: str, stripe: StripeStandIn) -> None:
    with environment(STRIPE_URL="http://127.0.0.1:9"):
        assert pay(stage).error == (503, 902)

    assert stripe.requests == []


def test_an_amount_that_stripe_cannot_say_is_refused_before_anything_is_sent(stage: str, stripe: StripeStandIn) -> None:
    refused = pay(stage, "1000000.00")

    assert (refused.error, refused.findings) == ((400, 202), [("BasicTran.Amount", 5)])
    assert stripe.requests == []


def test_a_read_card_needs_another_acquirer(stage: str, stripe: StripeStandIn) -> None:
    card = {"CardInputMode": 1, "CardDataInput": {"ReaderData": chip_data()}}

    assert pay(stage, basic={"InputType": 3}, Card=card).error == (400, 312)
    assert stripe.requests == []


def test_a_telephone_order_is_marked_where_the_account_may_take_them(stage: str, clock: Clock) -> None:
    del clock
    with paying_at_stripe(STRIPE_MOTO="on") as stripe:
        assert pay(stage).error == (200, 0)

    assert stripe.requests[-1].params["payment_method_options"] == {"card": {"moto": "true"}}


def test_a_payment_unknown_at_its_deadline_is_refunded(stage: str, clock: Clock, stripe: StripeStandIn) -> None:
    stripe.faults.append((CONFIRM, LOST))
    unknown = pay(stage)
    clock.later(hours=20)
    with broken(inquire=failing(AnswerLostError())):
        clock.resolve()

    assert ours(unknown).phase == "auto_cancelled"
    assert (held(stripe), len(stripe.of("refund"))) == ({}, 1)


def test_a_day_is_reconciled_with_stripes_balance_report(
    stage: str, clock: Clock, stripe: StripeStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock.later(days=6)
    paid, cancelled = pay(stage, "20.00"), pay(stage, "30.00")
    pay(stage, pan="4000000000009995")
    give_back(stage, ours(paid).id, 5, Amount="5.00", PartialReverse=True)
    give_back(stage, ours(cancelled).id, 3)
    capsys.readouterr()
    report = stripe.balance_report(clock.now.date())
    failed = report.splitlines()[3].replace(",refund,", ",refund_failure,").replace("txn_", "txn_of_failure_")

    def differences(text: str) -> list[str]:
        path = tmp_path / "balance.csv"
        path.write_text(text, encoding="utf-8")
        with suppress(SystemExit):
            commands.main(["reconcile", "--acquirer", "STRIPE", "--date", str(clock.now.date()), "--file", str(path)])
        return [line[38:].partition(";")[0].strip() for line in capsys.readouterr().out.splitlines()[:-1]]

    intent, refund = stripe.of("payment_intent")[-1]["id"], stripe.of("refund")[-1]["id"]
    assert differences(report) == []
    assert differences(f"{report}{failed}\n") == [f"{refund}  missing there  ours refund 5.00 ZAR, theirs -"]
    assert differences(report.replace(",20.00,", ",21.00,")) == [f"{intent}  amount         ours 20.00, theirs 21.00"]


def test_the_guide_pays_and_gives_back_as_it_says(stage: str, stripe: StripeStandIn) -> None:
    answers = guides.pasted(STRIPES_GUIDE, stage)

    assert [one["ErrorCode"] for one in answers] == CODES[STRIPES_GUIDE]
    assert [one["amount"] for one in stripe.of("charge") + stripe.of("refund")] == [25_000, 25_000]
