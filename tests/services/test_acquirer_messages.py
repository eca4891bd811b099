"""At a host that cannot be inquired, what has no usable answer is reversed until the host acknowledges it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AnswerLostError,
    ReversalKind,
    ReversalRequest,
    UnreachableError,
    UnusableAnswerError,
)
from chalicelib.domain.business_days import to_local
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.acquirers.sandbox import Sandbox
from chalicelib.services import payment_sweep
from chalicelib.services.lane_runner import OPENS_AFTER
from tests.support.cards import a_card_body
from tests.support.host_without_inquiry import Host, acknowledged, without_inquiries
from tests.support.intercepted_calls import StoppedError, broken, failing, threads
from tests.support.stored import stored_transaction
from tests.support.tills import MINUTE, SECOND, Till, a_till, is_due, kept
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("engine")

Patch = pytest.MonkeyPatch
LOST, UNUSABLE = failing(AnswerLostError()), failing(UnusableAnswerError())
PARTIAL = AcquirerAnswer(10, "Approved for less")


@pytest.fixture
def host() -> Iterator[Host]:
    with without_inquiries() as host:
        yield host


@pytest.fixture
def till() -> Till:
    return a_till()


def stored(transaction: Transaction) -> Transaction:
    return stored_transaction(transaction.id)


def lose(till: Till, answer: Any = LOST) -> Transaction:
    with broken(authorize=answer):
        return till.pay(a_card_body())


def test_a_payment_has_its_numbers_before_it_is_sent(till: Till, host: Host) -> None:
    payment = till.pay(a_card_body())

    message = host.purchases[0].message
    assert message is not None
    assert stored(payment).host == payment.host
    assert payment.host is not None
    assert message.trace == payment.host.trace
    assert (message.rrn, len(message.rrn)) == (payment.result.rrn, 12)
    assert (message.tid, message.terminal.mid) == (till.terminal.tid, till.terminal.back_retailer_id or "")
    assert payment.host.advice_stan != payment.host.trace.stan


def test_no_two_messages_of_a_terminal_have_one_number(till: Till, host: Host) -> None:
    payments = [till.pay(a_card_body()) for _ in range(5)]
    for payment in payments:
        till.give_back(payment)

    sent = [one.message for one in host.purchases] + [one.message for one in host.reversals]
    assert len({message.trace.stan for message in sent if message}) == 10
    assert len({message.rrn for message in sent if message}) == 10


@pytest.mark.parametrize(("mode", "is_of_payment"), [(ReverseMode.CANCEL_CNP, True), (ReverseMode.RETURN_CNP, False)])
def test_a_cancel_has_the_local_time_of_its_payment_and_a_return_its_own(
    till: Till, host: Host, mode: ReverseMode, *, is_of_payment: bool
) -> None:
    payment = till.pay(a_card_body())
    reversal = till.give_back(payment, NOW + 5 * MINUTE, ReverseMode=int(mode))

    made_at = (payment if is_of_payment else reversal).created_at
    assert payment.created_at < reversal.created_at
    assert [one.message and one.message.local_time for one in host.reversals] == [to_local(made_at, till.merchant.gmt)]


def test_the_numbers_of_new_tables_are_not_those_of_the_tables_before(host: Host, monkeypatch: Patch) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda most: most - 2)
    till = a_till(mid="NEW TABLES")
    for _ in range(2):
        till.pay(a_card_body())

    assert [request.message and request.message.trace.stan for request in host.purchases] == [999_998, 1]


def test_an_unknown_payment_is_cancelled_by_the_next_sweep(till: Till, host: Host) -> None:
    payment = lose(till)
    assert payment.phase is Phase.UNKNOWN

    payment_sweep.run(NOW + SECOND)

    (advice,) = host.advices
    assert (advice.kind, advice.reason, advice.is_repeat) == (ReversalKind.AUTOMATIC, "4021", False)
    assert payment.host is not None
    assert advice.original_trace == payment.host.trace
    done = stored(payment)
    assert (done.phase, done.result.code) == (Phase.AUTO_CANCELLED, 68)
    assert not is_due(payment.id, NOW + 60 * MINUTE)


def test_a_look_at_an_unknown_payment_cancels_it(till: Till, host: Host) -> None:
    payment = lose(till)

    assert till.look(payment.id, NOW + SECOND).phase is Phase.AUTO_CANCELLED
    assert len(host.advices) == 1


def test_an_answer_that_cannot_be_used_is_the_reason_of_the_advice(till: Till, host: Host) -> None:
    payment = lose(till, UNUSABLE)
    assert payment.phase is Phase.UNKNOWN
    payment_sweep.run(NOW + SECOND)

    assert [advice.reason for advice in host.advices] == ["4020"]
    assert stored(payment).phase is Phase.AUTO_CANCELLED


def test_an_advice_is_repeated_each_minute_until_it_is_acknowledged(till: Till, host: Host) -> None:
    payment = lose(till)
    far = NOW + 3 * 24 * 60 * MINUTE  # past the Deadline
    with broken(reverse=recording(host, LOST)):
        for at in (*(NOW + minute * MINUTE for minute in range(1, 6)), far):
            payment_sweep.run(at)
            assert stored(payment).phase is Phase.AUTO_CANCELLING
            assert stored(payment).shown.substate == 403
    payment_sweep.run(far + MINUTE)

    first, *repeats = host.advices
    assert (first.is_repeat, [advice.is_repeat for advice in repeats]) == (False, [True] * 6)
    assert {advice.message for advice in host.advices} == {first.message}
    assert stored(payment).phase is Phase.AUTO_CANCELLED


def test_a_silent_host_gets_every_advice_each_minute(till: Till, host: Host) -> None:
    payments = [lose(till) for _ in range(OPENS_AFTER + 1)]
    with broken(reverse=recording(host, LOST)), threads(1):
        for minutes in (1, 2):
            host.reversals.clear()
            swept = payment_sweep.run(NOW + minutes * MINUTE)
            assert {advice.original for advice in host.advices} >= {payment.id for payment in payments}
            assert swept.silent == ("SANDBOX",)
    payment_sweep.run(NOW + 3 * MINUTE)

    assert {stored(payment).phase for payment in payments} == {Phase.AUTO_CANCELLED}


def recording(host: Host, then: Any) -> Any:
    def reverse(request: ReversalRequest, *rest: object) -> AcquirerAnswer:
        host.reversals.append(request)
        return then(request, *rest)  # type: ignore[no-any-return]

    return reverse


def test_a_payment_of_a_dead_process_is_cancelled_in_ninety_seconds(till: Till, host: Host) -> None:
    body = a_card_body()
    with broken(authorize=failing(StoppedError())), pytest.raises(StoppedError):
        till.pay(body)

    payment_sweep.run(NOW + 20 * SECOND)
    assert not host.advices
    payment_sweep.run(NOW + 30 * SECOND)

    assert len(host.advices) == 1
    found = stored_transaction(body["BasicTran"]["ID"])
    assert found.phase is Phase.AUTO_CANCELLED


@pytest.mark.parametrize("answer", [AcquirerAnswer(0, "Approved"), PARTIAL])
def test_an_answer_after_the_advice_changes_nothing(answer: AcquirerAnswer, till: Till, host: Host) -> None:
    body = a_card_body()

    def late(*_: object) -> AcquirerAnswer:
        payment_sweep.run(NOW + 30 * SECOND)
        return answer

    with broken(authorize=late):
        payment = till.pay(body)

    assert payment.phase is Phase.AUTO_CANCELLED
    assert len(host.advices) == 1


@pytest.mark.parametrize(
    "answer",
    [AcquirerAnswer(0, "Approved"), AcquirerAnswer(51, "Insufficient funds"), PARTIAL, UnreachableError()],
)
def test_a_late_answer_or_refused_connection_while_the_advice_is_repeated_changes_nothing(
    answer: AcquirerAnswer | UnreachableError, till: Till, host: Host
) -> None:
    host.to_advices = LOST

    def late(*_: object) -> AcquirerAnswer:
        payment_sweep.run(NOW + 30 * SECOND)
        if isinstance(answer, UnreachableError):
            raise answer
        return answer

    with broken(authorize=late):
        payment = till.pay(a_card_body())

    assert payment.phase is Phase.AUTO_CANCELLING
    assert len(host.advices) == 1


@pytest.mark.parametrize("answer", [AcquirerAnswer(51, "Insufficient funds"), AcquirerAnswer(68, "Too late")])
def test_a_late_decline_of_a_return_does_not_end_its_advice(answer: AcquirerAnswer, till: Till, host: Host) -> None:
    payment = till.pay(a_card_body())
    asked: list[ReversalRequest] = []

    def late(request: ReversalRequest, _: float) -> AcquirerAnswer:
        asked.append(request)
        if len(asked) > 1:  # the advice
            raise AnswerLostError
        payment_sweep.run(NOW + 30 * SECOND)
        return answer

    with broken(reverse=late):
        returned = till.give_back(payment)
    assert stored(returned).phase is Phase.AUTO_CANCELLING

    payment_sweep.run(NOW + 2 * MINUTE)
    assert (stored(returned).phase, stored(returned).result.code) == (Phase.REJECTED, 68)
    assert [advice.is_repeat for advice in host.advices if advice.original == returned.id] == [True]


def test_a_partial_approval_is_reversed_before_the_till_is_answered(till: Till, host: Host) -> None:
    payment = lose(till, lambda *_: PARTIAL)

    assert (payment.phase, payment.result.code) == (Phase.DECLINED, 10)
    (advice,) = host.advices
    assert (advice.reason, advice.amount_minor) == ("4020", payment.amount_minor)


def test_a_partial_approval_with_an_open_reversal_is_unknown(till: Till, host: Host) -> None:
    host.to_advices = LOST
    payment = lose(till, lambda *_: PARTIAL)
    assert payment.phase is Phase.AUTO_CANCELLING

    host.to_advices = acknowledged
    payment_sweep.run(NOW + MINUTE)

    assert stored(payment).phase is Phase.AUTO_CANCELLED
    assert [advice.is_repeat for advice in host.advices] == [False, True]


@pytest.mark.parametrize(
    ("to_advices", "at_once", "at_last"),
    [
        (acknowledged, (Phase.DECLINED, 10), (Phase.DECLINED, 10)),
        (LOST, (Phase.AUTO_CANCELLING, None), (Phase.REJECTED, 68)),
    ],
)
def test_a_return_that_is_approved_in_part_gives_nothing_back(
    to_advices: Any, at_once: Any, at_last: Any, till: Till, host: Host
) -> None:
    payment = till.pay(a_card_body())

    def partly(request: ReversalRequest, _: float) -> AcquirerAnswer:
        host.reversals.append(request)
        answer: AcquirerAnswer = to_advices(request) if request in host.advices else PARTIAL
        return answer

    with broken(reverse=partly):
        returned = till.give_back(payment)
    assert (returned.phase, returned.result.code) == at_once
    assert [advice.original for advice in host.advices] == [returned.id]

    payment_sweep.run(NOW + 2 * MINUTE)
    assert (stored(returned).phase, stored(returned).result.code) == at_last
    assert stored(payment).remaining_minor == payment.amount_minor


def test_nobody_repeats_an_advice_that_its_request_still_sends(till: Till, host: Host) -> None:
    body = a_card_body()

    def looked_at(request: ReversalRequest) -> AcquirerAnswer:
        assert till.look(body["BasicTran"]["ID"], NOW + SECOND).phase is Phase.AUTO_CANCELLING
        return acknowledged(request)

    host.to_advices = looked_at
    with broken(authorize=lambda *_: PARTIAL):
        payment = till.pay(body)

    assert payment.phase is Phase.DECLINED
    assert [advice.is_repeat for advice in host.advices] == [False]


def test_a_refused_connection_attempts_nothing(till: Till, host: Host) -> None:
    with broken(authorize=failing(UnreachableError())), pytest.raises(ServiceError) as refused:
        till.pay(a_card_body())

    payment_sweep.run(NOW + MINUTE)
    assert refused.value.error is ErrorCode.DEPENDENCY_UNAVAILABLE
    assert not host.advices


@pytest.mark.parametrize("answer", [LOST, UNUSABLE])
def test_a_return_without_answer_gives_nothing_back(answer: Any, till: Till, host: Host) -> None:
    payment = till.pay(a_card_body())
    with broken(reverse=answer):
        lost = till.give_back(payment)
    assert lost.shown.substate == 505

    host.to_advices = LOST
    payment_sweep.run(NOW + MINUTE)
    assert stored(lost).shown.substate == 505
    host.to_advices = acknowledged
    payment_sweep.run(NOW + 2 * MINUTE)

    rejected = stored(lost)
    assert (rejected.phase, rejected.result.code) == (Phase.REJECTED, 68)
    assert stored(payment).remaining_minor == payment.amount_minor
    advice = host.advices[0]
    assert advice.kind is ReversalKind.AUTOMATIC_OF_RETURN
    assert advice.message is not None
    assert advice.message.rrn == rejected.result.rrn != payment.result.rrn
    assert rejected.host is not None
    assert advice.original_trace == rejected.host.trace
    assert till.give_back(payment, NOW + 3 * MINUTE).phase is Phase.REVERSAL_APPROVED


def test_a_cancel_without_an_answer_is_repeated_until_it_has_one(till: Till, host: Host) -> None:
    payment = till.pay(a_card_body())
    with broken(reverse=recording(host, LOST)):
        cancel = till.give_back(payment, ReverseMode=3)
        assert cancel.shown.substate == 503
        payment_sweep.run(payment.deadline + MINUTE)
    payment_sweep.run(payment.deadline + 2 * MINUTE)

    assert stored(cancel).phase is Phase.REVERSAL_APPROVED
    assert stored(payment).is_reversed_in_full
    own = [one for one in host.reversals if one.original == payment.id]  # other tests leave reversals to the sweep
    first, *repeats = own
    assert first.kind is ReversalKind.CANCEL
    assert (first.is_repeat, [one.is_repeat for one in repeats]) == (False, [True, True])
    assert {one.message for one in own} == {first.message}
    assert first.message is not None
    assert first.message.rrn == payment.result.rrn
    assert payment.host is not None
    assert first.original_trace == payment.host.trace


def test_a_cancel_that_another_sent_is_not_taken_for_one_nobody_did(till: Till, host: Host) -> None:
    payment = till.pay(a_card_body())
    asked: list[ReversalRequest] = []

    def frozen(request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        asked.append(request)
        if len(asked) > 1:  # the sweep's: it is carried out, and its answer is lost
            Sandbox().reverse(request, within_s)
            raise AnswerLostError
        payment_sweep.run(NOW + 30 * SECOND)
        raise UnreachableError

    with broken(reverse=frozen):
        cancel = till.give_back(payment, ReverseMode=3)
    assert cancel.phase is Phase.CANCELLING

    payment_sweep.run(NOW + 2 * MINUTE)
    assert stored(cancel).phase is Phase.REVERSAL_APPROVED
    assert stored(payment).is_reversed_in_full
    assert host.reversals[-1].is_repeat


def test_a_cancel_that_somebody_repeated_meanwhile_was_attempted(till: Till, host: Host) -> None:
    """The process slept; the sweep's advice was carried out, its answer lost; only then no connection came about."""
    payment = till.pay(a_card_body())

    def late(*_: object) -> AcquirerAnswer:
        with broken(reverse=recording(host, LOST)):
            payment_sweep.run(NOW + 30 * SECOND)
        raise UnreachableError

    with broken(reverse=late):
        cancel = till.give_back(payment, ReverseMode=3)
    assert cancel.shown.substate == 503
    payment_sweep.run(NOW + 2 * MINUTE)

    assert stored(cancel).phase is Phase.REVERSAL_APPROVED
    assert stored(payment).is_reversed_in_full


@pytest.mark.parametrize("code", [0, 51, 68])
@pytest.mark.usefixtures("host")
def test_a_late_answer_to_a_return_changes_nothing(code: int, till: Till) -> None:
    payment = till.pay(a_card_body())

    def late(request: ReversalRequest, *_: object) -> AcquirerAnswer:
        with broken(reverse=LOST):
            payment_sweep.run(NOW + 30 * SECOND)
        return replace(acknowledged(request), code=code)

    with broken(reverse=late):
        given = till.give_back(payment)
    assert given.phase is Phase.AUTO_CANCELLING
    payment_sweep.run(NOW + 2 * MINUTE)

    assert (stored(given).phase, stored(given).result.code) == (Phase.REJECTED, 68)
    assert stored(payment).remaining_minor == payment.amount_minor


def test_a_return_that_needs_a_pin_says_so(till: Till) -> None:
    payment = till.pay(a_card_body())
    with broken(reverse=lambda *_: AcquirerAnswer(65, "PIN required", pin_mode=1)):
        declined = till.give_back(payment)

    assert (declined.phase, stored(declined).result.pin_mode) == (Phase.DECLINED, 1)


def test_a_cancel_that_is_declined_leaves_the_payment(till: Till, host: Host) -> None:
    payment = till.pay(a_card_body())
    with broken(reverse=lambda *_: AcquirerAnswer(12, "Invalid transaction")):
        cancel = till.give_back(payment, ReverseMode=3)

    assert cancel.phase is Phase.DECLINED
    assert stored(payment).remaining_minor == payment.amount_minor
    assert not host.advices


def test_the_log_names_lost_answers_and_reversals_that_are_outstanding(
    till: Till, host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.to_advices = LOST
    payment = lose(till)
    payment_sweep.run(NOW + MINUTE)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    mine = [line["event"] for line in lines if line.get("transaction") == payment.id]
    assert mine == ["answer_lost", "answer_lost", "reversal_outstanding"]
    assert {(line["merchant"], line["terminal"]) for line in lines if line.get("transaction") == payment.id} == {
        (stored(payment).client_id, stored(payment).terminal_name)
    }


def test_a_linked_card_is_refused_where_no_acquirer_takes_it(till: Till) -> None:
    no_kind: Any = frozenset({InputType.CHIP})
    link = till.link()
    body = a_card_body(basic={"InputType": 5}, Card={"CardInputMode": 2, "LinkedCardId": link.id})
    with broken(takes=no_kind), pytest.raises(ServiceError) as refused:
        till.pay(body)

    assert refused.value.error is ErrorCode.KIND_NOT_SUPPORTED
    assert kept(body["BasicTran"]["ID"]) is None
