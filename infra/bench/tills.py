"""Tills of one merchant that pay at once: which of their transactions would meet in an item, and how long they take.

DynamoDB Local never answers TransactionConflict, and carries out one transaction after the other. So conflicts are
counted by a model: a transaction lasts as long as it does alone, until its answer, and two meet when they overlap and
write the same item. DynamoDB would let one of them through and cancel the other, which is repeated with jitter.
"""

import itertools
import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from unittest import mock

from chalicelib.store import transactions
from chalicelib.store.table import Write, commit
from infra.bench.shop import Shop, create_shop
from infra.bench.table import Table

AT_ONCE, EACH = 64, 10  # tills, and payments of each
ALONE = 50  # payments that show how long one takes
LAST_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Sent:
    """A transaction as it was sent: the items it writes, and when it began and ended, in seconds."""

    items: frozenset[str]
    began: float
    ended: float


def tills_table() -> Table:
    """Return how often transactions of tills that pay at once meet, on the DynamoDB Local that was selected before."""
    shop = create_shop(AT_ONCE)
    seconds = statistics.median(one.ended - one.began for one in _pay_at_once(shop, {}, tills=1, each=ALONE))
    one_agent = replace(shop, agents=shop.agents[:1] * AT_ONCE)
    of_last_week = {"date": shop.now - LAST_WEEK}
    rows = []
    for name, shop_of_tills, changes in (
        ("cash", shop, {}),
        ("cash, taken offline last week", shop, of_last_week),
        ("cash, all signed in as one agent", one_agent, {}),
    ):
        sent = _pay_at_once(shop_of_tills, changes)
        met = _met([replace(one, began=one.ended - seconds) for one in sent])
        where = ", ".join(f"{item} {number}" for item, number in met.most_common()) or "-"
        times = sorted((one.ended - one.began) * 1000 for one in sent)
        p50, p95 = statistics.median(times), times[len(times) * 95 // 100]
        rows.append((name, str(len(sent)), str(met.total()), where, f"{p50:.0f}", f"{p95:.0f}"))
    columns = ("payments", f"pairs that meet, of {seconds * 1000:.0f} ms each", "in which item", "p50 ms", "p95 ms")
    return Table("tills", (f"{AT_ONCE} tills at once", *columns), rows)


def _pay_at_once(shop: Shop, changes: Mapping[str, Any], tills: int = AT_ONCE, each: int = EACH) -> list[Sent]:
    """Record payments from a thread for each till, which begin together."""
    sent: list[Sent] = []
    start = threading.Barrier(tills)

    def timed(*writes: Write) -> None:
        began = time.perf_counter()
        commit(*writes)
        sent.append(Sent(frozenset(map(_item_of, writes)), began, time.perf_counter()))

    def pay(number: int) -> None:
        of_till = replace(shop, agents=[shop.agents[number]], now=datetime.now(UTC))
        payments = list(of_till.payments(each, days=1))
        start.wait()
        for payment in payments:
            transactions.record(replace(payment, created_at=datetime.now(UTC), **changes))

    with mock.patch.object(transactions, "commit", timed), ThreadPoolExecutor(tills) as pool:
        for till in [pool.submit(partial(pay, number)) for number in range(tills)]:
            till.result()
    return sent


def _item_of(write: Write) -> str:
    key = write.parameters.get("Key") or write.parameters["Item"]
    return " ".join(str(key[name]) for name in ("month", "at", "id") if name in key)


def _met(sent: Iterable[Sent]) -> Counter[str]:
    """Count the pairs of transactions that overlapped in an item, by the kind of the item."""
    writers: defaultdict[str, list[Sent]] = defaultdict(list)
    for one in sent:
        for item in one.items:
            writers[item].append(one)
    met = Counter[str]()
    for item, of_item in writers.items():
        pairs = itertools.combinations(of_item, 2)
        kind = next((kind for kind in ("late#", "total#", "slots#") if kind in item), "another")
        met[kind.rstrip("#")] += sum(a.began < b.ended and b.began < a.ended for a, b in pairs)
    return +met
