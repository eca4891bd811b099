"""What an acquirer port promises, as tests that every adapter must pass.

An adapter's test module subclasses `ContractOfInquiries`, or `ContractOfMessages` where nothing can be inquired, and
says how its host is made to approve, decline, lose an answer and never get a request. The service relies on each of
these promises: `services/acquirer_calls` and `services/acquirer_calls` have no other knowledge.
"""

import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from chalicelib.domain import emv
from chalicelib.domain.acquirer import (
    NO_ANSWER,
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    Message,
    ReversalKind,
    ReversalRequest,
    Reversed,
)
from chalicelib.domain.kinds import InputType
from chalicelib.domain.transaction import MessageTrace, TerminalSnapshot
from chalicelib.gateways.acquirers.port import Acquirer
from tests.support.cards import PAN, a_chip_card, an_inquiry
from tests.support.transactions import ZAR, a_guid

WITHIN_S = 5.0
_numbers = count(1)


class AcquirerContract:
    """The promises of the port `chalicelib.gateways.acquirers.port.Acquirer` that hold for every acquirer."""

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

    def a_return(
        self, original: AuthorizationRequest, amount_minor: int, reference: str | None = None
    ) -> ReversalRequest:
        """Return a new request to give back so much of a payment."""
        return ReversalRequest(reference or a_guid(), original.reference, amount_minor, ZAR)

    def an_automatic_reversal(self, original: AuthorizationRequest) -> ReversalRequest:
        """Return a new request to reverse all of a payment whose outcome is unknown."""
        whole = ReversalRequest(a_guid(), original.reference, original.amount_minor, ZAR)
        return replace(whole, kind=ReversalKind.AUTOMATIC)

    def reverse(
        self, original: AuthorizationRequest, amount_minor: int, reference: str | None = None
    ) -> AcquirerAnswer:
        return self.send(self.a_return(original, amount_minor, reference))

    def send(self, request: ReversalRequest) -> AcquirerAnswer:
        return self.acquirer.reverse(request, WITHIN_S)

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

    def test_the_answer_to_a_reversal_names_its_original_and_amount(self) -> None:
        request = self.approved()
        self.authorize(request)

        answer = self.reverse(request, request.amount_minor - 1)

        assert answer.is_approved
        assert answer.reverses == Reversed(request.reference, request.amount_minor - 1)

    def test_more_than_what_remains_is_not_reversed(self) -> None:
        request = self.approved()
        self.authorize(request)

        assert not self.reverse(request, request.amount_minor + 1).is_approved
        assert self.reverse(request, request.amount_minor).is_approved

    def test_the_reversal_of_a_declined_payment_is_acknowledged(self) -> None:
        request = self.declined()
        self.authorize(request)

        answer = self.send(self.an_automatic_reversal(request))

        assert answer.is_approved
        assert answer.reverses == Reversed(request.reference, request.amount_minor)

    def test_a_payment_that_arrives_after_its_reversal_is_declined(self) -> None:
        late = self.approved()

        answer = self.send(self.an_automatic_reversal(late))

        assert answer.is_approved
        assert answer.reverses == Reversed(late.reference, late.amount_minor)
        assert not self.authorize(late).is_approved

    def test_an_automatic_reversal_takes_back_what_was_carried_out_and_nobody_heard_of(self) -> None:
        request = self.lost()
        with pytest.raises(AnswerLostError):
            self.authorize(request)

        reversal = self.an_automatic_reversal(request)
        with suppress(AnswerLostError):  # this answer may be lost, too; a repeat is the same reversal
            self.send(reversal)

        assert self.send(replace(reversal, is_repeat=True)).is_approved
        assert not self.reverse(request, 1).is_approved

    def test_an_automatic_reversal_of_what_never_arrived_is_acknowledged(self) -> None:
        request = self.never_arriving()
        with pytest.raises(AnswerLostError):
            self.authorize(request)

        assert self.send(self.an_automatic_reversal(request)).is_approved

    def test_a_return_takes_the_card_and_the_wishes_of_its_till_and_quotes_no_card(self) -> None:
        request = self.by_chip()
        self.authorize(request)
        bare = self.a_return(request, request.amount_minor)
        with_card = replace(
            bare,
            card=request.card,
            input_type=request.input_type,
            external_terminal_id="E1",
            additional_fields="batch 7",
        )

        answer = self.send(with_card)

        assert answer.is_approved
        assert PAN not in f"{with_card!r} {answer!r}"

    def test_the_issuers_answer_to_a_chip_is_tlv_without_the_card(self) -> None:
        answer = self.authorize(self.by_chip())

        assert answer.emv_result in (None, emv.issuer_answer(answer.emv_result))
        assert self.authorize(self.approved()).emv_result is None  # keyed in: there is no chip

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


class ContractOfInquiries(AcquirerContract):
    """The promises of an acquirer that can be inquired: a reference identifies one payment or reversal for ever."""

    def test_a_reference_identifies_one_payment_for_ever(self) -> None:
        request = self.approved()
        first = self.authorize(request)

        assert self.authorize(request) == first
        assert self.reverse(request, request.amount_minor).is_approved
        assert not self.reverse(request, request.amount_minor).is_approved

    def test_a_reversal_repeated_under_its_reference_is_carried_out_once(self) -> None:
        request, reference = self.approved(), a_guid()
        self.authorize(request)
        part = request.amount_minor - 100

        answers = [self.reverse(request, part, reference) for _ in range(3)]

        assert answers == [answers[0]] * 3
        assert self.reverse(request, 100).is_approved

    def test_a_reversal_repeated_without_its_card_is_the_same(self) -> None:
        request = self.by_chip()
        self.authorize(request)
        bare = self.a_return(request, request.amount_minor)

        answer = self.send(replace(bare, card=request.card, external_terminal_id="E1", additional_fields="batch 7"))

        assert self.send(bare) == answer  # as the sweep repeats it

    def test_a_reversals_reference_is_not_used_for_another_payment(self) -> None:
        first, second, reference = self.approved(), self.approved(), a_guid()
        self.authorize(first)
        self.authorize(second)
        assert self.reverse(first, first.amount_minor, reference).is_approved

        assert not self.reverse(second, second.amount_minor, reference).is_approved

    def test_an_answer_that_is_lost_is_found_by_an_inquiry(self) -> None:
        request = self.lost()
        with pytest.raises(AnswerLostError):
            self.authorize(request)

        answer = self.acquirer.inquire(an_inquiry(request.reference, amount_minor=request.amount_minor), WITHIN_S)

        assert answer is not None
        assert answer.is_approved

    def test_a_request_that_never_arrived_is_not_found(self) -> None:
        request = self.never_arriving()
        with pytest.raises(AnswerLostError):
            self.authorize(request)

        assert self.acquirer.inquire(an_inquiry(request.reference, amount_minor=request.amount_minor), WITHIN_S) is None

    def test_what_an_answer_says_to_the_till_is_said_by_an_inquiry_too(self) -> None:
        for request in (self.by_chip(), self.approved(), self.declined()):
            answer = self.authorize(request)

            assert (
                self.acquirer.inquire(an_inquiry(request.reference, amount_minor=request.amount_minor), WITHIN_S)
                == answer
            )

    def test_an_inquiry_changes_nothing(self) -> None:
        request = self.approved()

        assert self.acquirer.inquire(an_inquiry(request.reference, amount_minor=request.amount_minor), WITHIN_S) is None
        assert self.authorize(request).is_approved

    def test_an_inquiry_about_a_reversal_says_what_it_reversed(self) -> None:
        request, reference = self.approved(), a_guid()
        self.authorize(request)
        answer = self.reverse(request, request.amount_minor, reference)

        assert self.acquirer.inquire(an_inquiry(reference), WITHIN_S) == answer


class ContractOfMessages(AcquirerContract):
    """The promises of an acquirer that cannot be inquired: it knows a request by the facts of its message."""

    terminal: TerminalSnapshot
    tid = "SHOP0001"
    institution = ""

    def a_message(self, **changes: Any) -> Message:
        """Return the facts of a new message: no other has its number or its RRN."""
        facts: dict[str, Any] = {
            "rrn": f"R{next(_numbers):011}",
            "trace": self.a_trace(),
            "local_time": datetime.now(UTC).replace(tzinfo=None),
            "tid": self.tid,
            "institution": self.institution,
            "terminal": self.terminal,
        }
        return Message(**{**facts, **changes})

    def a_trace(self) -> MessageTrace:
        return MessageTrace(next(_numbers), datetime.now(UTC))

    def a_return(
        self, original: AuthorizationRequest, amount_minor: int, reference: str | None = None
    ) -> ReversalRequest:
        assert original.message is not None
        plain = super().a_return(original, amount_minor, reference)
        return replace(plain, message=self.a_message(), original_trace=original.message.trace)

    def an_automatic_reversal(self, original: AuthorizationRequest) -> ReversalRequest:
        return self.of_message(super().an_automatic_reversal(original), original.message)

    def a_cancel(self, original: AuthorizationRequest) -> ReversalRequest:
        """Return a new request to cancel a payment at the till's wish."""
        cancel = replace(super().an_automatic_reversal(original), kind=ReversalKind.CANCEL)
        return self.of_message(cancel, original.message)

    def an_automatic_reversal_of_return(self, returned: ReversalRequest) -> ReversalRequest:
        """Return a new request to reverse a return whose outcome is unknown."""
        whole = ReversalRequest(a_guid(), returned.reference, returned.amount_minor, ZAR)
        return self.of_message(replace(whole, kind=ReversalKind.AUTOMATIC_OF_RETURN), returned.message)

    def of_message(self, reversal: ReversalRequest, message: Message | None) -> ReversalRequest:
        """Return the reversal with the facts of the message it reverses, and a number of its own."""
        assert message is not None
        own = replace(message, trace=self.a_trace())
        return replace(reversal, message=own, original_trace=message.trace, reason=NO_ANSWER)

    def test_it_cannot_be_inquired(self) -> None:
        request = self.approved()
        self.authorize(request)

        assert not self.acquirer.can_inquire
        with pytest.raises(AnswerLostError):
            self.acquirer.inquire(an_inquiry(request.reference, amount_minor=request.amount_minor), WITHIN_S)

    def test_a_payment_sent_twice_is_taken_once_and_the_second_answer_decides_nothing(self) -> None:
        request = self.approved()
        assert self.authorize(request).is_approved

        with pytest.raises(AnswerLostError):
            self.authorize(request)

        assert self.reverse(request, request.amount_minor).is_approved
        assert not self.reverse(request, 1).is_approved

    def test_a_return_sent_twice_is_given_back_once_and_the_second_answer_decides_nothing(self) -> None:
        request = self.approved()
        self.authorize(request)
        returned = self.a_return(request, 200)
        assert self.send(returned).is_approved

        with pytest.raises(AnswerLostError):
            self.send(returned)

        assert not self.reverse(request, request.amount_minor - 199).is_approved
        assert self.reverse(request, request.amount_minor - 200).is_approved

    def test_a_cancel_or_an_automatic_reversal_that_is_repeated_has_the_same_answer(self) -> None:
        for make in (self.a_cancel, self.an_automatic_reversal):
            request = self.approved()
            self.authorize(request)
            reversal = make(request)
            answer = self.send(reversal)

            assert answer.is_approved
            assert answer.reverses == Reversed(request.reference, request.amount_minor)
            assert [self.send(replace(reversal, is_repeat=True)) for _ in range(2)] == [answer] * 2
            assert not self.reverse(request, 1).is_approved

    def test_a_repeat_of_what_never_arrived_counts_as_the_first(self) -> None:
        request = self.approved()
        self.authorize(request)

        assert self.send(replace(self.an_automatic_reversal(request), is_repeat=True)).is_approved
        assert not self.reverse(request, 1).is_approved

    def test_after_the_automatic_reversal_of_a_return_its_amount_remains(self) -> None:
        request = self.approved()
        self.authorize(request)
        returned = self.a_return(request, 200)
        assert self.send(returned).is_approved

        answer = self.send(self.an_automatic_reversal_of_return(returned))

        assert answer.is_approved
        assert answer.reverses == Reversed(returned.reference, 200)
        assert self.reverse(request, request.amount_minor).is_approved

    def test_a_return_that_arrives_after_its_automatic_reversal_is_declined(self) -> None:
        request = self.approved()
        self.authorize(request)
        late = self.a_return(request, 200)
        assert self.send(self.an_automatic_reversal_of_return(late)).is_approved

        assert not self.send(late).is_approved
        assert self.reverse(request, request.amount_minor).is_approved

    def test_a_payment_of_which_a_part_was_given_back_is_not_cancelled(self) -> None:
        request = self.approved()
        self.authorize(request)
        self.reverse(request, 200)

        assert not self.send(self.a_cancel(request)).is_approved
        assert self.reverse(request, request.amount_minor - 200).is_approved
