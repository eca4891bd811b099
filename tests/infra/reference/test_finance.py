"""The guide to questions of the finance department: its SQL, as it stands there, on an export of the local tables."""

import gzip
import json
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import boto3
import pytest

from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.kinds import KINDS, InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.periods import Period
from chalicelib.domain.phases import MONEY_TAKEN, PENDING, Phase
from chalicelib.domain.takings import takings_of
from chalicelib.domain.transaction import ERASED, Erasure, Transaction
from chalicelib.services import outcomes
from chalicelib.store import agents, takings, transactions
from chalicelib.store.table import PART_OF, decode, table_name
from infra.demo import month as demo_month
from infra.reference import ROOT
from infra.stack import resources
from tests.support.cards import PAN
from tests.support.http import TILL
from tests.support.payers import Payer, now
from tests.support.transactions import a_payment

pytestmark = pytest.mark.slow

GUIDE = (ROOT / "docs" / "finance.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sql\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
DUCKDB = shutil.which("duckdb", path=ROOT / ".engines" / "tools" / "bin") or shutil.which("duckdb")
needs_duckdb = pytest.mark.skipif(not DUCKDB, reason="DuckDB is missing: `make tools` installs it")
NOW, HOUR = datetime(2026, 3, 3, 11, tzinfo=UTC), timedelta(hours=1)
MIDNIGHT = datetime(2026, 2, 28, 22, tzinfo=UTC)  # the beginning of March in the zone of the merchants
YEN, DINAR = Currency("JPY", "392", 0), Currency("KWD", "414", 3)
Row = dict[str, Any]


def fill() -> list[Transaction]:
    """Store a month of the demo shop, all that a payer leaves, and cases of their own; return these."""
    demo_month.fill(next(one for one in agents.of_merchant(1) if one.email == TILL[0]), NOW, days=5)
    payers = [Payer(), Payer()]
    for payer in payers:
        leave_data(payer)
    payers[0].erase()
    cases = [
        a_payment(currency=YEN, amount_minor=500, created_at=MIDNIGHT - timedelta(microseconds=1)),
        a_payment(currency=YEN, amount_minor=7, created_at=MIDNIGHT),
        a_payment(currency=DINAR, amount_minor=12_345, date=MIDNIGHT - HOUR, created_at=MIDNIGHT + HOUR),
        a_payment(currency=DINAR, amount_minor=10**12, date=MIDNIGHT + HOUR, created_at=MIDNIGHT - HOUR),
        *map(by_card, (Phase.SENT, Phase.UNKNOWN, Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLED)),
    ]
    for case in cases:
        transactions.record(case)
    return [*cases, *(resolved(phase, late) for phase, late in RESOLVED)]


def leave_data(payer: Payer) -> None:
    """Leave payments and reversals of every outcome, with the payer's addresses and name."""
    payer.pay_cash()
    payer.pay_much()
    for amount in ("10.68", "10.08", "10.05"):  # lost, owing a signature, declined
        payer.swipe(amount)
    paid = payer.swipe()
    payer.till.give_back(paid, now(), Amount="1.00")
    payer.till.give_back(paid, now(), Amount="5.69")  # lost


def by_card(phase: Phase) -> Transaction:
    """Return a card payment at noon."""
    return a_payment(phase=phase, input_type=InputType.CHIP, acquirer="SANDBOX", created_at=NOW)


RESOLVED = [  # the phase before an inquiry, and the time of the inquiry
    (Phase.UNKNOWN, 3 * HOUR),
    (Phase.UNKNOWN, HOUR - timedelta(seconds=1)),
    (Phase.AWAITING_COMPLETION, 9 * HOUR),
]


def resolved(phase: Phase, late: timedelta) -> Transaction:
    """Store a payment that one inquiry resolved."""
    begun = by_card(phase)
    if phase is Phase.AWAITING_COMPLETION:
        begun = replace(begun, completion=replace(begun.completion, single_step=False))
    transactions.record(begun)
    transactions.claim(begun, NOW + late)
    after = replace(begun, phase=Phase.APPROVED)
    outcomes.store(begun, after, NOW + late)
    return after


def export(folder: Path) -> None:
    """Export the transactions into a bucket and download the files, as the commands of the guide do."""
    dynamodb: Any = boto3.client("dynamodb")
    files: Any = boto3.client("s3")
    name, bucket = table_name(transactions.TABLE), "finance-exports"
    recovery = {"PointInTimeRecoveryEnabled": True}
    dynamodb.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=recovery)
    files.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": resources.REGION})
    arn = dynamodb.describe_table(TableName=name)["Table"]["TableArn"]
    made = dynamodb.export_table_to_point_in_time(
        TableArn=arn, S3Bucket=bucket, S3Prefix="transactions", ExportFormat="DYNAMODB_JSON"
    )
    status = ""
    while status != "COMPLETED":
        described = dynamodb.describe_export(ExportArn=made["ExportDescription"]["ExportArn"])
        status = described["ExportDescription"]["ExportStatus"]
        assert status != "FAILED"
    folder.mkdir()
    for found in files.list_objects_v2(Bucket=bucket)["Contents"]:
        content = files.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
        (folder / Path(found["Key"]).name).write_bytes(content)


def answers(folder: Path, *more: str) -> list[list[Row]]:
    """Paste the blocks of the guide into DuckDB in this folder, and return the rows of each answer."""
    done = subprocess.run(
        [DUCKDB or "", "-no-init", "-bail", "-json", "finance.db"],
        input="\n".join([*BLOCKS, *more]),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    arrays = done.stdout.replace("]\n[", "]\n,[")
    exact = re.sub(r'"(-?\d+\.\d{4})"', r"\1", arrays)  # DuckDB writes a decimal as a text
    answers: list[list[Row]] = json.loads(f"[{exact}]", parse_float=Decimal)
    return answers


@dataclass(frozen=True)
class Stored:
    """The transactions in the table, and the cases among them."""

    transactions: dict[str, Transaction]
    cases: list[Transaction]

    @property
    def moved(self) -> Iterator[tuple[Transaction, Decimal]]:
        """The transactions that moved money, each with the money."""
        for one in self.transactions.values():
            if minor := entry_of(one).moved_minor:
                yield one, Decimal(minor).scaleb(-one.currency.digits)

    @property
    def merchants(self) -> set[int]:
        return {one.client_id for one in self.transactions.values()}

    @property
    def days(self) -> Period:
        days = [entry_of(one).at.date() for one in self.transactions.values()]
        return Period(min(days), max(days))


@pytest.fixture
def stored(moto: None) -> Stored:
    del moto
    cases = fill()
    scan: Any = boto3.client("dynamodb").get_paginator("scan")
    pages = scan.paginate(TableName=table_name(transactions.TABLE))
    found = [decode(Transaction, item) for page in pages for item in page["Items"] if PART_OF not in item]
    return Stored({one.id: one for one in found}, cases)


@needs_duckdb
def test_the_questions_of_the_guide_count_as_the_service_does(stored: Stored, tmp_path: Path) -> None:
    export(tmp_path / "export")

    [[checked], takings, unknown, rows] = answers(tmp_path, "FROM transactions;")

    pending = [one for one in stored.transactions.values() if one.is_pending]
    assert checked == {
        "lines": len(stored.transactions),
        "transactions": len(stored.transactions),
        "without_kind": 0,
        "open": len(pending),
    }
    assert {(row.pop("month"), row.pop("currency")): row for row in takings} == takings_by_month(stored)
    latest = max(one.created_at for one in stored.transactions.values())
    long_pending = {one.id for one in pending if latest - one.created_at > HOUR}
    assert {row["id"] for row in unknown} == long_pending | {stored.cases[-3].id}
    assert next(row["unknown_for"] for row in unknown if row["id"] == stored.cases[-3].id) == "03:00:00"
    assert {row["kind"] for row in rows} >= {kind.name for kind in KINDS.values()} - NOT_TAKEN
    assert_only_the_export_has_personal_data(stored, tmp_path, rows)


NOT_TAKEN = {KINDS[one].name for one in (InputType.OUTER_CARD, InputType.PREPAID, InputType.ON_ACCOUNT)}


def takings_by_month(stored: Stored) -> dict[tuple[str, str], Row]:
    """Return the sums of report/takings of all merchants, by month and currency."""
    found: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for merchant in stored.merchants:
        for row in takings_of(chain.from_iterable(takings.by_day(merchant, stored.days, None))).rows:
            sums: Any = {"payments": row.payments, "taken": row.amount, "net": row.net}
            sums |= {"reversals": row.reversals, "given_back": row.amount_reversed}
            found[f"{row.day:%Y-%m}", row.currency].update(sums)
    assert {currency for _, currency in found} == {"ZAR", "JPY", "KWD"}
    assert len({month for month, _ in found}) == 3, "February, March, and the month of the clock"
    return {key: dict(sums) for key, sums in found.items()}


def assert_only_the_export_has_personal_data(stored: Stored, folder: Path, rows: list[Row]) -> None:
    """Check that the export has a payer's address and no card number, and the table of the guide neither."""
    exported = "".join(gzip.decompress(file.read_bytes()).decode() for file in (folder / "export").iterdir())
    table = json.dumps(rows, default=str)

    assert any(one.erasure is Erasure.DONE for one in stored.transactions.values())
    assert ERASED in exported
    for text in ("@payer.example", "PLANTED/"):
        assert text.casefold() in exported.casefold()
        assert text.casefold() not in table.casefold()
    assert "@" not in table
    assert PAN not in exported


def test_the_guide_has_every_kind_of_payment_and_each_set_of_phases() -> None:
    load = BLOCKS[0]

    named = {int(number): name for number, name in re.findall(r"WHEN (\d+) THEN '([^']+)'", load)}
    assert named == {int(one): kind.name for one, kind in KINDS.items()}
    assert phases_in(load) == [MONEY_TAKEN, PENDING]
    assert f"original_id IS NOT NULL AND phase = '{Phase.REVERSAL_APPROVED}' THEN -amount" in load


def phases_in(block: str) -> list[set[Phase]]:
    """Return the phases in each list of a block."""
    lists = re.findall(r"phase IN \(([^)]+)\)", block)
    return [{Phase(name.strip(" '")) for name in one.split(",")} for one in lists]
