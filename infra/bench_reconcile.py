"""The time and the reads of a reconciliation of a hundred thousand transactions of a day.

`python -m infra.bench_reconcile`, and a part of `make bench ARGS=reconcile`.
"""

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from chalicelib.domain.host_facts import HostFacts, MessageTrace, TerminalSnapshot
from chalicelib.domain.money import Currency
from chalicelib.domain.period import end_of_day
from chalicelib.domain.reconciliation import compare
from chalicelib.domain.transaction import AgentSnapshot, InputType, Phase, Result, Transaction
from chalicelib.services.identifiers import new_guid
from chalicelib.services.reconciliation import books_of
from chalicelib.store import merchants, sequences
from infra import engines
from infra.bulk_load import write_in_bulk
from infra.capacity_meter import measure_capacity
from infra.host_list import HEADER, read_list

SIZE = 100_000
MERCHANTS, AGENTS = 50, 4
GMT = 2
BEGIN = datetime(2026, 3, 14, tzinfo=UTC) - timedelta(hours=GMT)
TERMINAL = TerminalSnapshot("BENCHBANK000001", "Bench Store", "Cape Town", "ZA", "5411", "8")


def print_reconciliation() -> None:
    """Print what each part takes, on the DynamoDB Local that was selected before."""
    write_in_bulk(_payments())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "host.csv")
        path.write_text(_list(), encoding="utf-8")
        started = time.perf_counter()
        rows = read_list(str(path))
    listed = time.perf_counter()
    with measure_capacity() as meter:
        books = books_of("BENCH", BEGIN.date() + timedelta(days=1))
    booked = time.perf_counter()
    found = compare(books, rows, BEGIN.date() + timedelta(days=1))
    compared = time.perf_counter()
    print(f"\nReconciliation of {len(books):,} transactions and {len(rows):,} rows: {len(found)} differences")
    spent = f"{listed - started:.1f} s for the list, {booked - listed:.1f} s for the books"
    print(f"{spent}, {compared - booked:.1f} s for the comparison")
    print(f"{meter['calls']:,} store calls, {meter['RCU']:,.0f} RCU")


def _payments() -> Iterator[Transaction]:
    """Yield the payments of a day, of as many merchants and agents, each of about 2 KB."""
    ids = sequences.next_ids(merchants.TABLE, MERCHANTS)
    for index in range(SIZE):
        at = BEGIN + timedelta(days=1) / SIZE * index
        agent_id = 900_000_001 + index % (MERCHANTS * AGENTS)
        yield Transaction(
            id=new_guid(),
            client_id=ids[index % MERCHANTS],
            agent=AgentSnapshot(agent_id, "agent@bench.example", "Agent", "+27829876543"),
            terminal_id=1,
            terminal_name="BENCH001",
            phase=Phase.APPROVED,
            input_type=InputType.CHIP,
            acquirer="BENCH",
            currency=Currency("ZAR", "710", 2),
            amount_minor=1230,
            created_at=at,
            deadline=end_of_day(at, GMT),
            gmt=GMT,
            fingerprint="0" * 32,
            invoice=f"{index:012d}",
            raw_request="d" * 1200,
            result=Result(code=0, message="Approved", approval_code="123456", rrn=f"{index:012d}"),
            host=HostFacts(MessageTrace(index % 999_999 + 1, at), "12345678", TERMINAL, advice_stan=2),
        )


def _list() -> str:
    """Return the host's list of these payments."""
    day = BEGIN.date() + timedelta(days=1)
    rows = (f"{day},{n:012d},{n % 999_999 + 1:06d},BENCH001,purchase,12.30,ZAR,123456" for n in range(SIZE))
    return "\n".join((",".join(HEADER), *rows))


def main() -> None:
    """Print the figures, measured on a DynamoDB Local of their own."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        print_reconciliation()


if __name__ == "__main__":
    main()
