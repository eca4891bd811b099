"""What is in the package of the stage `dev`."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.deployed.task import unpacked


@pytest.fixture(scope="session")
def sam(build: Path) -> dict[str, Any]:
    """Return the template of the package."""
    parsed: dict[str, Any] = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    return parsed


@pytest.fixture(scope="session")
def task(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked zip."""
    return unpacked(build / "deployment.zip", tmp_path_factory.mktemp("task"))
