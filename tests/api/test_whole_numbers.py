"""A whole number is one however it is written: JSON Schema counts 2.0 and 2E0 as integers."""

import json

import pytest

from chalicelib.store import agents
from chalicelib.store.table import read
from tests.builders import a_shop, agent_body
from tests.http import TILL, post
from tests.transactions import a_body

SUBMIT = "/api/v1/payment/submit"


def submitted(stage: str, literal: str, field: str = "GMT") -> tuple[int, int, list[tuple[str, int]]]:
    """A cash payment with a number that is written exactly so."""
    body = json.dumps(a_body() | {field: "NUMBER"}).replace('"NUMBER"', literal)
    reply = post(stage, SUBMIT, body.encode(), TILL)
    return reply.status, reply.body["ErrorCode"], reply.findings if reply.status == 400 else []


@pytest.mark.parametrize(
    "literal", ["2", "2.0", "2E0", "0.2E1", "20E-1", "-3.000000000000000000000000000000", "0E-99999"]
)
def test_a_whole_number_is_taken_with_a_decimal_point_and_with_an_exponent(stage: str, literal: str) -> None:
    assert submitted(stage, literal) == (200, 0, [])


@pytest.mark.parametrize(
    "literal", ["2.5", "1E-999999", "2.0000000000000000000000000000000001", '"2.0"', "1E400000000"]
)
def test_a_number_that_is_not_whole_or_absurd_is_refused(stage: str, literal: str) -> None:
    assert submitted(stage, literal) == (400, 202, [("GMT", 2)])


@pytest.mark.parametrize(("literal", "code"), [("15.0", 5), ("1.5E1", 5), ("-13.0", 5)])
def test_the_bounds_of_a_whole_number_hold_however_it_is_written(stage: str, literal: str, code: int) -> None:
    assert submitted(stage, literal) == (400, 202, [("GMT", code)])


def test_the_numbers_of_a_list_are_read_alike(stage: str) -> None:
    shop = a_shop(stage)
    body = agent_body(shop.id, BranchesActions=[{"BranchID": shop.id, "Actions": ["RIGHT", "OTHER"]}])
    text = json.dumps(body).replace('"RIGHT"', "220.0").replace('"OTHER"', "2.01E2")

    reply = post(stage, f"{shop.path}/pos/create", text.encode(), shop.owner)

    assert reply.error == (200, 0), reply.text
    stored = read(agents.key(reply.body["Pos"]["ID"]))
    assert stored
    assert stored.rights == {220, 201}
