"""What is stored can always be answered: a transaction has at most 40 KB in an answer, an event at most 50 KB."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib import exact_json
from chalicelib.domain import reversal
from chalicelib.domain.answer_size import MOST_SHOWN, check_size, shortened
from chalicelib.domain.deliveries import ATTEMPTS_KEPT, Attempt, Delivery, begun
from chalicelib.domain.events import Event, event_of
from chalicelib.domain.paging import PAGE_SIZE
from chalicelib.domain.reversal import ReversalOrder
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import AgentSnapshot, Pictures, Transaction
from chalicelib.errors import ServiceError
from chalicelib.schemas.transaction_view import TransactionView
from chalicelib.schemas.webhooks import EventsAnswer, EventView
from tests.support.builders import an_agent
from tests.support.transactions import NOW, a_payment, altered

LAMBDA = 6 * 1024 * 1024
URL = "https://bucket.s3.af-south-1.amazonaws.com/" + "u" * 2_200  # with a session token
CHARACTERS = ("x", "\x01", '"', "\\", "ß", "日", "🧾")
LONG_NAME = AgentSnapshot(17, "e" * 242 + "@shop.example", "\x01" * 256, "+27829876543")


@st.composite
def texts(draw: st.DrawFn, most: int) -> str:
    character = draw(st.sampled_from(CHARACTERS))
    return character * draw(st.sampled_from((0, 1, most // 2, most)))


@st.composite
def objects(draw: st.DrawFn) -> str | None:
    """Return the text of a JSON object of at most 8 KB."""
    text = draw(texts(8_000))
    while len(written := json.dumps({"a": text}, ensure_ascii=False)) > 8 * 1024 or len(written.encode()) > 8 * 1024:
        text = text[: len(text) // 2]
    return written if text else None


@st.composite
def payments(draw: st.DrawFn) -> Transaction:
    """A payment with legal texts, at their limits."""
    return a_payment(
        agent=LONG_NAME,
        description=draw(texts(1024)) or None,
        ext_tran_data=draw(objects()),
        ext_id=draw(texts(128)) or None,
        client_product_code=draw(texts(512)) or None,
        offline_queue_id=draw(texts(512)) or None,
        invoice=draw(texts(512)) or "1",
        receipt_email="e" * 254,
        pictures=Pictures("photo.png", "signature.png"),
    )


def answered(transaction: Transaction) -> str:
    view = TransactionView.of(transaction, NOW, 2, lambda _: URL)
    return exact_json.text(view.model_dump(by_alias=True))


def fits(transaction: Transaction) -> bool:
    text = answered(transaction)
    return len(text.encode()) <= MOST_SHOWN and len(json.dumps(text, ensure_ascii=False).encode()) <= 1.5 * MOST_SHOWN


@pytest.mark.slow
@settings(max_examples=200)
@given(payments(), texts(1024))
def test_what_is_accepted_fits_and_so_does_each_return_of_it(payment: Transaction, reason: str) -> None:
    try:
        check_size(payment)
    except ServiceError:
        return
    assert fits(payment)

    for description in (None, reason):
        order = ReversalOrder(payment.id, ReverseMode.RETURN, description=description, receipt_email="e" * 254)
        returned = begun_return(order, payment)
        if returned:
            assert fits(altered(returned, invoice="260314.1234567.1234", pictures=payment.pictures))
        assert returned or description, "a return that inherits its texts is never refused"


def begun_return(order: ReversalOrder, payment: Transaction) -> Transaction | None:
    with suppress(ServiceError):
        return reversal.begin(payment.id, order, payment, an_agent(name="\x01" * 256), 1, NOW)
    return None


@given(payments())
def test_texts_that_one_may_send_alone_are_accepted(payment: Transaction) -> None:
    carried = payment.particulars
    for alone in ({"description": carried.description}, {"ext_tran_data": carried.ext_tran_data}):
        check_size(a_payment(**alone))


@pytest.mark.parametrize(
    ("description", "ext_tran_data", "original", "named"),
    [
        (1000, 2900, None, "description"),
        (1000, 3100, None, "ext_tran_data"),
        (2000, 0, None, "description"),
        (0, 6000, None, "ext_tran_data"),
        (1000, 3100, a_payment(), "description"),
    ],
    ids=lambda value: "reversal" if isinstance(value, Transaction) else None,
)
def test_the_longest_text_of_the_request_is_named_and_a_reversal_has_only_its_reason(
    description: int, ext_tran_data: int, original: Transaction | None, named: str
) -> None:
    texts = {"description": "\x01" * description or None, "ext_tran_data": "\x01" * ext_tran_data or None}
    with pytest.raises(ServiceError) as refused:
        check_size(a_payment(**texts), original)

    assert [finding.field for finding in refused.value.validations] == [named]


@pytest.mark.parametrize(("text", "size"), [("x" * 9, 11), ("日" * 9, 29), ("\x01" * 9, 56)])
def test_a_text_is_cut_only_when_it_is_longer(text: str, size: int) -> None:
    assert [shortened(text, most) == text for most in (size - 1, size, size + 1)] == [False, True, True]
    assert shortened(None, 0) is None


def an_event(deliveries: int, attempts: int, answer: str) -> tuple[Event, list[Delivery]]:
    made = event_of(a_payment(makes_events=True), NOW)
    assert made is not None
    attempt: dict[str, Any] = {"at": NOW, "milliseconds": 10_000, "status": 500, "answer": answer}
    tried = [Attempt(**attempt)] * attempts
    return made, [altered_delivery(begun(made, number, NOW), tried) for number in range(10**9, 10**9 + deliveries)]


def altered_delivery(delivery: Delivery, made: list[Attempt]) -> Delivery:
    return replace(delivery, made=tuple(made), due_at=NOW + timedelta(hours=1), attempts=len(made))


@pytest.mark.slow
@pytest.mark.parametrize("character", CHARACTERS)
@pytest.mark.parametrize("deliveries", [1, 5, 40])
def test_a_page_of_events_with_every_attempt_has_at_most_5_mb(deliveries: int, character: str) -> None:
    page = [an_event(deliveries, ATTEMPTS_KEPT, character * 200)] * PAGE_SIZE
    text = exact_json.text(EventsAnswer.of(page).model_dump(by_alias=True))

    assert len(text.encode()) <= PAGE_SIZE * 50_000
    assert len(json.dumps(text, ensure_ascii=False).encode()) < LAMBDA
    (first,) = {len(one["Deliveries"]) for one in json.loads(text)["Events"]}
    assert first == min(deliveries, 20)


def test_an_event_of_a_usual_webhook_shows_all_its_attempts_and_their_answers() -> None:
    answer = "x" * 200
    shown = EventsAnswer.of([an_event(5, ATTEMPTS_KEPT, answer)]).events[0].deliveries

    assert [(len(one.attempt_list), one.attempt_list[0].answer) for one in shown] == [(ATTEMPTS_KEPT, answer)] * 5


@pytest.mark.parametrize(("webhooks", "shown", "each"), [(1, 1, 20), (5, 5, 20), (10, 10, 10), (25, 20, 5)])
def test_an_event_shows_its_newest_webhooks_and_their_newest_attempts(webhooks: int, shown: int, each: int) -> None:
    event = event_of(a_payment(), NOW)
    assert event is not None
    made = [Attempt(NOW, 5, 500, str(number)) for number in range(25)]
    deliveries = [altered_delivery(begun(event, number, NOW), made) for number in reversed(range(webhooks))]
    found = EventView.of(event, deliveries).deliveries

    assert [one.webhook_id for one in found] == [*range(webhooks)][-shown:]
    newest = [str(number) for number in range(24, 24 - each, -1)]
    assert all([attempt.answer for attempt in one.attempt_list] == newest for one in found)
