"""The queue of the till under Node: its promises, and random scenarios with faults, kills and wrong clocks."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.reference import ROOT
from tests.conftest import CI

TOOLS = ROOT / ".engines" / "page-tools" / "node_modules"
TESTS = Path(__file__).with_name("queue.test.mjs")
SCENARIOS = os.environ.get("SCENARIOS", "800")  # `make till-scenarios` runs ten thousand


def test_the_queue_keeps_the_promises_of_a_till_that_sells_without_connection() -> None:
    node = shutil.which("node")
    if node is None or not TOOLS.exists():
        (pytest.fail if CI else pytest.skip)("The tests of the queue need Node.js and `make browser`.")
    finished = subprocess.run(
        [node, "--test", "--test-reporter=spec", str(TESTS)],
        env={**os.environ, "TILL_TOOLS": str(TOOLS), "SCENARIOS": SCENARIOS},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )

    assert finished.returncode == 0, finished.stdout[-8000:]
