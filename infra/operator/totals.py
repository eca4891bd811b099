"""The command `python -m infra.operator rebuild-totals`: a merchant's totals counted again."""

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from chalicelib.domain.business_days import Period, business_day, days_of_month
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.payment import OFFLINE_FOR
from chalicelib.services import history
from chalicelib.services.rebuild_totals import rebuild
from chalicelib.store import merchants, sequences
from chalicelib.store.table import BATCH, read_all


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `rebuild-totals` to the operator's commands."""
    about = "count the totals of the history again from the transactions, and correct them"
    command = commands.add_parser("rebuild-totals", help=about)
    command.add_argument("--merchant", type=int, help="its ID; every merchant unless given")
    command.add_argument("--month", help="such as 2026-03; every month unless given")
    command.set_defaults(command=rebuild_totals_command)


def rebuild_totals_command(options: argparse.Namespace) -> None:
    """Print each counter that was corrected; exit with 1 if some changed while they were counted, again and again.

    Days that are over are rolled up afterwards, so that no list has to.
    """
    corrected, busy = 0, 0
    for merchant in _merchants(options.merchant):
        for month in [options.month] if options.month else _months_of(merchant, datetime.now(UTC)):
            outcome = rebuild(merchant.id, month)
            history.totals_of_merchant(merchant.id, days_of_month(month), datetime.now(UTC))
            for one in outcome.mended:
                print(f"{one.month}  {one.at}  {one.name}: was {one.stored}, is {one.counted}")
            corrected += len(outcome.mended)
            busy += len(outcome.moving)
    print(f"{corrected} counters corrected.")
    if busy:
        sys.exit(f"{busy} more were being written to: run the command again.")


def _merchants(merchant_id: int | None) -> Iterator[Merchant]:
    """Yield this merchant, or every merchant."""
    ids = [merchant_id] if merchant_id is not None else range(1, sequences.last_id(merchants.TABLE) + 1)
    for start in range(0, len(ids), BATCH):
        yield from filter(None, read_all([merchants.key(number) for number in ids[start : start + BATCH]]))


def _months_of(merchant: Merchant, now: datetime) -> list[str]:
    """Return the months from the oldest offline payment that the merchant can have until now."""
    first = business_day(merchant.created_at - OFFLINE_FOR - timedelta(days=1), merchant.gmt)
    return Period(first, business_day(now, merchant.gmt)).months
