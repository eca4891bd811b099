"""Tables of figures, which the bench prints, and writes into documents between two marks.

`<!-- bench: history -->` in a document begins the table "history", `<!-- bench: end -->` ends it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/costs.md", "docs/history.md")
MARKED = re.compile(r"(?P<begin><!-- bench: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- bench: end -->)", re.DOTALL)


@dataclass(frozen=True)
class Table:
    """A table of figures: the first column has texts, the others formatted numbers."""

    name: str  # in the marks of documents
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def markdown(self) -> str:
        """Return the table as Markdown, one line for each row."""
        rule = "|---|" + "---:|" * (len(self.columns) - 1)
        return "\n".join([_line(self.columns), rule, *map(_line, self.rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def show(table: Table) -> Table:
    """Print a table, and return it."""
    print(f"\n{table.markdown}", flush=True)
    return table


def put_into(text: str, tables: Iterable[Table]) -> str:
    """Return the text of a document with these tables in place of the old ones. Other tables stay."""
    by_name = {table.name: table for table in tables}

    def replaced(found: re.Match[str]) -> str:
        table = by_name.get(found["name"])
        return f"{found['begin']}{table.markdown}\n{found['end']}" if table else found[0]

    return MARKED.sub(replaced, text)


def write_documents(tables: Sequence[Table], root: Path = ROOT) -> list[str]:
    """Put the tables into the documents; return the names of those that changed."""
    changed = []
    for name in DOCUMENTS:
        path = root / name
        before = path.read_text(encoding="utf-8")
        after = put_into(before, tables)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(name)
    return changed
