"""Any JSON sent to a management endpoint: never a defect, never half a write."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeGuard

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.store import agents, audit, merchants, terminals, unique_names
from chalicelib.store.table import read
from tests.support import builders, http
from tests.support.builders import Shop, a_shop
from tests.support.stored import stored_record

TEXTS = st.text(st.characters(codec=None), max_size=20) | st.sampled_from(
    ["\ud800", "\0", "", " ", "\u202e", "9" * 400]
)
NUMBERS = st.integers() | st.integers(-(10**400), 10**400) | st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@dataclass(frozen=True)
class Target:
    """An endpoint: its path, a valid body, and the stored state that it may change."""

    path: str
    body: Callable[[], dict[str, Any]]
    state: Callable[[dict[str, Any]], Any]
    login: tuple[str, str]


def is_name(value: object) -> TypeGuard[str]:
    """Return whether something may be stored under it: a text, in any script, that can be written in UTF-8."""
    return isinstance(value, str) and 0 < len(value.encode(errors="ignore")) == len(value.encode(errors="replace"))


def targets(shop: Shop) -> dict[str, Target]:
    agent = shop.agent(ImageAvatar=None)
    light = {"Password": None, "ImageAvatar": None, "Image": None, "SendWelcomeEmail": None}

    def created_agent(body: dict[str, Any]) -> Any:
        email = body.get("Email")
        login = read(agents.login_key(email)) if is_name(email) else None
        return login and (login.agent_id, read(agents.key(login.agent_id)) is not None)

    def created_terminal(body: dict[str, Any]) -> Any:
        name = body.get("Name")
        claim = read(unique_names.tid_key(shop.id, name)) if is_name(name) else None
        return claim and (claim.holder, read(terminals.key(claim.holder)) is not None)

    def changed_agent(_: object) -> Any:
        found = stored_record(agents.key(agent["ID"]))
        login = stored_record(agents.login_key(found.email))
        assert (login.state, login.credential_version) == (found.state, found.credential_version)
        return found, login, len(audit.of(f"agent#{found.id}"))

    def changed_merchant(_: object) -> Any:
        return read(merchants.key(shop.id)), len(audit.of(f"merchant#{shop.id}"))

    bulk = {"PosBulk": [{"Email": agent["Email"], "State": 1, "PrinterAndTaxSettings": {"PrinterID": 1}}]}
    return {
        "merchant/create": Target(
            "/api/v1/merchant/create", lambda: builders.merchant_body(**light), lambda _: None, http.SYSTEM
        ),
        "merchant/update": Target(
            f"{shop.path}/update", lambda: builders.merchant_update(**light), changed_merchant, http.SYSTEM
        ),
        "pos/create": Target(
            f"{shop.path}/pos/create", lambda: builders.agent_body(shop.id, **light), created_agent, shop.owner
        ),
        "pos/update": Target(
            f"{shop.path}/pos/{agent['ID']}/update", lambda: builders.agent_update(**light), changed_agent, shop.owner
        ),
        "pos/updatebulk": Target(
            f"{shop.path}/pos/updatebulk", lambda: builders.CONTEXT | bulk, changed_agent, shop.owner
        ),
        "pos/list": Target(
            f"{shop.path}/pos/list", lambda: {"Search": "x", "State": 1, "Page": 1}, lambda _: None, shop.owner
        ),
        "terminal/create": Target(
            "/api/v1/terminal/create", lambda: builders.terminal_body(shop.id), created_terminal, shop.owner
        ),
    }


ENDPOINTS = (
    "merchant/create",
    "merchant/update",
    "pos/create",
    "pos/update",
    "pos/updatebulk",
    "pos/list",
    "terminal/create",
)


@pytest.fixture
def shop(stage_on_engine: str) -> Shop:
    return a_shop(stage_on_engine)


def replaced(body: Any, data: st.DataObject) -> Any:
    """Return the body with one value, at any depth, replaced by any JSON."""
    body = deepcopy(body)
    inner, name = body, data.draw(st.sampled_from(sorted(body)))
    while isinstance(inner[name], dict | list) and inner[name] and data.draw(st.booleans()):
        inner = inner[name]
        name = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
    inner[name] = data.draw(JSON)
    return body


def sent(shop: Shop, target: Target, body: Any) -> http.Reply:
    reply = shop.post(target.path, json.dumps(body), target.login)
    assert reply.status < 500, reply.text
    assert {"ErrorCode", "ErrorMessage", "Validations"} <= set(reply.body)
    return reply


@pytest.mark.parametrize("name", ENDPOINTS)
def test_any_json_is_answered_and_what_is_refused_changes_nothing(shop: Shop, name: str) -> None:
    target = targets(shop)[name]
    before = target.state({})

    @FEW
    @given(body=JSON)
    def check(body: Any) -> None:
        reply = sent(shop, target, body)
        assert reply.status in {200, 400}, reply.text

    check()

    assert target.state({}) == before or name == "pos/update"  # where every field is optional, {} is a request


@pytest.mark.parametrize("name", ENDPOINTS)
def test_any_value_in_any_field_is_answered_and_what_is_refused_changes_nothing(shop: Shop, name: str) -> None:
    target = targets(shop)[name]

    @FEW
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        body = replaced(target.body(), data)
        before = target.state(body)

        reply = sent(shop, target, body)

        after = target.state(body)
        if reply.status != 200:
            assert after == before
        elif name in {"pos/create", "terminal/create"}:
            assert after[1] is True

    check()
