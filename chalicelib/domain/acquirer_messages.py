"""The messages to an acquirer, and the facts by which a host without inquiries recognises them: STAN, RRN, trace.

Such a host receives a reversal for each request without a usable answer. A repeated message must be the same message,
so its facts are stored before its first byte is sent.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from chalicelib.domain.acquirer import (
    ANSWER_UNUSABLE,
    CANCELLED_AT_TILL,
    NO_ANSWER,
    Message,
    ReversalKind,
    ReversalRequest,
)
from chalicelib.domain.business_days import to_local
from chalicelib.domain.reversibility import CANCELS
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import HostFacts, MessageTrace, TerminalSnapshot, Transaction

LAST_STAN = 999_999
STANS = 2  # per transaction: for its message and for its automatic reversal
REPEAT_EACH = timedelta(seconds=30)  # the pause between two repeats: the sweep, which runs each minute, repeats once


def stan_of(number: int) -> int:
    """Return the STAN for a number of a terminal's sequence. It repeats after 999,999 messages."""
    return (number - 1) % LAST_STAN + 1


def identified_payment(
    payment: Transaction, terminal: Terminal, institution: str, rrn: str, numbers: Sequence[int]
) -> Transaction:
    """Return the payment with the facts of its messages. `numbers` are STANS numbers of its terminal's sequence."""
    snapshot = TerminalSnapshot(
        mid=terminal.back_retailer_id or "",
        title=terminal.title,
        city=terminal.city,
        country_code=terminal.country_code,
        sic=terminal.sic,
        entry_caps=terminal.entry_caps,
    )
    message, advice = (stan_of(number) for number in numbers)
    return replace(
        payment,
        result=replace(payment.result, rrn=rrn),
        host=HostFacts(MessageTrace(message, payment.created_at), institution, snapshot, advice),
    )


def identified_reversal(
    reversal: Transaction, original: Transaction, host: HostFacts, rrn: str, numbers: Sequence[int]
) -> Transaction:
    """Return the reversal with the facts of its messages, from the `host` of its payment.

    A cancel has the RRN of its payment, a return its own.
    """
    message, advice = (stan_of(number) for number in numbers)
    return replace(
        reversal,
        result=replace(reversal.result, rrn=original.result.rrn if reversal.original.mode in CANCELS else rrn),
        host=HostFacts(
            MessageTrace(message, reversal.created_at),
            host.institution,
            host.terminal,
            advice,
            original=host.trace,
        ),
    )


def message_of(transaction: Transaction) -> Message | None:
    """Return the facts of a transaction's own message; None at an acquirer with inquiries."""
    facts = transaction.host
    return None if facts is None else _message(transaction, facts, facts.trace)


def reversal_request(reversal: Transaction, *, is_repeat: bool) -> ReversalRequest:
    """Return the request for a reversal that a till requested, without the card and the till's own fields."""
    facts = reversal.host
    return ReversalRequest(
        reversal.id,
        reversal.original.id or "",
        reversal.amount_minor,
        reversal.currency,
        input_type=reversal.input_type,
        kind=ReversalKind.CANCEL if reversal.original.mode in CANCELS else ReversalKind.RETURN,
        message=message_of(reversal),
        original_trace=facts.original if facts else None,
        reason=CANCELLED_AT_TILL,
        is_repeat=is_repeat,
        created_at=reversal.created_at,
        acquirer_tran_id=reversal.original.acquirer_tran_id,
    )


def automatic_request(transaction: Transaction, *, is_repeat: bool) -> ReversalRequest:
    """Return the request for an automatic reversal: of a payment, or of a return, which then gave nothing back."""
    facts = transaction.host
    return ReversalRequest(
        transaction.auto_cancel_id or transaction.id,
        transaction.id,
        transaction.amount_minor,
        transaction.currency,
        kind=ReversalKind.AUTOMATIC_OF_RETURN if transaction.is_reversal else ReversalKind.AUTOMATIC,
        message=_message(transaction, facts, facts.advice) if facts and facts.advice else None,
        original_trace=facts.trace if facts else None,
        reason=ANSWER_UNUSABLE if facts and facts.answer_unusable else NO_ANSWER,
        is_repeat=is_repeat,
        created_at=transaction.created_at,
        acquirer_tran_id=transaction.result.acquirer_tran_id,
    )


def is_advised_by_its_request(transaction: Transaction) -> bool:
    """Return whether the request that stored the transaction also sends its advice: nobody else may send it yet."""
    facts = transaction.host
    return facts is not None and facts.advice is not None and facts.advice.made_at == transaction.created_at


def _message(transaction: Transaction, facts: HostFacts, trace: MessageTrace) -> Message:
    is_cancel = transaction.original.mode in CANCELS
    created_at = facts.original.made_at if is_cancel and facts.original else transaction.created_at
    return Message(
        rrn=transaction.result.rrn or "",
        trace=trace,
        local_time=to_local(created_at, transaction.gmt),
        tid=transaction.terminal_name,
        institution=facts.institution,
        terminal=facts.terminal,
    )
