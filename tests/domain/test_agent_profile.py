import pytest

from chalicelib.domain.references import matches_search
from tests.support.builders import an_agent

AGENT = an_agent(name="Straße 7", email="Till@Shop.example", phone="+27829876543")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("strasse", True),
        ("till@shop", True),
        ("SHOP0001", True),
        ("82 987 65", True),
        ("+27 (82) 987-6543", True),
        ("082 987 6543", True),
        ("0027829876543", True),
        ("99", False),
        ("till 9", False),
        ("nobody", False),
        ("+", False),
    ],
)
def test_a_search_looks_at_name_email_phone_and_terminal(text: str, found: bool) -> None:  # noqa: FBT001
    assert matches_search(AGENT, text, "SHOP0001") is found


def test_an_agent_without_a_terminal_is_searched_too() -> None:
    assert not matches_search(AGENT, "SHOP0001", None)
