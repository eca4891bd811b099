"""An erasure that stops at any write is finished by the next. Requests, sweeps and senders meanwhile undo nothing."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from botocore.client import BaseClient

from chalicelib.domain import deliveries as delivery_rules
from chalicelib.domain.outbox import NotSentError
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Erasure, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import https
from chalicelib.services import deliveries, outbox, payment_sweep
from chalicelib.store import deliveries as deliveries_store
from infra.operator import payer_records
from tests.simulation.wire import Client
from tests.support import events as support_events
from tests.support.giving import Give
from tests.support.intercepted_calls import StoppedError, hooked, threads, told
from tests.support.payers import Payer, a_picture, now, places_of, stored
from tests.support.receivers import a_receiver
from tests.support.stored import stored_transaction

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.slow]

WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "PutObject", "DeleteObjects"}


@pytest.fixture(autouse=True)
def without_terminal(engine: str, give: Give) -> None:
    del engine
    give(typed=io.StringIO)


@contextmanager
def around_writes(hook: Callable[[], None]) -> Iterator[list[str]]:
    """Call the hook before and after each write to the tables and the bucket, but not for the hook's own writes.

    Yield the names of the writes.
    """
    written: list[str] = []
    is_in_hook = [False]

    def call_hook() -> None:
        is_in_hook[0] = True
        try:
            hook()
        finally:
            is_in_hook[0] = False

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(client: Any, operation: str, *arguments: Any, **parameters: Any) -> Any:
            if is_in_hook[0] or operation not in WRITES:
                return real(client, operation, *arguments, **parameters)
            call_hook()
            answer = real(client, operation, *arguments, **parameters)
            written.append(operation)
            call_hook()
            return answer

        return call

    with pytest.MonkeyPatch.context() as patch:
        for one, name in ((Client, "call"), (BaseClient, "_make_api_call")):
            patch.setattr(one, name, around(getattr(one, name)))
        yield written


def at(number: int, act: Callable[[], Any]) -> Callable[[], None]:
    """Return a hook that acts at its call of this number."""
    calls = [0]

    def hook() -> None:
        calls[0] += 1
        if calls[0] == number:
            act()

    return hook


def writes_of(work: Callable[[], Any]) -> int:
    with around_writes(lambda: None) as written:
        work()
    return len(written)


def a_family(payer: Payer) -> list[Transaction]:
    """A payment with a photo, and two reversals: one has another address, one is pending."""
    card = payer.swipe(Files=[a_picture("PHOTO", payer.picture)])
    part = payer.till.give_back(card, now(), Amount="1.00", Description=f"asked by {payer.other_email}")
    return [card, part, payer.till.give_back(card, now(), Amount="2.69")]


def writes_of_an_erasure() -> int:
    payer = Payer()
    a_family(payer)
    a_first = Payer()
    a_first.pay_cash()
    a_first.erase()  # it stores the picture that stands in place of erased ones
    return writes_of(payer.erase)


def stop() -> None:
    raise StoppedError


SHARE = 6  # one of so many places in each run, the others before a release
one_of_each_share = pytest.mark.parametrize(
    "place", [1, *(pytest.param(one, marks=pytest.mark.release) for one in range(2, SHARE + 1))]
)


@pytest.mark.slow
@one_of_each_share
def test_an_erasure_that_stops_before_or_after_any_write_is_finished_by_the_next(place: int) -> None:
    number_of_writes = writes_of_an_erasure()
    assert number_of_writes >= 9

    for number in range(place, 2 * number_of_writes + 1, SHARE):
        payer = Payer()
        family = a_family(payer)
        with suppress(StoppedError), around_writes(at(number, stop)) as written:
            payer.erase()
        with told(number, *written):
            payer.erase()
            assert len(written) == number // 2
            assert places_of(payer.planted) == []
            assert {stored_transaction(one.id).erasure for one in family} == {Erasure.DONE}


def first(name: str, meanwhile: Callable[[], Any]) -> Callable[[str, str], None]:
    """Return a hook that lets somebody else go first, once, before the first call of this name."""
    left = [meanwhile]

    def hook(when: str, called: str) -> None:
        if (when, called) == ("before", name) and left:
            left.pop()()

    return hook


def sweep(_payer: Payer, _family: list[Transaction]) -> None:
    payment_sweep.run(now() + timedelta(minutes=3))


def sweep_past_the_deadline(_payer: Payer, _family: list[Transaction]) -> None:
    payment_sweep.run(now() + timedelta(days=2))


def give_back(payer: Payer, family: list[Transaction]) -> None:
    payer.till.give_back(family[0], now(), Amount="1.50")


def send(_payer: Payer, _family: list[Transaction]) -> None:
    outbox.sweep(now() + timedelta(minutes=2))


def everything(payer: Payer, family: list[Transaction]) -> None:
    give_back(payer, family)
    sweep(payer, family)
    send(payer, family)


def erase_too(payer: Payer, _family: list[Transaction]) -> None:
    payer.erase()


Work = Callable[[Payer, list[Transaction]], None]


def writes_of_work(work: Work) -> int:
    for _ in range(2):  # the first one also processes the payments of other tests
        payer = Payer()
        family = a_family(payer)
        with threads(1):
            number = writes_of(partial(work, payer, family))
        payer.erase()
    return number


@pytest.mark.slow
@pytest.mark.parametrize("work", [sweep, sweep_past_the_deadline, give_back, send])
def test_an_erasure_between_any_two_writes_of_others_leaves_nothing(work: Work) -> None:
    number_of_writes = writes_of_work(work)
    assert number_of_writes

    for number in range(1, 2 * number_of_writes + 1):
        payer = Payer()
        family = a_family(payer)
        with threads(1), around_writes(at(number, payer.erase)):
            work(payer, family)
        with told(number):
            payer.erase()
            assert places_of(payer.planted) == []


@pytest.mark.slow
@one_of_each_share
@pytest.mark.parametrize("work", [everything, sweep_past_the_deadline, erase_too])
def test_work_between_any_two_writes_of_an_erasure_brings_nothing_back(work: Work, place: int) -> None:
    for number in range(place, 2 * writes_of_an_erasure() + 1, SHARE):
        payer = Payer()
        family = a_family(payer)

        def act(payer: Payer = payer, family: list[Transaction] = family) -> None:
            with threads(1):
                work(payer, family)

        with around_writes(at(number, act)):
            payer.erase()
        with told(number):
            assert places_of(payer.planted) == []


@pytest.mark.slow
def test_a_pending_payment_is_resolved_after_its_erasure_and_sends_no_receipt(give: Give) -> None:
    payer = Payer()
    lost = payer.swipe("10.68")
    sent: list[Any] = []
    give(send_mail=lambda *message: sent.append(message))
    payer.erase()

    payment_sweep.run(now() + timedelta(minutes=3))
    support_events.deliver_all()
    outbox.sweep(now() + timedelta(minutes=10))

    assert stored_transaction(lost.id).phase is Phase.APPROVED
    assert [one for one in sent if one[0].transaction_id == lost.id] == []
    assert places_of(payer.planted) == []


def test_a_replay_a_look_and_a_return_work_as_before() -> None:
    payer = Payer()
    body: dict[str, Any] = {
        "BasicTran": {"Amount": "10.00", "CurrencyID": "ZAR", "InputType": 10, "ExtID": "17"},
        "Receipt": payer.receipt,
    }
    paid, _ = payer.till.submit(body, now(), key=f"key {payer.token}")
    payer.erase()

    again, replayed = payer.till.submit(body, now(), key=f"key {payer.token}")

    assert (again.id, replayed) == (paid.id, True)
    assert payer.till.look(paid.id, now()).invoice == paid.invoice
    assert payer.till.give_back(paid, now(), Amount="4.00").amount_minor == 400
    other = {**body, "BasicTran": {**body["BasicTran"], "Amount": "11.00"}}
    with pytest.raises(ServiceError) as refused:
        payer.till.submit(other, now(), key=f"key {payer.token}")
    assert refused.value.error is ErrorCode.ID_REUSED
    assert places_of(payer.planted) == []


@pytest.mark.slow
def test_a_signature_that_is_on_its_way_does_not_bring_the_address_back() -> None:
    payer = Payer()
    body: dict[str, Any] = {
        "BasicTran": {"Amount": "10.08", "CurrencyID": "ZAR", "InputType": 1},
        "Card": {"CardDataInput": {"PAN": "4111111111111111", "EXP": "1230"}},
        "Receipt": payer.receipt,
    }
    owing, _ = payer.till.submit(body, now(), key=payer.token)
    assert owing.owes_signature
    signed = {**body, "Files": [a_picture("SIGNATURE", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(60))]}

    with hooked(first("TransactWriteItems", payer.erase)):
        payer.till.submit(signed, now(), key=payer.token)

    assert stored_transaction(owing.id).phase is Phase.APPROVED
    assert places_of([payer.token, payer.phone[3:]]) == []
    assert len([place for place in stored() if f"file transactions/{owing.id}" in place]) == 1


def test_a_message_on_its_way_stores_no_address(give: Give) -> None:
    payer = Payer()
    payer.pay_cash()
    left = [payer.erase]

    def send(*_: Any) -> str:
        if left:
            left.pop()()
        raise NotSentError("slow")  # noqa: EM101

    give(send_mail=send)
    outbox.sweep(now() + timedelta(minutes=2))

    assert left == []
    assert places_of(payer.planted) == []


@pytest.mark.parametrize("is_lost", [False, True])
def test_an_attempt_on_its_way_stores_no_answer_and_neither_does_the_next(*, is_lost: bool, give: Give) -> None:
    payer = Payer()
    support_events.forget()
    with a_receiver(lambda _: 500, body=f"no, {payer.email}".encode()) as receiver:
        payer.send_events_to(receiver.url)
        payer.pay_cash()
        if is_lost:  # an earlier attempt has stored an answer
            support_events.deliver_all()
        left = [payer.erase]

        def slow(*arguments: Any, **limits: Any) -> Any:
            made = https.post(*arguments, **limits)
            if left:
                left.pop()()
            return made

        give(post=slow)
        support_events.deliver_all()
        deliveries.sweep(now() + timedelta(seconds=31), seconds=1)
        deliveries.sweep(now() + timedelta(minutes=2), seconds=1)

    assert left == []
    assert len(receiver.calls) >= 2
    assert places_of(payer.planted) == []


@pytest.mark.slow
@one_of_each_share
def test_an_event_that_begins_between_any_two_writes_of_an_erasure_keeps_no_answer(place: int) -> None:
    most_writes = 15
    for number in range(place, 2 * most_writes + 1, SHARE):
        payer = Payer()
        support_events.forget()
        with a_receiver(body=f"thanks, {payer.email}".encode()) as receiver:
            payer.send_events_to(receiver.url)
            payer.pay_cash()
            with around_writes(at(number, support_events.deliver_all)) as written:
                payer.erase()
            support_events.deliver_all()
        with told(number, *written):
            assert len(written) <= most_writes
            assert len(receiver.calls) == 1
            assert places_of(payer.planted) == []


def test_an_event_that_is_sent_again_meanwhile_does_not_bring_its_answers_back() -> None:
    payer = Payer()
    made = payer.pay_everywhere()
    merchant = payer.till.merchant
    earlier = [one for _, several in payer_records.events_of(merchant, made, now()) for one in several]
    assert any(attempt.answer for one in earlier for attempt in one.made)
    payer.erase()

    for one in earlier:
        deliveries_store.begin_again(delivery_rules.again(one, now()))

    assert places_of(payer.planted) == []
