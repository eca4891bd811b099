"""The modules of the till under Node.js: its promises, random scenarios, and the decimals of currencies."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import iso4217
import pytest

from chalicelib import iso_codes
from infra.reference import ROOT
from tests.conftest import CI

TOOLS = ROOT / ".engines" / "page-tools" / "node_modules"
TESTS = Path(__file__).with_name("queue.test.mjs")
SCENARIOS = os.environ.get("SCENARIOS", "800")  # `make till-scenarios` runs ten thousand


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Node.js with the tools of tests."""
    node = shutil.which("node")
    if node is None or not TOOLS.exists():
        (pytest.fail if CI else pytest.skip)("The modules of the till need Node.js and `make browser`.")
    environment = {**os.environ, "TILL_TOOLS": str(TOOLS), "SCENARIOS": SCENARIOS}
    return subprocess.run(
        [node, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=3600
    )


def test_the_queue_keeps_the_promises_of_a_till_that_sells_without_connection() -> None:
    finished = run("--test", "--test-reporter=spec", str(TESTS))

    assert finished.returncode == 0, finished.stdout[-8000:]


def test_the_till_has_the_decimals_of_the_service_for_every_currency() -> None:
    currencies = [found for entry in iso4217.Currency if (found := iso_codes.currency(entry.code))]
    wanted = {currency.code: currency.digits for currency in currencies}
    program = 'import { digitsOf } from "./chalicelib/pages/till/currency.js";'
    program += f"const codes = {json.dumps(sorted(wanted))};"
    program += "console.log(JSON.stringify(Object.fromEntries(codes.map((code) => [code, digitsOf(code)]))))"

    assert json.loads(run("--input-type=module", "--eval", program).stdout) == wanted
