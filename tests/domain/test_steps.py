from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from chalicelib.domain import steps
from chalicelib.domain.acquirer import AcquirerAnswer, text_of_code
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import HostFacts, MessageTrace, Pictures, Transaction
from tests.support.cards import PAN, STEADY, a_card
from tests.support.reconciliations import TERMINAL
from tests.support.transactions import NOW, a_payment

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def sent(**changes: Any) -> Transaction:
    facts: dict[str, Any] = {
        "phase": Phase.SENT,
        "input_type": InputType.MANUAL_ENTRY,
        "acquirer": "SANDBOX",
        "card": a_card().details,
        "result_code": None,
        "result_message": None,
    }
    return a_payment(**{**facts, **changes})


def answer(code: int = 0, **changes: Any) -> AcquirerAnswer:
    return AcquirerAnswer(code, "text", "123456", "000000000001", "T1", **changes)


@pytest.mark.parametrize(
    ("before", "given", "phase"),
    [
        ({}, {}, Phase.APPROVED),
        ({}, {"code": 51}, Phase.DECLINED),
        ({"single_step": False}, {}, Phase.AWAITING_COMPLETION),
        ({"single_step": False}, {"code": 51}, Phase.DECLINED),
        ({}, {"signature_required": True}, Phase.AWAITING_COMPLETION),
        ({"signature_required": True}, {}, Phase.AWAITING_COMPLETION),
        ({"signature_key": "s"}, {"signature_required": True}, Phase.APPROVED),
        ({"signature_key": "s", "single_step": False}, {"signature_required": True}, Phase.AWAITING_COMPLETION),
    ],
)
def test_an_answer_decides_the_phase(before: dict[str, Any], given: dict[str, Any], phase: Phase) -> None:
    assert steps.with_answer(sent(**before), answer(**given)).phase is phase


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("acquirer_tran_id", steps.MAX_TITLE),
        ("additional_fields", steps.MAX_FIELDS),
        ("additional_fields_title", steps.MAX_TITLE),
    ],
)
def test_no_part_of_a_card_number_is_kept_where_a_text_is_cut(name: str, longest: int) -> None:
    for digits in range(1, len(STEADY) + 1):  # of the number, before the cut
        written = {name: f"{'x' * (longest - digits)}{STEADY} and so on"}

        kept = getattr(steps.with_answer(sent(), replace(answer(), **written)).result, name)  # type: ignore[arg-type]

        assert len(kept) == longest
        assert STEADY[:7] not in kept


def test_an_answer_is_kept_with_the_references_of_the_acquirer() -> None:
    payment = steps.with_answer(sent(), answer())

    assert (payment.result.code, payment.result.message) == (0, "text")
    assert (payment.result.approval_code, payment.result.rrn, payment.result.acquirer_tran_id) == (
        "123456",
        "000000000001",
        "T1",
    )


def test_a_decline_owes_no_signature() -> None:
    assert not steps.with_answer(
        sent(signature_required=True), answer(51, signature_required=True)
    ).completion.signature_required


def test_what_was_never_attempted_has_no_result_and_what_never_arrived_has() -> None:
    assert steps.was_not_attempted(steps.not_attempted(sent()))
    assert not steps.was_not_attempted(steps.not_found(sent()))
    before = sent(result_code=0, result_message="Approved", rrn="603112345678", signature_required=True)
    after = [step(before) for step in (steps.not_found, steps.auto_cancelled, steps.partly_approved)]
    assert [one.result.code for one in after] == [91, 68, 10]
    assert [one.result.message for one in after] == [text_of_code(code) for code in (91, 68, 10)]
    assert {(one.result.rrn, one.completion.signature_required) for one in after} == {("603112345678", False)}


@pytest.mark.parametrize("phase", Phase)
def test_only_what_is_pending_or_owed_is_due(phase: Phase) -> None:
    payment = sent(phase=phase)
    due = steps.due_at(payment, NOW)

    assert (due is not None) == (payment.is_pending or phase is Phase.AWAITING_COMPLETION)


def test_what_is_in_the_hands_of_a_request_is_left_to_it() -> None:
    assert steps.is_in_progress(sent(), NOW + 29 * SECOND)
    assert not steps.is_in_progress(sent(), NOW + 30 * SECOND)
    assert not steps.is_in_progress(sent(phase=Phase.UNKNOWN), NOW)
    assert steps.is_in_progress(sent(phase=Phase.AUTO_CANCELLING), NOW + 29 * SECOND)  # approved in part
    assert not steps.is_in_progress(sent(phase=Phase.AUTO_CANCELLING), NOW + 30 * SECOND)
    at_host = sent(host=HostFacts(MessageTrace(1, NOW), "12345678", TERMINAL, advice_stan=2))
    assert steps.is_in_progress(at_host, NOW + 24 * SECOND)
    assert not steps.is_in_progress(at_host, NOW + 25 * SECOND)  # its reversal must leave in time
    assert steps.due_at(sent(), NOW) == NOW + 30 * SECOND


def test_inquiries_come_less_and_less_often_and_once_more_at_the_deadline() -> None:
    payment = sent(phase=Phase.UNKNOWN)
    pauses = []
    at = NOW
    while at < payment.deadline:
        due = steps.due_at(payment, at)
        assert due is not None
        pauses.append(due - at)
        at = due

    assert at == payment.deadline
    assert pauses[0] == 30 * SECOND
    assert max(pauses) == 15 * MINUTE
    assert len(pauses) < 80


def test_past_the_deadline_the_pauses_begin_anew() -> None:
    payment = sent(phase=Phase.AUTO_CANCELLING)

    assert steps.due_at(payment, payment.deadline) == payment.deadline + 30 * SECOND


def test_a_payment_just_before_the_deadline_keeps_its_half_minute() -> None:
    payment = sent()
    late = sent(created_at=payment.deadline - SECOND, deadline=payment.deadline)

    assert steps.due_at(late, late.created_at) == late.created_at + 30 * SECOND


@pytest.mark.parametrize(
    ("of_deadline", "held_for"),
    [(-60, 5), (-1, 5), (0, 0), (1, 1), (4, 4), (5, 5), (6, 5), (900, 5)],
)
def test_a_claim_lasts_five_seconds_and_none_from_before_the_deadline_holds_after_it(
    of_deadline: int, held_for: int
) -> None:
    payment = sent(phase=Phase.UNKNOWN)
    now = payment.deadline + of_deadline * SECOND

    assert now - steps.claims_hold_since(payment, now) == held_for * SECOND


def test_not_found_counts_when_nothing_can_be_on_its_way_any_more() -> None:
    quiet = timedelta(seconds=60)

    assert not steps.is_not_found_final(sent(), quiet, NOW + 89 * SECOND)
    assert steps.is_not_found_final(sent(), quiet, NOW + 90 * SECOND)


def test_a_payment_that_owed_a_step_is_deposited_at_the_deadline() -> None:
    payment = steps.completed(sent(phase=Phase.AWAITING_COMPLETION))

    assert payment.status_at(payment.deadline) == "DEPOSITED"
    assert payment.status_at(payment.deadline - SECOND) == "IN-TRANSFER"


STEPS = {
    steps.not_attempted: Phase.REJECTED,
    steps.not_found: Phase.REJECTED,
    steps.unknown: Phase.UNKNOWN,
    partial(steps.auto_cancelling, now=NOW): Phase.AUTO_CANCELLING,
    steps.auto_cancelled: Phase.AUTO_CANCELLED,
    steps.completed: Phase.APPROVED,
}


@pytest.mark.parametrize(("step", "phase"), STEPS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_step_leads_where_its_name_says(step: Any, phase: Phase) -> None:
    assert step(sent()).phase is phase


def test_what_is_decided_stays_decided() -> None:
    for phase in (Phase.APPROVED, Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLED):
        for step, target in STEPS.items():
            del step
            assert not steps.may_follow(sent(phase=phase), sent(phase=target))
    assert not steps.may_follow(sent(phase=Phase.AUTO_CANCELLING), sent(phase=Phase.APPROVED))


@pytest.mark.parametrize(
    "step",
    [
        steps.not_attempted,
        steps.unusable,
        partial(steps.with_answer, answer=answer()),
        partial(steps.with_answer, answer=answer(51)),
        partial(steps.reversal_with_answer, answer=answer()),
        partial(steps.reversal_with_answer, answer=answer(68)),
    ],
)
def test_what_is_being_cancelled_automatically_ends_with_the_acknowledgement_alone(step: Any) -> None:
    being_cancelled = sent(phase=Phase.AUTO_CANCELLING)

    assert step(being_cancelled) == being_cancelled


def test_what_the_acquirer_writes_is_kept_bounded_and_without_a_card_number() -> None:
    answered: dict[str, Any] = {
        "additional_fields": f"{PAN} " + "x" * 2000,
        "additional_fields_title": f"{STEADY}" + "y" * 300,
    }
    for step in (steps.with_answer, steps.reversal_with_answer):
        kept = step(sent(), replace(answer(**answered, emv_result="8A023030"), acquirer_tran_id=f"T-{PAN}"))

        assert len(kept.result.additional_fields or "") == steps.MAX_FIELDS
        assert (kept.result.additional_fields or "").startswith("411111******1111 xxx")
        assert (kept.result.additional_fields_title or "").startswith("4242")
        assert len(kept.result.additional_fields_title or "") == steps.MAX_TITLE
        assert kept.result.acquirer_tran_id == "T-411111******1111"
        assert PAN not in repr(kept)
        assert kept.result.emv_result == "8A023030"


def test_an_answer_without_texts_leaves_none() -> None:
    kept = steps.with_answer(sent(), answer(additional_fields="", emv_result="no TLV"))

    assert (kept.result.additional_fields, kept.result.additional_fields_title, kept.result.emv_result) == (None,) * 3


@pytest.mark.parametrize(
    ("forced", "wanted", "code", "required"),
    [(True, False, 0, True), (False, True, 0, True), (False, False, 0, False), (True, True, 51, False)],
)
def test_a_signature_holds_no_reversal_up(*, forced: bool, wanted: bool, code: int, required: bool) -> None:
    reversal = sent(phase=Phase.RETURNING, original_id="0", signature_required=forced)
    after = steps.reversal_with_answer(reversal, answer(code, signature_required=wanted))

    assert after.owes_signature is required
    assert after.phase is (Phase.DECLINED if code else Phase.REVERSAL_APPROVED)


@pytest.mark.parametrize(
    ("before", "phase"),
    [
        ({"phase": Phase.AWAITING_COMPLETION}, Phase.APPROVED),
        ({"phase": Phase.AWAITING_COMPLETION, "single_step": False}, Phase.AWAITING_COMPLETION),
        ({"phase": Phase.APPROVED}, Phase.APPROVED),
    ],
)
def test_a_signature_completes_what_awaits_nothing_else(before: dict[str, Any], phase: Phase) -> None:
    owing = sent(signature_required=True, photo_key="p", **before)
    after = steps.signed(owing, Pictures(signature_key="s"))

    assert owing.owes_signature
    assert not after.owes_signature
    assert (after.phase, after.pictures.signature_key, after.pictures.photo_key) == (phase, "s", "p")
