"""The rehearsal of the guide runs the code of the release before, and can be repeated."""

import os
import subprocess
from pathlib import Path

import pytest

from infra.reference import ROOT
from tests.support import guides

GUIDE, HEADING = "docs/operator.md", "Go back to the release before"
NOBODY = {name: "nobody" for role in ("AUTHOR", "COMMITTER") for name in (f"GIT_{role}_NAME", f"GIT_{role}_EMAIL")}
CODE = "chalicelib/code.py"
RELEASE_BEFORE = "infra/stack/release_before.txt"


def git_commands() -> list[str]:
    return [command for command in guides.commands_under(GUIDE, HEADING) if command.startswith("git ")]


def git(folder: Path, command: str) -> str:
    words = ["bash", "-e", "-c", command]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(words, cwd=folder, env={**environment, **NOBODY}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with the release before and the new version."""
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "git init --quiet --initial-branch main")
    write(folder, **{CODE: "before", ".gitignore": "build/\n"})
    commit(folder)
    before = git(folder, "git rev-parse HEAD")
    write(folder, **{CODE: "new", RELEASE_BEFORE: before})
    commit(folder)
    return folder


def write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def commit(folder: Path) -> None:
    git(folder, "git add --all && git commit --quiet --message change")


def test_the_rehearsal_can_be_repeated(clone: Path) -> None:
    added, removed = git_commands()

    for _ in range(2):
        git(clone, added)
        assert (clone.parent / "before" / CODE).read_text(encoding="utf-8") == "before"
        write(clone.parent / "before", **{"build/sam.json": "{}", "left": "behind"})
        git(clone, removed)
        assert not (clone.parent / "before").exists()


def test_the_file_of_the_release_before_is_where_the_commands_read_it() -> None:
    assert (ROOT / RELEASE_BEFORE).is_file()
    assert len([command for command in git_commands() if f"$(cat {RELEASE_BEFORE})" in command]) == 1
