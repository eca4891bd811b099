"""The bench's tables, and the documents that show them."""

import re
from pathlib import Path

import pytest

from infra.bench.table import DOCUMENTS, MARKED, ROOT, Table, put_into, write_documents

MADE = {
    "operations",
    "payment",
    "history",
    "records",
    "export",
    "cold-start",
}  # by infra.bench


def names_in(text: str) -> list[str]:
    """The tables that a document shows."""
    return [found["name"] for found in MARKED.finditer(text)]


PAGES = Table("pages", ("page", "calls"), [("first", "5"), ("last", "6")])
SHOWN = """Before.

<!-- bench: pages -->
| old |
<!-- bench: end -->

Between.

<!-- bench: other -->
| kept |
<!-- bench: end -->
"""


def test_a_table_takes_the_place_of_the_former_one_and_others_stay() -> None:
    text = put_into(SHOWN, [PAGES])

    assert text.startswith(
        "Before.\n\n<!-- bench: pages -->\n| page | calls |\n|---|---:|\n| first | 5 |\n| last | 6 |\n"
    )
    assert "| old |" not in text
    assert text.endswith("<!-- bench: other -->\n| kept |\n<!-- bench: end -->\n")


def test_a_table_may_be_put_in_again() -> None:
    once = put_into(SHOWN, [PAGES])

    assert put_into(once, [PAGES]) == once


def test_only_documents_that_show_a_table_are_written(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in DOCUMENTS:
        (tmp_path / name).write_text("nothing here\n", encoding="utf-8")
    (tmp_path / DOCUMENTS[0]).write_text(SHOWN, encoding="utf-8")

    assert write_documents([PAGES], tmp_path) == [DOCUMENTS[0]]
    assert write_documents([PAGES], tmp_path) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_mark_of_a_document_begins_a_table_that_the_bench_makes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert names_in(text), f"{name} shows no table of the bench: take it out of DOCUMENTS"
    assert set(names_in(text)) <= MADE
    assert len(re.findall(r"<!-- bench: ", text)) == 2 * len(names_in(text)), "each begin has its end"


def test_no_other_document_has_marks() -> None:
    others = [path for path in ROOT.glob("*.md") if path.name not in DOCUMENTS]
    others += [path for path in (ROOT / "docs").rglob("*.md") if str(path.relative_to(ROOT)) not in DOCUMENTS]

    assert [path for path in others if names_in(path.read_text(encoding="utf-8"))] == []
