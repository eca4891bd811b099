"""The account behind a request: let in for good by a strong read, whatever the gateway remembers of it."""

from dataclasses import dataclass
from typing import Any

from chalicelib.domain.agent import NO_CLIENT, Agent, Caller
from chalicelib.domain.merchant import ACTIVE, Merchant
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import agents, merchants
from chalicelib.store.table import Key, read_all


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
