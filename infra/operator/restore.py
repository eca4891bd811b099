"""The command `python -m infra.operator restore`: write back the damaged items of the stage's tables.

Copies of the tables, as they were at a time, stand next to them under other names. Each item of a copy is compared
with the item in its table. A missing, unreadable or older item is written back, on the condition that it is as it was
compared. So the tables keep their names, streams and keys, payments may come in meanwhile, and the command may be
killed and run again. `recount` then corrects totals and other derived values. Decision 54 has the reasons.
"""

import argparse
import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import boto3
from botocore.exceptions import ClientError

from chalicelib import clock
from chalicelib.aws.errors import RefusedError
from chalicelib.record import Record
from chalicelib.settings import settings
from chalicelib.store import audit, events, history, merchants, transactions
from chalicelib.store.table import AlreadyExistsError, Item, Key, Write, table_name, update, write_one
from infra.operator import items
from infra.operator.damage import (
    RULES,
    STAYS,
    TTL,
    Damage,
    adapted,
    damage_of,
    is_deleted_since,
    is_of_merchant,
    is_readable,
    repaired,
)
from infra.operator.losses import OBJECTS, lost_objects, lost_without_entry
from infra.operator.recount import printed, recount
from infra.stack import resources

THREADS = 16  # parallel writes
SHOWN = 20  # lines of one kind
KEPT_FOR = timedelta(days=35)  # that a table can be restored to
POLL = {"Delay": 20, "MaxAttempts": 24 * 180}  # seconds, polls: the copy of a large table takes hours
SOON = {"Delay": 2, "MaxAttempts": 300}


class Source(Record):
    """The copies: the beginning of their names, and their time. With `merchant`, the items of one merchant count."""

    copies: str
    at: datetime
    now: datetime
    merchant: int | None


@dataclass
class Found:
    """The damaged items of a table by their damage, those that were written, and a line for each that stays."""

    table: str
    compared: int = 0
    damaged: Counter[Damage] = field(default_factory=Counter)
    written: Counter[Damage] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.table}: {self.compared} compared; {_counts(self.damaged) or 'none damaged'}."


class _Repair(NamedTuple):
    damage: Damage
    copied: Item
    present: Item | None
    item: Item  # to write


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
    copied = [table for table in chosen if table in RULES]
    dropped = _dropped(chosen)
    _make_copies(copied, source, may_make=options.copies is None)
    _check_merchant(source)
    for table in copied:
        _print(_compared(table, source))
    _print_also(chosen, dropped)
    if not (options.yes or _confirmed()):
        sys.exit("Nothing was changed. The option --yes writes.")
    _create_dropped(chosen)
    left = _print_unnamed(chosen, source.at)
    left += [line for table in copied for line in _restored(table, source)]
    left += recount(chosen, source.copies, source.merchant, source.now)
    left += printed(lost_objects(chosen, source.at, source.merchant))
    left += printed(lost_without_entry(chosen, source.merchant, left))
    return len(left)


def _chosen(table: str | None) -> list[str]:
    """Return the tables to restore, in the order of the rules: the records that decide about others come first."""
    tables = items.definitions()
    if table and table not in tables:
        sys.exit(f"There is no table {table}: there are {', '.join(sorted(tables))}.")
    return [table] if table else sorted(tables, key=lambda one: [*RULES, one].index(one))


def _dropped(chosen: Sequence[str]) -> list[str]:
    """Return the dropped tables among those chosen. Exit if the history cannot be written from the transactions."""
    missing = [table for table, arguments in items.definitions().items() if not _exists(arguments["TableName"])]
    if len(missing) == len(items.definitions()):
        print(f"There is no table {settings().table_prefix}…: if that surprises you, TABLE_PREFIX is wrong.")
    if transactions.TABLE in missing and transactions.TABLE not in chosen:
        sys.exit("The table transactions is dropped. Restore it first, or all tables at once.")
    return [table for table in missing if table in chosen]


def _check_merchant(source: Source) -> None:
    """Exit if the merchant is neither stored nor in the copies."""
    for name in (table_name(merchants.TABLE), source.copies + merchants.TABLE):
        known = (int(item["id"]["N"]) for page in items.pages(name) for item in page) if _exists(name) else ()
        if source.merchant is None or source.merchant in known:
            return
    sys.exit(f"There is no merchant {source.merchant}.")


def _print_unnamed(chosen: Sequence[str], at: datetime) -> list[str]:
    """Print and return a line for each table that would name the losses since the copy, and is younger than it."""
    since = f"since {at:%Y-%m-%d %H:%M} may be lost without a line"
    lines = []
    if transactions.TABLE in chosen and _is_younger(history.TABLE, at):
        lines.append(f"history: it was dropped. Payments {since}: ask the merchants.")
    if {*OBJECTS.values()} & {*chosen} and _is_younger(audit.TABLE, at):
        lines.append(f"audit: it was dropped. Merchants, agents, terminals and webhooks made {since}.")
    return printed(lines)


def _is_younger(table: str, at: datetime) -> bool:
    """Return whether a table was created after the time: also by a run of this command that was killed."""
    if not _exists(table_name(table)):
        return True
    created = boto3.client("dynamodb").describe_table(TableName=table_name(table))["Table"]["CreationDateTime"]
    return created > at


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


def _make_copies(tables: Sequence[str], source: Source, *, may_make: bool) -> None:
    """Make the copies that no earlier run has made, and wait for all.

    A table is restored to the time. A dropped table has only backups; DynamoDB makes one when it drops the table.
    """
    client = boto3.client("dynamodb")
    for table in tables:
        name, copy = table_name(table), source.copies + table
        if _exists(copy):
            continue
        if not may_make:
            sys.exit(f"There is no table {copy}.")
        if _exists(name):
            try:
                client.restore_table_to_point_in_time(
                    SourceTableName=name, TargetTableName=copy, RestoreDateTime=source.at
                )
            except ClientError as error:
                if not _is_unknown(error):
                    raise
                print(f"{table}: this engine knows no earlier state. The copy is the table as it is now.")
                _copy(table, copy)
        else:
            try:
                backup = _newest_backup(name)
            except ClientError as error:
                if not _is_unknown(error):
                    raise
                sys.exit(f"The table {name} is dropped, and this engine has no backups: name copies by --copies.")
            client.restore_table_from_backup(TargetTableName=copy, BackupArn=backup["BackupArn"])
            print(f"{table}: dropped. Its copy is the backup of {backup['BackupCreationDateTime']:%Y-%m-%d %H:%M:%S}.")
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


def _newest_backup(name: str) -> Any:
    listed = boto3.client("dynamodb").list_backups(TableName=name, BackupType="ALL")["BackupSummaries"]
    own = [one for one in listed if one.get("BackupType") != "AWS_BACKUP"]
    if not own:
        sys.exit(f"The table {name} is dropped and has no backup.")
    return max(own, key=lambda one: one["BackupCreationDateTime"])


def _create_dropped(tables: Sequence[str]) -> None:
    """Create the dropped tables as the template does. A run that was killed may have left some settings to do."""
    client, expiring = boto3.client("dynamodb"), resources.ttl_specifications(items.stack())
    key: Any = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": settings().key_id}
    for table in tables:
        arguments = items.definitions()[table]
        name = arguments["TableName"]
        if not _exists(name):
            client.create_table(**arguments, SSESpecification=key)
            advice = " Its stream is new: connect its function." if "StreamSpecification" in arguments else ""
            print(f"{table}: created again.{advice}")
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig=SOON)  # type: ignore[arg-type]
        if specification := expiring.get(name):
            found = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
            if found["TimeToLiveStatus"] == "DISABLED":
                client.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)  # type: ignore[arg-type]
        enabled: Any = {"PointInTimeRecoveryEnabled": True}
        try:
            client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=enabled)
        except ClientError as error:
            if not _is_unknown(error):
                raise


def _is_unknown(error: ClientError) -> bool:
    """Return whether the engine does not know the operation: DynamoDB Local restores nothing."""
    return error.response["Error"]["Code"] == "UnknownOperationException"


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
    for table in RULES:
        if _exists(copies + table):
            client.delete_table(TableName=copies + table)
            deleted += 1
    print(f"Copies {copies}… deleted: {deleted}.")


# The comparison


def _compared(table: str, source: Source, *, writes: bool = False) -> Found:
    """Compare a table with its copy, page by page; with `writes`, write the damaged items back."""
    found = Found(table)
    with ThreadPoolExecutor(THREADS) as pool:
        for page in items.pages(source.copies + table):
            wanted = [item for item in page if _is_wanted(table, item, source)]
            found.compared += len(wanted)
            repairs = list(_repairs(table, wanted, source))
            found.damaged.update(one.damage for one in repairs)
            found.left += [_line(table, one.copied, one.damage) for one in repairs if one.damage in STAYS]
            if not writes:
                continue
            todo = [one for one in repairs if one.damage not in STAYS]
            for one, is_written in zip(todo, pool.map(lambda one: _write_back(table, one, source), todo), strict=True):
                if is_written:
                    found.written[one.damage] += 1
                else:
                    found.left.append(_line(table, one.copied, "changed meanwhile"))
    return found


def _is_wanted(table: str, item: Item, source: Source) -> bool:
    """Return whether to compare an item. An expired one is not missing: the store deletes it."""
    if TTL in item and int(item[TTL].get("N", 0)) <= source.now.timestamp():
        return False
    return source.merchant is None or is_of_merchant(table, item, source.merchant)


def _repairs(table: str, wanted: Sequence[Item], source: Source) -> Iterator[_Repair]:
    stored = items.items_at(table, wanted)
    for item in wanted:
        present = stored.get(items.name_of(table, item))
        damage = damage_of(table, item, present)
        if damage is Damage.MISSING and is_deleted_since(table, item, source.at):
            damage = Damage.DELETED
        if damage:
            yield _Repair(damage, item, present, repaired(table, item, present, damage))


def _write_back(table: str, repair: _Repair, source: Source) -> bool:
    """Write an item back; return False if another writer has changed it since it was compared.

    A missing event is written in two steps. The filter of its stream passes a new item with a kind, and nothing else,
    so no receiver is called again.
    """
    item = adapted(table, repair.item, source.at, source.now)
    is_new_event = table == events.TABLE and "kind" in item and repair.present is None
    first = {name: value for name, value in item.items() if name != "kind"} if is_new_event else item
    try:
        write_one(items.put(table, first, repair.present))
        if is_new_event:
            key = Key(table, object, {name: value["S"] for name, value in items.key_of(table, item).items()})
            condition = "attribute_exists(#place) AND attribute_not_exists(#kind)"
            write_one(update(key, "SET #kind = :kind", {"kind": item["kind"]["S"]}, condition=condition))
    except AlreadyExistsError:
        return False
    return True


def _restored(table: str, source: Source) -> list[str]:
    """Write the damaged items of a table back, print it, and return a line for each that is left."""
    found = _compared(table, source, writes=True)
    print(f"{table}: {_counts(found.written) or 'none'} written back.")
    unreadable = [
        _line(table, item, "unreadable, and not in the copy")
        for page in items.pages(table_name(table))
        for item in page
        if not is_readable(table, item) and (source.merchant is None or is_of_merchant(table, item, source.merchant))
    ]
    left = [line for line in found.left if not line.endswith(Damage.NO_COPY)] + unreadable
    _print_lines(left)
    return [line for line in left if not line.endswith(Damage.DELETED)]


# The output


def _counts(numbers: Counter[Damage]) -> str:
    return ", ".join(f"{number} {damage}" for damage, number in sorted(numbers.items()))


def _print(found: Found) -> None:
    print(found)
    _print_lines(found.left)


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines[:SHOWN]:
        print(f"  {line}")
    if len(lines) > SHOWN:
        print(f"  and {len(lines) - SHOWN} more.")


def _line(table: str, item: Item, text: str) -> str:
    return f"{items.name_of(table, item)}: {text}"


def _print_also(chosen: Sequence[str], dropped: Sequence[str]) -> None:
    for table in dropped:
        print(f"{table}: dropped, will be created again.")
    for table in chosen:
        if table not in RULES:
            print(f"{table}: not compared. Where it differs from the transactions, it will be written again.")
