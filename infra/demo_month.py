"""A month of payments of the demo merchant, `make run DEMO=month`: three tills of a coffee shop, and the linked card.

The service's own functions decide each payment at its time in the past, and all are loaded at once. What follows a
payment or counts beside it (reversals, payments with the linked card) is requested of the service, one by one.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from chalicelib.domain import outcome, payment
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.business_days import USUAL, business_day
from chalicelib.domain.payment import Till
from chalicelib.domain.permissions import is_administrator
from chalicelib.domain.reversibility import CARD_PRESENT, CNP
from chalicelib.domain.transaction import KINDS, InputType, Phase, Transaction
from chalicelib.gateways import acquirers
from chalicelib.record import Record
from chalicelib.schemas.agents import CreateAgent
from chalicelib.schemas.payments import SubmitPayment
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.schemas.terminals import CreateTerminal
from chalicelib.services import agents, merchants, payments, reversals
from chalicelib.services.acquirer_calls import AUTHORIZE_SECONDS
from chalicelib.settings import SANDBOX, settings
from chalicelib.store import agents as agents_store
from chalicelib.store import linked_cards
from chalicelib.store import merchants as merchants_store
from chalicelib.store import merchants as terminals_store
from chalicelib.store.table import read
from infra import demo_data
from infra.bulk_load import write_in_bulk
from infra.demo_sales import TILLS, Sale, sales_of


class OpenTill(Record):
    """A till of the shop, and the caller that its agent is."""

    till: Till
    caller: Caller


def fill(first: Agent, now: datetime) -> None:
    """Store the last 31 days until `now` of the merchant of `first`, its first till.

    Nothing else may write meanwhile. Cards are taken where the stage has the acquirer SANDBOX.
    """
    tills = _open_tills(first, now)
    gmt = tills[0].till.merchant.gmt
    has_cards = SANDBOX in settings().acquirers
    linked_card = next((card.id for card in linked_cards.of_agent(first.id)), None)
    today = business_day(now, gmt)
    sales = [sale for ago in reversed(range(USUAL)) for sale in sales_of(today - timedelta(days=ago), linked_card)]
    sales = [
        sale for sale in sales if _instant(sale.at, gmt) < now and (has_cards or sale.input_type is InputType.CASH)
    ]

    loaded = [
        take(sale.body, tills[sale.till], _instant(sale.at, gmt))
        for sale in sales
        if sale.input_type is not InputType.LINKED_CARD
    ]
    write_in_bulk(loaded)
    requested = [
        payments.submit(SubmitPayment.model_validate(sale.body), tills[sale.till].caller, _instant(sale.at, gmt))[0]
        for sale in sales
        if sale.input_type is InputType.LINKED_CARD
    ]
    approved = {one.id for one in (*loaded, *requested) if one.phase is Phase.APPROVED}
    _reverse([sale for sale in sales if sale.body["BasicTran"]["ID"] in approved], tills, gmt, now)


def take(body: dict[str, Any], place: OpenTill, at: datetime) -> Transaction:
    """Return the payment that the service would have made of a request at that time; nothing of it is stored.

    Its acquirer SANDBOX has it.
    """
    order = payments.identified(SubmitPayment.model_validate(body).to_domain(), place.caller, None)
    if KINDS[order.input_type].acquirer:
        return payment.without_acquirer(order, place.till, at)
    transaction, request = payments.begin_by_card(order, place.till, None, at)
    answer = acquirers.named(transaction.acquirer).authorize(request, AUTHORIZE_SECONDS)
    return outcome.with_answer(transaction, answer)


def _reverse(sales: list[Sale], tills: list[OpenTill], gmt: int, now: datetime) -> None:
    """Request what is given back of these payments until now, oldest first."""
    given_back = [(_instant(sale.reversal.at, gmt), sale, sale.reversal) for sale in sales if sale.reversal]
    given_back = sorted((one for one in given_back if one[0] < now), key=lambda one: one[0])
    for at, sale, reversal in given_back:
        endpoint = CARD_PRESENT if KINDS[sale.input_type].card_present else CNP
        body = ReversePayment.model_validate(reversal.body)
        reversals.reverse(body, tills[sale.till].caller, at, endpoint=endpoint, key=None)


def _open_tills(first: Agent, now: datetime) -> list[OpenTill]:
    """Create the other tills of the merchant, each with a terminal; return all of them."""
    opened = [first]
    owner = next(one for one in agents_store.of_merchant(first.client_id) if is_administrator(one))
    caller = Caller(owner.id, owner.client_id, owner.credential_version)
    for number in range(2, len(TILLS) + 1):
        tid = f"DEMO{number:04d}"
        body = demo_data.terminal_body(first.client_id, f"Demo Store {number}", (tid, "DEMOBANK0000001"))
        merchants.create_terminal(CreateTerminal.model_validate(body), caller, now)
        login, password = demo_data.further_till(number)
        agent = {"Name": f"Demo Store Till {number}", "Email": login, "Password": password, "Phone": demo_data.PHONE}
        place = {"BranchID": first.client_id, "ClientID": first.client_id, "TID": tid}
        opened.append(agents.create(CreateAgent.model_validate(agent | place), caller, first.client_id, now).agent)
    return [open_till(agent) for agent in opened]


def open_till(agent: Agent) -> OpenTill:
    """Return the till of an agent that has a terminal."""
    merchant, terminal = (
        read(merchants_store.key(agent.client_id)),
        read(terminals_store.terminal_key(agent.terminal_id or 0)),
    )
    if merchant is None or terminal is None:
        message = f"Agent {agent.id} has no till."
        raise ValueError(message)
    caller = Caller(agent.id, agent.client_id, agent.credential_version, terminal.id)
    return OpenTill(Till(agent, merchant, terminal), caller)


def _instant(local: datetime, gmt: int) -> datetime:
    return local.replace(tzinfo=UTC) - timedelta(hours=gmt)
