"""The command `python -m infra.operator restore`: write back the damaged items of the stage's tables.

Copies of the tables, as they were at a time, stand next to them under other names. Each item of a copy is compared
with the item in its table. One that differs gets the whole copy, unless its version says that it was written since:
`records.difference` is the rule. Each write requires that the item is as it was compared. So the tables keep their
names, streams and keys, payments may come in meanwhile, and the command may be killed and run again. `recount` then
writes the values that follow from transactions. Decisions 54 and 62 have the reasons.
"""

import argparse
import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import TextIO

import boto3
from botocore.exceptions import ClientError

from chalicelib import clock
from chalicelib.aws.errors import RefusedError
from chalicelib.record import Record
from chalicelib.services import passwords
from chalicelib.settings import settings
from chalicelib.store import agents, events, merchants, sequences, transactions
from chalicelib.store.table import AlreadyExistsError, Item, Write, table_name, write_one
from infra.operator import items
from infra.operator.history_check import put_together
from infra.operator.losses import lost_objects, lost_without_entry
from infra.operator.receipt_counters import Given, given_numbers, raise_counters
from infra.operator.records import (
    CLASSES,
    GETS_THE_COPY,
    TTL,
    Difference,
    State,
    difference,
    is_of_merchant,
    to_write,
    wrong_attributes,
)
from infra.operator.recount import printed, recount

THREADS = 16  # parallel writes
KEPT_FOR = timedelta(days=35)  # that a table can be restored to
POLL = {"Delay": 20, "MaxAttempts": 24 * 180}  # seconds, polls: the copy of a large table takes hours


class Source(Record):
    """The copies: the beginning of their names, and their time. With `merchant`, the items of one merchant count."""

    copies: str
    at: datetime
    now: datetime
    merchant: int | None


def restore_command(options: argparse.Namespace) -> None:
    """Compare, ask, and write back. Exit with 1 if nothing was written, or if something is left."""
    at, now = _moment(options.at, has_copies=bool(options.copies)), clock.now()
    chosen = _chosen(options.table)
    copies = options.copies or f"{settings().table_prefix}copy-{at:%Y%m%dT%H%M%SZ}-"
    if copies == settings().table_prefix:
        sys.exit(f"{copies}… are the tables of the stage itself, not copies.")
    source = Source(copies, at, now, options.merchant)
    report = Path(f"restore-{at:%Y%m%dT%H%M%SZ}.txt")
    try:
        if options.delete_copies:
            _delete_copies(copies)
            return
        with _also_in(report):
            left = _restore(chosen, source, options)
    except ClientError as error:
        sys.exit(f"AWS refused: {error.response['Error'].get('Message') or error}")
    except RefusedError as error:
        sys.exit(f"The store refused: {error.code}. Run the command again.")
    except AlreadyExistsError:
        sys.exit("Another run of this command writes the same items. Wait for its end, and run this one again.")
    print(f"The lines above are also in {report}. Keep it: later runs name a lost payment with less, or not at all.")
    print(f"The copies stay: tables {copies}…. The option --delete-copies deletes them when all is well.")
    if left:
        sys.exit(f"Left, as the lines above say: {left}.")


def _restore(chosen: Sequence[str], source: Source, options: argparse.Namespace) -> int:
    """Compare, ask, and write back. Return the number of lines about things that are left."""
    _check_tables(chosen)
    young = _younger(chosen, source) if options.copies is None else {}
    chosen = [table for table in chosen if table not in young]
    copied = [table for table in chosen if table in CLASSES]
    left = printed(young.values())
    if not chosen:
        sys.exit("Nothing was changed: there is nothing to compare with.")
    _make_copies(copied, source, may_make=options.copies is None)
    _check_merchant(source)
    for table in copied:
        _compare(table, source)
    if {*chosen} - {*CLASSES}:
        print("history: not compared. Where it differs from the transactions, it will be written again.")
    if not (options.yes or _confirmed()):
        sys.exit("Nothing was changed. The option --yes writes.")
    left += [line for table in copied for line in _write_back(table, source)]
    left += recount(chosen, source.copies, source.merchant, source.now)
    left += printed(lost_objects(chosen, source.copies, source.at, source.merchant))
    left += printed(lost_without_entry(chosen, source.merchant, left))
    return len(left)


def _chosen(table: str | None) -> list[str]:
    """Return the tables to restore, in the order of restoring: the records that decide about others come first."""
    tables = items.definitions()
    if table and table not in tables:
        sys.exit(f"There is no table {table}: there are {', '.join(sorted(tables))}.")
    return [table] if table else sorted(tables, key=lambda one: [*CLASSES, one].index(one))


def _check_tables(chosen: Sequence[str]) -> None:
    """Exit if a table is dropped: AWS restores it."""
    dropped = [table for table in chosen if not _exists(table_name(table))]
    if len(dropped) == len(items.definitions()):
        sys.exit(f"There is no table {settings().table_prefix}…: all tables are dropped.")
    if dropped:
        sys.exit(f"Dropped: {', '.join(dropped)}. See `A table was dropped` in docs/operator.md, then run this again.")


def _check_merchant(source: Source) -> None:
    """Exit if the merchant is neither stored nor in the copies."""
    for name in (table_name(merchants.TABLE), source.copies + merchants.TABLE):
        known = (int(item["id"]["N"]) for page in items.pages(name) for item in page) if _exists(name) else ()
        if source.merchant is None or source.merchant in known:
            return
    sys.exit(f"There is no merchant {source.merchant}.")


class _Both(io.TextIOBase):
    """Standard output, and a file."""

    def __init__(self, output: TextIO, file: TextIO) -> None:
        self._files = output, file

    def write(self, text: str) -> int:
        for file in self._files:
            file.write(text)
        return len(text)


@contextmanager
def _also_in(path: Path) -> Iterator[None]:
    """Write the output of the block into a file as well, after the output of earlier runs."""
    by_line = 1  # each line is written at once, because the run may be killed
    with path.open("a", by_line, encoding="utf-8") as file, redirect_stdout(_Both(sys.stdout, file)):
        yield


def _moment(text: str, *, has_copies: bool) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        sys.exit("The time must be like 2026-03-14T09:00:00Z.")
    if at.tzinfo is None or at > clock.now():
        sys.exit("The time must have its zone and must be over, such as 2026-03-14T09:00:00Z.")
    if clock.now() - at > KEPT_FOR and not has_copies:
        sys.exit(f"The time must be within the last {KEPT_FOR.days} days: DynamoDB keeps no older state.")
    return at.astimezone(UTC)


def _confirmed() -> bool:
    return sys.stdin.isatty() and input("Write this? (yes/no) ") == "yes"


# The copies


def _younger(tables: Sequence[str], source: Source) -> dict[str, str]:
    """Return a line for each table that DynamoDB does not have as it was at that time.

    Exit with one line if the time is too new: DynamoDB can restore a table some five minutes later.
    """
    client, lines = boto3.client("dynamodb"), dict[str, str]()
    for table in tables:
        if table not in CLASSES or _exists(source.copies + table):
            continue
        try:
            found = client.describe_continuous_backups(TableName=table_name(table))["ContinuousBackupsDescription"]
        except ClientError as error:  # DynamoDB Local restores nothing
            if error.response["Error"]["Code"] != "UnknownOperationException":
                raise
            return {}
        times = found.get("PointInTimeRecoveryDescription", {})
        first, last = times.get("EarliestRestorableDateTime"), times.get("LatestRestorableDateTime")
        if last and last < source.at:
            minutes = ceil((source.at - last) / timedelta(minutes=1))
            sys.exit(
                f"DynamoDB restores {table} up to {_shown(last)} now, and follows some five minutes behind."
                f" Nothing was changed: run this again in {minutes} min, or with an earlier time."
            )
        if first and first > source.at:
            lines[table] = f"{table}: not compared: DynamoDB can restore it from {_shown(first)} on only"
    return lines


def _shown(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _make_copies(tables: Sequence[str], source: Source, *, may_make: bool) -> None:
    """Make the copies that no earlier run has made, and wait for all."""
    client = boto3.client("dynamodb")
    for table in tables:
        name, copy = table_name(table), source.copies + table
        if _exists(copy):
            continue
        if not may_make:
            sys.exit(f"There is no table {copy}.")
        try:
            client.restore_table_to_point_in_time(SourceTableName=name, TargetTableName=copy, RestoreDateTime=source.at)
        except ClientError as error:  # DynamoDB Local restores nothing
            if error.response["Error"]["Code"] != "UnknownOperationException":
                raise
            print(f"{table}: this engine knows no earlier state. The copy is the table as it is now.")
            _copy(table, copy)
    for table in tables:
        client.get_waiter("table_exists").wait(TableName=source.copies + table, WaiterConfig=POLL)  # type: ignore[arg-type]


def _exists(name: str) -> bool:
    try:
        boto3.client("dynamodb").describe_table(TableName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return False
    return True


def _copy(table: str, copy: str) -> None:
    """Copy a table as it is, item by item: for a rehearsal on an engine that restores nothing."""
    arguments = {**items.definitions()[table], "TableName": copy, "DeletionProtectionEnabled": False}
    arguments.pop("StreamSpecification", None)
    boto3.client("dynamodb").create_table(**arguments)
    for page in items.pages(table_name(table)):
        for item in page:
            write_one(Write("Put", {"TableName": copy, "Item": item}))


def _delete_copies(copies: str) -> None:
    """Delete the copies that this command made for a time."""
    client, deleted = boto3.client("dynamodb"), 0
    for table in CLASSES:
        if _exists(copies + table):
            client.delete_table(TableName=copies + table)
            deleted += 1
    print(f"Copies {copies}… deleted: {deleted}.")


# The comparison


def _compare(table: str, source: Source) -> None:
    """Print the number of compared items and a line for each that differs."""
    states, compared = Counter[State](), 0
    for wanted, found in _differences(table, source):
        compared += wanted
        states.update(one.state for one in found)
        printed(_line(table, one) for one in found)
    print(f"{table}: {compared} compared; {_counts(states) or 'none differs'}.")


def _differences(table: str, source: Source) -> Iterator[tuple[int, list[Difference]]]:
    """Yield for each page of the copy the number of its wanted items, and those that differ."""
    for page in items.pages(source.copies + table):
        wanted = [item for item in page if _is_wanted(table, item, source)]
        stored = items.items_at(table, wanted)
        pairs = ((item, stored.get(items.name_of(table, item))) for item in wanted)
        yield len(wanted), [one for pair in pairs if (one := difference(table, *pair, source.at))]


def _is_wanted(table: str, item: Item, source: Source) -> bool:
    """Return whether to compare an item. An expired one is not missing: the store deletes it."""
    if TTL in item and float(item[TTL].get("N", 0)) <= source.now.timestamp():
        return False
    return source.merchant is None or is_of_merchant(table, item, source.merchant)


def _write_back(table: str, source: Source) -> list[str]:
    """Write the damaged items of a table back, and return a line for each that is left."""
    if table == transactions.TABLE:
        printed(put_together(source.copies + table, source.merchant))
    given = given_numbers() if table == sequences.TABLE else None
    left, written = [], Counter[State]()
    with ThreadPoolExecutor(THREADS) as pool:
        for _, found in _differences(table, source):
            damaged = [one for one in found if one.state in GETS_THE_COPY]
            are_written = pool.map(lambda one: _is_put(table, one, source, given), damaged)
            for one, is_written in zip(damaged, are_written, strict=True):
                if is_written:
                    written[one.state] += 1
                else:
                    left.append(f"{items.name_of(table, one.copied)}: changed meanwhile: run the command again")
            if table == agents.LOGINS:
                left += [line for one in found if (line := _credential_line(one))]
    print(f"{table}: {_counts(written) or 'none'} written back.")
    if given:
        left += raise_counters(given, source.merchant)
    return printed([*left, *_unreadable(table, source)])


def _is_put(table: str, found: Difference, source: Source, given: Given | None) -> bool:
    """Write an item; return False if another writer has changed it since it was compared.

    A missing event is written in two steps. The filter of its stream passes a new item with a kind, and nothing else,
    so no receiver is called again.
    """
    item, present = to_write(table, found, source.at, source.now), found.present
    if given:
        item = given.written_back(item, present)
    try:
        if table == events.TABLE and "kind" in item and present is None:
            first = {name: value for name, value in item.items() if name != "kind"}
            write_one(items.put(table, first, None))
            present = first
        write_one(items.put(table, item, present))
    except AlreadyExistsError:
        return False
    return True


def _unreadable(table: str, source: Source) -> Iterator[str]:
    """Yield a line for each unreadable item that is left in a table."""
    for page in items.pages(table_name(table)):
        for item in page:
            if source.merchant is not None and not is_of_merchant(table, item, source.merchant):
                continue
            if wrong := wrong_attributes(table, item):
                yield f"{items.name_of(table, item)}: unreadable, no copy is readable: {', '.join(wrong)}"


def _credential_line(found: Difference) -> str | None:
    """Return a line for a login with another password or key, though no administrator changed them since the copy."""
    names = [name for name in ("password_hash", "key_digest") if name in found.names]
    if found.state is not State.NEWER or not names or "credential_version" in found.names or _is_rehashed(found):
        return None
    who = found.copied["agent_id"]["N"]
    return f"agent {who}: {' and '.join(names)} changed without an administrator: set its password and its key again."


def _is_rehashed(found: Difference) -> bool:
    """Return whether a sign-in renewed the hash: it has the parameters of this release, and the copy has others."""
    now, then = ((item or {}).get("password_hash", {}).get("S", "") for item in (found.present, found.copied))
    if "key_digest" in found.names or passwords.is_outdated(now):
        return False
    return bool(now.split("$")[:4] != then.split("$")[:4])


# The output


def _counts(numbers: Counter[State]) -> str:
    return ", ".join(f"{number} {state}" for state, number in sorted(numbers.items()))


def _line(table: str, found: Difference) -> str:
    names = f": {', '.join(found.names)}" if found.names else ""
    return f"{table} {items.name_of(table, found.copied)}: {found.state}{names}"
