"""Guesses of a payment's card: every way to test a number, below HTTP."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from chalicelib.domain.card import has_check_digit
from chalicelib.domain.reversal import CARD_PRESENT, CNP, ReverseMode
from chalicelib.domain.transaction import KINDS, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.exact_json import parse
from chalicelib.schemas.base import validated
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.services import reversals
from chalicelib.store import wrong_cards
from chalicelib.store.table import read
from tests.support.cards import EXP, PAN, TRACK2, a_card_body, chip_data
from tests.support.tills import Till, a_till
from tests.support.transactions import NOW, a_guid

TOO_MANY = ErrorCode.TOO_MANY_WRONG_CARDS
# Cards that look like the payment's when masked.
_alike = (str(number) for number in range(4111110000001111, 4111120000001111, 10**4))
OTHERS = list(islice((number for number in _alike if has_check_digit(number) and number != PAN), 60))


def card(pan: str, input_type: int = 1) -> dict[str, Any]:
    """Return the Card of a request for a way to enter it."""
    readers = {2: TRACK2.replace(PAN, pan), 3: chip_data(pan), 4: chip_data(pan)}
    data = {"ReaderData": readers[input_type]} if input_type in readers else {"PAN": pan, "EXP": EXP}
    return {"CardInputMode": 1, "CardDataInput": data}


@dataclass(frozen=True)
class Paid:
    """A payment, its request and its till."""

    till: Till
    body: dict[str, Any]
    payment: Transaction

    def give_back(self, named: Any = None, now: datetime = NOW, *, till: Till | None = None, **basic: Any) -> Any:
        """Return the reversal, or the code of its refusal."""
        at_hand = KINDS[self.payment.input_type].card_present
        mode = ReverseMode.RETURN if at_hand else ReverseMode.RETURN_CNP
        tran = {"TransactionID": self.payment.id, "ReverseMode": int(mode), "ID": a_guid(), **basic}
        model = validated(ReversePayment, parse(json.dumps({"BasicReverseTran": tran, "Card": named}).encode()))
        assert isinstance(model, ReversePayment)
        caller = (till or self.till).caller
        try:
            return reversals.reverse(model, caller, now, endpoint=CARD_PRESENT if at_hand else CNP, key=None)[0]
        except ServiceError as refusal:
            return refusal.error

    def repeat(self, named: Any, now: datetime = NOW, *, till: Till | None = None, **basic: Any) -> Any:
        """Return the payment of its repeated ID, or the code of the refusal."""
        body = {**self.body, "BasicTran": {**self.body["BasicTran"], **basic}, "Card": named}
        try:
            return (till or self.till).submit(body, now)[0]
        except ServiceError as refusal:
            return refusal.error

    @property
    def wrong(self) -> int:
        """The wrong cards that are counted."""
        counted = read(wrong_cards.key(self.payment.id))
        return counted.wrong if counted else 0


def paid(input_type: int = 1, till: Till | None = None) -> Paid:
    till = till or a_till()
    body = a_card_body("12.00", basic={"InputType": input_type}, Card=card(PAN, input_type))
    return Paid(till, body, till.pay(body))


# Each way to test a card: the request, and how a wrong card is answered. A right one is answered with a transaction,
# or by the code for an amount that is too high.
Guess = Callable[..., Any]
WAYS: dict[str, tuple[Guess, ErrorCode]] = {
    "too high an amount": (
        lambda of, named, *at, **who: of.give_back(named, *at, Amount="99.00", **who),
        ErrorCode.VALIDATION_FAILED,
    ),
    "a part": (
        lambda of, named, *at, **who: of.give_back(named, *at, Amount="0.10", **who),
        ErrorCode.VALIDATION_FAILED,
    ),
    "the same ID": (lambda of, named, *at, **who: of.repeat(named, *at, **who), ErrorCode.ID_REUSED),
}
