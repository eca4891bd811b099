"""Receipt numbers, such as 260314.17.42: the merchant's day, the agent, and its count of transactions of that day.

The day is that of the recording, so no number of a past day is ever given.

The write that stores a payment or reversal also counts up, on the condition that no other write did meanwhile. So an
agent's numbers at a merchant have no gap and no repeat, after any race or crash.
Offline sales have the numbers of their tills; one without a number gets the next one.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from chalicelib.domain.agent import NO_CLIENT, Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.transaction import Transaction, receipt_number
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, Write, update

TABLE = "sequences"
NUMBERS_KEPT_FOR = timedelta(days=366)  # a till reports an offline sale within a year
ZONES = (timedelta(hours=-12), timedelta(hours=14))  # the first and the last zone of the world


@dataclass(frozen=True)
class MonthNumbers:
    """The last receipt number of an agent on each day of a month that has one."""

    name: str
    last: Mapping[str, int] = field(default_factory=dict)  # by day of the month: "14"


class NumberTakenError(ChangedMeanwhileError):
    """Another transaction of the agent took the number."""


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
    return Key(TABLE, MonthNumbers, {"name": f"receipts#{client_id}#{agent_id}#{day:%Y-%m}"})


def key_of(transaction: Transaction) -> Key[MonthNumbers]:
    """Return the key of the numbers among which a transaction counts."""
    day = business_day(transaction.created_at, transaction.gmt)
    return key(transaction.client_id, transaction.agent.id, day)


def number(transaction: Transaction, numbers: MonthNumbers | None) -> tuple[Transaction, Write]:
    """Return a new transaction with the next receipt number of its agent, and the write that counts it.

    `numbers` are the agent's numbers as they were read (None: there are none yet). The write raises NumberTakenError
    when another transaction took the number meanwhile.
    """
    day = business_day(transaction.created_at, transaction.gmt)
    next_one = (numbers.last if numbers else {}).get(f"{day:%d}", 0) + 1
    numbered = replace(transaction, invoice=receipt_number(day, transaction.agent.id, next_one))
    own = key(transaction.client_id, transaction.agent.id, day)
    return numbered, _count_up(own, numbers, {f"{day:%d}": next_one})


def _count_up(own: Key[MonthNumbers], numbers: MonthNumbers | None, today: Mapping[str, int]) -> Write:
    """Return the write that stores the day's new last number if the month's numbers are still those that were read."""
    taken = NumberTakenError()
    if numbers is None:
        return update(own, {"last": today}, condition="attribute_not_exists(#last)", otherwise=taken)
    last, read = {"last": {**numbers.last, **today}}, {"read": numbers.last}
    return update(own, last, condition="#last = :read", compared=read, otherwise=taken)


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
        Key(TABLE, NumberOfOfflineSale, {"name": f"offline#{sale.client_id}#{digest}"}),
        {"sale": sale.id, "expires_at": expires_at},
        condition="attribute_not_exists(#sale) OR #sale = :sale",
        otherwise=SoldTwiceError(),
    )
    return [write]
