"""The programs of bookkeepers: hledger and beancount check a journal and add it up; a reader does so for Xero."""

import csv
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from infra.reference import ROOT
from tests.support.export_files import rows_in

Sums = Mapping[tuple[str, str], Decimal]  # by account and currency; accounts in balance are left out

HLEDGER = shutil.which("hledger")
BEAN_CHECK, BEAN_QUERY = (
    shutil.which(name, path=ROOT / ".engines" / "tools" / "bin") or shutil.which(name)
    for name in ("bean-check", "bean-query")
)
needs_hledger = pytest.mark.skipif(not HLEDGER, reason="hledger is missing: install Debian's package hledger")
needs_beancount = pytest.mark.skipif(
    not (BEAN_CHECK and BEAN_QUERY), reason="beancount is missing: `make tools` installs it"
)
each_program = pytest.mark.parametrize(
    "program", [pytest.param("hledger", marks=needs_hledger), pytest.param("beancount", marks=needs_beancount), "xero"]
)


def run(*command: str | Path | None) -> str:
    """Run a program that finds no fault, and return its output."""
    words: Any = list(command)
    environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, capture_output=True, check=False, env=environment, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), (done.stdout, done.stderr)
    return done.stdout


def sums(program: str, content: bytes, folder: Path) -> Sums:
    """Check a journal by its program, and return the sums that the program finds."""
    file = folder / f"journal.{program}"
    file.write_bytes(content)
    if program == "xero":
        return _in_xero(content)
    if program == "hledger":
        for check in ("--strict", "ordereddates"):
            run(HLEDGER, "check", check, "-f", file)
        printed = run(HLEDGER, "-f", file, "bal", "-N", "--flat", "-O", "csv", "--layout=bare")
    else:
        run(BEAN_CHECK, "--no-cache", file)
        query = "SELECT account, currency, sum(number) GROUP BY account, currency"
        printed = run(BEAN_QUERY, "-f", "csv", file, query)
    rows = list(csv.reader(StringIO(printed)))[1:]
    return {(account, currency): Decimal(amount) for account, currency, amount in rows if Decimal(amount)}


def _in_xero(content: bytes) -> Sums:
    """Add up the lines of Xero's file. Each narration with its date is one journal, which must balance."""
    found, journals = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows_in(content):
        currency = row["*Narration"].split("-")[3]
        found[row["*AccountCode"], currency] += Decimal(row["*Amount"])  # type: ignore[assignment]
        journals[row["*Narration"], row["*Date"]] += Decimal(row["*Amount"])  # type: ignore[assignment]
    assert not any(journals.values())
    return {key: Decimal(amount) for key, amount in found.items() if amount}
