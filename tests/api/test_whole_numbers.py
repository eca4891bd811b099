"""A whole number is written without a decimal point, though JSON Schema counts 2.0 and 2E0 as integers."""

import json

import pytest

from tests.support.http import TILL, post
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"


@pytest.mark.parametrize(
    "literal", ["2.0", "2E0", "20E-1", "2.5", "0E-99999", "1E-999999", '"2"', '"2.0"', "1E400000000"]
)
def test_a_number_that_is_written_in_another_way_is_of_the_wrong_type(stage: str, literal: str) -> None:
    body = json.dumps(a_body() | {"GMT": "NUMBER"}).replace('"NUMBER"', literal)
    reply = post(stage, SUBMIT, body.encode(), TILL)

    assert (reply.error, reply.findings) == ((400, 202), [("GMT", 2)])
