"""Each creation happens once for its Idempotency-Key, and a repeat answers the first result."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.webhooks import MOST
from chalicelib.store import audit
from chalicelib.store.creations import KEPT_FOR
from chalicelib.store.table import client, table_name
from tests.support import http
from tests.support.builders import DEVICE, PASSWORD, Shop, a_shop, a_webhook, agent_body, merchant_body, terminal_body
from tests.support.cost import store_calls, written_tables
from tests.support.giving import Give
from tests.support.http import Reply
from tests.support.intercepted_calls import hooked
from tests.support.transactions import a_guid


@dataclass(frozen=True)
class Kind:
    """A creation: its path, its body, the field that tells its record from others, and where its answer has it."""

    path: str
    body: Callable[[Shop], dict[str, Any]]
    own: str
    shown: str
    secret: str | None = None
    table: str = ""

    def of(self, shop: Shop) -> tuple[str, dict[str, Any]]:
        """Return the path and a body of its own record."""
        return self.path.format(shop.path), self.body(shop) | {self.own: f"https://{a_guid().lower()}.example"}


KINDS = {
    "merchant": Kind("/api/v1/merchant/create", lambda _: merchant_body(), "Web", "Merchant", table="merchants"),
    "agent": Kind("{}/pos/create", lambda shop: agent_body(shop.id), "AddressDeFacto", "Pos", "SecretKey", "agents"),
    "terminal": Kind(
        "/api/v1/terminal/create", lambda shop: terminal_body(shop.id), "Description", "Terminal", table="terminals"
    ),
    "webhook": Kind("{}/webhook/create", lambda _: a_webhook(), "Url", "Webhook", "Secret", "webhooks"),
}
ELSEWHERE = {"IP": "10.9.8.7", "AppFramework": "Other", "DeviceInfo": dict.fromkeys(DEVICE, "Other")}  # no content
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def send(shop: Shop, path: str, body: Any, key: str | None = None, login: Any = http.SYSTEM) -> Reply:
    return http.post(shop.stage, path, body, login, **({} if key is None else {"Idempotency_Key": key}))


def is_replayed(reply: Reply) -> bool:
    return reply.headers.get("Idempotent-Replayed") == "true"


def answer(kind: Kind, reply: Reply, **changes: Any) -> Any:
    """Return the answer with changes of its record, without the address of its picture, which is signed each time."""
    assert reply.error == (200, 0), reply.text
    return reply.body | {kind.shown: reply.body[kind.shown] | changes | {"AvatarUrl": None}}


def items(table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client().call("Scan", TableName=table_name(table), ConsistentRead=True)["Items"]
    return found


def stored(kind: Kind, body: dict[str, Any]) -> int:
    """Return how many records have the body's own field."""
    return sum(body[kind.own] in repr(item) for item in items(kind.table))


@each_kind
def test_a_repeat_from_elsewhere_answers_the_first_result_with_its_secret(shop: Shop, kind: Kind) -> None:
    (path, body), key = kind.of(shop), a_guid()
    first, again = send(shop, path, body, key), send(shop, path, body | ELSEWHERE, f"{key}, {key}")

    assert answer(kind, again) == answer(kind, first)
    assert [is_replayed(one) for one in (first, again)] == [False, True]
    assert stored(kind, body) == 1
    secrets = [body.get("Password"), kind.secret and first.body[kind.shown][kind.secret]]
    kept = repr(items("sequences"))
    assert [one for one in secrets if one and one in kept] == []
    assert key not in kept


@each_kind
def test_a_key_is_of_its_caller_and_of_its_content(shop: Shop, kind: Kind) -> None:
    (path, body), key = kind.of(shop), a_guid()
    first = send(shop, path, body, key)
    other = send(shop, path, kind.of(shop)[1], key)
    by_owner = send(shop, path, kind.of(shop)[1], key, shop.owner)

    assert (first.error, other.error) == ((200, 0), (422, 302))
    assert by_owner.error == ((403, 151) if kind.shown == "Merchant" else (200, 0))
    assert not is_replayed(by_owner)


@each_kind
def test_a_refused_creation_leaves_its_key_free_and_a_creation_without_a_key_repeats_nothing(
    shop: Shop, kind: Kind
) -> None:
    (path, body), key = kind.of(shop), a_guid()
    wrong = dict.fromkeys(body, 5)

    assert send(shop, path, body | wrong, key).error == (400, 202)
    first, another = send(shop, path, body, key), send(shop, path, kind.of(shop)[1])
    assert [one.error for one in (first, another)] == [(200, 0)] * 2
    assert not is_replayed(first)
    assert first.body[kind.shown]["ID"] != another.body[kind.shown]["ID"]
    assert send(shop, path, body, "").error == (400, 202)


@each_kind
def test_after_a_day_a_repeat_shows_no_secret(shop: Shop, kind: Kind, give: Give) -> None:
    (path, body), key, now = kind.of(shop), a_guid(), datetime.now(UTC)
    first = send(shop, path, body, key)

    def repeated(after: timedelta) -> Any:
        give(now=lambda: now + after)
        reply = send(shop, path, body, key)
        assert is_replayed(reply)
        return answer(kind, reply)

    assert repeated(timedelta(hours=23)) == answer(kind, first)
    without = {kind.secret: None} if kind.secret else {}
    assert repeated(KEPT_FOR - timedelta(hours=1)) == answer(kind, first, **without)
    record = next(item for item in items("sequences") if item["name"]["S"].startswith("create#"))
    assert record["expires_at"]["N"].isdecimal()


def test_a_secret_that_was_replaced_is_not_shown_again(shop: Shop) -> None:
    for kind, change in (("agent", {"SecretKey": "another key of the agent"}), ("webhook", {"RotateSecret": True})):
        (path, body), key = KINDS[kind].of(shop), a_guid()
        number = send(shop, path, body, key, shop.owner).body[KINDS[kind].shown]["ID"]
        update = path.replace("create", f"{number}/update")
        assert shop.post(update, {"Description": "Other", "Name": "Other"}).error == (200, 0)
        kept = send(shop, path, body, key, shop.owner).body[KINDS[kind].shown]
        assert shop.post(update, change).error == (200, 0)
        replaced = send(shop, path, body, key, shop.owner)

        name = KINDS[kind].secret or ""
        assert kept[name]
        assert (replaced.error, replaced.body[KINDS[kind].shown][name]) == ((200, 0), None)
        shown = [one.by for one in audit.of(f"{kind}#{number}") if one.kind == "show"]
        assert shown == [shop.owner_id] * (2 if kind == "agent" else 1)


def test_a_password_is_content_also_after_it_was_changed(shop: Shop) -> None:
    (path, body), key = KINDS["agent"].of(shop), a_guid()
    number = send(shop, path, body, key).body["Pos"]["ID"]
    changed = {"Password": "another password of the agent"}

    assert shop.post(f"{shop.path}/pos/{number}/update", changed).error == (200, 0)
    assert is_replayed(send(shop, path, body, key))
    assert body["Password"] == PASSWORD
    for other in (changed, {"Password": None}):
        assert send(shop, path, body | other, key).error == (422, 302)


def test_a_repeat_repeats_the_warnings(shop: Shop) -> None:
    other = a_shop(shop.stage)
    held = other.terminal()["BackRetailerID"]
    (path, body), key = KINDS["terminal"].of(shop), a_guid()
    first, again = (send(shop, path, body | {"BackRetailerID": held}, key) for _ in range(2))

    assert first.findings == [("BackRetailerID", 308)]
    assert again.text == first.text


def test_a_webhook_that_was_deleted_is_gone_and_the_last_one_may_be_repeated(shop: Shop) -> None:
    (path, body), key = KINDS["webhook"].of(shop), a_guid()
    for _ in range(MOST - 1):
        send(shop, path, body)
    first, again = (send(shop, path, body, key) for _ in range(2))
    assert again.text == first.text
    number = first.body["Webhook"]["ID"]
    assert shop.post(path.replace("create", f"{number}/delete"), {}).error == (200, 0)

    assert send(shop, path, body, key).error == (404, 570)


class Lost(Exception):  # noqa: N818  the end of a process, which is no error of its own
    """The process dies, or its answer is lost."""


@each_kind
def test_a_creation_that_dies_anywhere_is_made_once_by_its_repeat(stage_in_memory: str, kind: Kind) -> None:
    shop = a_shop(stage_in_memory)
    with store_calls() as calls:
        assert send(shop, *kind.of(shop), a_guid()).error == (200, 0)

    for stop in range(2 * len(calls)):
        (path, body), key, left = kind.of(shop), a_guid(), [stop]

        def dies(_when: str, _operation: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise Lost

        with hooked(dies):
            first = send(shop, path, body, key)
        again = send(shop, path, body, key)

        assert first.status in {200, 500, 503}
        assert again.error == (200, 0), again.text
        assert stored(kind, body) == 1
        if kind.shown == "Webhook":  # a merchant has few
            assert shop.post(path.replace("create", f"{again.body['Webhook']['ID']}/delete"), {}).error == (200, 0)


@each_kind
def test_of_equal_creations_at_once_one_is_made_and_all_answer_it(stage_on_dynamodb_local: str, kind: Kind) -> None:
    shop = a_shop(stage_on_dynamodb_local)
    (path, body), key = kind.of(shop), a_guid()

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: send(shop, path, body, key), range(8)))

    assert [answer(kind, one) for one in replies] == [answer(kind, replies[0])] * 8
    assert sorted(map(is_replayed, replies)) == [False] + [True] * 7
    assert stored(kind, body) == 1


@each_kind
def test_a_key_costs_one_item_and_no_call(shop: Shop, kind: Kind) -> None:
    def cost(key: str | None) -> tuple[list[str], list[str]]:
        path, body = kind.of(shop)
        with store_calls() as calls, written_tables() as written:
            assert send(shop, path, body, key).error == (200, 0)
        return calls, sorted(written)

    (calls, written), (with_key, written_with_key) = cost(None), cost(a_guid())

    assert with_key == calls
    assert written_with_key == sorted([*written, "sequences"])
