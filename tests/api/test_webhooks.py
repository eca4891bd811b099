"""Webhooks over HTTP: created, changed, rotated and listed by who may."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest

from chalicelib.domain.transaction import wants_events
from chalicelib.store import audit, merchants, webhooks
from infra.stack.resources import STACK
from tests.support import http
from tests.support.builders import Shop, a_shop, a_webhook
from tests.support.http import Reply
from tests.support.stored import stored_record


def create(shop: Shop, **changes: Any) -> Reply:
    return shop.post(f"{shop.path}/webhook/create", a_webhook(**changes))


def update(shop: Shop, webhook_id: object, **changes: Any) -> Reply:
    return shop.post(f"{shop.path}/webhook/{webhook_id}/update", changes)


def listed(shop: Shop) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.post(f"{shop.path}/webhook/list", {}).body["Webhooks"]
    return found


def test_a_webhook_is_answered_with_its_secret_and_listed_without(shop: Shop) -> None:
    made = create(shop, Types=["payment.approved"], Description="Bookkeeping").body["Webhook"]

    assert made["Secret"].startswith("whsec_")
    assert (made["Url"], made["Types"], made["State"]) == ("https://shop.example/events", ["payment.approved"], 1)
    assert listed(shop) == [made | {"Secret": None}]


def test_the_secret_is_stored_nowhere_as_it_is(shop: Shop) -> None:
    secret = create(shop).body["Webhook"]["Secret"]

    items = boto3.client("dynamodb").scan(TableName=f"{STACK}-webhooks", ConsistentRead=True)["Items"]
    assert items
    assert secret.removeprefix("whsec_") not in json.dumps(items, default=str)


def test_without_types_it_takes_all_of_them_and_each_once(shop: Shop) -> None:
    made = create(shop).body["Webhook"]
    twice = create(shop, Types=["payment.approved", "payment.approved"]).body["Webhook"]
    cleared = update(shop, twice["ID"], Types=[]).body["Webhook"]

    assert len(made["Types"]) == 7
    assert twice["Types"] == ["payment.approved"]
    assert cleared["Types"] == made["Types"]


def test_an_update_changes_what_it_names_alone(shop: Shop) -> None:
    made = create(shop, Types=["payment.approved"], Description="Bookkeeping").body["Webhook"]
    changed = update(shop, made["ID"], State=0).body["Webhook"]

    assert changed == made | {"State": 0, "Secret": None, "Updated": changed["Updated"]}
    assert listed(shop) == [changed]


def test_a_rotation_is_answered_with_another_secret(shop: Shop) -> None:
    made = create(shop).body["Webhook"]
    rotated = update(shop, made["ID"], RotateSecret=True).body["Webhook"]

    assert rotated["Secret"].startswith("whsec_")
    assert rotated["Secret"] != made["Secret"]
    assert update(shop, made["ID"], RotateSecret=False).body["Webhook"]["Secret"] is None


def test_a_merchant_has_five_webhooks_at_most_however_many_ask_at_once(shop: Shop) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: create(shop), range(8)))

    assert sorted(reply.status for reply in replies) == [200] * 5 + [400] * 3
    assert create(shop).error == (400, 202)
    assert create(shop).findings == [("Url", 5)]
    assert len(listed(shop)) == 5


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"Url": "http://shop.example/"}, ("Url", 3)),
        ({"Url": "https://169.254.169.254/latest"}, ("Url", 3)),
        ({"Url": "https://shop.example/" + "x" * 512}, ("Url", 4)),
        ({"Url": ""}, ("Url", 3)),
        ({"Url": None}, ("Url", 1)),
        ({"Types": "payment.approved"}, ("Types", 2)),
        ({"Types": ["payment.approved", "ping"]}, ("Types[1]", 6)),
        ({"Types": [5]}, ("Types[0]", 2)),
        ({"Types": ["payment.approved"] * 50}, ("Types", 4)),
        ({"Description": "x" * 1025}, ("Description", 4)),
    ],
)
def test_a_fault_is_named(shop: Shop, changes: dict[str, Any], finding: tuple[str, int]) -> None:
    reply = create(shop, **changes)

    assert (reply.error, reply.findings) == ((400, 202), [finding])
    assert listed(shop) == []


def test_an_update_refuses_what_creating_refuses(shop: Shop) -> None:
    made = create(shop).body["Webhook"]

    assert update(shop, made["ID"], Url="http://shop.example/").findings == [("Url", 3)]
    assert update(shop, made["ID"], State=2).findings == [("State", 5)]
    assert update(shop, made["ID"], RotateSecret="yes").findings == [("RotateSecret", 2)]
    assert update(shop, made["ID"], Types=["none"]).findings == [("Types[0]", 6)]


def test_a_webhook_of_another_merchant_does_not_exist(shop: Shop, stage: str) -> None:
    other = create(a_shop(stage)).body["Webhook"]

    answers = {
        (update(shop, number, State=0).text, shop.post(f"{shop.path}/webhook/{number}/test", {}).text)
        for number in (other["ID"], 999_999_999, "x")
    }

    assert len(answers) == 1
    assert update(shop, other["ID"], State=0).error == (404, 570)
    assert http.post(stage, f"{shop.path}/webhook/list", {}, http.OWNER).error == (404, 561)


def test_a_merchant_makes_events_from_its_first_webhook_on(shop: Shop) -> None:
    def until() -> Any:
        found = stored_record(merchants.key(shop.id))
        return found.events_until

    before = until()
    made = create(shop).body["Webhook"]
    on = until()
    update(shop, made["ID"], State=0)
    off = until()
    update(shop, made["ID"], State=1)

    again = stored_record(webhooks.key(shop.id, made["ID"]))
    assert again.on_since > again.created_at  # what happened while it was off is not sent
    assert before is None
    assert on.year == 9999
    assert off < on
    assert until() == on


def test_changes_at_once_are_all_kept(shop: Shop) -> None:
    hook = create(shop).body["Webhook"]["ID"]
    changes: list[dict[str, Any]] = [{"Description": "new"}, {"State": 0}, {"Types": ["payment.declined"]}]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda change: update(shop, hook, **change), changes))

    [found] = listed(shop)
    assert (found["Description"], found["State"], found["Types"]) == ("new", 0, ["payment.declined"])


def delete(shop: Shop, webhook_id: object) -> Reply:
    return shop.post(f"{shop.path}/webhook/{webhook_id}/delete", {})


def test_a_deleted_webhook_is_gone_and_its_id_is_not_used_again(shop: Shop) -> None:
    first, second = (create(shop).body["Webhook"]["ID"] for _ in range(2))
    reply = delete(shop, first)

    assert (reply.error, reply.body) == ((200, 0), {"ErrorCode": 0, "ErrorMessage": None, "Validations": None})
    assert [one["ID"] for one in listed(shop)] == [second]
    assert delete(shop, first).error == update(shop, first, State=0).error == (404, 570)
    assert shop.post(f"{shop.path}/webhook/{first}/test", {}).error == (404, 570)
    assert create(shop).body["Webhook"]["ID"] > second
    assert [entry.kind for entry in audit.of(f"webhook#{first}")] == ["create", "delete"]


def test_a_deletion_makes_room_for_another_webhook(shop: Shop) -> None:
    made = [create(shop).body["Webhook"]["ID"] for _ in range(5)]
    assert create(shop).error == (400, 202)

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda webhook_id: delete(shop, webhook_id), made * 2))

    assert sorted(reply.status for reply in replies) == [200] * 5 + [404] * 5
    merchant = stored_record(merchants.key(shop.id))
    assert (merchant.webhooks, wants_events(merchant, datetime.now(UTC))) == (0, False)
    assert [create(shop).status for _ in range(5)] == [200] * 5


def test_another_merchants_webhook_is_not_deleted(shop: Shop) -> None:
    foreign = a_shop(shop.stage)
    webhook_id = create(foreign).body["Webhook"]["ID"]

    assert delete(shop, webhook_id).error == (404, 570)
    assert [one["ID"] for one in listed(foreign)] == [webhook_id]
