"""The demo data are for a stage with the sandbox, whatever the tests before left in this process."""

from collections.abc import Iterator

import pytest

from chalicelib import outside


@pytest.fixture(autouse=True)
def a_stage_with_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ACQUIRERS", "SANDBOX")
    monkeypatch.delenv("DEFAULT_ACQUIRER", raising=False)
    with outside.given(settings=None, acquirers=outside.Outside().acquirers):
        yield
