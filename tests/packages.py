"""A package of the stage `dev`, made once for all processes that run tests."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from infra.cloud import package

PACKAGE_SECONDS = 300  # to make a package on a busy machine


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the package: the first process makes it, the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "package"
    done = folder / "done"
    try:
        folder.mkdir()
    except FileExistsError:
        until = time.monotonic() + PACKAGE_SECONDS
        while not done.exists() and time.monotonic() < until:
            time.sleep(0.2)
        assert done.exists(), "the package was not made: see the test that made it"
        return folder
    package.package("dev", folder)
    done.touch()
    return folder


@pytest.fixture(scope="session")
def sam(build: Path) -> dict[str, Any]:
    """Return the template of the package."""
    parsed: dict[str, Any] = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    return parsed
