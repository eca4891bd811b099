"""Wrong cards of a payment: five are answered, then no card is for a day. Requests without a card go on."""

import json
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.domain.acquirer import AnswerLostError
from chalicelib.domain.permissions import Right
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import InputType, Transaction
from chalicelib.domain.wrong_cards import COUNTED_FOR, REFUSED_FOR
from chalicelib.errors import ErrorCode, ServiceError
from tests.support.card_guesses import OTHERS, TOO_MANY, WAYS, Guess, Paid, card, paid
from tests.support.cards import EXP, PAN, a_card_body, chip_data
from tests.support.intercepted_calls import broken, failing, hooked, stopping
from tests.support.stored import stored_transaction
from tests.support.tills import MINUTE, SECOND, a_till, colleague
from tests.support.transactions import NOW, a_body, a_guid

pytestmark = pytest.mark.usefixtures("engine")
LOST = failing(AnswerLostError())
ways = pytest.mark.parametrize(("guess", "wrong"), WAYS.values(), ids=WAYS)


@ways
def test_five_wrong_cards_are_answered_and_then_none_right_or_wrong(guess: Guess, wrong: ErrorCode) -> None:
    of = paid()

    assert [guess(of, card(pan)) for pan in OTHERS[:5]] == [wrong] * 5
    assert [guess(of, card(pan)) for pan in (OTHERS[5], PAN, OTHERS[0], PAN)] == [TOO_MANY] * 4
    assert stored_transaction(of.payment.id) == of.payment


@ways
def test_a_right_card_is_answered_after_four_wrong_ones_and_forgives_none(guess: Guess, wrong: ErrorCode) -> None:
    of = paid()
    before = [guess(of, card(pan)) for pan in OTHERS[:4]]
    right = [guess(of, card(PAN)) for _ in range(2)]

    assert before == [wrong] * 4
    assert not {wrong, TOO_MANY} & set(right)
    assert guess(of, card(OTHERS[4])) is wrong
    assert guess(of, card(PAN)) is TOO_MANY


def test_all_ways_to_test_a_card_count_together() -> None:
    of = paid()
    guesses = [way for way, _ in WAYS.values()] * 2

    assert [guess(of, card(pan)) is TOO_MANY for guess, pan in zip(guesses, OTHERS, strict=False)] == [
        *[False] * 5,
        True,
    ]


def test_without_a_card_everything_goes_on() -> None:
    of = paid()
    for pan in OTHERS[:6]:
        of.give_back(card(pan))
    looked_up = of.till.look(of.payment.id)

    assert looked_up == of.payment
    assert of.give_back(Amount="2.00").phase is Phase.REVERSAL_APPROVED
    assert of.give_back({"CardInputMode": 1, "CardDataInput": {"PAN": "0"}}).phase is Phase.REVERSAL_APPROVED
    assert stored_transaction(of.payment.id).is_reversed_in_full


def test_another_payment_of_the_card_is_not_affected() -> None:
    of = paid()
    other = paid(till=of.till)
    for pan in OTHERS[:6]:
        of.give_back(card(pan))

    assert other.give_back(card(PAN)).phase is Phase.REVERSAL_APPROVED


@ways
def test_after_24_hours_five_more_are_answered(guess: Guess, wrong: ErrorCode) -> None:
    of = paid()
    for pan in OTHERS[:5]:
        guess(of, card(pan))
    later = NOW + REFUSED_FOR

    assert guess(of, card(PAN), later - SECOND) is TOO_MANY
    assert guess(of, card(PAN), later) is not TOO_MANY
    assert [guess(of, card(pan), later) for pan in OTHERS[:6]] == [*[wrong] * 5, TOO_MANY]


def test_refused_requests_do_not_prolong_the_refusal() -> None:
    of = paid()
    for hour in range(24):
        of.give_back(card(OTHERS[hour]), NOW + timedelta(hours=max(0, hour - 4)))

    assert of.give_back(card(PAN), NOW + REFUSED_FOR).phase is Phase.REVERSAL_APPROVED


def test_a_slow_guesser_is_counted_for_a_month_whatever_the_store_deletes() -> None:
    of = paid()
    days = [of.give_back(card(pan), NOW + timedelta(days=6 * day)) for day, pan in enumerate(OTHERS[:5])]
    patient = paid()
    pauses = [patient.give_back(card(pan), NOW + n * COUNTED_FOR) for n, pan in enumerate(OTHERS[:8])]

    assert days == [ErrorCode.VALIDATION_FAILED] * 5
    assert of.give_back(card(PAN), NOW + timedelta(days=24, hours=1)) is TOO_MANY
    assert set(pauses) == {ErrorCode.VALIDATION_FAILED}
    assert patient.wrong == 1


@pytest.mark.parametrize("input_type", [1, 2, 3, 4])
def test_a_card_is_its_number_however_it_is_entered(input_type: int) -> None:
    of = paid(input_type)

    assert of.repeat(card(PAN, input_type)) == of.payment
    assert of.repeat(card(PAN, 1), InputType=1) == (of.payment if input_type == 1 else ErrorCode.ID_REUSED)
    assert of.repeat(card(PAN, 3), InputType=3) == (of.payment if input_type == 3 else ErrorCode.ID_REUSED)
    assert of.wrong == 0
    assert [of.give_back(card(pan, input_type)) for pan in OTHERS[:6]] == [
        *[ErrorCode.VALIDATION_FAILED] * 5,
        TOO_MANY,
    ]


def test_chip_data_of_another_purchase_is_the_same_card() -> None:
    of = paid(InputType.CHIP)
    again = {"CardInputMode": 1, "CardDataInput": {"ReaderData": chip_data(cryptogram="1122334455667788")}}

    assert of.repeat(again) == of.payment
    assert of.give_back(again).phase is Phase.REVERSAL_APPROVED
    assert of.wrong == 0


def test_a_linked_card_is_named_by_its_id() -> None:
    till = a_till()
    own, other = till.link(), till.link()
    named, wrong = ({"CardInputMode": 2, "LinkedCardId": one.id} for one in (own, other))
    body = a_card_body("12.00", basic={"InputType": 5}, Card=named)
    of = Paid(till, body, till.pay(body))

    assert of.repeat(named) == of.payment
    assert of.repeat(wrong) is ErrorCode.ID_REUSED
    assert [of.give_back(wrong) for _ in range(3)] == [ErrorCode.VALIDATION_FAILED] * 3
    assert of.give_back(card(PAN)) is ErrorCode.VALIDATION_FAILED  # nobody can tell its number
    assert [of.give_back(named), of.repeat(named), of.give_back(wrong)] == [TOO_MANY] * 3


def test_an_unreadable_card_is_no_guess() -> None:
    of = paid()
    mistyped, empty = card(f"{PAN[:-1]}2"), {"CardInputMode": 1, "CardDataInput": {"EXP": EXP}}
    refusals = {guess(of, one) for guess, _ in WAYS.values() for one in (mistyped, empty) for _ in range(3)}

    assert refusals == {ErrorCode.VALIDATION_FAILED}
    assert of.wrong == 0


def test_a_payment_without_a_card_and_a_reversal_have_no_card_to_guess() -> None:
    till = a_till()
    body = a_body(Amount="12.00")
    cash = Paid(till, body, till.pay(body))
    of = paid()
    reversal = Paid(of.till, of.body, of.give_back(Amount="1.00"))
    refusals = {one.give_back(card(pan)) for one in (cash, reversal) for pan in OTHERS[:7]}
    used = {cash.repeat(card(pan), InputType=1) for pan in OTHERS[:7]}

    assert refusals == {ErrorCode.VALIDATION_FAILED}
    assert used == {ErrorCode.ID_REUSED}
    assert (cash.wrong, reversal.wrong) == (0, 0)


@pytest.mark.parametrize("rights", [(Right.ADMINISTRATOR,), (Right.REVERSE_OTHERS,)])
def test_a_colleague_who_may_see_the_payment_counts(rights: tuple[Right, ...]) -> None:
    of = paid()
    other = colleague(of.till, *rights)

    assert {of.repeat(card(pan), till=other) for pan in OTHERS[:2]} == {ErrorCode.ID_REUSED}
    assert {of.give_back(card(pan), till=other) for pan in OTHERS[:3]} == {ErrorCode.VALIDATION_FAILED}
    assert [of.repeat(card(PAN), till=other), of.give_back(card(PAN), till=other)] == [TOO_MANY] * 2
    assert of.repeat(card(PAN)) is TOO_MANY


def test_a_colleague_who_may_only_see_the_payment_counts_by_its_id() -> None:
    of = paid()
    other = colleague(of.till, Right.VIEW_DIVISIONS)

    assert {of.give_back(card(pan), till=other) for pan in OTHERS[:6]} == {ErrorCode.ROLE_MAY_NOT}
    assert of.wrong == 0
    assert of.repeat(card(OTHERS[0]), till=other) is ErrorCode.ID_REUSED
    assert of.wrong == 1


def test_strangers_count_for_nothing_and_learn_nothing() -> None:
    of = paid()
    for other in (a_till(), colleague(of.till)):
        answers = {guess(of, card(pan), till=other) for guess, _ in WAYS.values() for pan in (*OTHERS[:6], PAN)}

        assert TOO_MANY not in answers
        assert of.wrong == 0
    for pan in OTHERS[:5]:
        of.repeat(card(pan))
    assert of.repeat(card(PAN), till=a_till()) is ErrorCode.ID_REUSED
    assert of.repeat(card(PAN)) is TOO_MANY


def test_an_unfinished_payment_is_guarded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    till = a_till()
    body = a_card_body("12.00", Card=card(PAN))
    with broken(monkeypatch, authorize=LOST, inquire=LOST):
        of = Paid(till, body, till.pay(body))
        assert of.payment.phase is Phase.UNKNOWN
        assert [of.repeat(card(pan), NOW + MINUTE) for pan in OTHERS[:3]] == [ErrorCode.ID_REUSED] * 3
        assert {of.give_back(card(pan), NOW + MINUTE) for pan in OTHERS[:2]} == {ErrorCode.VALIDATION_FAILED}
        assert of.repeat(card(PAN), NOW + MINUTE) is TOO_MANY


def test_a_card_that_loses_a_race_for_its_id_is_a_guess() -> None:
    till = a_till()
    body = a_card_body("12.00", Card=card(PAN))
    won: list[Transaction] = []

    def before_the_write(when: str, name: str) -> None:
        if (when, name) == ("before", "TransactWriteItems") and not won:
            won.append(body["BasicTran"])
            won[0] = till.pay(body)

    with hooked(before_the_write), pytest.raises(ServiceError) as refused:
        till.submit({**body, "Card": card(OTHERS[0])})

    assert refused.value.error is ErrorCode.ID_REUSED
    assert Paid(till, body, won[0]).wrong == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_guess_whose_process_stops_gets_no_answer_or_is_counted(when: str) -> None:
    of = paid()
    answers = []
    for pan in OTHERS[:7]:
        with stopping(2, when):  # the first call reads, the second counts
            answers.append(of.give_back(card(pan)))

    assert set(answers) <= {TOO_MANY}
    assert of.wrong == (0 if when == "before" else 5)


def test_a_repeated_reversal_names_a_card_as_well() -> None:
    of = paid()
    once: dict[str, Any] = {"Amount": "1.00", "ID": a_guid()}
    first = of.give_back(card(PAN), **once)

    assert {of.give_back(card(pan), **once) for pan in OTHERS[:5]} == {first}
    assert of.give_back(card(PAN), **once) is TOO_MANY
    assert of.give_back(**once) == first


def test_the_fifth_is_logged_once_without_a_number(capfd: pytest.CaptureFixture[str]) -> None:
    of = paid()
    capfd.readouterr()
    for pan in (*OTHERS[:4], PAN, *OTHERS[4:7], PAN):
        of.repeat(card(pan))
    text = capfd.readouterr().out
    lines = [json.loads(line) for line in text.splitlines()]

    assert [{name: line[name] for name in line if name != "stage"} for line in lines] == [
        {
            "event": "card_guesses",
            "transaction": of.payment.id,
            "merchant": of.till.merchant.id,
            "agent": of.till.agent.id,
        }
    ]
