"""The guides describe the service as it is."""

import re
from pathlib import Path

import pytest

from chalicelib.domain.transaction import TRANSITIONS, Phase
from infra import demo_data, operator
from infra.reference import ROOT
from infra.reference.examples import examples
from tests.http import call

GUIDES = sorted((ROOT / "docs").glob("*.md"))
OF_REVERSALS = {Phase.CANCELLING, Phase.RETURNING, Phase.REVERSAL_APPROVED}


def phase(name: str) -> Phase:
    return Phase(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def test_the_diagram_of_a_payment_is_the_table_of_transitions() -> None:
    text = (ROOT / "docs" / "life-of-a-payment.md").read_text(encoding="utf-8")

    drawn = {(phase(one), phase(other)) for one, other in re.findall(r"^ +(\w+) --> (\w+):", text, re.MULTILINE)}
    legal = {(one, other) for one, others in TRANSITIONS.items() for other in others if one not in OF_REVERSALS}
    assert drawn == legal


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_a_guide_leads_to_guides_that_exist(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")

    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / "docs" / target).exists()


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_a_path_and_an_operators_command_of_a_guide_exist(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    commands = operator.__doc__ or ""

    paths = {example.endpoint.split(" ")[1] for example in examples()}
    assert set(re.findall(r"`POST (/api/[^`]+)`", text)) <= paths
    assert [
        name for name in re.findall(r"infra\.operator ([a-z-]+)", text) if f"infra.operator {name}" not in commands
    ] == []


def test_the_first_payment_of_the_guide_can_be_taken_and_half_given_back(stage: str) -> None:
    text = (ROOT / "docs" / "first-payment.md").read_text(encoding="utf-8")
    pasted = re.findall(r"http://127\.0\.0\.1:8000(/api\S+) -u (\S+?):(\S+)(?:.*?-d '(.*?)'\n)?", text, re.DOTALL)

    (paid, back, seen) = [
        call(stage, "POST" if body.strip() else "GET", path, body or None, login=(login, password)).body
        for path, login, password, body in [(one[0], one[1], one[2], one[3]) for one in pasted]
    ]
    assert (login := demo_data.TILL[0]) in text, login
    assert paid["Transaction"]["Substate"] == 411
    assert back["ErrorCode"] == 0
    assert seen["Transactions"][0]["AmountEff"] == 125
