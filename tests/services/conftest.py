"""What the tests of the services share."""

import pytest

from tests.accounts import sign_with_ours


@pytest.fixture
def signing(engine: str) -> None:
    """The stage accepts what the tests sign."""
    del engine
    sign_with_ours()
