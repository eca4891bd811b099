"""The layers of CONTRIBUTING.md: the imports of each, and the length of functions."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EVERYWHERE = {"errors", "outside"}
ROW = re.compile(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
# The table of CONTRIBUTING.md is the rule: what each layer may import.
MAY_IMPORT = {
    layer: set(re.findall(r"`(\w+)`", layers))
    for layer, layers in ROW.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
}
BOTO3_ROOMS = {"gateways"}
CHALICE_MODULES = {"chalicelib.web", "chalicelib.authorizer", "chalicelib.routes.jobs"}  # decision 21
BOTO3_MODULES = {"chalicelib.store.aws_client"}
MODULES = sorted((ROOT / "chalicelib").rglob("*.py"))


OF_ONE_ACQUIRER = ("chalicelib.gateways.acquirers.", "chalicelib.settings.")


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _imports(path: Path, *, for_types: bool = True) -> set[str]:
    tree, found = ast.parse(path.read_text()), set[str]()
    if not for_types:
        tree.body = [
            one for one in tree.body if not (isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING")
        ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _reached(module: str) -> dict[str, Path]:
    """Return the modules that a module imports at any time, directly or not.

    An adapter and the settings of one acquirer are left out: only a stage with that acquirer loads them.
    """
    files = {_name(path).removesuffix(".__init__"): path for path in MODULES}
    found: dict[str, Path] = {}
    unread = [module]
    while unread:
        name = unread.pop()
        if name in files and name not in found and not name.startswith(OF_ONE_ACQUIRER):
            found[name] = files[name]
            unread += [name.rpartition(".")[0], *_imports(files[name], for_types=False)]
    return found


def _layer(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", [path for path in MODULES if path.stem != "outside"], ids=_name)
def test_a_room_imports_only_the_rooms_it_may(path: Path) -> None:
    layer = _layer(_name(path))
    layers = {_layer(name) for name in _imports(path) if name.startswith("chalicelib.")}

    assert layers - MAY_IMPORT.get(layer, set()) - EVERYWHERE - {layer} == set()
    assert layer != "domain" or "outside" not in layers


def test_the_outside_imports_nothing_of_the_service_before_the_first_use() -> None:
    lines = (ROOT / "chalicelib" / "outside.py").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if line.startswith("from chalicelib")] == []


def test_a_payment_reaches_only_what_it_needs() -> None:
    reached = _reached("chalicelib.routes.payments")

    assert len(reached) <= 86
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in reached.values()) <= 11_600
    assert {_layer(name) for name in reached}.isdisjoint({"authorizer", "endpoints", "network", "receipts", "web"})


def test_each_row_of_the_table_is_below_the_rooms_that_it_imports() -> None:
    order = list(MAY_IMPORT)
    upward = {
        layer: [other for other in MAY_IMPORT[layer] if order.index(other) > order.index(layer)] for layer in order
    }

    assert {layer: layers for layer, layers in upward.items() if layers} == {}


def test_the_table_of_rooms_names_every_room_and_no_other() -> None:
    layers = {_layer(_name(path)) for path in MODULES} - {"__init__"} - EVERYWHERE

    assert set(MAY_IMPORT) == layers


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_boto3_is_used_by_the_gateways_and_for_credentials_alone(path: Path) -> None:
    module = _name(path)
    aws = {name for name in _imports(path) if name.split(".")[0] in {"boto3", "botocore"}}

    assert not aws or _layer(module) in BOTO3_ROOMS or module in BOTO3_MODULES


def test_chalice_reaches_three_modules_of_the_service() -> None:
    users = {_name(path) for path in MODULES if any(name.split(".")[0] == "chalice" for name in _imports(path))}

    assert users == CHALICE_MODULES


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_boto3_is_imported_when_it_is_first_used(path: Path) -> None:
    at_import = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom) and "boto" in ast.unparse(node)
    ]

    assert at_import == []


@pytest.mark.parametrize("path", sorted((ROOT / "chalicelib" / "domain").glob("*.py")), ids=_name)
def test_the_domain_needs_the_standard_library_alone(path: Path) -> None:
    third_party = {"pydantic", "chalice", "boto3", "botocore", "simplejson", "jwt", "argon2", "phonenumbers"}
    third_party |= {"iso4217", "iso3166", "iso8583", "urllib3"}

    assert {name.split(".")[0] for name in _imports(path)} & third_party == set()


@pytest.mark.parametrize("path", [*MODULES, *sorted((ROOT / "infra").rglob("*.py")), ROOT / "app.py"], ids=str)
def test_functions_stay_short(path: Path) -> None:
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    long = {node.name for node in functions if (node.end_lineno or 0) - node.body[0].lineno + 1 > 40}

    assert long == set()


MACHINES_TIME = {"chalicelib.outside"}
TIME_OF_DAY = re.compile(r"\b(datetime|date)\.(now|utcnow|today)\(|\btime\.(time|time_ns|localtime|gmtime)\(")


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_only_the_clock_takes_the_time_of_day_from_the_machine(path: Path) -> None:
    assert _name(path) in MACHINES_TIME or TIME_OF_DAY.findall(path.read_text()) == []
