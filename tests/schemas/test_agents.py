"""The views of an agent."""

from datetime import timedelta

import pytest

from chalicelib.schemas.agents import LogonView
from tests.support.builders import a_login, an_agent
from tests.support.transactions import NOW


@pytest.mark.parametrize(("minutes", "shown"), [(1, "2026-03-14T11:27:53.589"), (0, None), (-1, None)])
def test_a_logon_shows_a_lock_in_the_zone_until_it_ends(minutes: int, shown: str | None) -> None:
    login = a_login(an_agent(), failed_attempts=10, locked_until=NOW + timedelta(minutes=minutes))
    view = LogonView.of(login, NOW, 2)

    assert (view.failed_attempts, view.locked_until, view.last_logon) == (10, shown, None)
