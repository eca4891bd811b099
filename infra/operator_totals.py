"""Counting the totals of the history anew: `python -m infra.operator rebuild-totals`."""

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.payment import OFFLINE_FOR
from chalicelib.domain.period import Period, business_day
from chalicelib.services.rebuild_totals import rebuild
from chalicelib.store import merchants, sequences
from chalicelib.store.table import BATCH, read_all


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Make `rebuild-totals` one of the operator's commands."""
    command = commands.add_parser("rebuild-totals", help="count the totals of the history anew and mend what differs")
    command.add_argument("--merchant", type=int, help="its ID; every merchant unless given")
    command.add_argument("--month", help="such as 2026-03; every month unless given")
    command.set_defaults(command=rebuild_totals)


def rebuild_totals(options: argparse.Namespace) -> None:
    """Say what was counted and mended; exit with 1 when counters were written to whenever they were looked at."""
    mended, moving = 0, 0
    for merchant in _merchants(options.merchant):
        for month in [options.month] if options.month else _months(merchant, datetime.now(UTC)):
            outcome = rebuild(merchant.id, month)
            for one in outcome.mended:
                print(f"{one.month}  {one.at}  {one.name}: was {one.kept}, is {one.counted}")
            mended, moving = mended + len(outcome.mended), moving + len(outcome.moving)
    print(f"{mended} counters mended.")
    if moving:
        sys.exit(f"{moving} more were being written to: count again.")


def _merchants(merchant_id: int | None) -> Iterator[Merchant]:
    ids = [merchant_id] if merchant_id is not None else range(1, sequences.last_id(merchants.TABLE) + 1)
    for start in range(0, len(ids), BATCH):
        yield from filter(None, read_all([merchants.key(number) for number in ids[start : start + BATCH]]))


def _months(merchant: Merchant, now: datetime) -> list[str]:
    """From the oldest offline payment the merchant can have until now."""
    first = business_day(merchant.created_at - OFFLINE_FOR - timedelta(days=1), merchant.gmt)
    return Period(first, business_day(now, merchant.gmt)).months
