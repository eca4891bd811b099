"""The zip of the package of the stage `dev`."""

from pathlib import Path

import pytest

from infra.bench.functions import unpacked


@pytest.fixture(scope="session")
def task(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked zip."""
    return unpacked(build / "deployment.zip", tmp_path_factory.mktemp("task"))
