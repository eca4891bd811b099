"""Admission: the check of each request's caller, a strong read, because API Gateway may reuse an old policy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from chalicelib import outside
from chalicelib.domain import permissions
from chalicelib.domain.agent import ACTIVE, NO_CLIENT, PASSWORD, Agent, Caller
from chalicelib.domain.guid import is_guid
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.settings import settings
from chalicelib.store import agents, merchants, sessions, transactions
from chalicelib.store.table import Key, read, read_all

R = TypeVar("R")
NO_GUID = "The transaction is not found: an ID is a GUID, such as 61BBAD7E-220D-4E5E-9F26-89A32BD1DCE2."


@dataclass(frozen=True)
class Admitted:
    """The caller's current record, its merchant (None for a system user), and the records that were read with them."""

    agent: Agent
    merchant: Merchant | None
    found: tuple[tuple[Key[Any], Any], ...] = ()

    def read(self, key: Key[R]) -> R | None:
        """Return a record, None for a missing one: as it was read with the caller, else as it is stored now."""
        for known, record in self.found:
            if known == key:
                found: R | None = record
                return found
        return read(key)

    def merchant_of(self, client_id: int) -> Merchant | None:
        """Return the merchant of a record that the caller may see. A system user has none of its own."""
        return self.merchant or self.read(merchants.key(client_id))


def admit(
    caller: Caller, *keys: Key[Any], current_account_id: int | None = None, may_lack_factor: bool = False
) -> Admitted:
    """Return the caller, its merchant and the records of `keys`, read strongly in one round trip.

    The authorizer may have let the caller in up to a minute ago. If a credential of the agent has changed since, or the
    caller's has ended, its header is verified again, and the reason raised if it is refused. Raise BAD_CREDENTIAL when
    the account is deleted. Raise SESSION_EXPIRED when the session was ended, or is remembered and the agent may no
    longer have such sessions. Raise AGENT_BLOCKED or MERCHANT_BLOCKED when the agent or its merchant is blocked. Raise
    NOT_THE_CALLER when `current_account_id` is another account. Raise SECOND_FACTOR for a system user that must have a
    second factor and has none; with `may_lack_factor` its sessions are admitted.
    """
    own: list[Key[Any]] = [agents.key(caller.agent_id)]
    if caller.client_id != NO_CLIENT:
        own.append(merchants.key(caller.client_id))
    if caller.session is not None:
        own.append(sessions.key(caller.session))
    agent, *found = read_all([*own, *keys])
    merchant = found.pop(0) if caller.client_id != NO_CLIENT else None
    session = found.pop(0) if caller.session is not None else None

    if caller.verify_again is not None and _is_outdated(agent, caller):
        again = _verified_again(caller, caller.verify_again)
        return admit(again, *keys, current_account_id=current_account_id, may_lack_factor=may_lack_factor)
    if caller.session is not None and (session is None or session.ended):
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    _check_agent(agent, caller)
    lacks_factor = agent.is_system_user and not agent.totp_on and settings().system_users_need_totp
    if lacks_factor and (caller.by or (caller.session and not may_lack_factor)):
        raise ServiceError(ErrorCode.SECOND_FACTOR)
    if caller.client_id != NO_CLIENT and (merchant is None or not merchant.is_active):
        raise ServiceError(ErrorCode.MERCHANT_BLOCKED)
    if session is not None and session.remembered_for and not permissions.may_be_remembered(agent, merchant):
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    if current_account_id not in (None, caller.agent_id):
        raise ServiceError(ErrorCode.NOT_THE_CALLER)
    return Admitted(agent, merchant, tuple(zip(keys, found, strict=True)))


def no_transaction(transaction_id: str) -> ServiceError:
    """Return the refusal of an ID that no transaction has. One that none can have is told its form."""
    return ServiceError(ErrorCode.TRANSACTION_NOT_FOUND, None if is_guid(transaction_id) else NO_GUID)


def admit_to_transaction(
    caller: Caller, transaction_id: str, *keys: Key[Any], current_account_id: int | None = None
) -> tuple[Admitted, Transaction]:
    """Return the caller and a transaction that it may see. Raise 404 for a missing one and for another merchant's."""
    key = transactions.key(transaction_id.upper()) if is_guid(transaction_id) else None
    admitted = admit(caller, *([key] if key else []), *keys, current_account_id=current_account_id)
    transaction = admitted.read(key) if key else None
    if transaction is None:
        raise no_transaction(transaction_id)
    permissions.check_can_see_transaction(admitted.agent, transaction.client_id, transaction.agent.id)
    return admitted, transaction


def _is_outdated(agent: Agent | None, caller: Caller) -> bool:
    """Return whether the authorizer's answer may no longer hold: for another credential of an active agent it does."""
    if agent is None or not agent.is_active:
        return False
    is_over = caller.ends_at is not None and outside.now() >= caller.ends_at
    return is_over or (caller.by == PASSWORD and agent.totp_on) or agent.credential_version != caller.credential_version


def _verified_again(caller: Caller, verify: Callable[[], Caller]) -> Caller:
    verified = verify()
    if (verified.agent_id, verified.client_id) != (caller.agent_id, caller.client_id):
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)  # the login now belongs to another agent
    return verified


def _check_agent(agent: Agent | None, caller: Caller) -> None:
    if agent is None or agent.deleted:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    if agent.state != ACTIVE:
        raise ServiceError(ErrorCode.AGENT_BLOCKED)
    if agent.credential_version != caller.credential_version or agent.client_id != caller.client_id:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
