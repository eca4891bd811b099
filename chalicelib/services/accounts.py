"""The account behind a request: let in for good by a strong read, whatever the gateway remembers of it."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from chalicelib.domain.account import payment_options
from chalicelib.domain.agent import NO_CLIENT, Agent, Caller
from chalicelib.domain.features import effective
from chalicelib.domain.merchant import ACTIVE, Merchant
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.accounts import AccountAnswer, AuthAccount, PaymentOptionView
from chalicelib.settings import settings
from chalicelib.store import accounts as store
from chalicelib.store import agents, merchants, terminals
from chalicelib.store.table import Key, read, read_all


@dataclass(frozen=True)
class Admitted:
    """Who is calling as it is now, its merchant (none for a system user), and what else was asked for, in order."""

    agent: Agent
    merchant: Merchant | None
    others: tuple[Any, ...]


def admit(caller: Caller, *keys: Key[Any], current_account_id: int | None = None) -> Admitted:
    """The caller, its merchant and the records of `keys`, read strongly in one round trip.

    Refuses what was taken back since the authorizer looked, which the gateway may have remembered for a minute:
    102 other credentials or no account, 103 blocked, 108 the merchant blocked; and 152 when `current_account_id` is
    somebody else.
    """
    own: list[Key[Any]] = [agents.key(caller.agent_id)]
    if caller.client_id != NO_CLIENT:
        own.append(merchants.key(caller.client_id))
    agent, *found = read_all([*own, *keys])
    merchant = found.pop(0) if caller.client_id != NO_CLIENT else None

    _check_agent(agent, caller)
    if caller.client_id != NO_CLIENT:
        _check_merchant(merchant)
    if current_account_id not in (None, caller.agent_id):
        raise ServiceError(ErrorCode.NOT_THE_CALLER)
    return Admitted(agent, merchant, tuple(found))


def _check_agent(agent: Agent | None, caller: Caller) -> None:
    if agent is None or agent.deleted:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    if agent.state != ACTIVE:
        raise ServiceError(ErrorCode.AGENT_BLOCKED)
    if agent.credential_version != caller.credential_version or agent.client_id != caller.client_id:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)


def _check_merchant(merchant: Merchant | None) -> None:
    if merchant is None or merchant.deleted or merchant.state != ACTIVE:
        raise ServiceError(ErrorCode.MERCHANT_BLOCKED)


def configuration(body: AuthAccount, caller: Caller, now: datetime) -> AccountAnswer:
    """What the caller's application is to offer. 429 when it asked within the stage's interval."""
    keys = [] if caller.terminal_id is None else [terminals.key(caller.terminal_id)]
    admitted = admit(caller, *keys, current_account_id=body.current_account_id)
    agent, merchant = admitted.agent, admitted.merchant

    in_force = effective(agent.mobile_settings, merchant.mobile_settings if merchant else None)
    options = payment_options(in_force, settings().default_acquirer) if merchant else ()
    currency = agent.currency_id or _currency_of(agent, *admitted.others)

    _once_in_a_while(agent, now)
    return AccountAnswer(
        language_id=agent.language_id or (merchant.language if merchant else None),
        id=agent.id,
        client_id=agent.client_id,
        currency_id=currency,
        country_id=agent.country_id or (merchant.country_code if merchant else None),
        country_name=merchant.country if merchant else None,
        is_system_user=agent.is_system_user,
        payment_options=[PaymentOptionView.of(option) for option in options],
    )


def _currency_of(agent: Agent, terminal: Terminal | None = None) -> str | None:
    """The currency of the agent's terminal; read again when the agent was moved since the authorizer looked."""
    if agent.terminal_id is not None and (terminal is None or terminal.id != agent.terminal_id):
        terminal = read(terminals.key(agent.terminal_id))
    return terminal.currency.code if terminal and agent.terminal_id is not None else None


def _once_in_a_while(agent: Agent, now: datetime) -> None:
    interval = timedelta(seconds=settings().auth_account_seconds)
    wait = store.ask(agent.id, now, interval) if interval else None
    if wait is not None:
        raise ServiceError(ErrorCode.TOO_SOON, headers={"Retry-After": str(max(1, math.ceil(wait.total_seconds())))})
