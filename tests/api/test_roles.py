"""Permissions over HTTP: every endpoint called by every role. An endpoint without a row fails the first test."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

import app
from chalicelib.endpoints import ENDPOINTS
from chalicelib.store import merchants
from chalicelib.store.table import update, write_one
from tests.support.accounts import PASSWORD, a_stored_merchant, a_stored_terminal, an_account, basic, block
from tests.support.cost import store_calls
from tests.support.http import post
from tests.support.role_table import (
    AGENT,
    BRANCH,
    CREDENTIAL_ERRORS,
    CREDENTIALS,
    MERCHANT,
    NOT_THE_CALLER,
    OK,
    ROLES,
    ROWS,
    Row,
    a_world,
    authorization_of,
    endpoint_of,
    send,
)

assert app.app  # the routes are registered when the app is imported


def test_every_endpoint_has_a_row_in_the_matrix_and_every_row_an_endpoint() -> None:
    assert {row.endpoint for row in ROWS} == {endpoint.name for endpoint in ENDPOINTS}


def test_public_endpoints_are_the_two_of_the_contract_and_the_health_check() -> None:
    assert {endpoint.name for endpoint in ENDPOINTS if endpoint.public} == {
        "accounts_session",
        "payments_status_public",
        "pages_health",
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_answered_what_the_table_says(stage: str, row: Row, role: str) -> None:
    world = a_world(stage, role)
    reply = send(world, row, world.caller.basic)

    assert reply.error == row.answers[ROLES.index(role)], reply.text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("scheme", CREDENTIALS)
def test_a_scheme_makes_no_difference_to_what_an_agent_may(stage: str, row: Row, scheme: str) -> None:
    world = a_world(stage, "agent")
    reply = send(world, row, authorization_of(world, scheme))

    ends_it = row.endpoint == "accounts_end_session" and "ession" in scheme
    assert reply.error == (OK if ends_it else row.answers[ROLES.index("agent")]), reply.text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("who", CREDENTIAL_ERRORS)
def test_who_is_not_let_in_is_answered_401_by_every_endpoint(stage: str, row: Row, who: str) -> None:
    world = a_world(stage, "agent")
    if who == "blocked agent":
        world.caller.change(state=0)
    authorization = {"nobody": None, "with a wrong secret": basic(world.caller.email, "wrong")}.get(
        who, world.caller.basic
    )
    if who == "agent of a blocked merchant":
        blocked = a_stored_merchant()
        authorization = an_account(merchant=blocked, terminal_id=a_stored_terminal(blocked)).basic
        block(blocked)

    reply = send(world, row, authorization)

    expected = OK if endpoint_of(row).public else (401, CREDENTIAL_ERRORS[who])
    assert reply.error == expected, reply.text


def test_a_deleted_merchant_is_answered_as_a_missing_one_wherever_it_is_named(stage: str) -> None:
    world = a_world(stage, "system")
    named = [row for row in ROWS if "{merchantId}" in endpoint_of(row).path]
    named += [row for row in ROWS if row.endpoint == "terminals_create"]
    parts = {row.name: row.parts(world) for row in named}
    write_one(update(merchants.key(world.home.id), "SET #deleted = :deleted", {"deleted": True}))
    answers = {row.name: send(world, _of_parts(row, parts), world.caller.basic_with_key).error for row in named}

    assert {name: answer for name, answer in answers.items() if answer not in {MERCHANT, BRANCH}} == {}


def _of_parts(row: Row, parts: dict[str, dict[str, Any]]) -> Row:
    return replace(row, parts=lambda _: parts[row.name])


def _of_colleague(row: Row) -> Row:
    return replace(row, body=lambda world: (row.body(world) or {}) | {"CurrentAccountID": world.colleague.agent.id})


def test_no_endpoint_takes_a_current_account_id_other_than_the_callers(stage: str) -> None:
    world = a_world(stage, "administrator")
    takes_it = [row for row in ROWS if (body := endpoint_of(row).body) and "current_account_id" in body.model_fields]
    answers = {row.name: send(world, _of_colleague(row), world.caller.basic_with_key).error for row in takes_it}

    assert len(answers) > len(ENDPOINTS) / 2
    assert {name: answer for name, answer in answers.items() if answer != NOT_THE_CALLER} == {}


FOREIGN: dict[str, tuple[str, str]] = {
    # by row: the part of the path that names another merchant's object, and what is put there when it is missing
    "management_update_merchant": ("merchantId", "999999999"),
    "management_create_agent": ("merchantId", "999999999"),
    "management_get_agent of a colleague": ("merchantId", "999999999"),
    "management_update_agent": ("merchantId", "999999999"),
    "management_update_agents": ("merchantId", "999999999"),
    "management_search_agents": ("merchantId", "999999999"),
    "webhooks_create": ("merchantId", "999999999"),
    "webhooks_list_webhooks": ("merchantId", "999999999"),
    "webhooks_update": ("merchantId", "999999999"),
    "webhooks_test": ("merchantId", "999999999"),
    "webhooks_list_events": ("merchantId", "999999999"),
    "webhooks_resend_event": ("merchantId", "999999999"),
    "payments_get of a colleague": ("tranId", str(uuid4())),
    "payments_receipt of a colleague": ("tranId", str(uuid4())),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_another_merchants_object_is_answered_as_a_missing_one_at_the_same_cost(stage: str, name: str) -> None:
    row = next(row for row in ROWS if row.name == name)
    part, missing = FOREIGN[name]
    world = a_world(stage, "another merchant's administrator")
    parts = row.parts(world)
    with store_calls() as calls_of_foreign:
        foreign = send(world, row, world.caller.basic_with_key, **parts)
    with store_calls() as calls_of_missing:
        nowhere = send(world, row, world.caller.basic_with_key, **{**parts, part: missing})

    assert (foreign.status, foreign.text) == (nowhere.status, nowhere.text)
    assert foreign.headers.keys() == nowhere.headers.keys()
    assert calls_of_foreign == calls_of_missing


def test_an_agent_of_another_merchant_is_not_found_at_home(stage: str) -> None:
    world = a_world(stage, "administrator")
    stranger = an_account()
    row = next(row for row in ROWS if row.name == "management_get_agent of a colleague")
    send(world, row, world.caller.basic_with_key)

    with store_calls() as calls_of_foreign:
        foreign = send(world, row, world.caller.basic_with_key, posId=stranger.agent.id)
    with store_calls() as calls_of_missing:
        nowhere = send(world, row, world.caller.basic_with_key, posId=999_999_999)

    assert foreign.error == AGENT
    assert (foreign.status, foreign.text, calls_of_foreign) == (nowhere.status, nowhere.text, calls_of_missing)


IN_THE_BODY: dict[str, Callable[[Any], Any]] = {
    "terminals_create": lambda body: {**body, "BranchID": 999_999_999},
    "history_list_history of a colleague": lambda _: {"ListBasicModel": {"AccountID": 999_999_999}},
    "history_list_by_days of a colleague": lambda _: {"ListBasicModel": {"AccountID": 999_999_999}},
    "history_export of a colleague": lambda _: {"ListBasicModel": {"AccountID": 999_999_999}},
    "history_takings of a colleague": lambda _: {"AccountID": 999_999_999},
    "accounts_list_cards of a colleague": lambda _: {"AccountId": 999_999_999},
    "payments_reverse of a colleague": lambda body: {
        "BasicReverseTran": {**body["BasicReverseTran"], "TransactionID": str(uuid4())}
    },
    "payments_reverse_cnp of a colleague": lambda body: {
        "BasicReverseTran": {**body["BasicReverseTran"], "TransactionID": str(uuid4())}
    },
}


@pytest.mark.parametrize("name", IN_THE_BODY)
def test_another_merchants_object_in_a_body_is_answered_like_a_missing_one_at_equal_cost(stage: str, name: str) -> None:
    row = next(row for row in ROWS if row.name == name)
    world = a_world(stage, "another merchant's administrator")
    body = row.body(world)
    login = (world.caller.email, PASSWORD)
    post(stage, endpoint_of(row).path, body, login)

    with store_calls() as calls_of_foreign:
        foreign = post(stage, endpoint_of(row).path, body, login)
    with store_calls() as calls_of_missing:
        nowhere = post(stage, endpoint_of(row).path, IN_THE_BODY[name](body), login)

    assert foreign.status == 404
    assert (foreign.status, foreign.text, calls_of_foreign) == (nowhere.status, nowhere.text, calls_of_missing)
