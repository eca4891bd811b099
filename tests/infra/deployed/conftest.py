"""What is deployed, once for a process that runs tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.deployment import Deployed, served


@pytest.fixture(scope="session")
def running(
    aws: None, build: Path, tmp_path_factory: pytest.TempPathFactory, when_tables_change: list[Callable[[], None]]
) -> Iterator[Deployed]:
    """The package of the suite, served on the AWS of this process."""
    del aws
    with served(build, tmp_path_factory.mktemp("deployed")) as it:
        when_tables_change.append(it.forget)
        yield it


@pytest.fixture
def deployed(running: Deployed, moto: None) -> Deployed:
    """What is deployed, with the demo data on moto, as `stage` is for the local one."""
    del moto
    return running
