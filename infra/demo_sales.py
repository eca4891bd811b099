"""The sales of a coffee shop on a day: requests for payments and what is given back, the same for the same day."""

import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import KINDS, InputType
from chalicelib.settings import SANDBOX
from infra.certify.client import card_of

PAYMENTS = (38, 40, 42, 44, 52, 68, 54)  # a day, from Monday to Sunday
HOURS = {7: 4, 8: 9, 9: 8, 10: 7, 11: 6, 12: 9, 13: 10, 14: 7, 15: 6, 16: 5, 17: 3}  # and their share of a day
SUNDAY, SUNDAY_HOURS = 6, range(8, 15)
TILLS = (6, 3, 1)  # the share of each till
ENTRIES = {  # and their share; the linked card is the first till's
    InputType.CASH: 40,
    InputType.CONTACTLESS: 36,
    InputType.CHIP: 14,
    InputType.MANUAL_ENTRY: 7,
    InputType.LINKED_CARD: 2,
}
# Prices end in .00 or .50: with any other card than the first two, other cents may decide what the sandbox answers.
MENU = {
    "Flat white": "38.00",
    "Espresso": "26.00",
    "Cappuccino": "36.50",
    "Rooibos tea": "29.00",
    "Croissant": "34.50",
    "Lemon cake": "48.00",
    "Toasted sandwich": "72.50",
    "Shakshuka": "118.00",
    "Coffee beans, 250 g": "145.00",
    "Coffee beans, 1 kg": "420.00",
}
SHARES = (20, 8, 16, 6, 14, 7, 9, 5, 3, 1)
APPROVED, DECLINED = "4242424242424242", ("4000000000000002", "4000000000009995", "4000000000000069")
DECLINES, RETURNS, CANCELS = 0.04, 0.04, 0.01  # of cards; of payments
LINE = ("Title", "Price", "Quantity")  # of a purchase
NOTES = (10, 20, 50, 100, 200)


@dataclass(frozen=True)
class Reversal:
    """A request that gives back a payment or a part of it, and its local time."""

    at: datetime
    body: dict[str, Any]


@dataclass(frozen=True)
class Sale:
    """A request for a payment, its local time, its till, and what is given back of it if it is approved."""

    at: datetime
    till: int  # from 0
    input_type: InputType
    body: dict[str, Any]
    reversal: Reversal | None


def sales_of(day: date, linked_card: int | None) -> Iterator[Sale]:
    """Yield the sales of a day, in no order; without a linked card nobody pays with one."""
    chance = Random(day.isoformat())  # noqa: S311  a shop, not a secret
    for _ in range(PAYMENTS[day.weekday()] + chance.randint(-5, 5)):
        yield _sale(day, linked_card, chance)


def _sale(day: date, linked_card: int | None, chance: Random) -> Sale:
    hours = [hour for hour in HOURS if day.weekday() != SUNDAY or hour in SUNDAY_HOURS]
    (hour,) = chance.choices(hours, [HOURS[hour] for hour in hours])
    at = datetime.combine(day, time(hour)) + timedelta(seconds=chance.uniform(0, 3600))
    (till,) = chance.choices(range(len(TILLS)), TILLS)
    (input_type,) = chance.choices(list(ENTRIES), list(ENTRIES.values()))
    if input_type is InputType.LINKED_CARD and (linked_card is None or till):
        input_type = InputType.MANUAL_ENTRY

    lines = _lines(chance)
    amount = sum((price * quantity for _, price, quantity in lines), Decimal())
    transaction = {
        "ID": _guid(chance),
        "InputType": int(input_type),
        "CurrencyID": "ZAR",
        "Amount": amount,
        "Description": ", ".join(f"{quantity} x {title}" if quantity > 1 else title for title, _, quantity in lines),
        "AuxDataInput": {"AuxData": {"Purchases": [dict(zip(LINE, line, strict=True)) for line in lines]}},
    }
    acquirer = KINDS[input_type].acquirer or SANDBOX
    body: dict[str, Any] = {"BasicTran": transaction, "AcqTran": {"AcquirerCode": acquirer}}
    if input_type is InputType.CASH:
        transaction["AmountCashGot"] = _handed_over(amount, chance)
    elif input_type is InputType.LINKED_CARD:
        body["Card"] = {"CardInputMode": 2, "LinkedCardId": linked_card}
    else:
        number = chance.choice(DECLINED) if chance.random() < DECLINES else APPROVED
        body["Card"] = {"CardInputMode": 1, **card_of(input_type, number)}
    return Sale(at, till, input_type, body, _reversal(at, transaction, lines[0][1], chance))


def _lines(chance: Random) -> list[tuple[str, Decimal, int]]:
    """Return what somebody buys: title, price and quantity of each line."""
    titles = dict.fromkeys(chance.choices(list(MENU), SHARES, k=chance.choice((1, 1, 2, 2, 3))))
    return [(title, Decimal(MENU[title]), chance.choice((1, 1, 1, 2))) for title in titles]


def _handed_over(amount: Decimal, chance: Random) -> Decimal:
    """Return the cash that is handed over: the amount, or the next multiple of a note."""
    note = chance.choice(NOTES)
    has_change = chance.random() < 0.4  # noqa: PLR2004  a share of the customers
    return amount if has_change else math.ceil(amount / note) * Decimal(note)


def _reversal(at: datetime, paid: dict[str, Any], price: Decimal, chance: Random) -> Reversal | None:
    """Return what is given back of a payment: all of it within minutes, or one thing or all of it within three days."""
    fate, is_present = chance.random(), KINDS[InputType(paid["InputType"])].card_present
    later, is_part = timedelta(minutes=chance.uniform(2, 20)), False
    if fate < CANCELS:
        mode = ReverseMode.CANCEL if is_present else ReverseMode.CANCEL_CNP
    elif fate < CANCELS + RETURNS:
        mode = ReverseMode.RETURN if is_present else ReverseMode.RETURN_CNP
        later, is_part = timedelta(days=chance.randrange(3), minutes=chance.uniform(5, 60)), price < paid["Amount"]
    else:
        return None
    part = {"Amount": price, "PartialReverse": True} if is_part else {}
    body = {"ID": _guid(chance), "TransactionID": paid["ID"], "ReverseMode": int(mode), **part}
    return Reversal(at + later, {"BasicReverseTran": body})


def _guid(chance: Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4)).upper()
