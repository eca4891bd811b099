"""STRIPE keeps the contract of the port, at the stand-in."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AnswerLostError,
    AuthorizationRequest,
    InquiryRequest,
    ReversalRequest,
)
from chalicelib.gateways.acquirers.stripe.adapter import Stripe
from infra.local.stripe_stand_in import StripeStandIn
from tests.gateways.acquirer_contract import WITHIN_S, ContractOfInquiries
from tests.support.cards import STEADY, a_card, an_authorization, an_inquiry
from tests.support.stripe_stage import paying_at_stripe
from tests.support.transactions import a_guid


class Knowing(Stripe):
    """The adapter, with the facts that the service stores: they are looked up in the stand-in."""

    def __init__(self, stand_in: StripeStandIn) -> None:
        super().__init__()
        self.stand_in = stand_in

    def intent_of(self, reference: str | None) -> str | None:
        found = self.stand_in.of("payment_intent")
        return next((one["id"] for one in found if one["metadata"]["payments_id"] == reference), None)

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        return super().reverse(replace(request, acquirer_tran_id=self.intent_of(request.original)), within_s)

    def inquire(self, request: InquiryRequest, within_s: float) -> AcquirerAnswer | None:
        request = replace(request, created_at=outside.now())
        refunds = (one for one in self.stand_in.of("refund") if one["metadata"]["payments_id"] == request.reference)
        if refund := next(refunds, None):
            intent = refund["payment_intent"]
            original = self.stand_in.objects[intent]["metadata"]["payments_id"]
            request = replace(request, original=original, acquirer_tran_id=intent, amount_minor=refund["amount"])
        return super().inquire(request, within_s)


@pytest.mark.usefixtures("engine")
class TestStripe(ContractOfInquiries):
    @pytest.fixture(autouse=True)
    def running(self, engine: str) -> Iterator[None]:
        """A stand-in without objects. The tests know no IDs of Stripe, so they are looked up there."""
        del engine
        with paying_at_stripe() as self.stand_in:
            self.acquirer = Knowing(self.stand_in)
            yield

    stand_in: StripeStandIn

    def approved(self) -> AuthorizationRequest:
        return an_authorization(card=a_card(pan=STEADY))

    def declined(self) -> AuthorizationRequest:
        return an_authorization(card=a_card(pan="4000000000009995"))

    def lost(self) -> AuthorizationRequest:
        return replace(self.approved(), amount_minor=1268)

    def never_arriving(self) -> AuthorizationRequest:
        return replace(self.approved(), amount_minor=1269)

    def by_chip(self) -> AuthorizationRequest:
        return self.approved()

    def test_an_approval_has_code_0_and_the_references_a_receipt_prints(self) -> None:
        answer = self.authorize(self.approved())

        assert (answer.code, answer.approval_code, answer.rrn) == (0, None, None)
        assert str(answer.acquirer_tran_id).startswith("pi_")

    def test_a_reference_identifies_one_payment_for_ever(self) -> None:
        """A payment is sent once; a second confirmation of its intent is refused, and its outcome is inquired."""
        request = self.approved()
        first = self.authorize(request)
        with pytest.raises(AnswerLostError):
            self.authorize(request)

        assert self.acquirer.inquire(an_inquiry(request.reference), WITHIN_S) == first
        assert len(self.stand_in.of("charge")) == 1

    def test_a_payment_that_arrives_after_its_reversal_is_declined(self) -> None:
        late = self.approved()
        assert self.send(self.an_automatic_reversal(late)).is_approved
        with pytest.raises(AnswerLostError):
            self.authorize(late)

        assert self.stand_in.of("charge") == []

    def test_an_inquiry_changes_nothing(self) -> None:
        """It cancels what was not confirmed, so that no late confirmation can charge."""
        request = self.approved()

        assert self.acquirer.inquire(an_inquiry(request.reference), WITHIN_S) is None
        assert [one["status"] for one in self.stand_in.of("payment_intent")] == ["canceled"]

    def test_a_reversals_reference_is_not_used_for_another_payment(self) -> None:
        first, second, reference = self.approved(), self.approved(), a_guid()
        self.authorize(first)
        self.authorize(second)
        assert self.reverse(first, first.amount_minor, reference).is_approved
        with pytest.raises(AnswerLostError):
            self.reverse(second, second.amount_minor, reference)

        assert len(self.stand_in.of("refund")) == 1
