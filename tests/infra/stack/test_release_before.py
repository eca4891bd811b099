"""The release before and the present code on the same tables, one after the other and side by side.

`infra/stack/release_before.txt` names the commit of that release. A deployment has a minute in which both run, and
going back lets the release before read what the present code wrote.
"""

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from chalicelib.domain.reversal import ReverseMode
from infra.local import engines, ports
from infra.reference import ROOT
from tests.infra.local.stages import a_stage, url_of
from tests.support import http
from tests.support.builders import PASSWORD, Shop, a_shop, a_webhook
from tests.support.cards import a_card_body
from tests.support.goods import a_goods_shop, taxes_of
from tests.support.transactions import a_body, a_guid

COMMIT = (ROOT / "infra" / "stack" / "release_before.txt").read_text(encoding="utf-8").split()[0]
SUBMIT, REVERSE, LIST = "/api/v1/payment/submit", "/api/v1/payment/reverse", "/api/v1/payment/listHistoryEx"
TAKINGS = "/api/v1/report/takings"
API = """
import sys, app
from infra.local import stage
with stage.serve(app.app) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


SWEEP = """
from datetime import UTC, datetime, timedelta
from chalicelib.services import outbox, payment_sweep
soon = datetime.now(UTC) + timedelta(minutes=5)
print(payment_sweep.run(soon).done, outbox.sweep(soon, 100).done)
"""


class Both(NamedTuple):
    """The addresses of the two programs on one set of tables, and the sweep in five minutes with the code of either."""

    present: str
    before: str
    sweep: Callable[[str], None]


@pytest.fixture(scope="module")
def code_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the release before."""
    packed = subprocess.run(
        ["git", "archive", COMMIT, "app.py", "chalicelib", "infra", ".chalice"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if packed.returncode:
        pytest.skip(f"this clone has no commit {COMMIT}: it is shallow")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@contextmanager
def running(code: Path, engine: str) -> Iterator[Both]:
    """Run a stage of the present code, and the API of the other code on its tables."""
    aws = str(ports.free_port())
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("AWS_ENDPOINT_URL")}
    environment = {**inherited, **engines.environment(), "AWS_ENDPOINT_URL": f"http://127.0.0.1:{aws}"}

    def sweep(whose: str) -> None:
        folder = ROOT if whose == "present" else code
        subprocess.run([sys.executable, "-c", SWEEP], cwd=folder, env=environment, capture_output=True, check=True)

    with (
        a_stage(ENGINE=engine, AWS_PORT=aws) as stage,
        subprocess.Popen(
            [sys.executable, "-c", API],
            cwd=code,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other,
    ):
        try:
            present = url_of(stage)
            assert other.stdout
            yield Both(present, other.stdout.readline().strip(), sweep)
        finally:
            other.kill()


@pytest.fixture(scope="module")
def both(code_before: Path) -> Iterator[Both]:
    with running(code_before, "moto") as started:
        yield started


@pytest.fixture(params=["present", "before"])
def first(request: pytest.FixtureRequest, both: Both) -> tuple[str, str, str]:
    """The address of the program that writes, that of the one that goes on, and whose code the latter has."""
    if request.param == "present":
        return both.present, both.before, "before"
    return both.before, both.present, "present"


def a_till(shop: Shop) -> tuple[str, str]:
    features = {"AutoLogin": True}
    made = shop.agent(TID=shop.terminal()["Name"], MobileSettings={"Features": features})
    return made["Email"], PASSWORD


def part(payment: str, amount: str) -> dict[str, Any]:
    basic = {"ID": a_guid(), "TransactionID": payment, "ReverseMode": ReverseMode.RETURN}
    return {"BasicReverseTran": {**basic, "Amount": amount, "PartialReverse": True}}


def seen(url: str, payments: list[str], till: tuple[str, str], owner: tuple[str, str]) -> list[Any]:
    asked = [
        *(http.get(url, f"/api/v1/payment/{one}", till) for one in payments),
        *(http.post(url, path, {}, owner) for path in (LIST, TAKINGS)),
    ]
    assert [reply.error for reply in asked] == [(200, 0)] * len(asked)
    return [known_to_both(reply.body) for reply in asked]


def known_to_both(body: Any) -> Any:
    """Return an answer without the fields that the release before does not have."""
    if isinstance(body, list):
        return [known_to_both(one) for one in body]
    if isinstance(body, dict):
        return {name: known_to_both(value) for name, value in body.items() if name not in {"TaxAmounts", "Taxes"}}
    return body


def test_one_goes_on_with_the_payments_of_the_other(first: tuple[str, str, str]) -> None:
    writes, goes_on, _ = first
    shop = a_shop(writes)
    till = a_till(shop)
    body, returned = a_body(Amount="12.30"), {}
    paid = http.post(writes, SUBMIT, body, till)
    again = http.post(goes_on, SUBMIT, body, till)
    payment = paid.body["TransactionID"]
    returned = part(payment, "2.30")

    replies = [http.post(url, REVERSE, returned, till) for url in (writes, goes_on)]
    rest = http.post(goes_on, REVERSE, part(payment, "10.00"), till)
    too_much = http.post(writes, REVERSE, part(payment, "0.01"), till)

    assert [reply.error for reply in (paid, again, *replies, rest)] == [(200, 0)] * 5
    assert again.body["TransactionID"] == payment
    assert replies[0].body["TransactionReverseID"] == replies[1].body["TransactionReverseID"]
    assert too_much.status == 409
    assert seen(writes, [payment], till, shop.owner) == seen(goes_on, [payment], till, shop.owner)
    assert http.get(goes_on, f"/api/v1/payment/{payment}", till).body["Transactions"][0]["AmountEff"] == 0


def test_the_release_before_reports_and_returns_sales_with_taxes(both: Both) -> None:
    """After going back: its totals hold numbers of taxes, which it does not know."""
    goods = a_goods_shop(both.present)
    sold = goods.sell("2 x Coffee 25.00 VAT15", "1 x Milk 12.00 VAT0").body["Transaction"]
    goods.give_back(sold["ID"], "1 x Coffee 25.00")
    by_before = http.post(both.before, REVERSE, part(sold["ID"], "30.00"), goods.till)
    rest = goods.give_back(sold["ID"]).body["Transaction"]

    assert by_before.error == (200, 0)
    payments = [sold["ID"], rest["ID"]]
    assert seen(both.present, payments, goods.till, goods.shop.owner) == seen(
        both.before, payments, goods.till, goods.shop.owner
    )
    assert rest["Amount"] == 7
    assert taxes_of(rest) == {"VAT15": ("25.00", "3.26"), "VAT0": ("12.00", "0.00")}  # also those that it left out


def test_one_resolves_the_unknown_outcome_of_the_other(first: tuple[str, str, str], both: Both) -> None:
    writes, goes_on, code = first
    shop = a_shop(writes)
    till = a_till(shop)
    unknown = http.post(writes, SUBMIT, a_card_body(12.68), till)  # the sandbox loses the answer
    assert unknown.error == (200, 310)
    payment = unknown.body["TransactionID"]

    both.sweep(code)

    (view,) = http.get(goes_on, f"/api/v1/payment/{payment}", till).body["Transactions"]
    assert (view["IsNotFinished"], view["AmountEff"]) == (False, Decimal("12.68"))
    assert seen(writes, [payment], till, shop.owner) == seen(goes_on, [payment], till, shop.owner)


def test_one_knows_the_accounts_sessions_and_webhooks_of_the_other(first: tuple[str, str, str]) -> None:
    writes, goes_on, _ = first
    shop = a_shop(writes)
    till = a_till(shop)
    signing_in = {"Email": till[0], "Password": till[1], "Remember": True}
    session = http.post(writes, "/api/v1/user/login/session", signing_in, None).body["Data"]["SessionID"]
    assert shop.post(f"{shop.path}/webhook/create", a_webhook()).error == (200, 0)

    headers = {"Authorization": f"Session {session}"}
    me = http.call(goes_on, "GET", "/api/v1/user/me?GMT=0", None, None, headers)
    listed = [http.post(url, f"{shop.path}/webhook/list", {}, shop.owner).body for url in (writes, goes_on)]

    assert me.error == (200, 0)
    assert listed[0] == listed[1]
    assert len(listed[0]["Webhooks"]) == 1


def tills_at_both(both: Both, steps: int) -> None:
    """Let four tills pay and give back at random, each request at either program, some at both at once."""
    shop = a_shop(both.present)
    urls = (both.present, both.before)

    def sell(number: int) -> tuple[dict[str, Decimal], tuple[str, str]]:
        chance, till = Random(number), a_till(shop)  # noqa: S311  the same choices in each run
        rest: dict[str, Decimal] = {}
        with ThreadPoolExecutor(2) as pool:
            for _ in range(steps):
                amount = Decimal(chance.randint(1, 9999)) / 100
                if rest and chance.random() < 0.5:
                    payment = chance.choice(list(rest))
                    amount = min(amount, rest[payment])
                    path, body = REVERSE, part(payment, str(amount))
                else:
                    path, body = SUBMIT, a_body(Amount=str(amount))
                chosen = chance.choice(((urls[0],), (urls[1],), urls, (urls[0], urls[1], urls[0])))
                replies = list(pool.map(lambda url, path=path, body=body: http.post(url, path, body, till), chosen))
                if not all(reply.error == (200, 0) for reply in replies):
                    replies = [http.post(url, path, body, till) for url in urls]  # while one runs, the other says so
                assert {reply.error for reply in replies} == {(200, 0)}, [reply.text for reply in replies]
                (payment,) = {reply.body["TransactionID"] for reply in replies}
                if path == SUBMIT:
                    rest[payment] = amount
                else:
                    rest[payment] -= amount
                rest = {one: left for one, left in rest.items() if left}
        return rest, till

    with ThreadPoolExecutor(4) as pool:
        sold = list(pool.map(sell, range(4)))
    for code in ("present", "before"):
        both.sweep(code)
    for rest, till in sold:
        for url in urls:
            listed = http.post(url, LIST, {}, till).body
            held = {one["ID"]: one["AmountEff"] for one in listed["Transactions"] if one["AmountEff"]}
            kept = {one: amount for one, amount in held.items() if one in rest}
            assert kept == rest
    taken = [known_to_both(http.post(url, TAKINGS, {}, shop.owner).body) for url in urls]
    assert taken[0] == taken[1]
    net = sum(one["Net"] for one in taken[0]["Takings"])
    assert net == sum(sum(rest.values()) for rest, _ in sold)


def test_both_at_once_take_and_give_back_each_amount_once(both: Both) -> None:
    tills_at_both(both, 10)


@pytest.mark.release
def test_both_at_once_on_the_engine_of_amazon(code_before: Path, dynamodb_local_url: str) -> None:
    del dynamodb_local_url  # without it DynamoDB Local cannot run here
    with running(code_before, "dynamodb-local") as started:
        tills_at_both(started, 100)
