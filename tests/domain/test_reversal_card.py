"""The card of a reversal is the card of its payment, read and checked as in one."""

from typing import Any

import pytest

from chalicelib.domain.card import CardInput, has_check_digit
from chalicelib.domain.reversal import SentCard, check_card, sent_card
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import InputType, Transaction
from tests.support.cards import EXP, PAN, STEADY, TRACK2, a_card, an_input, chip_data
from tests.support.transactions import NOW, a_payment


def paid(**changes: Any) -> Transaction:
    facts = {"input_type": InputType.MANUAL_ENTRY, "card": a_card().details, "card_digest": digest(Secret(PAN))}
    return a_payment(**{**facts, **changes})


def digest(pan: Secret) -> str:
    return f"digest of {pan.reveal()[::-1]}"


def checked(payment: Transaction, sent: SentCard | None) -> list[tuple[str, int]]:
    _, findings = check_card(sent, payment, digest, NOW)
    return [(finding.field, int(finding.code)) for finding in findings]


def keyed_in(**changes: str | None) -> SentCard:
    return SentCard(an_input(**changes))


def test_the_payments_card_is_read_for_the_acquirer() -> None:
    card, findings = check_card(keyed_in(), paid(), digest, NOW)

    assert findings == ()
    assert card is not None
    assert (card.pan.reveal(), card.cvv2 and card.cvv2.reveal()) == (PAN, "123")


def test_another_card_is_refused_even_one_that_looks_the_same_when_masked() -> None:
    alike = next(number for number in range(4111110000001111, 4111120000001111, 10**4) if has_check_digit(str(number)))

    assert a_card(pan=str(alike)).details == a_card().details
    assert checked(paid(), keyed_in(pan=str(alike))) == [("card.pan", 12)]
    assert checked(paid(), keyed_in(pan=STEADY)) == [("card.pan", 12)]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"pan": f"{PAN[:-1]}2"}, [("card.pan", 8)]),
        ({"pan": "4111"}, [("card.pan", 3)]),
        ({"pan": None}, [("card.pan", 1)]),
        ({"exp": "0120"}, [("card.exp", 9)]),
        ({"exp": "0120", "pan": STEADY}, [("card.exp", 9), ("card.pan", 12)]),
        ({"pan": f"{PAN[:-1]}2", "cvv2": "1"}, [("card.pan", 8), ("card.cvv2", 3)]),
    ],
)
def test_it_is_checked_as_in_a_payment(changes: dict[str, str | None], found: list[tuple[str, int]]) -> None:
    assert checked(paid(), keyed_in(**changes)) == found


@pytest.mark.parametrize(
    ("input_type", "own", "other"),
    [
        (InputType.MAGNETIC_STRIPE, TRACK2, TRACK2.replace(PAN, STEADY)),
        (InputType.CHIP, chip_data(), chip_data(STEADY)),
        (InputType.CONTACTLESS, chip_data(), chip_data(STEADY)),
    ],
)
def test_what_a_reader_read_is_named_as_such(input_type: InputType, own: str, other: str) -> None:
    payment = paid(input_type=input_type)

    assert checked(payment, SentCard(CardInput(reader_data=Secret(own)))) == []
    assert checked(payment, SentCard(CardInput(reader_data=Secret(other)))) == [("card.reader_data", 12)]
    assert checked(payment, keyed_in()) == [("card.reader_data", 1)]


def test_a_payment_without_a_card_takes_none() -> None:
    for sent in (keyed_in(), SentCard(None, linked_card_id=1)):
        assert checked(a_payment(), sent) == [("card", 12)]


def test_a_linked_card_is_named_by_its_id_alone() -> None:
    linked = paid(input_type=InputType.LINKED_CARD, linked_card_id=17, card_digest=None)

    assert checked(linked, SentCard(None, 2, 17)) == []
    assert checked(linked, SentCard(None, None, 17)) == []
    assert checked(linked, SentCard(None, 2, 18)) == [("linked_card_id", 12)]
    assert checked(linked, SentCard(None, 1, 17)) == [("card.input_mode", 12)]
    assert checked(linked, SentCard(an_input(), 1)) == [
        ("card.input_mode", 12), ("linked_card_id", 12), ("card.pan", 12),
    ]  # fmt: skip
    assert checked(linked, SentCard(CardInput(exp=Secret(EXP)), 2, 17)) == [("card.exp", 12)]
    assert checked(linked, SentCard(CardInput(reader_data=Secret(TRACK2)), 2, 17)) == [("card.reader_data", 12)]
    assert checked(paid(), SentCard(an_input(), 1, 17)) == [("linked_card_id", 12)]
    assert checked(paid(), SentCard(an_input(), 2)) == [("card.input_mode", 12)]


@pytest.mark.parametrize(
    "texts", [{}, {"pan": ""}, {"pan": "0", "exp": "0000", "cvv2": "000"}, {"reader_data": "0"}, {"pan": " "}]
)
def test_zeros_are_no_card(texts: dict[str, str]) -> None:
    data = CardInput(**{name: Secret(text) for name, text in texts.items()})

    assert sent_card(data, 1, None) is None
    assert sent_card(data, 2, 5) == SentCard(None, 2, 5)


def test_nothing_prints_the_card() -> None:
    sent = sent_card(an_input(), 1, None)

    assert sent is not None
    assert PAN not in repr(sent)
