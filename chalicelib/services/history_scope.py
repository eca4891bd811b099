"""Whose transactions a caller may list: those of a merchant, of one of its agents or of all."""

from chalicelib.domain import permissions
from chalicelib.domain.agent import Agent
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.record import Record
from chalicelib.services.admission import Admitted
from chalicelib.store import merchants
from chalicelib.store.table import read


class Scope(Record):
    """The transactions a caller may list: a merchant's, of one agent or (None) of all; and its merchant's zone."""

    client_id: int
    agent_id: int | None
    gmt: int
    currency: str | None  # the merchant's


def scope_of(admitted: Admitted, account_id: int | None, account: Agent | None) -> Scope:
    """Return what the caller may list when it names this account, or none.

    An account that does not exist (None with an ID) is answered as one of another merchant: AGENT_NOT_FOUND. A system
    user has to name one.
    """
    if account_id is not None and account is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    if admitted.merchant is not None:
        own = admitted.merchant
        return Scope(*permissions.history_scope(admitted.agent, account), own.gmt, own.currency_id)
    if account is None:
        message = "A system user names the merchant through one of its accounts."
        raise invalid(Finding("account_id", Check.REQUIRED, message))
    client_id, agent_id = permissions.history_scope(admitted.agent, account)
    merchant = read(merchants.key(client_id))
    if merchant is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    return Scope(client_id, agent_id, merchant.gmt, merchant.currency_id)
