"""The roles' table of the contract, cell by cell."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from chalicelib.domain import permissions
from chalicelib.domain.agent import NO_CLIENT, Agent, BranchActions
from chalicelib.errors import ErrorCode, ServiceError

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
ADMINISTRATOR = _agent(HOME, 220)
AGENT = _agent(HOME)
SEES = _agent(HOME, 201)
REVERSES = _agent(HOME, 301)
OTHERS = _agent(HOME, 200, 210)
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


# What each role may do at home, in the order of ROLES.
TABLE: dict[str, tuple[Callable[[Agent], None], tuple[ErrorCode | None, ...]]] = {
    "create a merchant": (permissions.create_merchants, (YES, NO, NO, NO, NO, NO)),
    "manage the merchant": (lambda agent: permissions.manage(agent, HOME), (YES, YES, NO, NO, NO, NO)),
    "see itself": (lambda agent: permissions.see_agent(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "see a colleague": (lambda agent: permissions.see_agent(agent, HOME, COLLEAGUE), (YES, YES, NO, NO, NO, NO)),
    "take payments": (permissions.take_payments, (NO, YES, YES, YES, YES, YES)),
    "see its payment": (lambda agent: permissions.see_transaction(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "see a colleague's payment": (
        lambda agent: permissions.see_transaction(agent, HOME, COLLEAGUE),
        (YES, YES, NO, YES, NO, NO),
    ),
    "reverse its payment": (lambda agent: permissions.reverse(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "reverse a colleague's payment": (
        lambda agent: permissions.reverse(agent, HOME, COLLEAGUE),
        (YES, YES, NO, NO, YES, NO),
    ),
    "see its cards": (lambda agent: permissions.see_cards(agent, HOME, ME), (YES, YES, YES, YES, YES, YES)),
    "see a colleague's cards": (
        lambda agent: permissions.see_cards(agent, HOME, COLLEAGUE),
        (YES, YES, NO, NO, NO, NO),
    ),
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


ABROAD: dict[str, tuple[Callable[[Agent], None], ErrorCode]] = {
    "manage": (lambda agent: permissions.manage(agent, ELSEWHERE), ErrorCode.MERCHANT_NOT_FOUND),
    "see an agent": (
        lambda agent: permissions.see_agent(agent, ELSEWHERE, STRANGER),
        ErrorCode.MERCHANT_NOT_FOUND,
    ),
    "see a payment": (
        lambda agent: permissions.see_transaction(agent, ELSEWHERE, STRANGER),
        ErrorCode.TRANSACTION_NOT_FOUND,
    ),
    "reverse a payment": (
        lambda agent: permissions.reverse(agent, ELSEWHERE, STRANGER),
        ErrorCode.TRANSACTION_NOT_FOUND,
    ),
    "see cards": (lambda agent: permissions.see_cards(agent, ELSEWHERE, STRANGER), ErrorCode.AGENT_NOT_FOUND),
}


@pytest.mark.parametrize("what", ABROAD)
@pytest.mark.parametrize("role", [role for role in ROLES if role != "system"])
def test_what_belongs_to_another_merchant_is_not_found(what: str, role: str) -> None:
    act, missing = ABROAD[what]

    assert _refusal(lambda: act(ROLES[role])) is missing


@pytest.mark.parametrize("what", ABROAD)
def test_a_system_user_is_at_home_everywhere(what: str) -> None:
    act, _ = ABROAD[what]

    assert _refusal(lambda: act(SYSTEM)) is None


def test_a_history_is_the_merchants_for_whom_it_is_not_only_their_own() -> None:
    assert [role for role, agent in ROLES.items() if permissions.sees_merchant(agent)] == [
        "system",
        "administrator",
        "with 201",
    ]
