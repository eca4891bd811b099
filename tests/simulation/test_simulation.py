"""Scenarios of the whole service: as many as fit in half a minute.

CI runs the same ones each time, so a change fails only for a reason of its own. Each night, and on a developer's
machine, the seeds are those of the date.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.defects import PROOFS, Defect, broken_rules, defects, patched, planted
from tests.simulation.invariants import CVV2
from tests.simulation.runner import MEANINGS

ROOT = Path(__file__).parents[2]
PROVEN: dict[str, tuple[str, int]] = json.loads(PROOFS.read_text(encoding="utf-8"))  # a defect and a seed by invariant
MINUTES = "0.5"
SEED_OF_CI = "7000000"
FOUND_SOON = "a reversal's outcome releases nothing"


def simulate(folder: Path = ROOT, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run `make simulate` without make, in a process of its own: it replaces time and randomness."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0", "PROCESSES": "1", **settings}
    command = [sys.executable, "-P", "-m", "tests.simulation"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def defect(name: str) -> Defect:
    return next(one for one in defects() if one.name == name)


def test_the_invariants_hold_in_the_scenarios_of_half_a_minute() -> None:
    ran = simulate(MINUTES=MINUTES, SEED=SEED_OF_CI if os.environ.get("CI") == "true" else "")

    print(ran.stdout)
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert "seeds from" in ran.stdout
    assert "scenarios in" in ran.stdout


def test_a_planted_defect_is_found_and_told_in_few_lines_and_again_the_same(tmp_path: Path) -> None:
    copy = planted(defect(FOUND_SOON), tmp_path)

    told = simulate(copy, SEED="1000000", SEEDS="60")
    again = simulate(copy, SEED=told.stdout.rpartition("SEED=")[2].split()[0], SEEDS="1", PYTHONHASHSEED="1")

    assert told.returncode == again.returncode == 1
    assert "amounts agree? No:" in told.stdout
    for part in (
        "asks POST /api/v1/payment/",
        "all or nothing: ",
        "What is stored in the end:",
        "Again: make simulate",
    ):
        assert part in told.stdout
    assert told.stdout.count("\n") < 80
    assert told.stdout.splitlines()[1:] == again.stdout.splitlines()[1:]


def test_a_cvv2_is_found_in_a_text_within_a_text() -> None:
    stored, masked = ({"description": {"S": json.dumps({"CVV2": value})}} for value in ("123", "***"))

    assert CVV2.search(repr(stored))
    assert not CVV2.search(repr(masked))


def test_each_invariant_has_a_planted_defect_that_breaks_it() -> None:
    assert list(PROVEN) == list(MEANINGS)
    assert {name for name, _ in PROVEN.values()} <= {one.name for one in defects()}


@pytest.mark.release
@pytest.mark.parametrize(("rule", "name", "seed"), [(rule, *proof) for rule, proof in PROVEN.items()])
def test_the_named_defect_breaks_the_invariant_with_the_seed(rule: str, name: str, seed: int) -> None:
    assert rule in broken_rules(defect(name), seed, 1)


@pytest.mark.parametrize("one", defects(), ids=lambda one: one.name)
def test_each_planted_defect_fits_the_code_as_it_is(one: Defect) -> None:
    for patch in one.patches:
        module, after = patched(ROOT, patch)

        assert after != module.read_text(encoding="utf-8")
        compile(after, module.name, "exec")
