"""Reversing payments: a reversal takes from what remains of a payment, and is a transaction of its own."""

from datetime import datetime

from chalicelib.domain import host, permissions, reversal
from chalicelib.domain import replay as replay_rules
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.guid import is_guid
from chalicelib.domain.reversal import ReversalOrder, ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.schemas.reversal_request import ReversePayment
from chalicelib.services import outbox, outcomes
from chalicelib.services.admission import admit
from chalicelib.services.host_identity import identify_reversal
from chalicelib.services.identifiers import derived_guid, new_guid
from chalicelib.services.replay import answer_again, replay, replay_first
from chalicelib.store import outbox as outbox_store
from chalicelib.store import transactions
from chalicelib.store.table import AlreadyExistsError

ATTEMPTS = 4  # to take from what remains while others take from it too


def reverse(
    body: ReversePayment, caller: Caller, now: datetime, *, modes: frozenset[ReverseMode], key: str | None
) -> tuple[Transaction, bool]:
    """Return the reversal, and whether it is the stored one of an earlier request with the same key and content."""
    order = body.to_domain(modes, key)
    reversal_id = _id_of(order, caller)
    known = [transactions.key(order.original_id)] if is_guid(order.original_id) else []
    admitted = admit(caller, transactions.key(reversal_id), *known, current_account_id=body.current_account_id)
    stored, original = admitted.others if known else (*admitted.others, None)
    if original is None:
        raise ServiceError(ErrorCode.TRANSACTION_NOT_FOUND)
    permissions.check_can_reverse(admitted.agent, original.client_id, original.agent.id)
    if stored is not None:
        return replay(stored, order, reversal.fingerprint(order, admitted.agent.id), now), True

    return _reverse(reversal_id, order, original, admitted.agent, now)


def _id_of(order: ReversalOrder, caller: Caller) -> str:
    """Return the reversal's ID: derived from what identifies it, else the one the caller chose, else a new one."""
    identity = replay_rules.identity(order, caller.agent_id)
    if identity:
        return derived_guid("reversal", *identity)
    return order.id.upper() if order.id else new_guid()


def _repeated(order: ReversalOrder, original: Transaction, agent: Agent, now: datetime) -> Transaction | None:
    """Return the latest reversal of the payment, when a request without a key repeats it."""
    latest = transactions.get(original.latest_reversal_id) if original.latest_reversal_id else None
    return latest if latest and replay_rules.is_repeated(order, original, latest, agent.id, now) else None


def _reverse(
    reversal_id: str, order: ReversalOrder, original: Transaction, agent: Agent, now: datetime
) -> tuple[Transaction, bool]:
    """Store the reversal and take its amount from what remains; decide anew when others took from it meanwhile."""
    keyless = replay_rules.identity(order, agent.id) is None and order.id is None
    for _ in range(ATTEMPTS):
        if keyless and (repeated := _repeated(order, original, agent, now)):
            return answer_again(repeated, now), True
        try:
            amount_minor = reversal.decide(order, original, now)
        except ServiceError:
            first = None if keyless else transactions.get(reversal_id)
            if first is None:
                raise
            # An equal request stored it after this one looked.
            return replay(first, order, reversal.fingerprint(order, agent.id), now), True
        begun = reversal.begin(reversal_id, order, original, agent, amount_minor, now)
        transaction = identify_reversal(begun, original)
        receipts = outbox.receipts_for(transaction, None, None, now)
        try:
            transactions.reserve(original, transaction, *map(outbox_store.put, receipts), follows_latest=keyless)
        except AlreadyExistsError:
            return replay_first(reversal_id, order, transaction.fingerprint, now), True
        except transactions.RemainderChangedError:
            original = transactions.get(original.id) or original
        else:
            outbox.send(receipts, now)
            finished = transaction
            if transaction.is_pending:
                finished = outcomes.reverse(transaction, host.reversal_request(transaction, is_repeat=False), now)
            return outcomes.require_attempted(finished), False
    raise ServiceError(ErrorCode.IN_PROGRESS, headers=RETRY)
