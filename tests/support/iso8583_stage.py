"""The stage with the acquirer ISO8583 and a bank on TCP; our books and the bank's, compared payment by payment."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from chalicelib.domain.acquirer import TOO_LATE
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from infra.bank.bank import Bank
from infra.bank.faults import Fault, Hook, times
from infra.bank.server import Server
from tests.support.giving import environment
from tests.support.stored import stored_transaction
from tests.support.tills import Till, a_till
from tests.support.transactions import NOW

MID, INSTITUTION = "BANK00000000001", "123456"
TOOK_MONEY = frozenset({Phase.APPROVED, Phase.AWAITING_COMPLETION})
# A process that stands still past its claim may send its 0420 after somebody else's 0421. Nothing can prevent that.
OVERTAKEN = "an advice is sent again as 0421, not as 0420"


@dataclass
class RunningBank:
    """A bank on a port of its own that can be killed and come back; its clock is the test's."""

    now: datetime
    folder: Path | None
    server: Server

    @property
    def bank(self) -> Bank:
        return self.server.bank

    def start_afresh(self, *hooks: Hook) -> Bank:
        """Replace the bank by one with empty books, for which these things go wrong."""
        self.server.bank = Bank(clock=lambda: self.now)
        self.bank.hooks += hooks
        return self.bank

    def kill(self) -> None:
        """End it as `kill -9` does: connections break, nobody listens."""
        self.server.stop()
        self.bank.close()

    def come_back(self) -> None:
        """Start it again, on its port and with the books of its folder; without one they are those it had."""
        bank = Bank(self.folder, clock=lambda: self.now) if self.folder else self.bank
        self.server = Server(bank, port=self.server.port)
        self.server.start()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Until it ends, nobody listens."""
        self.kill()
        try:
            yield
        finally:
            self.come_back()


@contextmanager
def paying_at_a_bank(now: datetime = NOW, folder: Path | None = None) -> Iterator[RunningBank]:
    """Until it ends, the acquirer of the stage is ISO8583, by its settings alone, and its host is this bank."""
    running = RunningBank(now, folder, Server(Bank(folder)))
    running.bank.clock = lambda: running.now
    running.server.start()
    with environment(
        ACQUIRERS="ISO8583",
        ISO8583_HOST=running.server.host,
        ISO8583_PORT=str(running.server.port),
        ISO8583_INSTITUTION=INSTITUTION,
        ISO8583_TLS="off",
    ):
        yield running
        running.kill()


def a_till_of_the_bank() -> Till:
    return a_till(mid=MID)


def ending(fault: Fault) -> Fault:
    """Return the fault, with the end of the connection after it: nobody has to wait for the time limit."""
    return replace(fault, closes=True)


def first(count: int, fault: Fault, mti: str, processing: str = "") -> Callable[[], Hook]:
    """Return what makes a hook for the first `count` messages of a type, of purchases or refunds if it says so."""
    fields = {"f3": processing} if processing else {}
    return lambda: times(count, fault, mti, **fields)


def of(transaction_id: str) -> Transaction:
    return stored_transaction(transaction_id)


def held_for(payment: Transaction) -> int:
    """Return what the bank must hold of a payment that nothing is pending for, by our books."""
    return payment.amount_minor - payment.refunded_minor if payment.phase in TOOK_MONEY else 0


def check_books(bank: Bank, transactions: Iterable[Transaction], *, tolerated: Sequence[str] = ()) -> None:
    """Assert that the bank holds, of each payment, what our books say, and nothing of any other; and has no complaint.

    `transactions` are our payments and reversals, none of them pending.
    """
    ours, theirs = list(transactions), {account.entry.rrn: account for account in bank.ledger.accounts.values()}
    assert not any(one.is_pending for one in ours)
    assert not any(one.phase is Phase.DECLINED and one.result.code == TOO_LATE for one in ours)

    payments = {one.result.rrn or "": held_for(one) for one in ours if not one.is_reversal}
    held = {rrn: one.held_minor for rrn, one in theirs.items() if one.entry.kind == "purchase" and one.held_minor}
    assert held == {rrn: minor for rrn, minor in payments.items() if minor}
    returns = {
        one.result.rrn: one.amount_minor for one in ours if one.is_reversal and one.phase is Phase.REVERSAL_APPROVED
    }
    refunded = {rrn: one.left_minor for rrn, one in theirs.items() if one.entry.kind == "refund" and one.left_minor}
    assert refunded == {rrn: minor for rrn, minor in returns.items() if rrn not in payments}
    assert [one for one in bank.violations if not one.endswith(tuple(tolerated) or ("\0",))] == []
