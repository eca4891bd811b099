from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.domain.reversal import CANCELS, ReverseMode, offers, refusal
from chalicelib.domain.transaction import FACES, TRANSITIONS, InputType, Phase, Shelf, status_of
from chalicelib.errors import ErrorCode
from tests.transactions import NOW, a_payment

# State, Substate, Status, DisplayMode, list: the contract's table, row by row.
CONTRACT = {
    Phase.SENT: (200, 201, "PROCESSING", 100, Shelf.IN_PROCESS),
    Phase.UNKNOWN: (200, 201, "UNKNOWN", 100, Shelf.IN_PROCESS),
    Phase.REJECTED: (200, 202, "REJECTED", 0, Shelf.TRANSACTIONS),
    Phase.OWED: (400, 401, "IN-TRANSFER", 1, Shelf.NOT_FINISHED),
    Phase.APPROVED: (400, 411, "IN-TRANSFER", 1, Shelf.TRANSACTIONS),
    Phase.DECLINED: (400, 412, "DECLINED", 0, Shelf.TRANSACTIONS),
    Phase.AUTO_CANCELLING: (400, 403, "REVERSING", 100, Shelf.IN_PROCESS),
    Phase.AUTO_CANCELLED: (400, 404, "REVERSED", 0, Shelf.TRANSACTIONS),
    Phase.REVERSED: (500, 502, "REVERSED", 3, Shelf.TRANSACTIONS),
    Phase.CANCELLING: (500, 503, "PROCESSING", 2, Shelf.IN_PROCESS),
    Phase.RETURNING: (500, 505, "PROCESSING", 2, Shelf.IN_PROCESS),
    Phase.GIVEN_BACK: (500, 502, "IN-TRANSFER", 2, Shelf.TRANSACTIONS),
}


@pytest.mark.parametrize("phase", Phase)
def test_a_phase_looks_as_the_contract_says(phase: Phase) -> None:
    face = FACES[phase]

    assert (face.state, face.substate, face.status, face.display_mode, face.shelf) == CONTRACT[phase]


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_has_its_moves_and_only_pending_ones_can_still_learn_their_outcome(phase: Phase) -> None:
    pending = FACES[phase].shelf is Shelf.IN_PROCESS

    assert set(TRANSITIONS) == set(Phase)
    assert phase not in TRANSITIONS[phase]
    assert bool(TRANSITIONS[phase]) or not pending


def test_no_phase_is_left_by_a_way_back_to_pending() -> None:
    first = {Phase.SENT, Phase.CANCELLING, Phase.RETURNING}

    assert all(not first & after for after in TRANSITIONS.values())


def test_cash_is_deposited_at_once_and_anything_else_at_the_deadline() -> None:
    cash = a_payment()
    card = replace(cash, input_type=InputType.CHIP)

    assert status_of(cash, NOW) == "DEPOSITED"
    assert status_of(card, card.deadline - timedelta(microseconds=1)) == "IN-TRANSFER"
    assert status_of(card, card.deadline) == "DEPOSITED"


@pytest.mark.parametrize("input_type", InputType)
def test_a_payment_is_reversible_at_one_endpoint_alone(input_type: InputType) -> None:
    payment = replace(a_payment(), input_type=input_type)
    flags = offers(payment, NOW)
    cnp = input_type in (InputType.MANUAL_ENTRY, InputType.LINKED_CARD)

    assert (flags.can_cancel, flags.can_return, flags.can_return_partial) == (not cnp,) * 3
    assert (flags.can_cancel_cnp, flags.can_return_cnp, flags.can_return_cnp_partial) == (cnp,) * 3
    assert flags.reverse_cp_input_types == (() if cnp else (input_type,))


def test_a_cancel_is_whole_before_the_deadline_and_first() -> None:
    payment = a_payment()
    part_given_back = replace(payment, reversals=1, reversed_minor=1)

    assert refusal(payment, ReverseMode.CANCEL, NOW, partial=False) is None
    assert refusal(payment, ReverseMode.CANCEL, NOW, partial=True) is ErrorCode.NOT_REVERSIBLE_HERE
    assert refusal(payment, ReverseMode.CANCEL, payment.deadline, partial=False) is ErrorCode.CANCEL_WINDOW_CLOSED
    assert refusal(part_given_back, ReverseMode.CANCEL, NOW, partial=False) is ErrorCode.NOT_REVERSIBLE_HERE
    assert refusal(part_given_back, ReverseMode.RETURN, NOW, partial=True) is None


@pytest.mark.parametrize("phase", Phase)
def test_only_what_was_approved_and_not_given_back_is_offered(phase: Phase) -> None:
    flags = offers(replace(a_payment(), phase=phase), NOW)

    assert flags.can_return is (phase in (Phase.APPROVED, Phase.OWED))


def test_a_reversal_is_never_reversed() -> None:
    reversal = replace(a_payment(), original_id="0", phase=Phase.GIVEN_BACK)

    assert {refusal(reversal, mode, NOW, partial=False) for mode in CANCELS} == {ErrorCode.NOT_REVERSIBLE_HERE}
