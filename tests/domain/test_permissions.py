"""The contract's table of roles, cell by cell."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from chalicelib.domain.agent import NO_CLIENT, Agent, BranchActions
from chalicelib.domain.permissions import (
    Right,
    can_see_merchant_history,
    check_can_manage,
    check_can_reverse,
    check_can_see_agent,
    check_can_see_transaction,
    check_can_take_payments,
    check_is_own,
    check_is_system_user,
)
from chalicelib.errors import ErrorCode, ServiceError
from infra.reference import read_json

HOME, ELSEWHERE = 1, 2
ME, COLLEAGUE, STRANGER = 17, 18, 99
YES, NO = None, ErrorCode.ROLE_MAY_NOT


def _agent(client_id: int = HOME, *rights: int, system: bool = False) -> Agent:
    return Agent(
        ME,
        client_id,
        "Till",
        "till@demo.example",
        "+27829876543",
        datetime(2026, 11, 21, tzinfo=UTC),
        is_system_user=system,
        branches_actions=(BranchActions(client_id, rights),) if rights else (),
    )


SYSTEM = _agent(NO_CLIENT, system=True)
ADMINISTRATOR = _agent(HOME, Right.ADMINISTRATOR)
AGENT = _agent(HOME)
SEES = _agent(HOME, Right.VIEW_DIVISIONS)
REVERSES = _agent(HOME, Right.REVERSE_OTHERS)
OTHERS = _agent(HOME, Right.UNIT_ADMINISTRATOR, Right.ASSIGN_TERMINAL)
ROLES = {
    "system": SYSTEM,
    "administrator": ADMINISTRATOR,
    "agent": AGENT,
    "with 201": SEES,
    "with 301": REVERSES,
    "with 200 and 210": OTHERS,
}


def _refusal(act: Callable[[], None]) -> ErrorCode | None:
    try:
        act()
    except ServiceError as refusal:
        return refusal.error
    return None


# The answer to each role within its own merchant, in the order of ROLES.
TABLE: dict[str, tuple[Callable[[Agent], None], tuple[ErrorCode | None, ...]]] = {
    "create a merchant": (check_is_system_user, (YES, NO, NO, NO, NO, NO)),
    "manage the merchant": (lambda agent: check_can_manage(agent, HOME), (YES, YES, NO, NO, NO, NO)),
    "see itself": (lambda agent: check_can_see_agent(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "see a colleague": (lambda agent: check_can_see_agent(agent, HOME, COLLEAGUE), (YES, YES, NO, NO, NO, NO)),
    "take payments": (check_can_take_payments, (NO, YES, YES, YES, YES, YES)),
    "see its payment": (lambda agent: check_can_see_transaction(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "see a colleague's payment": (
        lambda agent: check_can_see_transaction(agent, HOME, COLLEAGUE),
        (YES, YES, NO, YES, YES, NO),
    ),
    "reverse its payment": (lambda agent: check_can_reverse(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "reverse a colleague's payment": (
        lambda agent: check_can_reverse(agent, HOME, COLLEAGUE),
        (YES, YES, NO, NO, YES, NO),
    ),
    "use its cards and drawer": (lambda agent: check_is_own(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "use a colleague's": (lambda agent: check_is_own(agent, HOME, COLLEAGUE), (YES, YES, NO, NO, NO, NO)),
}
CELLS = [
    pytest.param(act, agent, expected, id=f"{what}, {role}")
    for what, (act, row) in TABLE.items()
    for (role, agent), expected in zip(ROLES.items(), row, strict=True)
]


@pytest.mark.parametrize(("act", "agent", "expected"), CELLS)
def test_a_role_may_do_at_home_what_the_table_says(
    act: Callable[[Agent], None], agent: Agent, expected: ErrorCode | None
) -> None:
    assert _refusal(lambda: act(agent)) is expected


OF_ANOTHER_MERCHANT: dict[str, tuple[Callable[[Agent], None], ErrorCode]] = {
    "manage": (lambda agent: check_can_manage(agent, ELSEWHERE), ErrorCode.MERCHANT_NOT_FOUND),
    "see an agent": (lambda agent: check_can_see_agent(agent, ELSEWHERE, STRANGER), ErrorCode.MERCHANT_NOT_FOUND),
    "see a payment": (
        lambda agent: check_can_see_transaction(agent, ELSEWHERE, STRANGER),
        ErrorCode.TRANSACTION_NOT_FOUND,
    ),
    "reverse a payment": (lambda agent: check_can_reverse(agent, ELSEWHERE, STRANGER), ErrorCode.TRANSACTION_NOT_FOUND),
    "use cards and drawer": (lambda agent: check_is_own(agent, ELSEWHERE, STRANGER), ErrorCode.AGENT_NOT_FOUND),
}


@pytest.mark.parametrize("what", OF_ANOTHER_MERCHANT)
@pytest.mark.parametrize("role", [role for role in ROLES if role != "system"])
def test_what_belongs_to_another_merchant_is_not_found(what: str, role: str) -> None:
    act, missing = OF_ANOTHER_MERCHANT[what]

    assert _refusal(lambda: act(ROLES[role])) is missing


@pytest.mark.parametrize("what", OF_ANOTHER_MERCHANT)
def test_a_system_user_is_at_home_everywhere(what: str) -> None:
    act, _ = OF_ANOTHER_MERCHANT[what]

    assert _refusal(lambda: act(SYSTEM)) is None


def test_a_history_is_the_merchants_for_whom_it_is_not_only_their_own() -> None:
    assert [role for role, agent in ROLES.items() if can_see_merchant_history(agent)] == [
        "system",
        "administrator",
        "with 201",
    ]


def test_the_reference_lists_every_right() -> None:
    listed = re.findall(r"[0-9]{3}", read_json("fields.json")["BranchActionsIn.Actions"])

    assert [int(number) for number in listed] == [int(right) for right in Right]
