"""Card payments below HTTP, at times the test chooses."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain import steps
from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, UnreachableError
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.acquirers.sandbox import Sandbox
from chalicelib.services import outcomes, payment_sweep
from chalicelib.store import linked_cards, outbox, transactions
from chalicelib.store.aws_client import Client
from chalicelib.store.table import client, read, read_item, table_name
from chalicelib.web import refuse
from infra.bench.client import through
from tests.support.builders import PNG, image
from tests.support.cards import PAN, a_card, a_card_body
from tests.support.giving import Give
from tests.support.intercepted_calls import before, breaking_at, broken, counting, failing, hooked
from tests.support.stored import stored_record, stored_transaction
from tests.support.tills import MINUTE, SECOND, Till, a_till, booked, is_charged, kept
from tests.support.transactions import NOW, a_body

pytestmark = pytest.mark.usefixtures("engine")
LOST = failing(AnswerLostError())


def refusal(till: Till, body: dict[str, Any], now: Any = NOW) -> ServiceError:
    with pytest.raises(ServiceError) as raised:
        till.submit(body, now)
    return raised.value


def test_a_payment_is_kept_before_the_acquirer_is_asked_and_finished_after() -> None:
    till = a_till()
    with counting() as calls:
        payment = till.pay(a_card_body())

    assert calls == ["BatchGetItem", "TransactWriteItems", "authorize", "TransactWriteItems"]
    assert payment == kept(payment.id)
    assert payment.phase is Phase.APPROVED


def test_the_acquirer_is_asked_within_20_seconds_under_our_id() -> None:
    asked = []

    def note(request: Any, within_s: float) -> AcquirerAnswer:
        asked.append((request, within_s))
        return AcquirerAnswer(0, "Approved")

    till = a_till()
    with broken(authorize=note):
        wishes = {"ExternalTerminalID": "E1", "AllowSwipeOverChip": True, "AdditionalAcquiringFields": "fields"}
        payment = till.pay(a_card_body(AcqTran=wishes | {"SingleStepAuthMode": False}))

    [(request, within_s)] = asked
    assert (request.reference, request.amount_minor, request.terminal) == (payment.id, 1230, "SHOP0001")
    assert (request.external_terminal_id, request.allow_swipe_over_chip) == ("E1", True)
    assert (request.additional_fields, request.single_step) == ("fields", False)
    assert within_s == 20


def test_the_same_request_is_answered_with_what_is_stored() -> None:
    till = a_till()
    body = a_card_body(12.05)
    first = till.pay(body)

    assert till.submit(body, NOW + MINUTE) == (first, True)


@pytest.mark.parametrize("kind", [a_body, a_card_body])
@pytest.mark.parametrize(
    ("change", "error"), [({}, None), ({"Amount": "20.00"}, ErrorCode.ID_REUSED), (None, ErrorCode.IN_PROGRESS)]
)
def test_of_two_requests_at_once_with_one_id_the_later_one_is_a_replay(
    kind: Callable[[], dict[str, Any]],
    change: dict[str, Any] | None,
    error: ErrorCode | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    till, body = a_till(), kind()
    later = {**body, "BasicTran": {**body["BasicTran"], **(change or {})}}
    waiting, first = iter([True]), list[Transaction]()

    def meanwhile(when: str, called: str) -> None:
        if (when, called) == ("before", "TransactWriteItems") and next(waiting, False):
            first.append(till.pay(body))

    if change is None:  # the first one cannot be read at that moment
        monkeypatch.setattr(transactions, "get", lambda _: None)
    with hooked(meanwhile):
        refused = refusal(till, later).error if error else None
        answer = None if error else till.submit(later)

    assert refused is error
    assert answer in (None, (first[0], True))
    assert till.counted() == (1, first[0].amount_minor)


@pytest.mark.parametrize("change", [{"PAN": "4242424242424242"}, {"PAN": "5555555555554444"}])
def test_another_card_under_the_same_id_is_another_payment(change: dict[str, str]) -> None:
    till = a_till()
    body = a_card_body()
    till.pay(body)

    other = {**body, "Card": {"CardDataInput": {**body["Card"]["CardDataInput"], **change}}}
    assert refusal(till, other).error is ErrorCode.ID_REUSED


def test_the_same_card_with_another_cvv2_is_the_same_payment() -> None:
    till = a_till()
    body = a_card_body()
    first = till.pay(body)

    body["Card"]["CardDataInput"]["CVV2"] = "999"
    assert till.submit(body) == (first, True)


def test_a_card_that_has_expired_since_is_still_answered_with_what_is_stored() -> None:
    till = a_till()
    body = a_card_body()
    body["Card"]["CardDataInput"]["EXP"] = f"{NOW:%m%y}"
    first = till.pay(body)

    assert till.submit(body, NOW + timedelta(days=60)) == (first, True)


@pytest.mark.parametrize("gmt", [None, -12, 0, 14])
@pytest.mark.parametrize("is_linked", [True, False])
def test_a_card_is_good_for_the_merchants_month_in_whatever_zone_a_request_is(
    gmt: int | None, *, is_linked: bool
) -> None:
    till = a_till()
    next_month = datetime(NOW.year, NOW.month + 1, 1, tzinfo=UTC) - timedelta(hours=till.merchant.gmt)
    exp = f"{NOW:%m%y}"
    data = {"CardInputMode": 1, "CardDataInput": {"PAN": PAN, "EXP": exp}}
    card = {"CardInputMode": 2, "LinkedCardId": till.link(a_card(exp=exp)).id} if is_linked else data
    kind = InputType.LINKED_CARD if is_linked else InputType.MANUAL_ENTRY
    zone: dict[str, Any] = {} if gmt is None else {"GMT": gmt}

    def body() -> dict[str, Any]:
        return a_card_body(basic={"InputType": int(kind)}, Card=card, **zone)

    assert till.pay(body(), next_month - SECOND).phase is Phase.APPROVED
    assert refusal(till, body(), next_month).error is (
        ErrorCode.CARD_NOT_FOUND if is_linked else ErrorCode.VALIDATION_FAILED
    )


def test_a_payment_with_a_card_that_a_damage_lost_is_decided_and_makes_no_card(give: Give) -> None:
    till = a_till()
    key = linked_cards.key(till.link(a_card()).id)

    def lose() -> None:
        client().call("DeleteItem", TableName=table_name(key.table), Key=key.wire())

    give(client=before("TransactWriteItems", lambda: None, lose))
    card = {"CardInputMode": 2, "LinkedCardId": key.key["id"]}
    payment = till.pay(a_card_body(basic={"InputType": int(InputType.LINKED_CARD)}, Card=card))

    assert kept(payment.id) == payment
    assert payment.phase is Phase.APPROVED
    assert read_item(key) == {}


def test_nothing_of_the_card_but_its_face_is_in_the_record() -> None:
    payment = a_till().pay(a_card_body())

    assert PAN not in repr(payment)
    assert payment.card is not None
    assert payment.card.masked == "411111******1111"


def test_while_it_runs_the_same_id_is_in_progress_and_then_unknown() -> None:
    till = a_till()
    body = a_card_body()
    with broken(authorize=failing(KeyboardInterrupt())), pytest.raises(KeyboardInterrupt):
        till.submit(body)

    refused = refusal(till, body, NOW + 29 * SECOND)
    assert (refused.error, refuse(refused).headers["Retry-After"]) == (ErrorCode.IN_PROGRESS, "1")
    with broken(inquire=LOST):
        payment, replayed = till.submit(body, NOW + 31 * SECOND)
    assert (payment.phase, replayed) == (Phase.UNKNOWN, True)


def test_without_a_connection_nothing_was_attempted_and_the_id_says_so_again() -> None:
    till = a_till()
    body = a_card_body()
    with broken(authorize=failing(UnreachableError())):
        first = refusal(till, body)

    again = refusal(till, body, NOW + MINUTE)

    assert first.error is again.error is ErrorCode.DEPENDENCY_UNAVAILABLE
    assert "new ID" in first.message
    assert refuse(again).headers.items() >= {"Retry-After": "1", "Idempotent-Replayed": "true"}.items()
    payment = stored_transaction(body["BasicTran"]["ID"])
    assert payment.phase is Phase.REJECTED
    assert till.counted() == (1, 0)


def test_a_return_that_the_sweep_requested_is_not_taken_for_one_nobody_did() -> None:
    till = a_till()
    payment = till.pay(a_card_body())
    asked = []

    def frozen(request: Any, within_s: float) -> AcquirerAnswer:
        asked.append(request)
        if len(asked) > 1:  # the sweep's: it is carried out, and its answer is lost
            Sandbox().reverse(request, within_s)
            raise AnswerLostError
        payment_sweep.run(NOW + 3 * MINUTE)
        raise UnreachableError

    with broken(reverse=frozen):
        returned = till.give_back(payment)
    assert returned.phase is Phase.RETURNING

    payment_sweep.run(NOW + 10 * MINUTE)
    after, books = kept(payment.id), booked(payment.id)
    assert after is not None
    assert books is not None
    assert books.reversed_minor == after.refunded_minor == payment.amount_minor


def test_a_return_that_never_arrived_is_requested_again_after_the_quiet_time_and_not_close_to_its_deadline() -> None:
    till = a_till()
    with broken(reverse=LOST):
        returned = till.give_back(till.pay(a_card_body()))
    asked = []

    def lost(request: Any, _: float) -> AcquirerAnswer:
        asked.append(request)
        raise AnswerLostError

    with broken(reverse=lost):
        counts = []
        for at in (NOW + 80 * SECOND, NOW + 91 * SECOND, returned.deadline - 89 * SECOND):
            outcomes.refresh(stored_transaction(returned.id), at)
            counts.append(len(asked))

    assert counts == [0, 1, 1]


def test_a_defect_of_an_adapter_is_an_answer_lost_and_its_message_is_not_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with broken(authorize=failing(RuntimeError(f"no route for {PAN}"))):
        payment = a_till().pay(a_card_body())

    printed = capsys.readouterr().out
    assert payment.phase is Phase.UNKNOWN
    assert "RuntimeError" in printed
    assert PAN not in printed


def test_a_look_asks_the_acquirer_at_most_once_in_a_few_seconds() -> None:
    asked = []

    def nothing(reference: str, _: float) -> None:
        asked.append(reference)

    till = a_till()
    payment = till.pay(a_card_body(12.69))
    with broken(inquire=nothing):
        for second in (1, 2, 3, 4, 5, 6.5, 8, 10, 11.6):
            till.look(payment.id, NOW + second * SECOND)

    assert len(asked) == 3


def test_a_look_finishes_a_payment_whose_answer_was_lost() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.68))
    assert payment.phase is Phase.UNKNOWN

    assert till.look(payment.id, NOW + SECOND).phase is Phase.APPROVED
    assert till.counted() == (1, 1268)


def test_what_is_being_sent_is_not_inquired_about() -> None:
    till = a_till()
    body = a_card_body()
    with broken(authorize=failing(KeyboardInterrupt())), pytest.raises(KeyboardInterrupt):
        till.submit(body)

    with broken(inquire=failing(AssertionError())):
        assert till.look(body["BasicTran"]["ID"], NOW + 10 * SECOND).phase is Phase.SENT


def test_not_found_counts_only_after_the_quiet_time() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.69))

    assert till.look(payment.id, NOW + 80 * SECOND).phase is Phase.UNKNOWN
    rejected = till.look(payment.id, NOW + 91 * SECOND)
    assert (rejected.phase, rejected.result.code) == (Phase.REJECTED, 91)
    assert not is_charged(payment.id)


def test_what_is_taken_for_lost_can_no_more_be_authorized() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.69))
    till.look(payment.id, NOW + 2 * MINUTE)

    entry = booked(payment.id)
    assert entry is not None
    assert entry.code == 68


def test_what_is_approved_while_it_is_reversed_as_lost_is_not_paid() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.69))
    approved = partial(steps.with_answer, answer=AcquirerAnswer(0, "Approved"))

    def arrives_now(request: Any, within_s: float) -> AcquirerAnswer:
        """Let the process go on that stood still: the acquirer approves, and reverses right after."""
        outcomes.advance(payment, approved, NOW)
        return Sandbox().reverse(request, within_s)

    with broken(reverse=arrives_now):
        seen = till.look(payment.id, NOW + 2 * MINUTE)

    assert seen == kept(payment.id)
    assert (seen.phase, seen.result.code, till.counted()) == (Phase.REJECTED, 91, (1, 0))


def test_a_payment_reversed_as_lost_is_reversed_until_that_is_acknowledged() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.69))
    with broken(reverse=LOST):
        assert till.look(payment.id, NOW + 2 * MINUTE).phase is Phase.AUTO_CANCELLING

    rejected = till.look(payment.id, NOW + 3 * MINUTE)
    assert (rejected.phase, rejected.result.code) == (Phase.REJECTED, 91)
    assert not is_charged(payment.id)


def test_a_partial_approval_that_an_inquiry_finds_is_reversed() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.68))
    assert is_charged(payment.id)

    with broken(inquire=lambda *_: AcquirerAnswer(10, "Approved for less")):
        seen = till.look(payment.id, NOW + MINUTE)
    assert (seen, seen.phase) == (kept(payment.id), Phase.AUTO_CANCELLED)
    assert not is_charged(payment.id)


def test_an_owed_signature_or_second_step_is_paid_at_the_deadline() -> None:
    till = a_till()
    signature = till.pay(a_card_body(12.08))
    forced = till.pay(a_card_body(AcqTran={"ForceSignatureRequirement": True}))
    second_step = till.pay(a_card_body(AcqTran={"SingleStepAuthMode": False}))
    owed = [signature, forced, second_step]
    assert {payment.phase for payment in owed} == {Phase.AWAITING_COMPLETION}
    assert till.counted() == (3, 1208 + 1230 + 1230)

    payment_sweep.run(signature.deadline - SECOND)
    assert {kept(payment.id) for payment in owed} == set(owed)
    payment_sweep.run(signature.deadline)

    ended = [kept(payment.id) for payment in owed]
    assert [payment.phase for payment in ended if payment] == [Phase.APPROVED] * 3
    assert till.counted() == (3, 1208 + 1230 + 1230)


def test_a_signature_that_came_with_the_payment_is_not_owed() -> None:
    file = {"FileType": "SIGNATURE", "FileCode": image(PNG)["Data"]}
    payment = a_till().pay(a_card_body(12.08, Files=[file]))

    assert (payment.phase, payment.completion.signature_required) == (Phase.APPROVED, True)


def test_a_receipt_is_owed_once_the_money_was_taken_and_not_again_at_the_deadline() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.08, Receipt={"Email": "customer@mail.example"}))
    unknown = till.pay(a_card_body(12.68, Receipt={"Email": "customer@mail.example"}))
    declined = till.pay(a_card_body(12.51, Receipt={"Email": "customer@mail.example"}))
    owed = stored_record(outbox.key(f"{payment.id}.email"))
    assert read(outbox.key(f"{unknown.id}.email")) is None

    payment_sweep.run(payment.deadline)

    assert read(outbox.key(f"{payment.id}.email")) == owed
    assert read(outbox.key(f"{unknown.id}.email")) is not None
    assert read(outbox.key(f"{declined.id}.email")) is None


def test_a_store_out_of_reach_after_the_approval_is_made_good_by_the_next_look() -> None:
    till = a_till()
    body = a_card_body()

    writes = iter([None, ServiceError(ErrorCode.STORE_UNAVAILABLE)])  # of the payment, and of its answer

    def call(client: Client, operation: str, **parameters: Any) -> Any:
        if operation == "TransactWriteItems" and (failure := next(writes, None)):
            raise failure
        return client.call(operation, **parameters)

    with outside.given(client=through(call)):
        assert refusal(till, body).error is ErrorCode.STORE_UNAVAILABLE

    assert till.submit(body, NOW + MINUTE)[0].phase is Phase.APPROVED
    assert is_charged(body["BasicTran"]["ID"])


def test_two_sweeps_at_once_do_not_do_the_same_twice() -> None:
    till = a_till()
    payment = till.pay(a_card_body(12.69))

    assert transactions.claim(payment, NOW + MINUTE)
    assert not transactions.claim(payment, NOW + MINUTE)


def test_one_that_fails_does_not_stop_the_sweep() -> None:
    till = a_till()
    start = NOW - timedelta(days=800)
    payments = [till.pay(a_card_body(12.68), start + n * SECOND) for n in range(2)]

    with outside.given(client=breaking_at(payments[0].id)):
        assert payment_sweep.run(start + 2 * MINUTE).done == 2
    assert (kept(payments[1].id) or payments[1]).phase is Phase.APPROVED
    assert payment_sweep.run(start + 2 * MINUTE).done == 1
