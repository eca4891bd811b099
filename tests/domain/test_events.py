"""Events: one for each phase that decides something, under an ID that leads to it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain import events
from chalicelib.domain.events import Kind, event_of, kind_of
from chalicelib.domain.phases import PENDING, Phase
from chalicelib.domain.transaction import Erasure
from chalicelib.schemas.webhooks import body_of
from tests.support.events import OF_PAYMENTS, OF_REVERSALS
from tests.support.transactions import NOW, a_payment


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_makes_the_event_of_its_kind(phase: Phase) -> None:
    payment = a_payment(phase=phase)
    reversal = a_payment(phase=phase, original_id="A")

    assert kind_of(payment) == OF_PAYMENTS.get(phase)
    assert kind_of(reversal) == OF_REVERSALS.get(phase)


def test_what_is_pending_makes_no_event_but_an_unknown_payment() -> None:
    assert {phase for phase in PENDING if kind_of(a_payment(phase=phase))} == {Phase.UNKNOWN}


def test_every_kind_is_made_by_a_phase() -> None:
    assert {*OF_PAYMENTS.values(), *OF_REVERSALS.values()} == set(Kind)


def test_an_id_follows_from_transaction_phase_and_second_and_leads_to_that_second() -> None:
    payment = a_payment(makes_events=True)
    one, same = event_of(payment, NOW), event_of(payment, NOW)
    signed = event_of(a_payment(id=payment.id, phase=Phase.AWAITING_COMPLETION, makes_events=True), NOW)

    assert one == same
    assert one is not None
    assert signed is not None
    assert one.id != signed.id
    assert events.second_of(one.id) == NOW.replace(microsecond=0)


@pytest.mark.parametrize(
    "text", ["", "evt_", "evt_" + "g" * 32, "evt_" + "0" * 31, "EVT_" + "0" * 32, "evt_" + "0" * 33]
)
def test_another_text_is_no_id(text: str) -> None:
    assert events.second_of(text) is None


def test_the_places_of_a_span_are_in_the_order_of_time() -> None:
    midnight = datetime(2026, 3, 15, tzinfo=UTC)
    before, after = (events.place_of_event(7, "evt_1", midnight + timedelta(seconds=s)) for s in (-1, 1))
    spans = events.spans(7, midnight - timedelta(hours=1), midnight + timedelta(hours=1))

    assert [partition for partition, _, _ in spans] == ["7#2026-03-14", "7#2026-03-15"]
    assert [before[0], after[0]] == ["7#2026-03-14", "7#2026-03-15"]
    assert all(low <= place <= high for (_, low, high) in spans for place in (before[1], after[1]))
    assert events.spans(7, midnight, midnight) == []


def test_a_webhook_gets_no_more_than_who_what_and_when() -> None:
    payment = a_payment(id="A", makes_events=True, receipt_email="thandi@shop.example")
    made = event_of(payment, NOW)
    assert made is not None

    assert json.loads(body_of(made)) == {
        "type": "payment.approved",
        "timestamp": "2026-03-14T09:26:53.589Z",
        "data": {
            "TransactionID": "A",
            "OriginalID": None,
            "State": 400,
            "Substate": 411,
            "ClientID": 7,
            "PosID": 17,
            "InputType": 10,
            "Amount": 12.3,
            "CurrencyID": "ZAR",
            "ExtID": None,
        },
    }


@pytest.mark.parametrize(("erasure", "erased"), [(None, None), *((one, True) for one in Erasure)])
def test_an_event_of_an_erased_payment_stores_no_answer(erasure: Erasure | None, *, erased: bool | None) -> None:
    made = event_of(a_payment(phase=Phase.REVERSAL_APPROVED, original_id="A", erasure=erasure), NOW)
    assert made is not None
    assert made.erased is erased


def test_a_ping_names_the_merchant_alone() -> None:
    made = events.ping("token", 7, 3, NOW)

    assert json.loads(body_of(made))["data"] == {"ClientID": 7}
