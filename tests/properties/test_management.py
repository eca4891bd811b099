"""Any JSON sent to an endpoint that moves no money: never a defect, and what is refused changes nothing."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import http
from tests.support.cost import written_tables
from tests.support.management import MANAGEMENT, a_request
from tests.support.role_table import Row, World, fixed, send

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


HEAVY = {"Password", "ImageAvatar", "Image", "SendWelcomeEmail"}  # they cost time or a message


@pytest.fixture
def request_of(stage_on_engine: str, path: str) -> tuple[World, Row]:
    return a_request(stage_on_engine, path)


def replaced(body: Any, data: st.DataObject) -> Any:
    """Return the body with one value, at any depth, replaced by any JSON."""
    body = deepcopy(body)
    inner, name = body, data.draw(st.sampled_from(sorted(body)))
    while isinstance(inner[name], dict | list) and inner[name] and data.draw(st.booleans()):
        inner = inner[name]
        name = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
    inner[name] = data.draw(JSON)
    return body


def sent(world: World, row: Row, body: Any) -> http.Reply:
    """Send the body; what is refused stores nothing but the number of an ID."""
    request = fixed(row, row.parts(world), json.dumps(body))
    with written_tables() as written:
        reply = send(world, request, world.caller.basic_with_key)
    assert reply.status < 500, reply.text
    assert {"ErrorCode", "ErrorMessage", "Validations"} <= set(reply.body)
    assert reply.status == 200 or set(written) <= {"sequences"}, (reply.text, written)
    return reply


@pytest.mark.parametrize("path", MANAGEMENT)
def test_any_json_is_answered_and_what_is_refused_changes_nothing(request_of: tuple[World, Row], path: str) -> None:
    @FEW
    @given(body=JSON)
    def check(body: Any) -> None:
        assert sent(*request_of, body).status in {200, 400} or path.endswith("/delete")  # it is deleted only once

    check()


@pytest.mark.parametrize("path", MANAGEMENT)
def test_any_value_in_any_field_is_answered_and_what_is_refused_changes_nothing(request_of: tuple[World, Row]) -> None:
    world, row = request_of
    light = {name: value for name, value in row.body(world).items() if name not in HEAVY}

    @FEW
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        sent(world, row, replaced(light, data))

    check()
