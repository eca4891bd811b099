"""What is deployed takes payments, as its template says it does, through whatever happens to its instances."""

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chalicelib.services import payment_sweep
from tests.support.builders import PASSWORD, a_shop, a_webhook, an_email
from tests.support.deployment import Deployed, fed, served, until
from tests.support.events import forget
from tests.support.http import TILL, Reply, call, get, post
from tests.support.receipts import mails
from tests.support.receivers import a_receiver, problem_of
from tests.support.tills import is_charged, kept
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
MEGABYTE = 1024 * 1024
SCHEDULED = {
    **dict.fromkeys(("version", "id", "source", "account", "time", "region"), ""),
    "detail-type": "Scheduled Event",
    "resources": [],
    "detail": {},
}


def a_card_payment() -> dict[str, Any]:
    data = {"PAN": "4242424242424242", "EXP": "1235", "CVV2": "123"}
    transaction = {"ID": a_guid(), "InputType": 1, "CurrencyID": "ZAR", "Amount": 12}
    return {"BasicTran": transaction, "Card": {"CardInputMode": 1, "CardDataInput": data}}


def test_a_first_payment_starts_both_functions_and_a_replay_gets_the_same_answer(deployed: Deployed) -> None:
    body = a_body()

    first, again = post(deployed.url, SUBMIT, body), post(deployed.url, SUBMIT, body)

    assert (first.error, again.body) == ((200, 0), first.body)
    assert [len(deployed.stage.functions[name].started) > 0 for name in ("Authorizer", "APIHandler")] == [True, True]


@pytest.mark.parametrize(
    ("method", "path", "login", "error"),
    [
        ("POST", SUBMIT, None, (401, 101)),
        ("POST", SUBMIT, ("till@demo.example", "wrong"), (401, 102)),
        ("PUT", SUBMIT, TILL, (405, 206)),
        ("POST", "/api/v1/payment/nothing/here", TILL, (404, 207)),
        ("GET", "/api/v1/payment/00000000-0000-4000-8000-000000000000", TILL, (404, 568)),
    ],
)
def test_a_refusal_has_the_envelope(
    deployed: Deployed, method: str, path: str, login: tuple[str, str] | None, error: tuple[int, int]
) -> None:
    assert call(deployed.url, method, path, {}, login).error == error


def test_a_public_route_and_a_wrong_method_need_no_credential(deployed: Deployed) -> None:
    assert get(deployed.url, "/api/v1/openapi.json", None).status == 200
    assert call(deployed.url, "PATCH", SUBMIT, None, None).headers["Allow"] == "POST"


@pytest.mark.parametrize("size", [7 * MEGABYTE, 10 * MEGABYTE + 1])
def test_a_body_over_the_limit_of_lambda_or_of_the_gateway_is_413(deployed: Deployed, size: int) -> None:
    assert post(deployed.url, SUBMIT, b" " * size).error == (413, 203)


def test_requests_at_once_have_an_instance_each(deployed: Deployed) -> None:
    function = deployed.stage.functions["APIHandler"]
    for _ in range(20):  # on a busy machine one may be answered before the next arrives
        with ThreadPoolExecutor(max_workers=4) as tills:
            replies = list(tills.map(lambda _: post(deployed.url, SUBMIT, a_body()), range(4)))
        assert [reply.error for reply in replies] == [(200, 0)] * 4
        alive = [instance for instance in function.started if instance.is_alive]
        if len(alive) > 1:
            break

    assert len(alive) > 1


def test_the_sweep_runs_and_has_a_schedule(deployed: Deployed) -> None:
    outcome = deployed.stage.functions["Sweep"].invoke(SCHEDULED)
    events = deployed.stage.resources["Sweep"]["Properties"]["Events"].values()

    assert (outcome.error, outcome.payload) == (None, b"null")
    assert [event["Properties"]["Schedule"] for event in events] == ["rate(1 minute)"]


@pytest.fixture
def delivering(deployed: Deployed, build: Path, tmp_path: Path) -> Iterator[Deployed]:
    """Serve the package with its streams, where webhooks may lead to this machine."""
    del deployed
    forget()
    with served(build, tmp_path, settings={"STAGE": "local"}) as it, fed(it.stage):
        yield it


def test_a_payment_reaches_a_webhook_and_its_receipt_the_customer(delivering: Deployed) -> None:
    shop, customer = a_shop(delivering.url), an_email()
    terminal = shop.terminal()
    agent = shop.agent(TerminalID=terminal["ID"], TID=terminal["Name"])
    deliveries = delivering.stage.functions["DeliverEvents"].outcomes
    with a_receiver() as receiver:
        hook = shop.post(f"{shop.path}/webhook/create", a_webhook(Url=receiver.url)).body["Webhook"]
        body = a_body() | {"Receipt": {"Email": customer}}
        paid = shop.post(SUBMIT, body, (agent["Email"], PASSWORD))
        until(lambda: bool(receiver.calls and deliveries and mails(customer)))

    [call] = receiver.calls
    listed = shop.post(f"{shop.path}/event/list", {}).body["Events"]
    assert problem_of(hook["Secret"], call.headers, call.body) is None
    assert call.event["data"]["TransactionID"] == paid.body["TransactionID"]
    assert [one["ID"] for one in listed] == receiver.ids
    assert [one.error for one in deliveries] == [None]


@pytest.fixture
def slow(deployed: Deployed, build: Path, tmp_path: Path) -> Callable[..., Any]:
    """Serve the package with an acquirer that takes two seconds, and another time limit of the function."""

    def serve(function_seconds: int = 29) -> Any:
        package = tmp_path / "package"
        package.mkdir()
        shutil.copy(build / "deployment.zip", package)
        sam = json.loads((build / "sam.json").read_text(encoding="utf-8"))
        sam["Resources"]["APIHandler"]["Properties"]["Timeout"] = function_seconds
        (package / "sam.json").write_text(json.dumps(sam), encoding="utf-8")
        return served(package, tmp_path, settings={"SANDBOX_LATENCY_MS": "2000"})

    del deployed
    return serve


def test_a_payment_whose_instance_is_killed_is_neither_lost_nor_taken_twice(slow: Callable[..., Any]) -> None:
    body = a_card_payment()
    with slow() as it, ThreadPoolExecutor() as till:
        function = it.stage.functions["APIHandler"]
        post(it.url, SUBMIT, a_body())
        answer = till.submit(post, it.url, SUBMIT, body)
        until(lambda: kept(body["BasicTran"]["ID"]) is not None)
        function.kill()
        killed, again = answer.result(), post(it.url, SUBMIT, body)
        payment_sweep.run(datetime.now(UTC) + timedelta(minutes=10))
        resolved: Reply = post(it.url, SUBMIT, body)
        found = post(it.url, "/api/v1/payment/listHistoryEx", {"ListBasicModel": {"Page": 1}}).body["Transactions"]

    assert (killed.error, again.error) == ((500, 901), (409, 301))
    assert is_charged(body["BasicTran"]["ID"]) == (resolved.body["Transaction"]["Result"]["Code"] == 0)
    assert [one["ID"] for one in found].count(body["BasicTran"]["ID"]) == 1


def test_a_function_over_its_time_limit_is_killed(slow: Callable[..., Any]) -> None:
    with slow(function_seconds=1) as it:
        reply = post(it.url, SUBMIT, a_card_payment())
        function = it.stage.functions["APIHandler"]
        until(lambda: not any(instance.is_alive for instance in function.started))

    assert reply.error == (500, 901)
    assert function.outcomes[0].error == "Sandbox.Timedout"
