"""The identity of messages to a host without inquiries: new STANs from its terminal's sequence, and a random RRN."""

import secrets
import string

from chalicelib.domain import acquirer_messages
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import HostFacts, Transaction
from chalicelib.gateways import acquirers
from chalicelib.store import sequences

RRN_ALPHABET, RRN_LENGTH = string.ascii_uppercase + string.digits, 12


def identify_payment(payment: Transaction, terminal: Terminal) -> Transaction:
    """Return a payment with the identity that its host recognises; unchanged if its acquirer answers inquiries."""
    acquirer = acquirers.named(payment.acquirer)
    if acquirer.can_inquire:
        return payment
    numbers = _next_stans(terminal.back_retailer_id or "", terminal.tid)
    return acquirer_messages.identified_payment(payment, terminal, acquirer.institution, _new_rrn(), numbers)


def identify_reversal(reversal: Transaction, original: Transaction, host: HostFacts) -> Transaction:
    """Return a reversal with the identity that its host recognises, which is the host of its payment."""
    numbers = _next_stans(host.terminal.mid, original.terminal_name)
    return acquirer_messages.identified_reversal(reversal, original, host, _new_rrn(), numbers)


def _next_stans(mid: str, tid: str) -> range:
    """Return the next numbers (STAN) for the messages of a transaction.

    A terminal's sequence begins at a random number: after a stage loses its tables, it must not repeat the numbers that
    the host has already seen.
    """
    return sequences.next_stans(mid, tid, acquirer_messages.STANS, start=secrets.randbelow(acquirer_messages.LAST_STAN))


def _new_rrn() -> str:
    """Return a random RRN. Of 10^8 in 400 days, the chance that any two are equal is 10^16 / (2 * 36^12), 0.1 %.

    In that case the host answers 94 to the second payment, which is reversed. The first has another STAN and is not
    affected.
    """
    return "".join(secrets.choice(RRN_ALPHABET) for _ in range(RRN_LENGTH))
