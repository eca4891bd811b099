import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import AnswerLostError, AuthorizationRequest, LinkRequest, ReversalRequest
from chalicelib.domain.kinds import InputType
from chalicelib.gateways import acquirers
from chalicelib.gateways.acquirers import sandbox
from chalicelib.gateways.acquirers.sandbox import Sandbox
from chalicelib.settings import SettingsError, settings
from chalicelib.store.aws_client import UnansweredError
from infra.bench.client import through
from tests.gateways.acquirer_contract import ContractOfInquiries
from tests.support.cards import STEADY, a_card, a_chip_card, an_authorization, an_inquiry
from tests.support.giving import Give
from tests.support.intercepted_calls import failing
from tests.support.transactions import ZAR, a_guid

pytestmark = pytest.mark.usefixtures("engine")
SANDBOX = Sandbox()


def authorize(**changes: Any) -> int:
    return SANDBOX.authorize(an_authorization(**changes), 1).code


def reverse(original: str, amount_minor: int, reference: str | None = None) -> int:
    return SANDBOX.reverse(ReversalRequest(reference or a_guid(), original, amount_minor, ZAR), 1).code


@pytest.mark.parametrize(
    ("pan", "code"),
    [
        (STEADY, 0),
        ("4000000000000002", 5),
        ("4000000000009995", 51),
        ("4000000000000069", 54),
        ("4000000000000127", 82),
        ("4000000000000119", 96),
    ],
)
def test_a_test_number_decides_whatever_the_cents(pan: str, code: int) -> None:
    assert authorize(card=a_card(pan=pan)) == code
    assert authorize(card=a_card(pan=pan), amount_minor=1254) == code
    assert authorize(card=a_card(pan=pan), amount_minor=1269) == code


@pytest.mark.parametrize(("amount_minor", "code"), [(1230, 0), (5, 5), (1251, 51), (1254, 54), (1291, 91), (1265, 65)])
def test_for_any_other_card_the_cents_decide(amount_minor: int, code: int) -> None:
    assert authorize(amount_minor=amount_minor) == code


def test_eight_cents_ask_for_a_signature_and_65_for_a_pin() -> None:
    assert SANDBOX.authorize(an_authorization(amount_minor=1208), 1).signature_required
    assert SANDBOX.authorize(an_authorization(amount_minor=1265), 1).pin_mode == 1


def test_the_same_reference_is_authorized_once() -> None:
    first = an_authorization()
    answer = SANDBOX.authorize(first, 1)

    assert SANDBOX.authorize(first, 1) == answer
    assert SANDBOX.inquire(an_inquiry(first.reference), 1) == answer


def test_the_cents_decide_about_reversals_too() -> None:
    original = an_authorization(amount_minor=100_000)
    SANDBOX.authorize(original, 1)
    lost = a_guid()

    assert reverse(original.reference, 1205) == 5
    assert reverse(original.reference, 100_001) == 13
    for amount_minor, reference in ((1268, lost), (1269, None)):
        with pytest.raises(AnswerLostError):
            reverse(original.reference, amount_minor, reference)
    assert reverse(original.reference, 1268, lost) == 0
    assert reverse(original.reference, 100_000 - 1268) == 0


def test_the_reversal_of_a_declined_payment_is_approved_because_nothing_is_left_of_it() -> None:
    declined = an_authorization(card=a_card(pan="4000000000000002"))
    SANDBOX.authorize(declined, 1)

    assert reverse(declined.reference, declined.amount_minor) == 0


def test_a_reversal_is_not_reversed() -> None:
    paid, back = an_authorization(), a_guid()
    SANDBOX.authorize(paid, 1)
    assert reverse(paid.reference, 1000, back) == 0

    assert reverse(back, 1000) == reverse(back, 230) == 94
    assert reverse(paid.reference, 230) == 0


@pytest.mark.parametrize(("again", "code"), [(400, 0), (410, 94)])
def test_of_two_reversals_at_once_under_one_reference_one_takes_its_amount(
    again: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid, back = an_authorization(), a_guid()
    SANDBOX.authorize(paid, 1)
    assert reverse(paid.reference, 400, back) == 0

    find, looks = sandbox._find, iter([None])  # noqa: SLF001  the second one looks before the first is stored
    monkeypatch.setattr(sandbox, "_find", lambda reference: next(looks, find(reference)))
    assert reverse(paid.reference, again, back) == code
    assert [reverse(paid.reference, amount_minor) for amount_minor in (831, 830)] == [13, 0]


def test_a_payment_reversed_before_it_arrived_is_declined_as_late() -> None:
    late = an_authorization()

    assert reverse(late.reference, late.amount_minor) == 0
    assert SANDBOX.authorize(late, 1).code == 68
    assert SANDBOX.inquire(an_inquiry(late.reference), 1) is None


def test_a_token_does_what_its_card_does() -> None:
    steady = SANDBOX.link(LinkRequest(a_guid(), a_card(pan=STEADY)), 1)
    other = SANDBOX.link(LinkRequest(a_guid(), a_card()), 1)

    assert authorize(card=None, link_id=steady.link_id, amount_minor=1251) == 0
    assert authorize(card=None, link_id=other.link_id, amount_minor=1251) == 51
    assert authorize(card=None, link_id="SBX-UNKNOWN") == 14


def test_a_card_that_is_declined_is_not_linked() -> None:
    link = SANDBOX.link(LinkRequest(a_guid(), a_card(pan="4000000000000002")), 1)

    assert (link.code, link.link_id) == (5, None)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The sandbox takes 50 ms for each answer."""
    monkeypatch.setenv("SANDBOX_LATENCY_MS", "50")
    outside.forget()
    yield
    monkeypatch.undo()
    outside.forget()


@pytest.mark.usefixtures("slow")
def test_an_answer_that_takes_too_long_is_lost_but_the_request_is_carried_out() -> None:
    sent = an_authorization()
    with pytest.raises(AnswerLostError):
        SANDBOX.authorize(sent, 0.01)

    answer = SANDBOX.inquire(an_inquiry(sent.reference), 1)
    assert answer is not None
    assert answer.is_approved


@pytest.mark.usefixtures("slow")
def test_an_inquiry_and_a_token_that_take_too_long_are_lost() -> None:
    with pytest.raises(AnswerLostError):
        SANDBOX.inquire(an_inquiry(a_guid()), 0.01)
    with pytest.raises(AnswerLostError):
        SANDBOX.link(LinkRequest(a_guid(), a_card()), 0.01)


def test_a_table_out_of_reach_is_an_answer_lost(give: Give) -> None:
    give(client=through(failing(UnansweredError())))

    with pytest.raises(AnswerLostError):
        authorize()
    with pytest.raises(AnswerLostError):
        SANDBOX.inquire(an_inquiry(a_guid()), 1)


def test_the_stage_names_its_acquirers_the_default_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert acquirers.codes() == ("SANDBOX",)
    assert acquirers.named("SANDBOX") is acquirers.named("SANDBOX")
    assert isinstance(acquirers.named("SANDBOX"), sandbox.Sandbox)

    both = replace(settings(), acquirers=("FIRST", "SECOND"), default_acquirer="SECOND")
    with outside.given(settings=both):
        assert acquirers.codes() == ("SECOND", "FIRST")

    monkeypatch.setenv("ACQUIRERS", "SANDBOX,NOBODY")
    outside.forget()
    with pytest.raises(SettingsError, match="NOBODY"):
        acquirers.codes()
    monkeypatch.undo()
    outside.forget()


def test_an_approval_comes_with_additional_fields_that_follow_from_the_reference() -> None:
    request = an_authorization(reference="A")
    first, again = SANDBOX.authorize(request, 1), SANDBOX.inquire(an_inquiry("A"), 1)
    declined = SANDBOX.authorize(an_authorization(amount_minor=1251), 1)

    assert again is not None
    assert re.fullmatch("BATCH=[0-9]{3};TRACE=[0-9]{6}", first.additional_fields or "")
    assert first.additional_fields_title == "Sandbox"
    assert again.additional_fields == first.additional_fields
    assert (declined.additional_fields, declined.additional_fields_title) == (None, None)


@pytest.mark.parametrize(("amount_minor", "answer"), [(1230, "8A023030910A[0-9]{16}3030"), (1251, "8A023531")])
def test_a_chip_gets_the_issuers_answer(amount_minor: int, answer: str) -> None:
    request = an_authorization(amount_minor=amount_minor, input_type=InputType.CHIP, card=a_chip_card())

    assert re.fullmatch(answer, SANDBOX.authorize(request, 1).emv_result or "")


def test_a_reversal_gets_the_issuers_answer_when_the_chip_was_read() -> None:
    for card, expected in ((a_chip_card(), True), (a_card(), False), (None, False)):
        paid = an_authorization()
        SANDBOX.authorize(paid, 1)
        answer = SANDBOX.reverse(ReversalRequest(a_guid(), paid.reference, 1230, ZAR, card=card), 1)

        assert (answer.emv_result is not None) is expected
        assert answer.additional_fields


@pytest.mark.usefixtures("engine")
class TestSandbox(ContractOfInquiries):
    acquirer = Sandbox()

    def approved(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1230)

    def declined(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1205)

    def lost(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1268)

    def never_arriving(self) -> AuthorizationRequest:
        return an_authorization(amount_minor=1269)

    def test_a_payment_is_never_taken_for_a_reversal_of_its_reference(self) -> None:
        victim, forged = self.approved(), self.approved()
        self.authorize(victim)
        self.authorize(forged)

        answer = self.reverse(victim, victim.amount_minor, reference=forged.reference)

        assert not answer.is_approved
        assert self.reverse(victim, victim.amount_minor).is_approved

    def test_a_reversal_is_never_taken_for_a_payment_of_its_reference(self) -> None:
        request, reference = self.approved(), a_guid()
        self.authorize(request)
        self.reverse(request, request.amount_minor, reference)

        assert not self.authorize(replace(self.approved(), reference=reference)).is_approved
