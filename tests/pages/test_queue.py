"""The modules of the till under Node.js: its promises and random scenarios."""

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
