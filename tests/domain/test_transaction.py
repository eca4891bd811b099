from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import PENDING, TRANSITIONS, Phase
from chalicelib.domain.reversibility import CANCELS, ReverseMode, offers, refusal
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode
from tests.support.transactions import NOW, a_payment, altered


def refused(payment: Transaction, mode: ReverseMode, now: datetime = NOW, *, partial: bool = False) -> ErrorCode | None:
    found = refusal(payment, mode, now, partial=partial)
    return found.error if found else None


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_has_its_moves_and_only_pending_ones_can_still_learn_their_outcome(phase: Phase) -> None:
    assert set(TRANSITIONS) == set(Phase)
    assert phase not in TRANSITIONS[phase]
    assert bool(TRANSITIONS[phase]) or phase not in PENDING


def test_no_phase_is_left_by_a_way_back_to_pending() -> None:
    first = {Phase.SENT, Phase.CANCELLING, Phase.RETURNING}

    assert all(not first & after for after in TRANSITIONS.values())


@pytest.mark.parametrize("input_type", InputType)
def test_a_payment_is_reversible_at_one_endpoint_alone(input_type: InputType) -> None:
    payment = replace(a_payment(), input_type=input_type)
    flags = offers(payment, NOW)
    cnp = input_type in (InputType.MANUAL_ENTRY, InputType.LINKED_CARD)

    assert (flags.can_cancel, flags.can_return, flags.can_return_partial) == (not cnp,) * 3
    assert (flags.can_cancel_cnp, flags.can_return_cnp, flags.can_return_cnp_partial) == (cnp,) * 3
    readers = (InputType.MAGNETIC_STRIPE, InputType.CHIP, InputType.CONTACTLESS)
    assert flags.reverse_cp_input_types == (() if cnp else readers if input_type in readers else (input_type,))


FLAGS = {
    (ReverseMode.CANCEL, False): "can_cancel",
    (ReverseMode.CANCEL, True): "can_cancel_partial",
    (ReverseMode.RETURN, False): "can_return",
    (ReverseMode.RETURN, True): "can_return_partial",
    (ReverseMode.CANCEL_CNP, False): "can_cancel_cnp",
    (ReverseMode.CANCEL_CNP, True): "can_cancel_cnp_partial",
    (ReverseMode.RETURN_CNP, False): "can_return_cnp",
    (ReverseMode.RETURN_CNP, True): "can_return_cnp_partial",
}


@pytest.mark.parametrize("input_type", InputType)
@pytest.mark.parametrize("change", [{}, {"reversals_count": 1, "reversals_amount_minor": 1}, {"phase": Phase.DECLINED}])
def test_a_flag_offers_a_reversal_exactly_when_it_is_accepted(input_type: InputType, change: dict[str, Any]) -> None:
    payment = altered(a_payment(), input_type=input_type, **change)

    for now in (NOW, payment.deadline):
        shown = offers(payment, now)
        accepted = {name: refused(payment, mode, now, partial=part) is None for (mode, part), name in FLAGS.items()}
        assert {name: getattr(shown, name) for name in FLAGS.values()} == accepted


def test_a_cancel_is_whole_before_the_deadline_and_first() -> None:
    payment = a_payment()
    part_given_back = altered(payment, reversals_count=1, reversals_amount_minor=1)

    assert refusal(payment, ReverseMode.CANCEL, NOW, partial=False) is None
    assert refused(payment, ReverseMode.CANCEL, partial=True) is ErrorCode.NOT_REVERSIBLE_HERE
    assert refused(payment, ReverseMode.CANCEL, payment.deadline) is ErrorCode.CANCEL_WINDOW_CLOSED
    assert refused(part_given_back, ReverseMode.CANCEL) is ErrorCode.NOT_REVERSIBLE_HERE
    assert refusal(part_given_back, ReverseMode.RETURN, NOW, partial=True) is None


@pytest.mark.parametrize("phase", Phase)
def test_only_what_was_approved_and_not_given_back_is_offered(phase: Phase) -> None:
    flags = offers(replace(a_payment(), phase=phase), NOW)

    assert flags.can_return is (phase in (Phase.APPROVED, Phase.AWAITING_COMPLETION))


def test_a_reversal_is_never_reversed() -> None:
    reversal = altered(a_payment(), original_id="0", phase=Phase.REVERSAL_APPROVED)

    assert {refused(reversal, mode) for mode in CANCELS} == {ErrorCode.NOT_REVERSIBLE_HERE}
