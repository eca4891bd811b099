"""A month of payments of the demo merchant, `make run DEMO=month`: three tills of a coffee shop, and the linked card.

The same day always has the same sales. The service's own functions decide each payment, at its time in the past. All
payments are loaded at once; reversals and payments with the linked card follow one by one.
"""

import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from chalicelib.domain import payment, steps
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.kinds import KINDS, InputType
from chalicelib.domain.payment import PointOfSale
from chalicelib.domain.periods import USUAL
from chalicelib.domain.permissions import is_administrator
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import CARD_PRESENT, CNP, ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways.acquirers import sandbox
from chalicelib.gateways.acquirers.sandbox import SandboxRecord
from chalicelib.schemas.agents import CreateAgent
from chalicelib.schemas.payments import SubmitPayment
from chalicelib.schemas.price_list import UpdatePriceList
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.schemas.terminals import CreateTerminal
from chalicelib.services import agents, payments, price_lists, reversals, terminals
from chalicelib.settings import SANDBOX, settings
from chalicelib.store import agents as agents_store
from chalicelib.store import linked_cards
from chalicelib.store import merchants as merchants_store
from chalicelib.store import terminals as terminals_store
from chalicelib.store.table import NEW, VERSION, encode, read, table_name
from infra.bench.shop import write_in_bulk, write_items
from infra.certify.client import card_of
from infra.demo import data as demo_data

PAYMENTS = (38, 40, 42, 44, 52, 68, 54)  # a day, from Monday to Sunday
HOURS = {7: 4, 8: 9, 9: 8, 10: 7, 11: 6, 12: 9, 13: 10, 14: 7, 15: 6, 16: 5, 17: 3}  # and their shares of a day
SUNDAY, SUNDAY_HOURS = 6, range(8, 15)
TILLS = (6, 3, 1)  # the share of each till
ENTRIES = {  # and their shares; only the first till has the linked card
    InputType.CASH: 40,
    InputType.CONTACTLESS: 36,
    InputType.CHIP: 14,
    InputType.MANUAL_ENTRY: 7,
    InputType.LINKED_CARD: 2,
}
VAT, ZERO_RATED = "VAT15", "VAT0"
TAXES = [{"Code": VAT, "Name": "VAT", "Rate": "15"}, {"Code": ZERO_RATED, "Name": "Zero-rated", "Rate": "0"}]
# Prices end in .00 or .50, because the sandbox may decide by other cents.
MENU = {  # by title: the price, the group and the tax
    "Flat white": ("38.00", "Coffee", VAT),
    "Espresso": ("26.00", "Coffee", VAT),
    "Cappuccino": ("36.50", "Coffee", VAT),
    "Rooibos tea": ("29.00", "Tea", VAT),
    "Croissant": ("34.50", "Bakery", VAT),
    "Lemon cake": ("48.00", "Bakery", VAT),
    "Toasted sandwich": ("72.50", "Kitchen", VAT),
    "Shakshuka": ("118.00", "Kitchen", VAT),
    "Brown bread": ("24.50", "Bakery", ZERO_RATED),
    "Coffee beans, 250 g": ("145.00", "Shop", VAT),
    "Coffee beans, 1 kg": ("420.00", "Shop", VAT),
}
SHARES = (20, 8, 16, 6, 14, 7, 9, 5, 2, 3, 1)
APPROVED, DECLINED = "4242424242424242", ("4000000000000002", "4000000000009995", "4000000000000069")
DECLINES, RETURNS, CANCELS = 0.04, 0.04, 0.01  # of cards; of payments
LINE = ("Title", "Price", "Quantity", "TaxCode")  # of a purchase
NOTES = (10, 20, 50, 100, 200)

SOLD_OFFLINE = 8  # one of so many cash sales of the first till is sold without connection
UNTIL_CONNECTED = timedelta(minutes=95)


Line = tuple[str, Decimal, int, list[str]]


@dataclass(frozen=True)
class Reversal:
    """A request for a reversal, and its local time."""

    at: datetime
    body: dict[str, Any]


@dataclass(frozen=True)
class Sale:
    """A request for a payment, its local time, its till, and its reversal in case it is approved."""

    at: datetime
    sent: datetime  # later for a sale without connection
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
    amount = sum((price * quantity for _, price, quantity, _ in lines), Decimal())
    transaction = {
        "ID": _guid(chance),
        "InputType": int(input_type),
        "CurrencyID": "ZAR",
        "Amount": amount,
        "Description": ", ".join(f"{quantity} x {title}" if quantity > 1 else title for title, _, quantity, _ in lines),
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
    reversal = _reversal(at, transaction, lines[0], chance)
    counter = int(str(transaction["ID"])[:4], 16)
    if input_type is InputType.CASH and till == 0 and reversal is None and counter % SOLD_OFFLINE == 0:
        queue = {
            "Invoice": f"MKT22-{counter:06d}",
            "Paid": f"{at:%Y-%m-%dT%H:%M:%S}.000",
            "OfflineQueueId": f"MKT22:{counter}",
        }
        transaction["OfflineTran"] = {"OfflineMode": True, **queue}
        return Sale(at, at + UNTIL_CONNECTED, till, input_type, body, None)
    return Sale(at, at, till, input_type, body, reversal)


def _lines(chance: Random) -> list[Line]:
    """Return the lines of a sale: title, price, quantity and tax codes."""
    titles = dict.fromkeys(chance.choices(list(MENU), SHARES, k=chance.choice((1, 1, 2, 2, 3))))
    return [(title, Decimal(MENU[title][0]), chance.choice((1, 1, 1, 2)), [MENU[title][2]]) for title in titles]


def _handed_over(amount: Decimal, chance: Random) -> Decimal:
    """Return the cash received: the amount, or the next multiple of a note."""
    note = chance.choice(NOTES)
    has_change = chance.random() < 0.4  # noqa: PLR2004  a share of the customers
    return amount if has_change else math.ceil(amount / note) * Decimal(note)


def _reversal(at: datetime, paid: dict[str, Any], line: Line, chance: Random) -> Reversal | None:
    """Return the reversal of a payment, if it has one: a cancel within minutes, or a return within three days.

    A part that is returned is one piece of this line.
    """
    title, price, _, codes = line
    fate, is_present = chance.random(), KINDS[InputType(paid["InputType"])].card_present
    later, is_part = timedelta(minutes=chance.uniform(2, 20)), False
    if fate < CANCELS:
        mode = ReverseMode.CANCEL if is_present else ReverseMode.CANCEL_CNP
    elif fate < CANCELS + RETURNS:
        mode = ReverseMode.RETURN if is_present else ReverseMode.RETURN_CNP
        later, is_part = timedelta(days=chance.randrange(3), minutes=chance.uniform(5, 60)), price < paid["Amount"]
    else:
        return None
    piece = {"AuxData": {"Purchases": [dict(zip(LINE, (title, price, 1, codes), strict=True))]}}
    part = {"Amount": price, "PartialReverse": True, "AuxDataInput": piece} if is_part else {}
    body = {"ID": _guid(chance), "TransactionID": paid["ID"], "ReverseMode": int(mode), **part}
    return Reversal(at + later, {"BasicReverseTran": body})


def _guid(chance: Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4)).upper()


@dataclass(frozen=True)
class OpenTill:
    """A till of the shop, and its agent as a caller."""

    pos: PointOfSale
    caller: Caller


def fill(first: Agent, now: datetime, days: int = USUAL) -> None:
    """Store the last days until `now` of the merchant of `first`, its first till.

    Nothing else may write meanwhile. Cards are taken where the stage has the acquirer SANDBOX.
    """
    put_price_list(first, now)
    tills = _open_tills(first, now)
    gmt = tills[0].pos.merchant.gmt
    has_cards = SANDBOX in settings().acquirers
    linked_card = next((card.id for card in linked_cards.of_agent(first.id)), None)
    today = business_day(now, gmt)
    sales = [sale for ago in reversed(range(days)) for sale in sales_of(today - timedelta(days=ago), linked_card)]
    sales = [
        sale for sale in sales if _instant(sale.sent, gmt) < now and (has_cards or sale.input_type is InputType.CASH)
    ]

    taken = [
        take(sale.body, tills[sale.till], _instant(sale.sent, gmt))
        for sale in sales
        if sale.input_type is not InputType.LINKED_CARD
    ]
    loaded = sorted((transaction for transaction, _ in taken), key=lambda one: one.created_at)
    write_items((table_name(sandbox.TABLE), encode(record) | {VERSION: NEW}) for _, record in taken if record)
    write_in_bulk(loaded)
    requested = [
        payments.submit(SubmitPayment.model_validate(sale.body), tills[sale.till].caller, _instant(sale.at, gmt))[0]
        for sale in sales
        if sale.input_type is InputType.LINKED_CARD
    ]
    approved = {one.id for one in (*loaded, *requested) if one.phase is Phase.APPROVED}
    _reverse([sale for sale in sales if sale.body["BasicTran"]["ID"] in approved], tills, gmt, now)


def put_price_list(agent: Agent, now: datetime) -> None:
    """Store the price list of the coffee shop, of which this agent sells."""
    names = ("Code", "Title", "Price", "Group", "TaxCode")
    items = [
        dict(zip(names, (title.lower().replace(",", "").replace(" ", "-"), title, *facts), strict=True))
        for title, facts in MENU.items()
    ]
    body = UpdatePriceList.model_validate({"Version": 0, "Taxes": TAXES, "Items": items})
    price_lists.update(body, _owner_of(agent), agent.client_id, now)


def take(body: dict[str, Any], place: OpenTill, at: datetime) -> tuple[Transaction, SandboxRecord | None]:
    """Return the payment from a request at that time, as the service decides it, and the sandbox's record of a card."""
    requested = SubmitPayment.model_validate(body)
    order = requested.to_domain(requested.own_id or "")
    if KINDS[order.input_type].acquirer:
        return payment.without_acquirer(order, place.pos, at), None
    transaction, request = payments.begin_by_card(order, place.pos, None, at)
    record = sandbox.record_of(request)
    return steps.with_answer(transaction, sandbox.answer_of(record)), record


def _reverse(sales: list[Sale], tills: list[OpenTill], gmt: int, now: datetime) -> None:
    """Request the reversals of these payments that are due until now, oldest first."""
    given_back = [(_instant(sale.reversal.at, gmt), sale, sale.reversal) for sale in sales if sale.reversal]
    given_back = sorted((one for one in given_back if one[0] < now), key=lambda one: one[0])
    for at, sale, reversal in given_back:
        endpoint = CARD_PRESENT if KINDS[sale.input_type].card_present else CNP
        body = ReversePayment.model_validate(reversal.body)
        reversals.reverse(body, tills[sale.till].caller, at, endpoint=endpoint, key=None)


def _open_tills(first: Agent, now: datetime) -> list[OpenTill]:
    """Create the other tills of the merchant, each with a terminal; return all of them."""
    opened = [first]
    caller = _owner_of(first)
    for number in range(2, len(TILLS) + 1):
        tid = f"DEMO{number:04d}"
        body = demo_data.terminal_body(first.client_id, f"Demo Store {number}", (tid, "DEMOBANK0000001"))
        terminals.create(CreateTerminal.model_validate(body), caller, now)
        agent = {"Name": f"Demo Store Till {number}", "Phone": demo_data.PHONE}
        agent |= {"Email": f"till{number}@demo.example", "Password": f"till{number}-demo-password"}
        place = {"BranchID": first.client_id, "ClientID": first.client_id, "TID": tid}
        created = agents.create(CreateAgent.model_validate(agent | place), caller, first.client_id, now)
        opened.append(created.record.agent)
    return [open_till(agent) for agent in opened]


def _owner_of(agent: Agent) -> Caller:
    owner = next(one for one in agents_store.of_merchant(agent.client_id) if is_administrator(one))
    return Caller(owner.id, owner.client_id, owner.credential_version)


def open_till(agent: Agent) -> OpenTill:
    """Return the till of an agent that has a terminal."""
    merchant = read(merchants_store.key(agent.client_id))
    terminal = read(terminals_store.key(agent.terminal_id or 0))
    if merchant is None or terminal is None:
        message = f"Agent {agent.id} has no till."
        raise ValueError(message)
    caller = Caller(agent.id, agent.client_id, agent.credential_version, terminal.id)
    return OpenTill(PointOfSale(agent, merchant, terminal, merchant.taxes), caller)


def _instant(local: datetime, gmt: int) -> datetime:
    return local.replace(tzinfo=UTC) - timedelta(hours=gmt)
