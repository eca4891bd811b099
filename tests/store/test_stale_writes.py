"""A write whose reading is older than another's write is not made: its condition alone, without the read before it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from chalicelib.domain import sessions as rules
from chalicelib.domain.card import CARD_BLOCKED, IN_VERIFICATION
from chalicelib.domain.drawer import CLOSE, OPEN, PAID_IN, Drawer, LatestDrawer, Movement, closed, with_movement
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.ids import new_guid_of
from chalicelib.services import linked_cards
from chalicelib.store import agent_changes, agent_sessions, agents, drawers, receipt_numbers, sessions, webhooks
from chalicelib.store import linked_cards as linked_cards_store
from chalicelib.store.audit import Act
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import Key, commit, read_item, update, write_one
from tests.support.accounts import an_account
from tests.support.cards import a_card
from tests.support.events import a_stored_hook
from tests.support.transactions import ZAR, a_guid

pytestmark = pytest.mark.usefixtures("engine")
NOW = datetime(2026, 3, 14, 9, tzinfo=UTC)
ACT = Act("update", 1, NOW)
CHANGED, EXPIRED = ChangedMeanwhileError(), ServiceError(ErrorCode.SESSION_EXPIRED)
Work = Callable[[], object]
Race = tuple[Key[Any], Work, Work, Exception]  # what is written, another's write, the stale one, its error


def a_drawer(client_id: int, **changes: Any) -> tuple[Drawer, LatestDrawer]:
    """Return a new drawer of an agent, and what is stored about it as the latest one."""
    own = drawers.key(client_id, new_guid_of(NOW))
    opening = Movement(NOW, 17, OPEN, 100)
    drawer = Drawer(**own.key, agent_id=17, currency=ZAR, opened_at=NOW, movements=(opening,), **changes)
    place = drawers.latest_key(client_id, 17).key
    return drawer, LatestDrawer(**place, drawer_id=drawer.id, unit=drawer.unit, opened_at=NOW, before={})


def an_opening(*, is_first: bool) -> Race:
    """Somebody else opens a drawer of the agent."""
    client_id = an_account().agent.client_id
    before = None
    if not is_first:
        drawer, latest = a_drawer(client_id)
        drawers.open_new(drawer, latest, None, {})
        before = replace(latest, before=None)
        drawers.close(drawer, latest, {})
        before = replace(before, version=2)
    another, stale = (partial(drawers.open_new, *a_drawer(client_id), before, {}) for _ in range(2))
    return drawers.latest_key(client_id, 17), another, stale, CHANGED


def a_movement() -> Race:
    drawer, latest = a_drawer(an_account().agent.client_id)
    drawers.open_new(drawer, latest, None, {})
    another, stale = (
        partial(drawers.change, with_movement(drawer, Movement(NOW, 17, PAID_IN, minor))) for minor in (1, 2)
    )
    return drawers.key(drawer.client_id, drawer.id), another, stale, CHANGED


def cash_of_a_drawer(*, is_new: bool, is_closing: bool) -> Race:
    """Cash is recorded after it was read for an opening or a close."""
    drawer, latest = a_drawer(an_account().agent.client_id)
    own = receipt_numbers.key_in(drawer.client_id, 17, "2026-03")
    first = MonthNumbers(**own.key, cash={"m142ZAR": 5})
    if not is_new:
        commit(receipt_numbers.store(first, is_new=True))
    moved = receipt_numbers.store(replace(first, cash={"m142ZAR": 9}), is_new=is_new)
    months = {"2026-03": None if is_new else first}
    stale = partial(drawers.open_new, drawer, latest, None, months)
    if is_closing:
        drawers.open_new(drawer, latest, None, {})
        after = closed(drawer, Movement(NOW, 17, CLOSE, 0), {})
        stale = partial(drawers.close, after, latest, months)
    return own, partial(commit, moved), stale, CHANGED


def a_deleted_webhook() -> Race:
    hook = a_stored_hook(an_account().agent.client_id, "https://shop.example")
    moved = replace(hook, url="https://new.example")
    own = webhooks.key(hook.client_id, hook.id)
    return own, partial(webhooks.change, hook, moved, ACT), partial(webhooks.delete, hook, ACT), CHANGED


def an_agent_that_must_not_change() -> Race:
    agent = an_account().agent
    blocked = partial(agent_changes.change, agent, replace(agent, state=0), agent_changes.LoginChange(), ACT)
    return agents.key(agent.id), blocked, partial(commit, agent_changes.check_unchanged(agent)), CHANGED


def a_session_in_use() -> Race:
    session = rules.new_session(a_guid(), 17, 1, NOW)
    agent_sessions.create(session)
    return (
        sessions.key(session.digest),
        partial(sessions.end, session.digest),
        partial(sessions.touch, session, NOW),
        EXPIRED,
    )


def a_remembered_session() -> Race:
    session = rules.remember(rules.new_session(a_guid(), 17, 1, NOW), "a telephone")
    agent_sessions.create(session)
    facts = rules.RememberedSession(session.digest, NOW, NOW)
    stale = partial(commit, *agent_sessions.end_remembered([facts]))
    return sessions.key(session.digest), partial(sessions.end, session.digest), stale, CHANGED


def a_linked_card(**change: object) -> Race:
    card = linked_cards.link(an_account().agent, a_card(), "Company card", NOW)
    own = linked_cards_store.key(card.id)
    another = partial(write_one, update(own, change))
    pay = partial(commit, linked_cards_store.check_usable(card.id, card.account_id))
    pay()  # it can pay until then
    return own, another, pay, ServiceError(ErrorCode.CARD_NOT_FOUND)


def a_login_of_somebody_else() -> Race:
    """The e-mail of a deleted agent belongs to another one by now."""
    agent = an_account().agent
    own = agents.login_key(agent.email)
    another = partial(write_one, update(own, {"agent_id": agent.id + 1}))
    stale = partial(agent_changes.change, agent, replace(agent, state=0), agent_changes.LoginChange(), ACT)
    return own, another, stale, CHANGED


def a_moved_webhook() -> Race:
    hook = a_stored_hook(an_account().agent.client_id, "https://shop.example")
    another, stale = (replace(hook, url=f"https://{name}.example") for name in ("new", "other"))
    change = [partial(webhooks.change, hook, after, ACT) for after in (another, stale)]
    return webhooks.key(hook.client_id, hook.id), change[0], change[1], CHANGED


RACES: dict[str, Callable[[], Race]] = {
    "a login of somebody else": a_login_of_somebody_else,
    "a webhook": a_moved_webhook,
    "a card of another agent": partial(a_linked_card, account_id=1),
    "a blocked card": partial(a_linked_card, state=CARD_BLOCKED),
    "a card that is not verified": partial(a_linked_card, status=IN_VERIFICATION),
    "a deleted card": partial(a_linked_card, deleted=True),
    "the first opening of a drawer": partial(an_opening, is_first=True),
    "an opening of a drawer": partial(an_opening, is_first=False),
    "a movement of a drawer": a_movement,
    **{
        f"a drawer that is {'closed' if is_closing else 'opened'}, {'first' if is_new else 'more'} cash": partial(
            cash_of_a_drawer, is_new=is_new, is_closing=is_closing
        )
        for is_new in (True, False)
        for is_closing in (True, False)
    },
    "a deleted webhook": a_deleted_webhook,
    "an agent that must not change": an_agent_that_must_not_change,
    "a session in use": a_session_in_use,
    "a remembered session": a_remembered_session,
}


@pytest.mark.parametrize("name", RACES)
def test_a_stale_write_is_not_made(name: str) -> None:
    key, work, stale, error = RACES[name]()
    work()
    before = read_item(key)

    with pytest.raises(type(error)) as raised:
        stale()

    assert getattr(raised.value, "error", None) is getattr(error, "error", None)
    assert read_item(key) == before


def test_a_failure_of_a_deleted_webhook_is_not_noted() -> None:
    hook = a_stored_hook(an_account().agent.client_id, "https://shop.example")
    webhooks.delete(hook, ACT)
    webhooks.note(replace(hook, failing_since=NOW))

    assert read_item(webhooks.key(hook.client_id, hook.id)) == {}
