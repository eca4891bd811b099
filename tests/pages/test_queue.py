"""The modules of the pages under Node.js: the till's promises and random lives, and the views of both pages."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import phonenumbers
import pytest

from chalicelib import phone_numbers
from chalicelib.schemas.field_types import is_email
from infra.reference import ROOT
from tests.conftest import CI

TOOLS = ROOT / ".engines" / "page-tools" / "node_modules"
TESTS = Path(__file__).parent
SUBJECTS = sorted(path.name.removesuffix(".test.mjs") for path in TESTS.glob("*.test.mjs"))
QUICK = "40"  # random scenarios with --quick, and a share of the combinations of the till's page
SCENARIOS = {"queue": "400"}  # in each run; `make till-scenarios` runs ten thousand, and all combinations


def run(*arguments: str, scenarios: str = QUICK) -> subprocess.CompletedProcess[str]:
    """Run Node.js with the tools of tests."""
    node = shutil.which("node")
    if node is None or not TOOLS.exists():
        (pytest.fail if CI else pytest.skip)("The modules of the till need Node.js and `make browser`.")
    environment = {"SCENARIOS": scenarios, **os.environ, "TILL_TOOLS": str(TOOLS)}
    command = [node, "--single-threaded", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=3600)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With --quick, run all subjects in one process: Node.js compiles the modules and libraries once."""
    if "subjects" in metafunc.fixturenames:
        groups = [SUBJECTS] if metafunc.config.getoption("--quick") else [[one] for one in SUBJECTS]
        metafunc.parametrize("subjects", groups, ids=["all"] if len(groups) == 1 else SUBJECTS)


def test_the_modules_keep_their_promises(subjects: list[str]) -> None:
    program = "".join(f'import "./tests/pages/{name}.test.mjs";' for name in subjects)
    scenarios = QUICK if len(subjects) > 1 else SCENARIOS.get(subjects[0], QUICK)
    finished = run("--input-type=module", "--eval", program, scenarios=scenarios)

    assert finished.returncode == 0, finished.stdout[-8000:]


def test_the_service_takes_each_address_that_the_till_takes() -> None:
    chosen = random.Random(1)  # noqa: S311  no secret
    codes = sorted(phonenumbers.supported_calling_codes())
    typed = ["+27 (82) 987-6543", "+27 82 98", "+999 1234567", "+0829876543", "ann@example.com", "ann@localhost"]
    typed += [
        f"{'a' * 65}@example.com",
        f"ann@{'b' * 64}.com",
        f"ann@{'c.' * 125}com",
        "ann@-b.com",
        "a\u0301@example.com",
    ]
    for _ in range(5000):
        typed.append(f"+{chosen.choice(codes)}{chosen.randrange(10 ** chosen.randrange(4, 13))}")
    program = 'import { addressOf } from "./chalicelib/pages/till/rules.js";'
    program += f"console.log(JSON.stringify({json.dumps(typed)}.map((one) => addressOf(one) ?? {{}})))"

    read = json.loads(run("--input-type=module", "--eval", program).stdout)

    taken = [one for one in read if one]
    assert read[0] == {"Phone": "+27829876543"}
    assert read[1:4] == [{}] * 3
    assert len(taken) > 500
    assert [one for one in taken if not is_email(one.get("Email", "a@b.c"))] == []
    assert [one for one in taken if "Phone" in one and not phone_numbers.parse(one["Phone"], None)] == []
