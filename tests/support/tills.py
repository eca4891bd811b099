"""A till below HTTP: an agent with its merchant and terminal in the tables, and what it does, at any time we say."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from chalicelib import outside
from chalicelib.domain.agent import Agent, BranchActions, Caller, MobileSettings
from chalicelib.domain.card import CardData, LinkedCard
from chalicelib.domain.kinds import KINDS, Features
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.permissions import Right
from chalicelib.domain.reversibility import CARD_PRESENT, CNP, ReverseMode
from chalicelib.domain.taxes import Tax
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.exact_json import parse
from chalicelib.gateways.acquirers.sandbox import TABLE as SANDBOX_TABLE
from chalicelib.gateways.acquirers.sandbox import SandboxRecord
from chalicelib.schemas.base import validated
from chalicelib.schemas.payments import SubmitPayment
from chalicelib.schemas.receipts import SendReceipt
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.services import linked_cards, payments, receipts, reversals
from chalicelib.store import due_index, due_records, history_lists, transactions
from chalicelib.store.table import Key, commit, put_new, read
from tests.support.builders import a_merchant, a_terminal, an_agent
from tests.support.cards import a_card
from tests.support.transactions import NOW

EVERYTHING = MobileSettings(Features(accept_prepaid=True, accept_credit=True, accept_outer_card=True))
VAT = Tax(code="VAT15", name="VAT", rate=Decimal(15))
TAXED: dict[str, Any] = {"TaxesModel": {"Taxes": [VAT.code]}}  # in the body of a payment
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@dataclass(frozen=True)
class Till:
    """An agent at a terminal."""

    agent: Agent
    merchant: Merchant
    terminal: Terminal

    @property
    def caller(self) -> Caller:
        return Caller(self.agent.id, self.merchant.id, self.agent.credential_version, self.terminal.id)

    def submit(self, body: dict[str, Any], now: datetime = NOW, *, key: str | None = None) -> tuple[Transaction, bool]:
        """Submit this body as payment/submit does."""
        model = validated(SubmitPayment, parse(json.dumps(body).encode()))
        assert isinstance(model, SubmitPayment)
        return payments.submit(model, self.caller, now, key=key)

    def submit_at_once(self, body: dict[str, Any], clients: int = 16) -> set[Transaction]:
        """Submit this body from as many threads; the answers but those that it is in progress."""

        def submit(_: int) -> Transaction | None:
            try:
                return self.submit(body)[0]
            except ServiceError as refusal:
                if refusal.error is ErrorCode.IN_PROGRESS:
                    return None
                raise

        with ThreadPoolExecutor(clients) as pool:
            return {answer for answer in pool.map(submit, range(clients)) if answer}

    def pay(self, body: dict[str, Any], now: datetime = NOW) -> Transaction:
        """The payment of a new ID."""
        transaction, replayed = self.submit(body, now)
        assert not replayed
        return transaction

    def send_receipt(self, transaction: Transaction, now: datetime, *, key: str | None = None, **body: Any) -> None:
        """Send the receipt of a transaction later."""
        receipts.send_later(transaction.id, validated(SendReceipt, body), self.caller, now, key=key)

    def give_back(
        self, payment: Transaction, now: datetime = NOW, *, key: str | None = None, **basic: Any
    ) -> Transaction:
        """Return the payment at payment/reverse or payment/reversecnp, whichever is right."""
        at_hand = KINDS[payment.input_type].card_present
        mode = ReverseMode.RETURN if at_hand else ReverseMode.RETURN_CNP
        body = {"BasicReverseTran": {"TransactionID": payment.id, "ReverseMode": int(mode), **basic}}
        model = validated(ReversePayment, parse(json.dumps(body).encode()))
        assert isinstance(model, ReversePayment)
        endpoint = CARD_PRESENT if at_hand else CNP
        return reversals.reverse(model, self.caller, now, endpoint=endpoint, key=key)[0]

    def look(self, transaction_id: str, now: datetime = NOW) -> Transaction:
        """Read a transaction by its ID."""
        return payments.get(transaction_id, self.caller, now).transactions[0]

    def link(self, card: CardData | None = None, now: datetime = NOW) -> LinkedCard:
        """A card linked to the agent."""
        return linked_cards.link(self.agent, card or a_card(), "Company card", now)

    def counted(self, now: datetime = NOW) -> tuple[int, int]:
        """Return the number of transactions the month's counters count, and the money they took."""
        month = f"{now + timedelta(hours=self.merchant.gmt):%Y-%m}"
        tallies = history_lists.day_counts(self.merchant.id, month, self.agent.id)
        return sum(tally.count for tally in tallies), sum(tally.taken_minor for tally in tallies)


def a_till(mid: str | None = None, **changes: Any) -> Till:
    """A till of a new merchant, in the tables of the engine at hand; `mid` is the terminal's, `changes` the agent's."""
    merchant = a_merchant(taxes=(VAT,))
    terminal = a_terminal(client_id=merchant.id, back_retailer_id=mid)
    facts = {"client_id": merchant.id, "terminal_id": terminal.id, "mobile_settings": EVERYTHING, **changes}
    agent = an_agent(**facts)
    commit(put_new("merchants", merchant, "id"), put_new("terminals", terminal, "id"), put_new("agents", agent, "id"))
    return Till(agent, merchant, terminal)


def colleague(till: Till, *rights: Right) -> Till:
    """Another agent of the till's merchant, with these rights, at its terminal."""
    actions = (BranchActions(till.merchant.id, tuple(map(int, rights))),)
    agent = an_agent(
        client_id=till.merchant.id,
        terminal_id=till.terminal.id,
        mobile_settings=EVERYTHING,
        branches_actions=actions if rights else (),
    )
    commit(put_new("agents", agent, "id"))
    return Till(agent, till.merchant, till.terminal)


def kept(transaction_id: str) -> Transaction | None:
    """The transaction as it is in the table."""
    return transactions.get(transaction_id)


def is_due(transaction_id: str, now: datetime) -> bool:
    """Return whether the index of what is due lists the transaction, in whatever lane."""
    lanes = (due_index.NO_ACQUIRER, *outside.current.acquirers)
    listed = [due for lane in lanes for due in due_records.of_lane(transactions.TABLE, lane, now)]
    return transaction_id in {due.id for due in listed}


def booked(transaction_id: str) -> SandboxRecord | None:
    """Return what the sandbox has recorded."""
    return read(Key(SANDBOX_TABLE, SandboxRecord, {"id": transaction_id}))


def is_charged(transaction_id: str) -> bool:
    """Return whether the acquirer took the money and still has it."""
    entry = booked(transaction_id)
    return entry is not None and entry.code == 0 and entry.reversed_minor == 0
