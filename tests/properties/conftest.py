"""Fixtures of the tests of invariants."""

from collections.abc import Iterator

import pytest

from tests.support.intercepted_calls import threads


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Let the sweep work in the thread of its caller: a test that stops it, or lets others go first, says where."""
    with threads(1):
        yield
