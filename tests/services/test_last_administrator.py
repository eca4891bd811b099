"""A merchant keeps an active administrator, whoever else is blocked between any two calls of a request."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import count, takewhile
from typing import Any

import pytest

from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.permissions import Right, is_administrator
from chalicelib.errors import ServiceError
from chalicelib.schemas.agents import BulkUpdate, UpdateAgent
from chalicelib.services import agents as service
from chalicelib.store import agents
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import replace_record, write_one
from tests.support.accounts import Account, a_stored_merchant, an_account
from tests.support.intercepted_calls import hooked
from tests.support.stored import stored_record

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
Way = Callable[[Account, Account, dict[str, Any]], None]
pytestmark = pytest.mark.usefixtures("engine")


def _one_by_one(caller: Account, other: Account, change: dict[str, Any]) -> None:
    agent = caller.agent
    body = UpdateAgent.model_validate(change)
    service.update(body, Caller(agent.id, agent.client_id, 1), agent.client_id, other.agent.id, NOW)


def _in_bulk(caller: Account, other: Account, change: dict[str, Any]) -> None:
    agent = caller.agent
    body = BulkUpdate.model_validate({"PosBulk": [{"Email": other.email, **change}]})
    service.update_bulk(body, Caller(agent.id, agent.client_id, 1), agent.client_id, NOW)


def _is_active_administrator(account: Account) -> bool:
    stored: Agent = stored_record(agents.key(account.agent.id))
    return is_administrator(stored) and stored.state == 1


def _remaining(number: int, by_caller: Way, by_other: Way, *, is_block: bool, is_self: bool) -> int | None:
    """Return how many of two remain when both end each other, or themselves, the other one before a call of the caller.

    None when there is no such call.
    """
    home = a_stored_merchant()
    change = {"State": 0} if is_block else {"BranchesActions": [{"BranchID": home.id, "Actions": []}]}
    caller, other = (an_account(Right.ADMINISTRATOR, merchant=home) for _ in range(2))
    calls = count(1)

    def interrupt(when: str, _: str) -> None:
        if when == "before" and next(calls) == number:
            with suppress(ServiceError):
                by_other(other, other if is_self else caller, change)

    with hooked(interrupt), suppress(ServiceError):
        by_caller(caller, caller if is_self else other, change)
    return None if next(calls) <= number else sum(map(_is_active_administrator, (caller, other)))


@pytest.mark.parametrize("by_other", [_one_by_one, _in_bulk])
@pytest.mark.parametrize("by_caller", [_one_by_one, _in_bulk])
@pytest.mark.parametrize(
    ("is_block", "is_self"),
    [(True, False), (False, False), (True, True)],  # nobody changes her own rights
    ids=["block each other", "take each other's right", "block themselves"],
)
def test_of_two_administrators_that_are_ended_at_any_moment_one_remains(
    by_caller: Way, by_other: Way, *, is_block: bool, is_self: bool
) -> None:
    end = partial(_remaining, by_caller=by_caller, by_other=by_other, is_block=is_block, is_self=is_self)
    remaining = list(takewhile(lambda one: one is not None, map(end, count(1))))

    assert len(remaining) >= 2
    assert set(remaining) == {1}


@pytest.mark.parametrize("by", [_one_by_one, _in_bulk])
@pytest.mark.parametrize("gone", [{"deleted": True}, {"state": 0}, {"branches_actions": ()}], ids=str)
def test_who_is_deleted_blocked_or_no_administrator_does_not_remain(by: Way, gone: dict[str, Any]) -> None:
    home = a_stored_merchant()
    caller, other = (an_account(Right.ADMINISTRATOR, merchant=home) for _ in range(2))
    gone_agent = replace(other.agent, **gone)
    key = agents.key(other.agent.id)
    write_one(replace_record(key, gone_agent, ChangedMeanwhileError()))
    with suppress(ServiceError):
        by(caller, caller, {"State": 0})

    assert _is_active_administrator(caller)
