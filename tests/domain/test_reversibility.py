"""Why a reversal is refused: whoever does what the refusal says comes to an end."""

import re
from itertools import product
from typing import Any

import pytest

from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import (
    CARD_PRESENT,
    CNP,
    MODES,
    Refusal,
    ReverseMode,
    endpoint_of,
    known_mode,
    refusal,
)
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from tests.support.transactions import NOW, a_payment, altered

SENDABLE = (ReverseMode.CANCEL, ReverseMode.RETURN, ReverseMode.CANCEL_CNP, ReverseMode.RETURN_CNP)
WAYS = list(product(InputType, (CARD_PRESENT, CNP), SENDABLE, (False, True)))
Way = tuple[str, ReverseMode]


def asked(
    payment: Transaction, endpoint: str, mode: ReverseMode, *, partial: bool = False, late: bool = False
) -> Refusal | None:
    return refusal(payment, mode, payment.deadline if late else NOW, partial=partial, endpoint=endpoint)


def followed(refused: Refusal, used: str) -> list[Way]:
    """Return each way the words of a refusal name: where to, and with which mode."""
    endpoints = re.findall(r"payment/reverse\w*", refused.message) or [used]
    modes = [ReverseMode(int(digit)) for digit in re.findall(r"(?<=ReverseMode )\d|(?<= or )\d", refused.message)]
    return list(product(endpoints, modes))


@pytest.mark.parametrize(("input_type", "endpoint", "mode", "partial"), WAYS)
def test_what_a_refusal_names_works(input_type: InputType, endpoint: str, mode: ReverseMode, *, partial: bool) -> None:
    payment = a_payment(input_type=input_type)
    refused = asked(payment, endpoint, mode, partial=partial)
    if refused is None:
        assert endpoint == endpoint_of(payment)
        assert mode in MODES[endpoint]
        return

    answers = {way: asked(payment, *way, partial=partial) for way in followed(refused, endpoint)}

    assert refused.error is ErrorCode.NOT_REVERSIBLE_HERE
    assert None in answers.values()
    for (used, _), again in answers.items():  # a part that is to be cancelled is refused once more, and that ends it
        last = followed(again, used) if again else []
        assert all(asked(payment, *way, partial=partial) is None for way in last)


@pytest.mark.slow
@pytest.mark.parametrize("phase", Phase)
def test_another_endpoint_is_named_only_when_the_payment_is_reversed_there(phase: Phase) -> None:
    stages: list[dict[str, Any]] = [
        {},
        {"reversals_amount_minor": 1, "reversals_count": 1},
        {"reversals_amount_minor": 1230, "reversals_count": 1},
        {"original_id": "0"},
    ]
    for (input_type, endpoint, mode, partial), stage, late in product(WAYS, stages, (False, True)):
        payment = a_payment(input_type=input_type, phase=phase, **stage)
        refused = asked(payment, endpoint, mode, partial=partial, late=late)
        named = re.findall(r"payment/reverse\w*", refused.message) if refused else []

        assert endpoint not in named
        assert not named or (named == [endpoint_of(payment)] and payment.took_money and payment.remaining_minor)


@pytest.mark.parametrize(
    ("phase", "words"),
    [(Phase.DECLINED, "declined"), (Phase.REJECTED, "rejected"), (Phase.AUTO_CANCELLED, "cancelled automatically")],
)
@pytest.mark.parametrize("endpoint", [CARD_PRESENT, CNP])
def test_a_payment_that_took_no_money_says_so_at_either_endpoint(phase: Phase, words: str, endpoint: str) -> None:
    refused = asked(a_payment(phase=phase), endpoint, ReverseMode.RETURN)

    assert refused is not None
    assert refused.error is ErrorCode.NOT_REVERSIBLE_HERE
    assert words in refused.message


def test_a_reversal_says_that_it_is_one() -> None:
    refused = asked(a_payment(original_id="0", phase=Phase.REVERSAL_APPROVED), CNP, ReverseMode.RETURN)

    assert refused is not None
    assert "a reversal is not reversed" in refused.message


@pytest.mark.parametrize("mode", [ReverseMode.CANCEL, ReverseMode.RETURN])
def test_a_payment_without_a_remainder_is_not_reversed_again(mode: ReverseMode) -> None:
    """Its phase does not say so while the reversal that reserves the last cent is in progress."""
    payment = altered(a_payment(), reversals_amount_minor=1230, reserved_minor=1230, reversals_count=1)
    refused = asked(payment, CARD_PRESENT, mode)

    assert refused is not None
    assert refused.error is ErrorCode.EXCEEDS_REMAINDER


def test_the_deadline_itself_is_too_late_to_cancel() -> None:
    refused = asked(a_payment(), CARD_PRESENT, ReverseMode.CANCEL, late=True)

    assert refused is not None
    assert refused.error is ErrorCode.CANCEL_WINDOW_CLOSED


def test_a_cancel_says_in_full_only_or_that_a_part_is_reversed() -> None:
    payment = a_payment()
    part = asked(payment, CARD_PRESENT, ReverseMode.CANCEL, partial=True)
    rest = asked(
        altered(payment, reversals_amount_minor=1, reversals_count=1), CARD_PRESENT, ReverseMode.CANCEL, partial=True
    )

    assert part is not None
    assert rest is not None
    assert "in full only" in part.message
    assert "reversed already" in rest.message


@pytest.mark.parametrize(("mode", "error"), [(4, ErrorCode.ROLE_MAY_NOT), (500, ErrorCode.KIND_NOT_SUPPORTED)])
def test_a_mode_nobody_may_send_is_refused_whatever_the_payment(mode: int, error: ErrorCode) -> None:
    with pytest.raises(ServiceError) as refused:
        known_mode(mode)

    assert refused.value.error is error
