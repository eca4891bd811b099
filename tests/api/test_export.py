"""The export of a history over HTTP: who gets which rows, and what the file is."""

import logging
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.domain.permissions import Right
from chalicelib.settings import settings
from tests.support.accounts import Account, a_stored_merchant, a_stored_terminal, an_account
from tests.support.cards import STEADY, a_card_body
from tests.support.export_files import key_of, object_of, rows_of
from tests.support.http import SYSTEM, Reply, get, post
from tests.support.transactions import a_body

EXPORT, SUBMIT = "/api/v1/report/export", "/api/v1/payment/submit"
Login = tuple[str, str]


class Shop:
    """A merchant with its administrator and a till, and another merchant's administrator."""

    def __init__(self, stage: str) -> None:
        merchant, other = a_stored_merchant(), a_stored_merchant()
        self.stage, self.id = stage, merchant.id
        self.owner = an_account(Right.ADMINISTRATOR, merchant=merchant, terminal_id=a_stored_terminal(merchant))
        self.till = an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant))
        self.stranger = an_account(Right.ADMINISTRATOR, merchant=other, terminal_id=a_stored_terminal(other))

    def pay(self, account: Account, **fields: Any) -> str:
        body = a_body()
        body["BasicTran"] = {**body["BasicTran"], **fields}
        reply = post(self.stage, SUBMIT, body, login_of(account))
        assert reply.error == (200, 0), reply.text
        paid: str = reply.body["TransactionID"]
        return paid

    def export(self, account: Account | Login, **body: Any) -> Reply:
        login = account if isinstance(account, tuple) else login_of(account)
        return post(self.stage, EXPORT, body, login)

    def ids(self, account: Account | Login, **body: Any) -> list[str]:
        reply = self.export(account, **body)
        assert reply.error == (200, 0), reply.text
        return [row["ID"] for row in rows_of(reply.body["Url"])]


def login_of(account: Account) -> Login:
    return account.email, account.key


@pytest.fixture
def shop(stage: str) -> Shop:
    return Shop(stage)


def test_the_file_is_what_the_interface_says(shop: Shop) -> None:
    paid = shop.pay(shop.till, Amount="12.30", Description="Two\r\nCoffees, مرحبا 🧾")
    url = shop.export(shop.owner, Period={"From": "2026-01-01", "To": "2026-12-31"}).body["Url"]
    found = object_of(url)

    assert urlsplit(url).netloc == f"{settings().bucket}.s3.eu-west-1.amazonaws.com"
    assert parse_qs(urlsplit(url).query)["X-Amz-Expires"] == ["900"]
    assert re.fullmatch(rf"exports/{shop.id}/[0-9A-F-]{{36}}\.csv", key_of(url))
    assert found["ContentType"] == "text/csv; charset=utf-8"
    assert found["ContentDisposition"] == 'attachment; filename="payments-2026-01-01-2026-12-31.csv"'
    assert found["Body"].startswith(
        b"\xef\xbb\xbfDate,ID,Kind,OriginalID,InputType,AcquirerCode,State,Substate,Amount,"
    )
    assert found["Body"].endswith(b"\r\n")
    assert [(row["ID"], row["Amount"], row["Description"]) for row in rows_of(url)] == [
        (paid, "12.30", "Two  Coffees, مرحبا 🧾")
    ]


@pytest.mark.parametrize(("language", "words"), [(None, "Paid"), ("af-ZA", "Betaal"), ("xx", "Paid")])
def test_the_file_has_words_in_the_language_of_the_request(shop: Shop, language: str | None, words: str) -> None:
    shop.pay(shop.till)
    (row,) = rows_of(shop.export(shop.owner, Lang=language).body["Url"])

    assert (row["StateText"], row["Zone"]) == (words, "UTC+02:00")


def test_two_exports_have_two_addresses_and_the_same_bytes(shop: Shop) -> None:
    shop.pay(shop.till)
    first, second = (shop.export(shop.owner).body["Url"] for _ in range(2))

    assert key_of(first) != key_of(second)
    assert object_of(first)["Body"] == object_of(second)["Body"]


def test_an_agent_gets_its_own_rows_an_administrator_the_merchants(shop: Shop) -> None:
    own, others = shop.pay(shop.till), shop.pay(shop.owner)
    account = {"AccountID": shop.owner.agent.id}

    assert shop.ids(shop.till) == [own]
    assert shop.ids(shop.owner) == [others, own]
    assert shop.ids(shop.owner, ListBasicModel={"Sort": "Date asc"}) == [own, others]
    assert shop.ids(SYSTEM, ListBasicModel=account) == [others, own]
    assert shop.export(shop.till, ListBasicModel=account).error == (403, 151)
    assert shop.export(SYSTEM).findings == [("ListBasicModel.AccountID", 1)]


def test_nobody_gets_a_row_of_another_merchant(shop: Shop) -> None:
    paid = shop.pay(shop.till, ExtID="order-of-mine")

    assert shop.ids(shop.stranger) == []
    for model in ({"ID": paid}, {"ExtID": "order-of-mine"}, {"Search": paid}):
        assert shop.ids(shop.stranger, ListBasicModel=model) == []
        assert shop.ids(shop.owner, ListBasicModel=model) == [paid]
    assert shop.export(shop.stranger, ListBasicModel={"AccountID": shop.till.agent.id}).error == (404, 563)


def test_the_columns_of_a_card_have_its_mask_alone(shop: Shop) -> None:
    reply = post(shop.stage, SUBMIT, a_card_body(pan=STEADY), login_of(shop.till))
    assert reply.error == (200, 0), reply.text
    content = object_of(shop.export(shop.owner).body["Url"])["Body"].decode()

    assert ",424242******4242," in content
    assert STEADY not in content
    assert "@" not in content.split("\r\n")[1]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"Period": {"From": "2024-01-01", "To": "2026-01-01"}}, (400, 404)),
        ({"Period": {"From": "2026-02-01", "To": "2026-01-01"}}, (400, 202)),
        ({"Period": {"From": "yesterday"}}, (400, 202)),
        ({"ListBasicModel": {"Sort": "Amount"}}, (400, 202)),
        ({"ListBasicModel": {"ID": "7"}}, (400, 202)),
        ({"ListBasicModel": {"AccountID": 999_999_999}}, (404, 563)),
        ({"ListBasicModel": {"AccountID": 10**30}}, (400, 202)),
        ({"CurrentAccountID": 1}, (403, 152)),
    ],
    ids=str,
)
def test_a_wrong_request_is_refused_as_by_a_list(shop: Shop, body: dict[str, Any], error: tuple[int, int]) -> None:
    listed = post(shop.stage, "/api/v1/payment/listHistoryEx", body, login_of(shop.owner))

    assert shop.export(shop.owner, **body).error == listed.error == error


def test_nothing_is_an_empty_file_with_its_columns(shop: Shop) -> None:
    url = shop.export(shop.till).body["Url"]

    assert rows_of(url) == []
    assert object_of(url)["Body"].startswith(b"\xef\xbb\xbfDate,")


def test_no_log_shows_a_signed_address_or_a_query_at_any_level(
    shop: Shop, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    url = shop.export(shop.owner).body["Url"]
    [signature] = parse_qs(urlsplit(url).query)["X-Amz-Signature"]
    query = "X-Amz-Signature=of-an-address&token=of-a-login"
    for path in ("user/me", "payment/nothing", f"payment/statusPublic/{query}", f"nothing/{query}"):
        get(shop.stage, f"/api/v1/{path}?GMT=0&{query}", login_of(shop.owner))
    post(shop.stage, EXPORT, {url: {"Amount": 1}, "amount": {url: 1}}, login_of(shop.owner))

    printed = capfd.readouterr()
    logged = printed.out + printed.err + caplog.text
    assert "/api/v1/report/export" in logged
    assert [secret for secret in (signature, "of-an-address", "of-a-login", "X-Amz") if secret in logged] == []
