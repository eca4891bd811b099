"""Identity at a host that cannot be inquired: the numbers of a transaction's messages, taken before it is stored."""

import secrets
import string

from chalicelib.domain import host
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways import acquirers
from chalicelib.store import sequences

RRN_ALPHABET, RRN_LENGTH = string.ascii_uppercase + string.digits, 12


def identify_payment(payment: Transaction, terminal: Terminal) -> Transaction:
    """Return a payment with what its host will recognise it by; as it is when its acquirer can be inquired."""
    acquirer = acquirers.named(payment.acquirer)
    if acquirer.can_inquire:
        return payment
    numbers = _next_stans(terminal.back_retailer_id or "", terminal.tid)
    return host.identified_payment(payment, terminal, acquirer.institution, _new_rrn(), numbers)


def identify_reversal(reversal: Transaction, original: Transaction) -> Transaction:
    """Return a reversal with what its host will recognise it by; as it is when its acquirer can be inquired."""
    if original.host is None:
        return reversal
    numbers = _next_stans(original.host.terminal.mid, original.terminal_name)
    return host.identified_reversal(reversal, original, _new_rrn(), numbers)


def _next_stans(mid: str, tid: str) -> range:
    """Return the numbers of a transaction.

    A terminal's sequence begins anywhere: tables that are new, as those of a stage that keeps no data, do not give the
    numbers again that the host had from the tables before them.
    """
    return sequences.next_stans(mid, tid, host.STANS, start=secrets.randbelow(host.LAST_STAN))


def _new_rrn() -> str:
    """Return a random RRN. Of 10^8 in 400 days, the chance that any two are equal is 10^16 / (2 * 36^12), 0.1 %.

    Should it happen, the host answers 94 to the second, which is reversed; the first has another STAN, so it stands.
    """
    return "".join(secrets.choice(RRN_ALPHABET) for _ in range(RRN_LENGTH))
