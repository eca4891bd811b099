"""Fixtures of the tests of the services."""

import pytest

from tests.support.accounts import accept_test_tokens


@pytest.fixture
def signing(engine: str) -> None:
    """The stage accepts what the tests sign."""
    del engine
    accept_test_tokens()
