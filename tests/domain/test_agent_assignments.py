import pytest

from chalicelib.domain import agent_assignments
from chalicelib.domain.agent import PrinterSettings
from chalicelib.domain.agent_assignments import matches_search, resolve_group
from chalicelib.domain.merchant import TerminalGroup
from tests.support.builders import a_merchant, a_terminal, an_agent

PRINTERS = {1: "ESCPOS58", 2: "ESCPOS80"}
OWN, FOREIGN = a_terminal(id=5, client_id=7), a_terminal(id=6, client_id=8)
NOTHING = (None, None)


@pytest.mark.parametrize(
    ("by_id", "by_name", "terminal", "findings"),
    [
        (NOTHING, NOTHING, None, []),
        ((5, OWN), NOTHING, 5, []),
        (NOTHING, ("SHOP0001", 5), 5, []),
        ((5, OWN), ("SHOP0001", 5), 5, []),
        ((6, FOREIGN), NOTHING, 6, [("terminal_id", 562)]),
        ((9, None), NOTHING, 9, [("terminal_id", 562)]),
        (NOTHING, ("NONE", None), None, [("tid", 562)]),
        ((9, None), ("NONE", None), 9, [("terminal_id", 562), ("tid", 562)]),
        ((5, OWN), ("SHOP0002", 4), 5, [("tid", 12)]),
    ],
)
def test_an_agent_is_given_a_terminal_of_its_own_merchant_alone(
    by_id: tuple[int | None, object], by_name: tuple[str | None, int | None], terminal: int | None, findings: object
) -> None:
    found, wrong = agent_assignments.resolve_terminal(7, by_id, by_name)  # type: ignore[arg-type]  # a table of cases

    assert (found, [(item.field, item.code) for item in wrong]) == (terminal, findings)


@pytest.mark.parametrize(
    ("number", "code", "printer", "findings"),
    [
        (None, None, None, []),
        (2, None, PrinterSettings(2, "ESCPOS80"), []),
        (None, "ESCPOS58", PrinterSettings(1, "ESCPOS58"), []),
        (1, "ESCPOS58", PrinterSettings(1, "ESCPOS58"), []),
        (3, None, None, [("printer.printer_id", 564)]),
        (3, "ESCPOS58", None, [("printer.printer_id", 564)]),
        (None, "LASER", None, [("printer.printer_code", 564)]),
        (1, "LASER", None, [("printer.printer_code", 564)]),
        (1, "ESCPOS80", None, [("printer.printer_code", 12)]),
    ],
)
def test_a_printer_is_one_of_the_catalogue(
    number: int | None, code: str | None, printer: PrinterSettings | None, findings: list[tuple[str, int]]
) -> None:
    found, wrong = agent_assignments.resolve_printer(number, code, PRINTERS)

    assert found == printer
    assert [(item.field, item.code) for item in wrong] == findings


@pytest.mark.parametrize(
    ("number", "code", "group", "findings"),
    [
        (None, None, TerminalGroup(1, "DEFAULT"), []),
        (2, None, TerminalGroup(2, "SOFTPOS"), []),
        (None, "SBP", TerminalGroup(3, "SBP"), []),
        (3, "SBP", TerminalGroup(3, "SBP"), []),
        (9, None, None, [("group.id", 569)]),
        (None, "NONE", None, [("group.code", 569)]),
        (9, "SBP", TerminalGroup(3, "SBP"), [("group.id", 569)]),
        (2, "SBP", TerminalGroup(2, "SOFTPOS"), [("group.code", 12)]),
    ],
)
def test_a_terminal_joins_a_group_of_its_merchant(
    number: int | None, code: str | None, group: TerminalGroup | None, findings: list[tuple[str, int]]
) -> None:
    found, wrong = resolve_group(a_merchant(), number, code)

    assert (found, [(item.field, item.code) for item in wrong]) == (group, findings)


def test_the_merchant_itself_is_its_one_branch() -> None:
    wrong = agent_assignments.check_branches(7, {"branch_id": 7, "branches_actions[0].branch_id": 8})

    assert [(item.field, item.code) for item in wrong] == [("branches_actions[0].branch_id", 565)]


AGENT = an_agent(name="Straße 7", email="Till@Shop.example", phone="+27 82 987 6543")


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
