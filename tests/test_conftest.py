"""The parts of the suite that are no tests."""

import pytest

from tests.conftest import claim_of


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("test_a_payment_is_taken_once", "NOT TRUE: a payment is taken once"),
        ("test_a_payment_is_taken_once[cash-1]", "NOT TRUE: a payment is taken once [cash-1]"),
    ],
)
def test_the_first_line_of_a_failure_is_the_claim_in_words(name: str, claim: str) -> None:
    assert claim_of(name) == claim
