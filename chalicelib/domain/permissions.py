"""Permissions: the only place that decides what an agent may do, by the contract's table of roles and its features.

An object of another merchant gets the error for a missing object. An object of the agent's own merchant gets
ROLE_MAY_NOT.
"""

from enum import IntEnum

from chalicelib.domain.agent import Agent, MobileSettings
from chalicelib.domain.kinds import DEFAULT_FEATURES, FEATURES, Features
from chalicelib.domain.merchant import Merchant
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError


class Right(IntEnum):
    """A right that an agent may have in BranchesActions."""

    UNIT_ADMINISTRATOR = 200  # stored and returned; permits nothing in this interface
    VIEW_DIVISIONS = 201  # read the operations of colleagues
    ASSIGN_TERMINAL = 210  # stored and returned; permits nothing in this interface
    ADMINISTRATOR = 220
    REVERSE_OTHERS = 301  # reverse the payments of colleagues, and read them by ID


def rights_of(agent: Agent) -> frozenset[int]:
    """Return the rights of the agent beyond its own payments."""
    return frozenset(action for branch in agent.branches_actions for action in branch.actions)


def is_administrator(agent: Agent) -> bool:
    """Return whether the agent administers its merchant."""
    return Right.ADMINISTRATOR in rights_of(agent)


def is_manager(agent: Agent) -> bool:
    """Return whether the agent is a system user or administers its merchant."""
    return agent.is_system_user or is_administrator(agent)


def can_see_merchant_history(agent: Agent) -> bool:
    """Return whether the agent sees the history of its whole merchant, not only its own payments."""
    return is_manager(agent) or Right.VIEW_DIVISIONS in rights_of(agent)


def check_is_system_user(agent: Agent) -> None:
    """Refuse to create and to list merchants unless the agent is a system user."""
    _check_allowed(agent.is_system_user)


def check_can_manage(agent: Agent, client_id: int) -> None:
    """Refuse to change a merchant, its agents and terminals unless the agent is its administrator or a system user."""
    _check_same_merchant(agent, client_id, ErrorCode.MERCHANT_NOT_FOUND)
    _check_allowed(is_manager(agent))


def check_can_see_price_list(agent: Agent, client_id: int) -> None:
    """Refuse to show a merchant's price list, except to its agents and to system users."""
    _check_same_merchant(agent, client_id, ErrorCode.MERCHANT_NOT_FOUND)


def check_can_see_agent(agent: Agent, client_id: int, agent_id: int) -> None:
    """Refuse to show an agent and its secret key, except to the agent itself and to the managers of its merchant."""
    _check_same_merchant(agent, client_id, ErrorCode.MERCHANT_NOT_FOUND)
    _check_allowed(is_manager(agent) or agent.id == agent_id)


def check_can_change_rights(agent: Agent, of_agent: int, field: str = "branches_actions", what: str = "rights") -> None:
    """Refuse to change one's own rights, or `what` a field names, for an agent that may change those of others."""
    if agent.id == of_agent:
        finding = Finding(field, Check.OUT_OF_RANGE, f"Nobody changes its own {what}.")
        raise ServiceError(ErrorCode.ROLE_MAY_NOT, validations=(finding,))


def can_block_merchants(agent: Agent) -> bool:
    """Return whether the agent may block a merchant and change its importance: only a system user may."""
    return agent.is_system_user


def can_see_secret_key(agent: Agent, *, by_session: bool) -> bool:
    """Return whether the agent may see a secret key: not by a session, unless it is a manager.

    A key outlives a stolen session, and a new password.
    """
    return is_manager(agent) or not by_session


def check_can_take_payments(agent: Agent) -> None:
    """Refuse to take or prepare a payment for a system user, because it has no merchant."""
    _check_allowed(not agent.is_system_user)


def check_can_see_transaction(agent: Agent, client_id: int, agent_id: int) -> None:
    """Refuse to show a payment of `agent_id` to a colleague without the right to see or reverse it."""
    _check_same_merchant(agent, client_id, ErrorCode.TRANSACTION_NOT_FOUND)
    _check_allowed(can_see_merchant_history(agent) or _can_reverse(agent, agent_id))


def history_scope(agent: Agent, account: Agent | None) -> tuple[int, int | None]:
    """Return the merchant whose history is listed, and the agent, or None for all agents.

    `account` is the agent in the request. A system user has no merchant and sees the history that this agent would
    see. Any other agent may name a colleague if it has the right VIEW_DIVISIONS. An agent of another merchant is
    refused like a missing one: AGENT_NOT_FOUND.
    """
    if agent.is_system_user:
        if account is None or account.is_system_user:
            raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
        return account.client_id, None if can_see_merchant_history(account) else account.id
    if account is None:
        return agent.client_id, None if can_see_merchant_history(agent) else agent.id
    _check_same_merchant(agent, account.client_id, ErrorCode.AGENT_NOT_FOUND)
    _check_allowed(can_see_merchant_history(agent) or agent.id == account.id)
    return agent.client_id, account.id


def check_can_reverse(agent: Agent, client_id: int, agent_id: int) -> None:
    """Refuse to reverse a payment of `agent_id` for a colleague without the right REVERSE_OTHERS."""
    _check_same_merchant(agent, client_id, ErrorCode.TRANSACTION_NOT_FOUND)
    _check_allowed(_can_reverse(agent, agent_id))


def check_returns_enabled(agent: Agent, merchant: Merchant | None) -> None:
    """Refuse a reversal by an agent whose feature Returns is off."""
    if not is_enabled("returns", agent.mobile_settings, merchant.mobile_settings if merchant else None):
        raise ServiceError(ErrorCode.KIND_NOT_ENABLED, "Returns are not enabled for the agent.")


def check_is_own(agent: Agent, client_id: int, agent_id: int) -> None:
    """Refuse the linked cards and the drawer of `agent_id`, except to itself and to the managers of its merchant."""
    _check_same_merchant(agent, client_id, ErrorCode.AGENT_NOT_FOUND)
    _check_allowed(is_manager(agent) or agent.id == agent_id)


def _can_reverse(agent: Agent, agent_id: int) -> bool:
    return is_manager(agent) or Right.REVERSE_OTHERS in rights_of(agent) or agent.id == agent_id


def _check_same_merchant(agent: Agent, client_id: int, missing: ErrorCode) -> None:
    if not agent.is_system_user and agent.client_id != client_id:
        raise ServiceError(missing)


def _check_allowed(allowed: bool) -> None:  # noqa: FBT001  each call reads as a sentence
    if not allowed:
        raise ServiceError(ErrorCode.ROLE_MAY_NOT)


DEFAULTS = MobileSettings(
    features=DEFAULT_FEATURES,
    allow_linked_cards=1,
    allow_credit_voucher_reverses=0,
    service_pay_dashboard=False,
    mobile_app_password_store=False,
    barcode_scanner=False,
)


CARDS_STOPPED = MobileSettings(features=Features(accept_cards=False), allow_linked_cards=0)


def layers_of(
    agent: MobileSettings | None, merchant: MobileSettings | None
) -> tuple[list[MobileSettings], list[Features]]:
    """Return the settings and the features that apply to an agent. Of each, the first that sets a value decides.

    If `inherited` of an agent's features is True, its own features stay stored, but its merchant's are in force.
    """
    stop = CARDS_STOPPED if merchant and merchant.cards_stopped else None
    settings = [one for one in (stop, agent, merchant, DEFAULTS) if one]
    ignored = agent if agent and agent.features and agent.features.inherited else None
    return settings, [one.features for one in settings if one.features and one is not ignored]


def is_enabled(feature: str, agent: MobileSettings | None, merchant: MobileSettings | None) -> bool:
    """Return whether a feature, or the setting of a kind of payment, is on for an agent with these settings."""
    settings, features = layers_of(agent, merchant)
    values = (getattr(layer, feature) for layer in (features if feature in FEATURES else settings))
    return bool(next(value for value in values if value is not None))


def may_be_remembered(agent: Agent, merchant: Merchant | None) -> bool:
    """Return whether the agent may have remembered sessions: its feature AutoLogin is on."""
    return is_enabled("auto_login", agent.mobile_settings, merchant.mobile_settings if merchant else None)
