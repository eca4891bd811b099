"""Receipt numbers, such as 260314.17.42: the merchant's day, the agent, and its count of transactions of that day.

The write that stores a payment or reversal also counts up, on the condition that no other write did meanwhile. So an
agent's numbers at a merchant have no gap and no repeat, after any race or crash.
"""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import date, datetime, timedelta

from chalicelib.domain.agent import NO_CLIENT, Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.transaction import Transaction, receipt_number
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record
from chalicelib.store import retries
from chalicelib.store.table import Key, Write, read, update

TABLE = "sequences"
ZONES = (timedelta(hours=-12), timedelta(hours=14))  # the first and the last zone of the world
REPEATED_FOR = 5  # seconds, while other requests take the agent's numbers; the rest of GATEWAY_SECONDS is for others
LONGEST_PAUSE = 0.2  # seconds between two attempts


class MonthNumbers(Record):
    """The last receipt number of an agent on each day of a month that has one."""

    name: str
    last: Mapping[str, int] = field(default_factory=dict)  # by day of the month: "14"


class NumberTakenError(Exception):
    """Another transaction of the agent took the number."""


Found = Mapping[str, MonthNumbers | None]  # by the name of the key
Store = Callable[..., None]  # of the transaction and of the write that counts its number, if it gets one


def keys(caller: Caller, now: datetime) -> dict[str, Key[MonthNumbers]]:
    """Return the keys of a caller's numbers today, by name: two while a new month begins in the world's zones.

    The numbers of a system user depend on the merchant of the payment, so they are read when it is known.
    """
    if caller.client_id == NO_CLIENT:
        return {}
    found = [key(caller.client_id, caller.agent_id, (now + zone).date()) for zone in ZONES]
    return {str(one.key["name"]): one for one in found}


def key(client_id: int, agent_id: int, day: date) -> Key[MonthNumbers]:
    """Return the key of an agent's numbers at a merchant in the month of a day. A system user has some at each."""
    return Key(TABLE, MonthNumbers, {"name": f"receipts#{client_id}#{agent_id}#{day:%Y-%m}"})


def store_numbered(transaction: Transaction, found: Found, store: Store) -> Transaction:
    """Store a new transaction under the next receipt number of its agent, and return it with the number.

    `store` stores the transaction and the given write, both or neither. `found` are the agent's numbers as they were
    read with the request. When another request takes the number first, read again and repeat. Raise 903 when others
    take the numbers for five seconds. An offline payment keeps the number of its till and takes none.
    """
    if transaction.invoice:
        store(transaction)
        return transaction
    day = business_day(transaction.counts_at, transaction.gmt)
    own = key(transaction.client_id, transaction.agent.id, day)
    name = str(own.key["name"])
    numbers = found[name] if name in found else read(own)
    until = time.monotonic() + REPEATED_FOR
    longest = 0.01
    while True:
        number = (numbers.last if numbers else {}).get(f"{day:%d}", 0) + 1
        numbered = replace(transaction, invoice=receipt_number(day, transaction.agent.id, number))
        try:
            store(numbered, _count_up(own, numbers, {f"{day:%d}": number}))
        except NumberTakenError:
            if time.monotonic() > until:
                raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from None
        else:
            return numbered
        pause = random.uniform(0, longest)  # noqa: S311  jitter, not a secret
        retries.spend(pause)
        time.sleep(pause)
        longest = min(2 * longest, LONGEST_PAUSE)
        numbers = read(own)


def _count_up(own: Key[MonthNumbers], numbers: MonthNumbers | None, today: Mapping[str, int]) -> Write:
    """Return the write that stores the day's new last number if the month's numbers are still those that were read."""
    if numbers is None:
        values, condition = {"last": today}, "attribute_not_exists(#last)"
    else:
        values, condition = {"last": {**numbers.last, **today}, "read": numbers.last}, "#last = :read"
    return update(own, "SET #last = :last", values, condition=condition, otherwise=NumberTakenError())
