"""Modules import each other in one direction."""

import ast
from graphlib import TopologicalSorter

from infra.stack.package import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in ("chalicelib", "infra")
    for path in (ROOT / folder).rglob("*.py")
}


def imported_modules(module: str) -> set[str]:
    """Return the modules of the project that a module imports when it is imported."""
    names: set[str] = set()
    for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inner if inner <= set(MODULES) else {node.module or "", *inner}
    return names & set(MODULES)


def test_no_module_imports_itself_through_others() -> None:
    graph = {module: imported_modules(module) for module in MODULES}

    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules
