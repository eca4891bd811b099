"""The pages as they lie in the package: esbuild's scripts and styles in place of the modules."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib import pages
from infra.stack import esbuild


@pytest.fixture(scope="session")
def joined_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of `chalicelib/pages` as the package has it. Without npm and PyPI skip, in CI fail."""
    folder = tmp_path_factory.mktemp("joined") / "pages"
    shutil.copytree(pages.FOLDER, folder)
    try:
        esbuild.join(folder)
    except esbuild.CommandError as problem:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(problem))
    return folder


@pytest.fixture
def joined_pages(joined_folder: Path) -> Iterator[None]:
    """Let the service of this process serve what the package has."""
    with pytest.MonkeyPatch.context() as patch:
        serve_from(joined_folder, patch)
        yield
    forget()


def serve_from(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let the pages be those in `folder` until the patch ends. Then call `forget`."""
    patch.setattr(pages, "FOLDER", folder)
    forget()


def forget() -> None:
    """Let the pages be read again."""
    for one in (pages.files, pages.version, pages.html, pages.worker):
        one.cache_clear()
