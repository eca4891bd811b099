"""What is deployed, once for a process that runs tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment import Deployed, served


@pytest.fixture(scope="session")
def running(aws: None, build: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The package of the suite, served on the AWS of this process; its instances are frozen between requests."""
    del aws
    with served(build, tmp_path_factory.mktemp("deployed"), freezes=True) as it:
        yield it


@pytest.fixture
def deployed(running: Deployed, moto_tables: object, request: pytest.FixtureRequest) -> Deployed:
    """What is deployed, with the demo data: as `stage` is for the local one."""
    moto_tables.on_reset = running.forget  # type: ignore[attr-defined]
    request.getfixturevalue("moto")
    return running
