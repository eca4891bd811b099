"""The lock is what the requirements say, and the zip is what the lock says."""

import ast
import hashlib
import importlib.metadata
import re
import sys
import zipfile
from pathlib import Path

import pytest

from infra.stack import esbuild, package

LOCKS = {
    "requirements.txt": "requirements.lock",
    "requirements-stage.txt": "requirements-stage.lock",
    "requirements-dev.txt": "requirements-dev.lock",
}
PINNED = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)")


def text(name: str) -> str:
    return (package.ROOT / name).read_text(encoding="utf-8")


def pinned(lines: list[str]) -> dict[str, str]:
    """The version of each requirement, by its name as package indexes compare it."""
    found = [match.groups() for match in map(PINNED.match, lines) if match]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def blocks(lock: str) -> list[str]:
    """The requirements of a lock, each with its hashes and the comment that says what needs it."""
    return re.split(r"\n(?=\w)", re.sub(r"^#.*\n", "", text(lock), flags=re.MULTILINE).strip())


@pytest.mark.parametrize("requirements", LOCKS)
def test_the_lock_has_the_direct_requirements_and_no_other(requirements: str) -> None:
    direct = [
        block
        for block in blocks(LOCKS[requirements])
        if re.search(rf"-r {re.escape(requirements)}$", block, re.MULTILINE)
    ]

    assert pinned(direct) == pinned(text(requirements).splitlines()), "run `make lock`"


@pytest.mark.parametrize("requirements", LOCKS)
def test_every_requirement_is_pinned_to_a_version(requirements: str) -> None:
    lines = [line for line in text(requirements).splitlines() if line and not line.startswith(("#", "-r "))]

    assert len(pinned(lines)) == len(lines)


@pytest.mark.parametrize("lock", LOCKS.values())
def test_every_locked_requirement_has_a_version_and_hashes(lock: str) -> None:
    unlocked = [
        block for block in blocks(lock) if not PINNED.match(block) or not re.search(r"--hash=sha256:\w{64}", block)
    ]

    assert unlocked == []


@pytest.mark.parametrize("lock", LOCKS.values())
def test_a_lock_names_no_index(lock: str) -> None:
    assert re.findall(r"://|--(?:extra-)?index-url|--find-links", text(lock)) == []


def test_what_is_deployed_is_what_runs_locally_and_is_tested() -> None:
    deployed, local, tested = (pinned(blocks(lock)) for lock in LOCKS.values())

    assert deployed.items() <= local.items() <= tested.items(), "run `make lock`"


def imported(path: Path) -> set[str]:
    """The packages that a module imports, but for those that only type checkers read."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        waiting += ast.iter_child_nodes(node)
    return {name.partition(".")[0] for name in found}


@pytest.mark.slow
def test_requirements_txt_brings_each_package_that_the_service_imports_and_names_no_other() -> None:
    files = [package.ROOT / "app.py", *(package.ROOT / "chalicelib").rglob("*.py")]
    names = set().union(*map(imported, files)) - sys.stdlib_module_names - {"app", "chalicelib", "infra"}
    found = importlib.metadata.packages_distributions()
    needed = set(pinned([f"{distribution}==0" for name in names for distribution in found[name]]))

    assert needed <= set(pinned(blocks("requirements.lock"))), "name it in requirements.txt and run `make lock`"
    assert set(pinned(text("requirements.txt").splitlines())) <= {*needed, "boto3"}, "nothing imports it"


def test_the_zip_holds_what_is_locked_and_not_provided(build: Path) -> None:
    names = zipfile.ZipFile(build / "deployment.zip").namelist()
    packed = [match[1] for match in (re.match(r"([^/]+)\.dist-info/METADATA$", name) for name in names) if match]

    locked = pinned(package.packed_part(text("requirements.lock")).splitlines())
    assert not {"boto3", "s3transfer", "chalice", "click"} & set(locked)
    assert pinned([name.replace("-", "==") for name in packed]) == {
        name: version for name, version in locked.items() if not package.UNNEEDED.search(f"{name}-")
    }


def a_wheel(folder: Path) -> str:
    """Make the wheel of a package `thing`, and return its digest."""
    wheel = folder / "thing-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("thing.py", "")
        made.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
        made.writestr("thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(
            "thing-1.dist-info/RECORD", "thing.py,,\nthing-1.dist-info/METADATA,,\nthing-1.dist-info/WHEEL,,\n"
        )
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def a_lock(folder: Path, digest: str) -> Path:
    lock = folder / "requirements.lock"
    lock.write_text(f"--no-index\n--find-links {folder}\nthing==1 --hash=sha256:{digest}\n", encoding="utf-8")
    return lock


@pytest.mark.slow
def test_a_locked_wheel_is_packaged(tmp_path: Path) -> None:
    lock = a_lock(tmp_path, a_wheel(tmp_path))

    package.install(lock, tmp_path / "vendor")

    assert (tmp_path / "vendor" / "thing.py").exists()


@pytest.mark.slow
def test_a_wheel_that_is_not_the_locked_one_is_not_packaged(tmp_path: Path) -> None:
    a_wheel(tmp_path)
    lock = a_lock(tmp_path, "0" * 64)

    with pytest.raises(esbuild.CommandError, match="DO NOT MATCH THE HASHES"):
        package.install(lock, tmp_path / "vendor")

    assert not (tmp_path / "vendor" / "thing.py").exists()
