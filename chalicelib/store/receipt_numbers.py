"""Receipt numbers, such as 260314.17.42: the merchant's day, the agent, and its count of transactions of that day.

The day is that of the recording, so no number of a past day is ever given.

The write that stores a payment or reversal also counts up, on the condition that no other write did meanwhile. So an
agent's numbers at a merchant have no gap and no repeat, after any race or crash. The same item has the cash of the
agent that is in no closed drawer, so cash costs no further write. Offline sales have the numbers of their tills: only
their cash is counted.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from chalicelib.domain.agent import NO_CLIENT, Caller
from chalicelib.domain.history_entry import GIVEN, MONEY, MOVED
from chalicelib.domain.transaction import Transaction, receipt_number
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, put_new, replace_record, update

TABLE, OFFLINE = "drawers", "sequences"
NUMBERS_KEPT_FOR = timedelta(days=366)  # a till reports an offline sale within a year
ZONES = (timedelta(hours=-12), timedelta(hours=14))  # the first and the last zone of the world
MONTH = "month#"  # before the month and the agent


@dataclass(frozen=True)
class MonthNumbers:
    """The last receipt number of an agent on each day of a month, and its cash that is in no closed drawer.

    The names of its cash are those of `domain.cash` without the month: m142ZAR.
    """

    client_id: int
    place: str
    last: Mapping[str, int] = field(default_factory=dict)  # by day of the month: "14"
    cash: Mapping[str, int] = field(default_factory=dict)
    version: int = 1


class NumberTakenError(ChangedMeanwhileError):
    """Another transaction of the agent took the number, or moved cash."""


def keys(caller: Caller, now: datetime) -> list[Key[MonthNumbers]]:
    """Return the keys of a caller's numbers today: two while a new month begins in the world's zones.

    The numbers of a system user depend on the merchant of the payment, so they are read when it is known.
    """
    if caller.client_id == NO_CLIENT:
        return []
    months = {f"{day:%Y-%m}": day for day in ((now + zone).date() for zone in ZONES)}
    return [key(caller.client_id, caller.agent_id, day) for day in months.values()]


def key(client_id: int, agent_id: int, day: date) -> Key[MonthNumbers]:
    """Return the key of an agent's numbers at a merchant in the month of a day. A system user has some at each."""
    return key_in(client_id, agent_id, f"{day:%Y-%m}")


def key_in(client_id: int, agent_id: int, month: str) -> Key[MonthNumbers]:
    """Return the key of an agent's numbers in a month (2026-03)."""
    return Key(TABLE, MonthNumbers, {"client_id": client_id, "place": f"{MONTH}{month}#{agent_id}"})


def key_of(transaction: Transaction) -> Key[MonthNumbers]:
    """Return the key of the numbers among which a transaction counts: those of the day on which it was recorded."""
    return key(transaction.client_id, transaction.agent.id, transaction.recorded_on)


def number(transaction: Transaction, numbers: MonthNumbers | None) -> tuple[Transaction, Write]:
    """Return a new transaction with the next receipt number of its agent, and the write that counts it.

    `numbers` are the agent's numbers as they were read (None: there are none yet). The write raises NumberTakenError
    when another transaction changed them meanwhile.
    """
    day = transaction.recorded_on
    read = numbers or _none_of(key_of(transaction))
    next_one = read.last.get(f"{day:%d}", 0) + 1
    numbered = replace(transaction, invoice=receipt_number(day, transaction.agent.id, next_one))
    counted = replace(with_cash_of(transaction, read), last={**read.last, f"{day:%d}": next_one})
    return numbered, store(counted, is_new=numbers is None)


def count_cash(sale: Transaction, numbers: MonthNumbers | None) -> Write:
    """Return the write that counts the cash of an offline sale with the number of its till, otherwise like `number`."""
    return store(with_cash_of(sale, numbers or _none_of(key_of(sale))), is_new=numbers is None)


def with_cash_of(transaction: Transaction, numbers: MonthNumbers) -> MonthNumbers:
    """Return the numbers of a month with the cash of a transaction."""
    if not (minor := transaction.cash_minor):
        return numbers
    when, counted = f"{transaction.recorded_on:%d}{transaction.currency.unit}", Counter(numbers.cash)
    counted.update({f"{MONEY}{when}": minor, f"{MOVED}{when}": 1, f"{GIVEN}{when}": max(-minor, 0)})
    return replace(numbers, cash={name: number for name, number in counted.items() if number})


def _none_of(own: Key[MonthNumbers]) -> MonthNumbers:
    return MonthNumbers(**own.key)


def store(numbers: MonthNumbers, *, is_new: bool = False) -> Write:
    """Return the write of changed numbers, which raises NumberTakenError unless they are those that were read."""
    if is_new:
        return put_new(TABLE, numbers, "place", NumberTakenError())
    own = Key(TABLE, MonthNumbers, {"client_id": numbers.client_id, "place": numbers.place})
    return replace_record(own, numbers, NumberTakenError())


@dataclass(frozen=True)
class NumberOfOfflineSale:
    """The transaction that has a till's number and queue ID. Its name is a digest, because both may name a person."""

    name: str
    sale: str


class SoldTwiceError(Exception):
    """Another offline sale of the merchant has the same number and queue ID."""


def register_offline_sale(sale: Transaction) -> list[Write]:
    """Register the till's number and queue ID of an offline sale, if it has both.

    The transaction raises SoldTwiceError when another sale has them, but not when the same sale is stored again.
    """
    queue_id = sale.particulars.offline_queue_id
    if queue_id is None or not sale.invoice:
        return []
    digest = hashlib.sha256(f"{sale.invoice}\n{queue_id}".encode()).hexdigest()
    expires_at = int((sale.created_at + NUMBERS_KEPT_FOR).timestamp())
    write = update(
        Key(OFFLINE, NumberOfOfflineSale, {"name": f"offline#{sale.client_id}#{digest}"}),
        {"sale": sale.id, "expires_at": expires_at},
        condition="attribute_not_exists(#sale) OR #sale = :sale",
        otherwise=SoldTwiceError(),
    )
    return [write]
