"""Every deletion of the code is in the registry, which `restore` reads."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.domain.deletions import Deletion
from infra.operator import items

ROOT = Path(__file__).parents[2]
STORE = "chalicelib/store/table.py"
OTHERS = ("infra/local/", "infra/stack/")  # they carry out the calls of the code, and permit them
WAYS = {"Delete", "DeleteItem", "delete_item", "DeleteRequest"}  # of DynamoDB


def texts_of(path: Path) -> Iterator[str]:
    """Yield the strings and attributes of a module. A keyword such as `Delete=` of S3 is not among them."""
    yield from (
        str(node.value if isinstance(node, ast.Constant) else node.attr)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant | ast.Attribute)
    )


def test_only_the_store_deletes_items_and_only_for_a_reason_in_the_registry() -> None:
    modules = [path for folder in ("chalicelib", "infra") for path in (ROOT / folder).rglob("*.py")]
    naming = (path for path in modules if "elete" in path.read_text(encoding="utf-8"))
    deleting = {str(path.relative_to(ROOT)) for path in naming if WAYS & set(texts_of(path))}

    assert {name for name in deleting if not name.startswith(OTHERS)} == {STORE}
    assert (ROOT / STORE).read_text(encoding="utf-8").count('Write("Delete"') == 1


@pytest.mark.parametrize("reason", Deletion)
def test_a_reason_is_used_and_names_a_table(reason: Deletion) -> None:
    store = [path.read_text(encoding="utf-8") for path in (ROOT / "chalicelib" / "store").glob("*.py")]

    assert any(f"Deletion.{reason.name}" in text for text in store)
    assert reason.table in items.definitions()


@pytest.mark.parametrize(
    ("reason", "kind", "fields", "is_made"),
    [
        (Deletion.WEBHOOK, "delete", ["url"], True),
        (Deletion.WEBHOOK, "update", ["url"], False),
        (Deletion.LOGIN_OF_DELETED_AGENT, "delete", ["deleted"], True),
        (Deletion.LOGIN_OF_FORMER_EMAIL, "update", ["email", "name"], True),
        (Deletion.LOGIN_OF_FORMER_EMAIL, "bulk", ["email"], True),
        (Deletion.LOGIN_OF_FORMER_EMAIL, "update", ["name"], False),
        (Deletion.LOGIN_OF_FORMER_EMAIL, "create", ["email"], False),
    ],
)
def test_an_act_in_the_audit_deletes_what_the_registry_says(
    reason: Deletion, kind: str, fields: list[str], *, is_made: bool
) -> None:
    assert reason.is_made_by(kind, fields) is is_made
