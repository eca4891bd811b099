"""The commands of the guide that go back to the release before by hand keep the operator's settings."""

import os
import subprocess
from pathlib import Path

import pytest

from infra.reference import ROOT
from infra.stack import config
from tests.support import guides

GUIDE, HEADING = "docs/operator.md", "Go back to the release before"
NOBODY = {name: "nobody" for role in ("AUTHOR", "COMMITTER") for name in (f"GIT_{role}_NAME", f"GIT_{role}_EMAIL")}
CODE, AUTHORITY = "chalicelib/code.py", "chalicelib/bank-ca.pem"
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
    """A clone with the release before, the new version, and the operator's commit upon it."""
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "git init --quiet --initial-branch main")
    write(folder, **{CODE: "before", config.FILE: "as it comes", ".gitignore": "build/\n"})
    commit(folder)
    before = git(folder, "git rev-parse HEAD")
    write(folder, **{CODE: "new", config.FILE: "as the new one comes", RELEASE_BEFORE: before})
    commit(folder)
    write(folder, **{config.FILE: "of the operator", AUTHORITY: "of the bank"})
    commit(folder)
    return folder


def write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def commit(folder: Path) -> None:
    git(folder, "git add --all && git commit --quiet --message change")


def read(folder: Path, *names: str) -> list[str]:
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def test_going_back_by_hand_keeps_the_settings_and_leads_to_the_new_version_again(clone: Path) -> None:
    release, kept, again, *_ = git_commands()

    git(clone, release)
    git(clone, f"{kept} {AUTHORITY}")

    assert read(clone, CODE, config.FILE, AUTHORITY) == ["before", "of the operator", "of the bank"]
    git(clone, again)
    assert read(clone, CODE, config.FILE, AUTHORITY) == ["new", "of the operator", "of the bank"]
    assert git(clone, "git branch --show-current; git status --porcelain") == "main\n"


def test_a_setting_that_was_removed_for_the_release_before_is_put_back(clone: Path) -> None:
    release, kept, again, *_ = git_commands()
    for command in (release, kept):
        git(clone, command)
    write(clone, **{config.FILE: "of the operator, less a setting"})

    for command in (kept, again):
        git(clone, command)

    assert read(clone, CODE, config.FILE) == ["new", "of the operator"]
    assert git(clone, "git status --porcelain") == ""


def test_the_rehearsal_can_be_repeated(clone: Path) -> None:
    *_, added, removed = git_commands()

    for _ in range(2):
        git(clone, added)
        assert read(clone.parent / "before", CODE) == ["before"]
        write(clone.parent / "before", **{"build/sam.json": "{}", "left": "behind"})
        git(clone, removed)
        assert not (clone.parent / "before").exists()


def test_the_file_of_the_release_before_is_where_the_commands_read_it() -> None:
    assert (ROOT / RELEASE_BEFORE).is_file()
    assert len([command for command in git_commands() if f"$(cat {RELEASE_BEFORE})" in command]) == 2
