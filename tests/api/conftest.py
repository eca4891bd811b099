import pytest

from tests.support.builders import Shop, a_shop


@pytest.fixture
def shop(stage: str) -> Shop:
    """A new merchant with its administrator."""
    return a_shop(stage)
