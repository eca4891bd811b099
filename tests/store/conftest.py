"""Fixtures of the tests of the store."""

import pytest

from infra.local.stage import ENGINES


@pytest.fixture(scope="session", params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    """Each engine that is not ours, in turn, whatever ENGINES says."""
    name: str = request.param
    return name
