"""Webhooks of a merchant: the effect of an update, and the limit of a list of events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.agent import ACTIVE, BLOCKED, Caller
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.permissions import Right
from chalicelib.domain.webhooks import ALWAYS, EVENTS_LAST
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.webhooks import ListEvents, UpdateWebhook
from chalicelib.services import webhooks
from chalicelib.store import merchants
from tests.support.accounts import a_stored_merchant, an_account
from tests.support.events import a_stored_event, a_stored_hook, as_stored
from tests.support.stored import stored_record

NOW = datetime.now(UTC)
URL = "https://shop.example/events"


@pytest.fixture
def merchant(engine: str) -> Merchant:
    del engine
    return a_stored_merchant()


@pytest.fixture
def owner(merchant: Merchant) -> Caller:
    """The administrator of the merchant."""
    agent = an_account(Right.ADMINISTRATOR, merchant=merchant).agent
    return Caller(agent.id, agent.client_id, agent.credential_version)


@pytest.mark.parametrize(
    ("change", "is_failing"),
    [
        ({"Url": "https://shop.example/others"}, False),
        ({"State": BLOCKED}, False),
        ({"Description": "Bookkeeping"}, True),
        ({"Url": URL, "State": ACTIVE, "RotateSecret": True}, True),
    ],
    ids=str,
)
def test_another_url_or_state_ends_the_failures(
    merchant: Merchant, owner: Caller, change: dict[str, Any], *, is_failing: bool
) -> None:
    since = {"on_since": NOW - timedelta(days=3), "failing_since": NOW - timedelta(days=2)}
    hook = a_stored_hook(merchant.id, URL, **since, told_at=NOW - timedelta(days=1))
    webhooks.update(UpdateWebhook.model_validate(change), owner, merchant.id, hook.id, NOW)

    after = as_stored(hook)
    assert after.version == 2
    assert after.on_since == hook.on_since  # it was on: no event between is lost
    assert (after.failing_since, after.told_at) == ((hook.failing_since, hook.told_at) if is_failing else (None, None))


@pytest.mark.parametrize(("change", "version"), [({"Description": "Bookkeeping"}, 1), ({"State": BLOCKED}, 2)])
def test_another_state_is_the_next_version_of_the_merchant(
    merchant: Merchant, owner: Caller, change: dict[str, Any], version: int
) -> None:
    hook = a_stored_hook(merchant.id, URL)
    webhooks.update(UpdateWebhook.model_validate(change), owner, merchant.id, hook.id, NOW)

    assert stored_record(merchants.key(merchant.id)).version == version


def test_a_merchant_makes_events_again_once_its_only_webhook_is_switched_on(merchant: Merchant, owner: Caller) -> None:
    hook = a_stored_hook(merchant.id, URL)
    for state, until in ((BLOCKED, NOW + EVENTS_LAST), (ACTIVE, ALWAYS)):
        webhooks.update(UpdateWebhook.model_validate({"State": state}), owner, merchant.id, hook.id, NOW)

        assert stored_record(merchants.key(merchant.id)).events_until == until


def test_a_list_looks_at_a_largest_number_of_events(merchant: Merchant, owner: Caller) -> None:
    made = [a_stored_event(merchant.id, NOW - timedelta(microseconds=age)).id for age in range(3)]

    def listed(most: int) -> list[str]:
        return [event.id for event, _ in webhooks.list_events(ListEvents(), owner, merchant.id, NOW, most)]

    assert listed(3) == made
    with pytest.raises(ServiceError) as refusal:
        listed(2)

    assert refusal.value.error is ErrorCode.PERIOD_TOO_LONG
