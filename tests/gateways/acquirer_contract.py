"""What an acquirer port promises, as tests that every adapter must pass.

An adapter's test module subclasses `AcquirerContract` and says how its host is made to approve, decline, lose an answer
and never get a request. The service relies on each of these promises: `services/outcomes` has no other knowledge.
"""

import time
from contextlib import suppress
from dataclasses import replace

import pytest

from chalicelib.domain import emv
from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    ReversalRequest,
    Reversed,
)
from chalicelib.domain.transaction import InputType
from chalicelib.gateways.acquirers import Acquirer
from tests.cards import PAN, a_chip_card
from tests.transactions import ZAR, a_guid

WITHIN_S = 5.0


class AcquirerContract:
    """The promises of the port `chalicelib.gateways.acquirers.Acquirer`."""

    acquirer: Acquirer

    def approved(self) -> AuthorizationRequest:
        """Return a new request that the host approves."""
        raise NotImplementedError

    def declined(self) -> AuthorizationRequest:
        """Return a new request that the host declines."""
        raise NotImplementedError

    def lost(self) -> AuthorizationRequest:
        """Return a new request that the host carries out, and whose answer is lost."""
        raise NotImplementedError

    def never_arriving(self) -> AuthorizationRequest:
        """Return a new request that never reaches the host."""
        raise NotImplementedError

    def by_chip(self) -> AuthorizationRequest:
        """Return a new request by chip that the host approves."""
        return replace(self.approved(), input_type=InputType.CHIP, card=a_chip_card())

    def authorize(self, request: AuthorizationRequest) -> AcquirerAnswer:
        return self.acquirer.authorize(request, WITHIN_S)

    def reverse(self, original: str, amount_minor: int, reference: str | None = None) -> AcquirerAnswer:
        return self.acquirer.reverse(ReversalRequest(reference or a_guid(), original, amount_minor, ZAR), WITHIN_S)

    def test_an_approval_has_code_0_and_the_references_a_receipt_prints(self) -> None:
        answer = self.authorize(self.approved())

        assert (answer.code, answer.is_approved) == (0, True)
        assert answer.approval_code
        assert len(answer.rrn or "") == 12

    def test_a_decline_is_an_answer_and_no_exception(self) -> None:
        answer = self.authorize(self.declined())

        assert not answer.is_approved
        assert 0 < answer.code < 100
        assert answer.message

    def test_the_answer_to_a_payment_names_no_reversal(self) -> None:
        assert self.authorize(self.approved()).reverses is None
        assert self.authorize(self.declined()).reverses is None

    def test_a_reference_identifies_one_payment_for_ever(self) -> None:
        request = self.approved()
        first = self.authorize(request)

        assert self.authorize(request) == first
        assert self.reverse(request.reference, request.amount_minor).is_approved
        assert not self.reverse(request.reference, request.amount_minor).is_approved

    def test_the_answer_to_a_reversal_names_its_original_and_amount(self) -> None:
        request = self.approved()
        self.authorize(request)

        answer = self.reverse(request.reference, request.amount_minor - 1)

        assert answer.is_approved
        assert answer.reverses == Reversed(request.reference, request.amount_minor - 1)

    def test_a_reversal_repeated_under_its_reference_is_carried_out_once(self) -> None:
        request, reference = self.approved(), a_guid()
        self.authorize(request)
        part = request.amount_minor - 100

        answers = [self.reverse(request.reference, part, reference) for _ in range(3)]

        assert answers == [answers[0]] * 3
        assert self.reverse(request.reference, 100).is_approved

    def test_more_than_what_remains_is_not_reversed(self) -> None:
        request = self.approved()
        self.authorize(request)

        assert not self.reverse(request.reference, request.amount_minor + 1).is_approved
        assert self.reverse(request.reference, request.amount_minor).is_approved

    def test_the_reversal_of_a_declined_payment_is_acknowledged(self) -> None:
        request = self.declined()
        self.authorize(request)

        answer = self.reverse(request.reference, request.amount_minor)

        assert answer.is_approved
        assert answer.reverses == Reversed(request.reference, request.amount_minor)

    def test_a_payment_that_arrives_after_its_reversal_is_declined(self) -> None:
        late = self.approved()

        answer = self.reverse(late.reference, late.amount_minor)

        assert answer.is_approved
        assert answer.reverses == Reversed(late.reference, late.amount_minor)
        assert not self.authorize(late).is_approved

    def test_a_payment_is_never_taken_for_a_reversal_of_its_reference(self) -> None:
        victim, forged = self.approved(), self.approved()
        self.authorize(victim)
        self.authorize(forged)

        answer = self.reverse(victim.reference, victim.amount_minor, reference=forged.reference)

        assert not answer.is_approved
        assert self.reverse(victim.reference, victim.amount_minor).is_approved

    def test_a_reversal_is_never_taken_for_a_payment_of_its_reference(self) -> None:
        request, reference = self.approved(), a_guid()
        self.authorize(request)
        self.reverse(request.reference, request.amount_minor, reference)

        assert not self.authorize(replace(self.approved(), reference=reference)).is_approved

    def test_a_reversals_reference_is_not_used_for_another_payment(self) -> None:
        first, second, reference = self.approved(), self.approved(), a_guid()
        self.authorize(first)
        self.authorize(second)
        assert self.reverse(first.reference, first.amount_minor, reference).is_approved

        assert not self.reverse(second.reference, second.amount_minor, reference).is_approved

    def test_an_answer_that_is_lost_is_found_by_an_inquiry(self) -> None:
        request = self.lost()
        with pytest.raises(AnswerLostError):
            self.authorize(request)

        answer = self.acquirer.inquire(request.reference, WITHIN_S)

        assert answer is not None
        assert answer.is_approved

    def test_a_request_that_never_arrived_is_not_found(self) -> None:
        request = self.never_arriving()
        with pytest.raises(AnswerLostError):
            self.authorize(request)

        assert self.acquirer.inquire(request.reference, WITHIN_S) is None

    def test_a_reversal_takes_the_card_and_the_wishes_of_its_till_and_quotes_no_card(self) -> None:
        request, reference = self.by_chip(), a_guid()
        self.authorize(request)
        bare = ReversalRequest(reference, request.reference, request.amount_minor, ZAR)
        with_card = replace(bare, card=request.card, external_terminal_id="E1", additional_fields="batch 7")

        answer = self.acquirer.reverse(with_card, WITHIN_S)

        assert answer.is_approved
        assert PAN not in f"{with_card!r} {answer!r}"
        assert self.acquirer.reverse(bare, WITHIN_S) == answer  # as the sweep repeats it: without the card

    def test_what_an_answer_says_to_the_till_is_said_by_an_inquiry_too(self) -> None:
        for request in (self.by_chip(), self.approved(), self.declined()):
            answer = self.authorize(request)

            assert self.acquirer.inquire(request.reference, WITHIN_S) == answer

    def test_the_issuers_answer_to_a_chip_is_tlv_without_the_card(self) -> None:
        answer = self.authorize(self.by_chip())

        assert answer.emv_result in (None, emv.issuer_answer(answer.emv_result))
        assert self.authorize(self.approved()).emv_result is None  # keyed in: there is no chip

    def test_an_inquiry_changes_nothing(self) -> None:
        request = self.approved()

        assert self.acquirer.inquire(request.reference, WITHIN_S) is None
        assert self.authorize(request).is_approved

    def test_an_inquiry_about_a_reversal_says_what_it_reversed(self) -> None:
        request, reference = self.approved(), a_guid()
        self.authorize(request)
        answer = self.reverse(request.reference, request.amount_minor, reference)

        assert self.acquirer.inquire(reference, WITHIN_S) == answer

    def test_each_call_ends_within_its_time(self) -> None:
        for request in (self.approved(), self.lost(), self.never_arriving()):
            started = time.monotonic()
            with suppress(AcquirerError):
                self.acquirer.authorize(request, 1.0)

            assert time.monotonic() - started < 10  # a hang, not a speed: the machine may be busy

    def test_no_answer_and_no_exception_quotes_the_card(self) -> None:
        for request in (self.approved(), self.declined(), self.lost(), self.never_arriving()):
            try:
                said = repr(self.authorize(request))
            except AcquirerError as error:
                said = f"{error!r} {error.__cause__!r} {error.__context__!r}"

            assert PAN not in said
            assert PAN[6:] not in said
