"""Events under faults: none is missing, none is invented, none is newer than a look-up; and one that is, is found."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.defects import ROOT, defects, planted


def many_events(folder: Path, events: int, each: int) -> tuple[dict[str, int], list[str]]:
    """Live the events in a process of its own: it replaces time and randomness."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-P", "-m", "tests.simulation.many_events", str(events), str(each)]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found: list[Any] = json.loads(ran.stdout)
    return found[0], found[1]


def test_nothing_is_missing_invented_or_newer_than_a_look_up() -> None:
    counts, wrong = many_events(ROOT, 400, 200)

    assert wrong == []
    assert counts["events"] >= 400
    assert counts["processes that died"] > 0
    assert counts["batches of records that came twice"] > 0
    assert counts["batches that never came"] > 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("the sweep does not look for what the stream has missed", "never reached"),
        ("an outcome that comes later makes no event", "there is no event of it"),
    ],
)
@pytest.mark.release
def test_what_is_wrong_is_found(tmp_path: Path, name: str, said: str) -> None:
    defect = next(one for one in defects() if one.name == name)

    _, wrong = many_events(planted(defect, tmp_path), 200, 200)

    assert any(said in one for one in wrong)
