"""Permissions over HTTP: every endpoint called by every role. An endpoint without a row fails the first test."""

import json
import re
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

import app
from chalicelib.endpoints import ENDPOINTS
from chalicelib.store import merchants
from chalicelib.store.table import update, write_one
from chalicelib.web import Endpoint
from tests.support.accounts import a_stored_merchant, a_stored_terminal, an_account, basic, block
from tests.support.cost import store_calls
from tests.support.role_table import (
    BRANCH,
    CREDENTIAL_ERRORS,
    CREDENTIALS,
    MERCHANT,
    NOT_THE_CALLER,
    OK,
    PARTS,
    ROLES,
    ROWS,
    Row,
    World,
    a_world,
    authorization_of,
    endpoint_of,
    fixed,
    parts_of,
    send,
)
from tests.support.spec_fields import DOCUMENT

UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
assert app.app  # the routes are registered when the app is imported


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_an_endpoint_has_a_row_and_its_path_names_known_objects(endpoint: Endpoint) -> None:
    assert endpoint.name in {row.endpoint for row in ROWS}, "add a row to ROWS in tests/support/role_table.py"
    assert set(parts_of(endpoint)) <= set(PARTS), "add the part to PARTS in tests/support/role_table.py"


def test_public_endpoints_are_those_of_the_contract_and_the_health_check() -> None:
    assert {endpoint.name for endpoint in ENDPOINTS if endpoint.public} == {
        "accounts_session",
        "accounts_forget_password",
        "accounts_reset_password",
        "payments_status_public",
        "pages_health",
    }


@pytest.mark.slow
def test_a_key_is_read_exactly_where_the_document_has_its_header(stage: str) -> None:
    documented = {
        endpoint.name
        for endpoint in ENDPOINTS
        for one in DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]["parameters"]
        if one["name"] == "Idempotency-Key"
    }
    read = set()
    for row in ROWS:
        world = a_world(stage, ROLES[row.answers.index(OK)] if OK in row.answers else "administrator")
        reply = send(world, row, world.caller.basic, key=" ")
        read |= {row.endpoint for field, _ in reply.findings if field == "Idempotency-Key"}

    assert read == documented


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

    is_of_sessions = row.endpoint in {"accounts_end_session", "accounts_totp"} and "ession" in scheme
    assert reply.error == (OK if is_of_sessions else row.answers[ROLES.index("agent")]), reply.text


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

    of_anybody = row.answers[ROLES.index("agent")]
    expected = of_anybody if endpoint_of(row).public else (401, CREDENTIAL_ERRORS[who])
    assert reply.error == expected, reply.text


def test_a_deleted_merchant_is_answered_as_a_missing_one_wherever_it_is_named(stage: str) -> None:
    world = a_world(stage, "system")
    named = [fixed(row, row.parts(world), row.body(world)) for row in ROWS if row.answers[-1] in {MERCHANT, BRANCH}]
    write_one(update(merchants.key(world.home.id), {"deleted": True}))
    answers = {row.name: send(world, row, world.caller.basic_with_key).error for row in named}

    assert {name: answer for name, answer in answers.items() if answer not in {MERCHANT, BRANCH}} == {}


def _of_colleague(row: Row) -> Row:
    return replace(row, body=lambda world: (row.body(world) or {}) | {"CurrentAccountID": world.colleague.agent.id})


def test_no_endpoint_takes_a_current_account_id_other_than_the_callers(stage: str) -> None:
    world = a_world(stage, "administrator")
    takes_it = [row for row in ROWS if (body := endpoint_of(row).body) and "current_account_id" in body.model_fields]
    answers = {row.name: send(world, _of_colleague(row), world.caller.basic_with_key).error for row in takes_it}

    assert len(answers) > len(ENDPOINTS) / 2
    others = {name: answer for name, answer in answers.items() if answer != NOT_THE_CALLER}
    assert others == dict.fromkeys(("management_create_merchant", "management_list_merchants"), (403, 151))  # the role


FOREIGN = [row for row in ROWS if row.answers[-1][0] == 404 and row.answers[-1] != row.answers[1]]


def test_another_merchants_object_is_tried_at_each_endpoint_whose_path_names_one() -> None:
    tried = {row.endpoint for row in FOREIGN}
    assert [one.name for one in ENDPOINTS if parts_of(one) and not one.public and one.name not in tried] == []


@pytest.mark.parametrize("row", FOREIGN, ids=lambda row: row.name)
def test_another_merchants_object_is_answered_as_a_missing_one_at_the_same_cost(stage: str, row: Row) -> None:
    world = a_world(stage, "another merchant's administrator")
    ids = re.compile(rf"\b({world.home.id}|{world.colleague.agent.id})\b")

    def absent(sent: Any) -> Any:
        return json.loads(UUID.sub(str(uuid4()), ids.sub("999999999", json.dumps(sent))))

    sent = row.parts(world), row.body(world)
    missing = absent(sent[0]), absent(sent[1])
    assert missing != sent
    _assert_alike(world, fixed(row, *sent), fixed(row, *missing))


IN_A_MERCHANT = [row for row in FOREIGN if len(parts_of(endpoint_of(row))) > 1]


@pytest.mark.parametrize("row", IN_A_MERCHANT, ids=lambda row: row.name)
def test_another_merchants_object_is_not_found_at_home(stage: str, row: Row) -> None:
    world, there = a_world(stage, "administrator"), a_world(stage, "administrator")
    name, parts, body = parts_of(endpoint_of(row))[-1], row.parts(world), row.body(world)
    foreign = row.parts(there)[name]
    absent = 999_999_999 if isinstance(foreign, int) else UUID.sub(str(uuid4()), foreign)

    _assert_alike(world, *(fixed(row, parts | {name: value}, body) for value in (foreign, absent)))


def _assert_alike(world: World, row: Row, missing: Row) -> None:
    """Expect 404 for both, with the same answer after the same calls. The first request warms the caches."""
    send(world, row, world.caller.basic_with_key)
    with store_calls() as calls_of_foreign:
        foreign = send(world, row, world.caller.basic_with_key)
    with store_calls() as calls_of_missing:
        nowhere = send(world, missing, world.caller.basic_with_key)

    assert foreign.status == 404, foreign.text
    assert (foreign.status, foreign.text) == (nowhere.status, nowhere.text)
    assert foreign.headers.keys() == nowhere.headers.keys()
    assert calls_of_foreign == calls_of_missing
