"""The modules of the pages under Node.js: the till's promises and random lives, and the views of both pages."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import phonenumbers
import pytest

from chalicelib.phone_numbers import parse
from chalicelib.schemas.field_types import is_email
from infra.reference import ROOT
from tests.conftest import CI

TOOLS = ROOT / ".engines" / "node_modules"
TESTS = Path(__file__).parent
SUBJECTS = sorted(path.name.removesuffix(".test.mjs") for path in TESTS.glob("*.test.mjs"))
QUICK = "40"  # random scenarios with --quick, and a share of the combinations of the till's page
SCENARIOS = {"queue": "400"}  # in each run; each night thousands run, and all combinations


def run(*arguments: str, scenarios: str = QUICK) -> subprocess.CompletedProcess[str]:
    """Run Node.js with the tools of tests."""
    node = shutil.which("node")
    if node is None or not (TOOLS / "happy-dom").exists():
        (pytest.fail if CI else pytest.skip)("The modules of the till need Node.js and `make tools`.")
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


def as_the_till_reads(typed: list[tuple[str, str | None]]) -> list[dict[str, str]]:
    """Return the receipt's address that the till makes of each text in a country; empty for a text that it refuses."""
    program = 'import { addressOf } from "./chalicelib/pages/till/rules.js";'
    program += f"console.log(JSON.stringify({json.dumps(typed)}.map((one) => addressOf(...one) ?? {{}})))"
    read: list[dict[str, str]] = json.loads(run("--input-type=module", "--eval", program).stdout)
    return read


def test_the_service_takes_each_e_mail_that_the_till_takes() -> None:
    typed = [
        *("ann@example.com", " a.b+c@sub.example.co.za ", "ann@localhost", "a\u0301@example.com", "ann@-b.com"),
        *(f"{'a' * 65}@example.com", f"ann@{'b' * 64}.com", f"ann@{'c.' * 125}com", "1234567@"),
    ]

    read = as_the_till_reads([(text, "ZA") for text in typed])

    taken = [one["Email"] for one in read if one]
    assert taken == ["ann@example.com", "a.b+c@sub.example.co.za"]
    assert [is_email(text.strip()) for text in typed] == [bool(one) for one in read]


def test_the_till_takes_each_telephone_number_that_the_service_takes() -> None:
    chosen = random.Random(1)  # noqa: S311  no secret
    formats = (phonenumbers.PhoneNumberFormat.NATIONAL, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    typed: list[tuple[str, str | None]] = [("0027829876543", "ZA"), ("1-800-FLOWERS x12", "US")]
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        if number := phonenumbers.example_number(region):
            typed += [(phonenumbers.format_number(number, one), region) for one in formats]
        typed += [(str(chosen.randrange(10**digits)), region) for digits in range(2, 13)]
    typed += [(f"+{chosen.randrange(10 ** chosen.randrange(4, 16))}", None) for _ in range(1000)]

    read = as_the_till_reads(typed)

    taken = [(text, found) for (text, region), found in zip(typed, read, strict=True) if parse(text, region)]
    assert len(taken) > 1000
    assert [text for text, found in taken if found != {"Phone": text}] == []


@pytest.mark.parametrize("typed", [("x", "ZA"), ("5", "ZA"), ("082 987 6543", None), ("0" * 65, "ZA")])
def test_the_till_refuses_a_text_that_is_no_telephone_number(typed: tuple[str, str | None]) -> None:
    assert as_the_till_reads([typed]) == [{}]
    assert parse(*typed) is None
