"""The parts of the suite that are no tests."""

import pytest

from tests.conftest import ROOT, SLOW, claim_of


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("test_a_payment_is_taken_once", "NOT TRUE: a payment is taken once"),
        ("test_a_payment_is_taken_once[cash-1]", "NOT TRUE: a payment is taken once [cash-1]"),
    ],
)
def test_the_first_line_of_a_failure_is_the_claim_in_words(name: str, claim: str) -> None:
    assert claim_of(name) == claim


def test_every_test_in_the_list_of_slow_tests_is_there() -> None:
    named = [name.split("::") for name in SLOW]

    assert [name for path, name in named if f"def {name}(" not in (ROOT / path).read_text(encoding="utf-8")] == []
