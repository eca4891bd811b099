"""The command `python -m infra.operator restore`: bring the damaged items of the stage's tables back.

Copies of the tables, as they were at a time, stand next to them. Each item of a copy is compared with the item in its
table, by one rule: the item with the higher version stays. Equal versions with other content, an older item and a
missing one get the copy, unless the registry of deletions knows that the item was deleted since. Each write requires
the version that was compared, so payments may come in meanwhile, and the command may be killed and run again.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial

import boto3
from botocore.exceptions import ClientError

from chalicelib import outside
from chalicelib.domain.deletions import Deletion
from chalicelib.settings import settings
from chalicelib.store import audit, drawers, events, outbox, sequences, transactions
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.table import (
    BATCH,
    DERIVED,
    AlreadyExistsError,
    Item,
    UnreadableError,
    Value,
    Write,
    table_name,
    value_of,
    write_one,
)
from infra.operator import items, terminal
from infra.operator.rebuild import days_of, numbers_of_transactions
from infra.operator.restored_payments import Payments

POLL = {"Delay": 20, "MaxAttempts": 24 * 180}  # seconds, polls: the copy of a large table takes hours
TTL = "expires_at"
REQUEST = timedelta(minutes=1)  # an act is stored within this time after the time in its audit entry
SENDING = {outbox.TABLE, events.TABLE}


class State(StrEnum):
    """How an item differs from its copy, in the words of the output."""

    MISSING = "missing, comes back"
    ALTERED = "altered, comes back"
    OLDER = "older than the copy, comes back"
    NEWER = "newer than the copy, stays"
    DELETED = "deleted since, stays deleted"
    MAYBE_SENT = "not decided: it waited at that time, and may have been sent since"


COMES_BACK = frozenset({State.MISSING, State.ALTERED, State.OLDER})
Damaged = tuple[Item, Item | None]  # the key of an item that comes back, and the key and version of the stored one
Writer = Callable[[Item, Item | None], str | None]  # of the copy over the stored one; a line if something is left


def restore_command(options: argparse.Namespace) -> None:
    """Compare, and write back with `--yes`. Exit with 1 if nothing was written, or if something is left."""
    at, tables = _moment(options.at), _chosen(options.table)
    copies = f"{settings().table_prefix}copy-{at:%Y%m%dT%H%M%SZ}-"
    _make_copies(tables, copies, at)
    left = 0
    for table in tables:
        damaged, undecided = _compare(table, copies + table, at)
        left += undecided
        print(f"{table}: {len(damaged)} come back.")
        if options.yes:
            left += _write_back(table, copies + table, damaged)
    if not options.yes:
        sys.exit("Nothing was changed: --yes writes.")
    print("Run `rebuild` now: counters and history entries follow from the transactions.")
    print(f"The copies stay: tables {copies}…. Delete them when all is well.")
    if left:
        sys.exit(f"Left, as the lines above say: {left}.")


def _moment(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        sys.exit("The time must be like 2026-03-14T09:00:00Z.")
    if at.tzinfo is None or at > outside.now():
        sys.exit("The time must have its zone and must be over, such as 2026-03-14T09:00:00Z.")
    return at.astimezone(UTC)


def _chosen(table: str | None) -> list[str]:
    """Return the tables to restore. Drawers come after transactions, which tell the receipt numbers of agents."""
    tables = sorted(items.definitions().keys() - DERIVED, key=lambda name: (name == drawers.TABLE, name))
    if table in DERIVED:
        sys.exit(f"The table {table} follows from the transactions: run `rebuild`.")
    if table and table not in tables:
        sys.exit(f"There is no table {table}: there are {', '.join(tables)}.")
    return [table] if table else tables


# The copies


def _make_copies(tables: Sequence[str], copies: str, at: datetime) -> None:
    client = boto3.client("dynamodb")
    for table in tables:
        source, target = table_name(table), copies + table
        try:
            client.restore_table_to_point_in_time(SourceTableName=source, TargetTableName=target, RestoreDateTime=at)
        except client.exceptions.TableAlreadyExistsException:
            continue
        except ClientError as error:
            if error.response["Error"]["Code"] != "UnknownOperationException":
                raise
            _copy(table, target)
    for table in tables:
        client.get_waiter("table_exists").wait(TableName=copies + table, WaiterConfig=POLL)  # type: ignore[arg-type]


def _copy(table: str, target: str) -> None:
    """Copy a table as it is now, item by item: DynamoDB Local knows no earlier state."""
    client = boto3.client("dynamodb")
    arguments = {**items.definitions()[table], "TableName": target}
    arguments.pop("StreamSpecification", None)
    try:
        client.create_table(**arguments)
    except client.exceptions.ResourceInUseException:
        return
    print(f"{table}: this engine knows no earlier state. The copy is the table as it is now.")
    for page in items.pages(table_name(table)):
        for item in page:
            write_one(Write("Put", {"TableName": target, "Item": item}))


# The comparison


def _compare(table: str, copy: str, at: datetime) -> tuple[list[Damaged], int]:
    """Print a line for each item that differs from its copy of the time `at`, without values.

    Return those that come back, also without values (a table may be empty, and its copy large), and the number of those
    that are not decided.
    """
    damaged, undecided, now = list[Damaged](), 0, outside.now().timestamp()
    for page in items.pages(copy):
        stored = items.items_at(table, page)
        for copied in page:
            name = items.name_of(table, copied)
            present = stored.get(name)
            names = _differing(copied, present or {})
            if present is None and TTL in copied and float(copied[TTL].get("N", 0)) <= now:
                continue  # DynamoDB deletes expired items
            if not names:
                continue
            state = _state(table, copied, present, at)
            terminal.show(f"  {table} {name}: {state}{': ' if present else ''}{', '.join(names if present else ())}")
            undecided += state is State.MAYBE_SENT
            if state in COMES_BACK:
                damaged.append((items.key_of(table, copied), items.as_read(table, present) if present else None))
    return damaged, undecided


def _differing(copied: Item, stored: Item) -> list[str]:
    return sorted(one for one in copied.keys() | stored.keys() if _value(copied, one) != _value(stored, one))


def _value(item: Item, name: str) -> Value:
    """Return the value of an attribute. A set has no order."""
    value = item.get(name, {})
    return {"SS": sorted(value["SS"])} if "SS" in value else value


def _state(table: str, copied: Item, present: Item | None, at: datetime) -> State:
    if _is_deleted_since(table, copied, at):
        return State.NEWER if present else State.DELETED
    before, after = items.version_of(copied), items.version_of(present)
    if after >= before:
        return State.NEWER if after > before else State.ALTERED
    if table in SENDING and "due_lane" in copied:
        return State.MAYBE_SENT
    return State.OLDER if present else State.MISSING


def _is_deleted_since(table: str, copied: Item, at: datetime) -> bool:
    """Return whether the audit has an act after the copy that deletes the item, as the registry says."""
    since = (at - REQUEST).isoformat(timespec="microseconds")
    values = {name: next(iter(value.values())) for name, value in copied.items()}
    for reason in (one for one in Deletion if one.table == table):
        try:
            about = reason.audited.format_map(values)
        except KeyError:
            continue  # another kind of item, such as attempts at an unknown login
        if any(act.at > since and reason.is_made_by(act.kind, act.fields) for act in audit.of(about)):
            return True
    return False


# The writes


def _write_back(table: str, copy: str, damaged: Sequence[Damaged]) -> int:
    """Write the copies of damaged items. Return the number of lines about items that are left."""
    left = 0
    write: Writer = partial(_put, table)
    if damaged and table == transactions.TABLE:
        payments = Payments(copy, damaged)
        damaged, write = sorted(damaged, key=lambda one: payments.is_reversal(one[0]["id"]["S"])), payments.write
    elif damaged and table == drawers.TABLE:
        write = partial(_put_numbers, numbers_of_transactions())
    elif table == sequences.TABLE:
        write = _put_sequence
    for start in range(0, len(damaged), BATCH):
        batch = damaged[start : start + BATCH]
        copies = items.items_at(table, [key for key, _ in batch], name=copy)
        for key, present in batch:
            name = items.name_of(table, key)
            try:
                line = write(copies[name], present)
            except AlreadyExistsError:
                line = "it was written meanwhile: run the command again"
            except UnreadableError:
                line = "not written: it is unreadable in the copy, or its payment is unreadable"
            if line:
                terminal.show(f"  {table} {name}: {line}")
                left += 1
    return left


def _put(table: str, copied: Item, present: Item | None) -> None:
    """Write a copy. A missing event takes two steps: its stream sends each new item with a kind to its receivers."""
    if table == events.TABLE and "kind" in copied and present is None:
        first = {name: value for name, value in copied.items() if name != "kind"}
        write_one(items.put(table, first, None))
        present = first
    write_one(items.put(table, copied, present))


def _put_numbers(used: Mapping[str, MonthNumbers], copied: Item, present: Item | None) -> None:
    """Write the copy of a drawer or of an agent's numbers. A receipt number never goes down.

    `used` are the numbers of the transactions, read after `present`: a number taken since has changed it. `rebuild`
    counts the cash.
    """
    name = items.name_of(drawers.TABLE, copied)
    if "last" in copied:
        stored = items.items_at(drawers.TABLE, [copied]).get(name)
        days = days_of(copied) | days_of(stored) | Counter(used[name].last if name in used else {})
        if days != days_of(copied):
            copied = items.raised({**copied, "last": value_of(days)}, stored)
    _put(drawers.TABLE, copied, present)


def _put_sequence(copied: Item, present: Item | None) -> str | None:
    """Write the copy of a sequence, and name numbers that may be in use."""
    _put(sequences.TABLE, copied, present)
    last = copied.get("last", {})
    if "N" in last and items.version_of(present) < items.version_of(copied):
        return f"it is {last['N']} again. Numbers above it may be in use: raise it above them."
    return None
