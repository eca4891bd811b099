"""The documents lead to what exists, and the list of decisions is complete."""

import re
from pathlib import Path

import pytest

from infra.reference import ROOT

DECISIONS = ROOT / "docs" / "decisions"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *DECISIONS.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def anchors(document: Path) -> set[str]:
    """Return the anchors of the document's headings, as GitHub makes them."""
    text = re.sub(r"^ *```.*?^ *```$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_a_link_leads_to_a_document_and_a_heading_that_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")

    for path, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", text):
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), anchor


def test_the_list_of_decisions_has_every_decision_with_its_number_and_title() -> None:
    text = (DECISIONS / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[(\d{4})\]\(([\w-]+\.md)\) (.+)$", text, re.MULTILINE)
    titles = {path.name: path.read_text().splitlines()[0] for path in DECISIONS.glob("0*.md")}

    assert {name: f"# {number} · {title}" for number, name, title in listed} == titles
    assert len(listed) == len(titles)


@pytest.mark.parametrize("decision", sorted(DECISIONS.glob("0*.md")), ids=lambda decision: decision.stem)
def test_a_decision_has_its_date_context_decision_and_consequences(decision: Path) -> None:
    text = decision.read_text(encoding="utf-8")

    assert re.match(rf"# {decision.name[:4]} · .+\n\n\d{{4}}-\d\d-\d\d\n", text)
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
