import itertools
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.store import auth_account_calls
from tests.support.giving import Give
from tests.support.outages import lose_an_answer

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
INTERVAL = timedelta(minutes=10)

pytestmark = pytest.mark.usefixtures("engine")

_ids = itertools.count(800_000)  # far from the sequences'


def test_the_first_call_is_allowed() -> None:
    assert auth_account_calls.take_call(next(_ids), NOW, INTERVAL) is None


def test_a_second_call_is_given_the_time_to_wait() -> None:
    agent_id = next(_ids)
    auth_account_calls.take_call(agent_id, NOW, INTERVAL)

    assert auth_account_calls.take_call(agent_id, NOW + timedelta(minutes=4), INTERVAL) == timedelta(minutes=6)


def test_a_refused_call_does_not_restart_the_interval() -> None:
    agent_id = next(_ids)
    auth_account_calls.take_call(agent_id, NOW, INTERVAL)
    auth_account_calls.take_call(agent_id, NOW + timedelta(minutes=9), INTERVAL)

    assert auth_account_calls.take_call(agent_id, NOW + INTERVAL, INTERVAL) is None


def test_accounts_do_not_wait_for_each_other() -> None:
    auth_account_calls.take_call(next(_ids), NOW, INTERVAL)

    assert auth_account_calls.take_call(next(_ids), NOW, INTERVAL) is None


def test_a_call_whose_answer_was_lost_does_not_wait_for_itself(give: Give) -> None:
    seen = lose_an_answer(give, "UpdateItem", "sequences")

    assert auth_account_calls.take_call(next(_ids), NOW, INTERVAL) is None
    assert len(seen) == 2
