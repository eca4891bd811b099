"""Planted defects: small patches of the service, that the simulation has to find.

A patch names a definition and a text in it, and no module: the definition is found wherever it is in chalicelib or
infra.

`python -m tests.simulation.defects` gives a copy of the service one patch at a time; scenarios run in it, one seed
after the other, until one fails. That is done from several first seeds, and the median is printed. MOST=1000 scenarios
run at most; words as arguments choose defects by their names.

`python -m tests.simulation.defects proofs` prints for each invariant a defect that breaks it, and the first seed with
which it did: the lines of proofs.json. MOST=200 scenarios run with each defect.

`python -m tests.simulation.defects pytest ARGUMENTS` runs tests in each copy instead, until one fails: it measures what
`make test` finds.
"""

import ast
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.simulation.runner import MEANINGS, rules_violated, simulate_some

ROOT = Path(__file__).parents[2]
STARTS = tuple(map(int, (os.environ.get("STARTS") or "1000000,2000000,3000000").split(",")))
TABLE = Path(__file__).with_name("defects.json")
PROOFS = Path(__file__).with_name("proofs.json")
PATCHED = ("chalicelib", "infra")


class Patch(NamedTuple):
    """The text of a definition before and after: of a function, a method (Class.method) or a constant."""

    definition: str
    before: str
    after: str


class Defect(NamedTuple):
    """A defect: what it is, and its patches."""

    name: str
    patches: tuple[Patch, ...]


def defects() -> list[Defect]:
    """Return all of them."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    return [Defect(name, tuple(Patch(*patch) for patch in patches)) for name, patches in table.items()]


def planted(defect: Defect, folder: Path) -> Path:
    """Make a copy of the service with the defect in it."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in ("app.py", "tests", ".chalice", "CONTRIBUTING.md"):
        (copy / name).symlink_to(ROOT / name)
    for name in PATCHED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for patch in defect.patches:
        path, text = patched(copy, patch)
        path.write_text(text, encoding="utf-8")
    return copy


def patched(folder: Path, patch: Patch) -> tuple[Path, str]:
    """Return the module that has the definition, and its text with the patch.

    Raise ValueError unless one definition of that name has the text, and has it once.
    """
    found = []
    for path in (path for code in PATCHED for path in (folder / code).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if patch.before not in source:
            continue
        lines = source.splitlines(keepends=True)
        for first, last in _lines_of(patch.definition, ast.parse(source).body):
            before = "".join(lines[first:last])
            changed = [*lines[:first], before.replace(patch.before, patch.after), *lines[last:]]
            found += [(path, "".join(changed))] * before.count(patch.before)
    if len(found) != 1:
        message = f"{patch.before!r} is {len(found)} times in {patch.definition}"
        raise ValueError(message)
    return found[0]


def _lines_of(name: str, body: Sequence[ast.stmt]) -> Iterator[tuple[int, int]]:
    """Yield the first line, from 0, and the end of each definition of this name."""
    first, _, rest = name.partition(".")
    for one in body:
        names = {getattr(target, "id", None) for target in getattr(one, "targets", [getattr(one, "target", one)])}
        if first not in {*names, getattr(one, "name", None)}:
            continue
        if rest and isinstance(one, ast.ClassDef):
            yield from _lines_of(rest, one.body)
        elif not rest:
            yield one.lineno - 1, one.end_lineno or one.lineno


def scenarios_until_found(copy: Path, firsts: Sequence[int], most: int) -> list[tuple[int | None, str]]:
    """Return for each first seed the number of scenarios until one failed (None: none did), and the invariant."""
    done = _run_in(copy, "run", str(most), *map(str, firsts))
    last = done.stdout.strip().rpartition("\n")[2]
    if not last.startswith("["):
        return [(1, f"it does not start: {done.stderr.strip().rpartition(chr(10))[2][:100]}")] * len(firsts)
    return [(number, rule) for number, rule in json.loads(last)]


def _run_in(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-m", "tests.simulation.defects", *arguments]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)


def proofs(most: int) -> Iterator[str]:
    """Yield a line of proofs.json for each invariant: a defect that breaks it, and the first such seed."""
    found: dict[str, tuple[int, str]] = {}
    every = defects()
    with ThreadPoolExecutor(int(os.environ.get("PROCESSES") or os.cpu_count() or 1)) as pool:
        for defect, broken in zip(every, pool.map(lambda one: broken_rules(one, STARTS[0], most), every), strict=True):
            for rule, seed in broken.items():
                found[rule] = min(found.get(rule, (seed, defect.name)), (seed, defect.name))
    for rule in MEANINGS:
        seed, name = found.get(rule, (0, "nothing"))
        yield f"  {json.dumps(rule)}: {json.dumps([name, seed])},"


def broken_rules(defect: Defect, first: int, scenarios: int) -> dict[str, int]:
    """Return the invariants that scenarios from this seed violate with the defect, each with the first such seed."""
    with tempfile.TemporaryDirectory() as folder:
        done = _run_in(planted(defect, Path(folder)), "broken", str(scenarios), str(first))
    broken: dict[str, int] = json.loads(done.stdout.strip().rpartition("\n")[2] or "{}")
    return broken


def _break(most: int, first: int) -> None:
    """Print the invariants that scenarios violate, each with its first seed."""
    broken: dict[str, int] = {}
    for seed in range(first, first + most):
        for rule in rules_violated(str(seed)):
            broken.setdefault(rule, seed)
    print(json.dumps(broken))


def _live(most: int, firsts: Sequence[int]) -> None:
    found: list[tuple[int | None, str]] = []
    for first in firsts:
        scenarios, failure = simulate_some(range(first, first + most))
        found.append((scenarios, failure.rule) if failure else (None, ""))
    print(json.dumps(found))


def measured(wanted: list[str], most: int) -> Iterator[str]:
    """Yield a line of the table for each defect: its name, the median number of scenarios, and the invariant."""
    chosen = [defect for defect in defects() if not wanted or any(word in defect.name for word in wanted)]
    with ThreadPoolExecutor(int(os.environ.get("PROCESSES") or os.cpu_count() or 1)) as pool:
        yield from pool.map(lambda defect: _line(defect, most), chosen)


def _line(defect: Defect, most: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        copy = planted(defect, Path(folder))
        found = scenarios_until_found(copy, STARTS, most)
    numbers = [number if number is not None else most + 1 for number, _ in found]
    rules = ", ".join(sorted({rule.replace("_", " ") for _, rule in found if rule}))
    median = int(statistics.median(numbers))
    return f"| {defect.name} | {f'{median:,}' if median <= most else f'not in {most:,}'} | {rules} |"


def tested(arguments: list[str]) -> Iterator[str]:
    """Yield a line for each defect: its name, and the claim of the first test that fails. At the end, count them."""
    if failing := _claim(Defect("none", ()), arguments):
        message = f"This test fails without any defect: {failing}"
        raise ValueError(message)
    with ThreadPoolExecutor(int(os.environ.get("PROCESSES") or os.cpu_count() or 1)) as pool:
        found = 0
        for defect, claim in zip(defects(), pool.map(lambda one: _claim(one, arguments), defects()), strict=True):
            found += bool(claim)
            yield f"| {defect.name} | {claim or 'no test fails'} |"
    yield f"{found} of {len(defects())} planted defects are found."


def _claim(defect: Defect, arguments: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        copy = planted(defect, Path(folder))
        (copy / "tests").unlink()  # pytest asks for the real paths of tests
        shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("docs", "pyproject.toml", "requirements.txt"):
            (copy / name).symlink_to(ROOT / name)
        command = [sys.executable, "-P", "-m", "pytest", "-x", "--tb=no", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        claims = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        if bool(claims) is (done.returncode == 0):
            raise RuntimeError(done.stdout[-1000:] + done.stderr[-1000:])
        return claims[0].partition("::")[2][:100] if claims else ""


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        _live(int(sys.argv[2]), [int(first) for first in sys.argv[3:]])
    elif sys.argv[1:2] == ["broken"]:
        _break(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["proofs"]:
        for line in proofs(int(os.environ.get("MOST") or 200)):
            print(line, flush=True)
    elif sys.argv[1:2] == ["pytest"]:
        for line in tested(sys.argv[2:]):
            print(line, flush=True)
    else:
        for line in measured(sys.argv[1:], int(os.environ.get("MOST") or 1000)):
            print(line, flush=True)
