"""Journals over HTTP: their days, their accounts, who gets which takings, and the file."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.agent import MobileSettings
from chalicelib.domain.kinds import Features
from chalicelib.domain.permissions import Right
from tests.support.accounts import Account, a_stored_merchant, a_stored_terminal, an_account
from tests.support.book_programs import each_program, sums
from tests.support.export_files import key_of, object_of, rows_of
from tests.support.http import SYSTEM, Reply, post
from tests.support.transactions import a_body

EXPORT, SUBMIT, TAKINGS = "/api/v1/report/export", "/api/v1/payment/submit", "/api/v1/report/takings"
FORMATS = ("hledger", "beancount", "xero")
CODES = {
    "Cash": "800",
    "Clearing": "801",
    "Receivable": "610",
    "Prepaid": "850",
    "Sales": "200",
    "Returns": "201",
    "TaxRate": "Tax Exempt",
}
KINDS = {"CASH": 10, "PREPAID": 8, "CREDIT": 9, "OUTERCARD": 7}
ACCOUNTS = {  # and their codes in Xero
    "CASH": ("Assets:Cash", "800"),
    "PREPAID": ("Liabilities:Prepaid", "850"),
    "CREDIT": ("Assets:Receivable", "610"),
    "OUTERCARD": ("Assets:Clearing:OUTERCARD", "801"),
}
EVERYTHING = MobileSettings(Features(accept_prepaid=True, accept_credit=True, accept_outer_card=True, offline=True))
Login = tuple[str, str]


def today() -> date:
    """Return the merchant's day."""
    return (datetime.now(UTC) + timedelta(hours=2)).date()


def day(before: int) -> str:
    return str(today() - timedelta(days=before))


WEEK = {"From": day(7), "To": day(1)}


class Shop:
    """A merchant with its administrator and a till, and another merchant's administrator."""

    def __init__(self, stage: str) -> None:
        merchant, other = a_stored_merchant(), a_stored_merchant()
        self.stage = stage
        facts: dict[str, Any] = {"merchant": merchant, "terminal_id": a_stored_terminal(merchant)}
        self.owner = an_account(Right.ADMINISTRATOR, mobile_settings=EVERYTHING, **facts)
        self.till = an_account(mobile_settings=EVERYTHING, **facts)
        self.stranger = an_account(Right.ADMINISTRATOR, merchant=other)

    def post(self, path: str, body: Mapping[str, Any], by: Account | Login | None = None) -> Reply:
        account = by or self.owner
        login = account if isinstance(account, tuple) else (account.email, account.key)
        return post(self.stage, path, dict(body), login)

    def pay(self, by: Account, amount: str, before: int, tender: str = "CASH", **body: Any) -> None:
        """Report a payment that was taken offline, some days before today."""
        offline = {"OfflineMode": True, "Paid": f"{day(before)}T12:00:00.000"}
        basic = a_body(Amount=amount, InputType=KINDS[tender], OfflineTran=offline)["BasicTran"]
        reply = self.post(SUBMIT, {"BasicTran": basic, **body}, by)
        assert reply.error == (200, 0), reply.text

    def export(self, form: str = "hledger", by: Account | Login | None = None, **body: Any) -> Reply:
        accounts = {"Accounts": CODES} if form == "xero" else {}
        return self.post(EXPORT, {"Format": form, "Period": WEEK, **accounts, **body}, by)

    def journal(self, form: str = "hledger", by: Account | Login | None = None, **body: Any) -> bytes:
        reply = self.export(form, by, **body)
        assert reply.error == (200, 0), reply.text
        content: bytes = object_of(reply.body["Url"])["Body"]
        return content


@pytest.fixture
def shop(stage: str) -> Shop:
    return Shop(stage)


def in_accounts(program: str, taken: Mapping[str, str]) -> dict[tuple[str, str], Decimal]:
    """Return the sums of accounts that follow from what was taken by each tender."""
    column = int(program == "xero")
    found = {(ACCOUNTS[tender][column], "ZAR"): Decimal(amount) for tender, amount in taken.items()}
    return {**found, (("Income:Sales", "200")[column], "ZAR"): -sum(found.values(), Decimal())}


@pytest.mark.slow
@each_program
def test_a_journal_is_accepted_and_has_what_was_taken(program: str, shop: Shop, tmp_path: Path) -> None:
    for number, tender in enumerate(KINDS, 1):
        shop.pay(shop.till, "12.30", number, tender)
        shop.pay(shop.owner, "0.05", number, tender)
    shop.pay(shop.till, "99.99", 0)
    shop.pay(shop.till, "99.99", 8)

    for account, amount in ((shop.owner, "12.35"), (shop.till, "12.30")):
        found = sums(program, shop.journal(program, account), tmp_path)
        assert found == in_accounts(program, dict.fromkeys(KINDS, amount))


@pytest.mark.slow
@each_program
def test_a_journal_splits_off_the_tax_of_what_was_taken(program: str, shop: Shop, tmp_path: Path) -> None:
    taxes = [{"Code": code, "Name": code, "Rate": rate} for code, rate in (("VAT15", 15), ("LEVY", "0.5"), ("VAT0", 0))]
    path = f"/api/v1/merchant/{shop.owner.agent.client_id}/pricelist/update"
    assert shop.post(path, {"Version": 0, "Taxes": taxes, "Items": []}).error == (200, 0)
    sold: tuple[tuple[int, str, list[str]], ...] = (
        (1, "CASH", ["VAT15"]),
        (2, "CASH", ["VAT0"]),
        (3, "OUTERCARD", ["VAT15", "LEVY"]),
        (4, "CREDIT", []),
    )
    for before, tender, codes in sold:
        shop.pay(shop.till, "159.50", before, tender, TaxesModel={"Taxes": codes})
    account = {"xero": "820"}.get(program, "Liabilities:VAT")
    names = {**(CODES if program == "xero" else {}), "Tax": account}

    whole = shop.journal(program)
    found = sums(program, shop.journal(program, Accounts=names), tmp_path)

    tax = Decimal("20.80") + Decimal("20.71") + Decimal("0.69")  # 15 of 115, 15 and 0.5 of 115.5
    expected = in_accounts(program, {"CASH": "319.00", "OUTERCARD": "159.50", "CREDIT": "159.50"})
    expected[{"xero": "200"}.get(program, "Income:Sales"), "ZAR"] += tax
    assert found == {**expected, (account, "ZAR"): -tax}
    assert shop.journal(program, Accounts={**names, "Tax": ""}) == whole


@pytest.mark.parametrize(
    ("form", "suffix", "media_type"),
    [
        ("hledger", "journal", "text/plain; charset=utf-8"),
        ("beancount", "beancount", "text/plain; charset=utf-8"),
        ("xero", "csv", "text/csv; charset=utf-8"),
    ],
)
def test_the_file_has_the_name_and_type_of_its_format(shop: Shop, form: str, suffix: str, media_type: str) -> None:
    url = shop.export(form).body["Url"]
    found = object_of(url)

    assert re.fullmatch(rf"exports/{shop.owner.agent.client_id}/[0-9A-F-]{{36}}\.{suffix}", key_of(url))
    assert found["ContentType"] == media_type
    assert found["ContentDisposition"] == f'attachment; filename="takings-{day(7)}-{day(1)}.{suffix}"'


def test_an_agent_gets_its_own_takings_an_administrator_the_merchants(shop: Shop) -> None:
    shop.pay(shop.till, "1.00", 2)
    shop.pay(shop.owner, "2.00", 2)
    account = {"AccountID": shop.till.agent.id}

    assert b"  1.00 ZAR" in shop.journal(by=shop.till)
    assert b"  3.00 ZAR" in shop.journal()
    assert b"  3.00 ZAR" in shop.journal(by=SYSTEM, ListBasicModel={"AccountID": shop.owner.agent.id})
    assert b"ZAR" not in shop.journal(by=shop.stranger)
    assert shop.export(by=shop.till, ListBasicModel={"AccountID": shop.owner.agent.id}).error == (403, 151)
    assert shop.export(by=shop.stranger, ListBasicModel=account).error == (404, 563)
    assert shop.export(by=SYSTEM).findings == [("ListBasicModel.AccountID", 1)]


def test_only_the_account_of_the_filters_counts(shop: Shop) -> None:
    shop.pay(shop.till, "1.00", 2)
    whole = shop.journal()
    others = {"Search": "nothing", "ExtID": "none", "InputType": 3, "AcquirerCode": "SANDBOX", "RRN": "1", "Page": 9}

    assert shop.journal(ListBasicModel=others, ClientProductCode="none") == whole
    assert shop.journal(ListBasicModel={"ID": "00000000-0000-4000-8000-000000000000"}) == whole


def test_without_a_format_the_file_is_the_list(shop: Shop) -> None:
    shop.pay(shop.till, "1.00", 2)

    for sent in ({}, {"Format": "csv"}, {"Format": ""}, {"Format": "csv", "Accounts": {"Cash": "a;b\n"}}):
        reply = shop.post(EXPORT, {"Period": {"From": day(7)}, **sent})
        assert [row["Amount"] for row in rows_of(reply.body["Url"])] == ["1.00"]


@pytest.mark.parametrize(
    ("period", "error", "findings"),
    [
        ({}, (400, 202), [("Period", 1)]),
        (None, (400, 202), [("Period", 1)]),
        ({"From": "", "To": ""}, (400, 202), [("Period", 1)]),
        ({"From": day(7), "To": day(0)}, (400, 202), [("Period.To", 5)]),
        ({"From": day(7)}, (400, 202), [("Period.To", 5)]),
        ({"From": day(0)}, (400, 202), [("Period.To", 5)]),
        ({"To": day(0)}, (400, 202), [("Period.To", 5)]),
        ({"To": day(-1)}, (400, 202), [("Period.To", 5)]),
        ({"From": day(1), "To": day(2)}, (400, 202), [("Period.From", 12)]),
        ({"From": day(367), "To": day(1)}, (400, 404), []),
        ({"From": day(366), "To": day(1)}, (200, 0), []),
        ({"To": day(1)}, (200, 0), []),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", FORMATS)
def test_the_days_of_a_journal_are_over_and_at_most_a_year(
    shop: Shop, form: str, period: Any, error: tuple[int, int], findings: list[tuple[str, int]]
) -> None:
    reply = shop.export(form, Period=period)

    assert (reply.error, reply.findings) == (error, findings), reply.text


@pytest.mark.parametrize("name", ["Assets:Cash\n2026-01-01 * x", "Assets:Cash  ; x", 'Assets:"x', "Assets:\tx", "=1+1"])
@pytest.mark.parametrize("field", ["Cash", "Clearing", "Receivable", "Prepaid", "Sales", "Returns", "Tax"])
@pytest.mark.parametrize("form", FORMATS)
def test_a_name_that_would_change_the_file_is_refused_under_its_field(
    shop: Shop, form: str, field: str, name: str
) -> None:
    reply = shop.export(form, Accounts={**(CODES if form == "xero" else {}), field: name})

    assert (reply.error, reply.findings) == ((400, 202), [(f"Accounts.{field}", 3)])


def test_all_wrong_names_and_days_are_listed_together(shop: Shop) -> None:
    reply = shop.export("beancount", Accounts={"Cash": "cash", "Sales": "Sales", "Returns": 5}, Period={"To": day(0)})
    assert set(reply.findings) == {
        ("Accounts.Returns", 2),
        ("Accounts.Sales", 3),
        ("Accounts.Cash", 3),
        ("Period.To", 5),
    }

    reply = shop.export("beancount", Accounts={"Cash": "cash", "Sales": "Sales"}, Period={"To": day(0)})
    assert reply.findings == [("Accounts.Sales", 3), ("Accounts.Cash", 3), ("Period.To", 5)]


def test_accounts_have_the_bookkeepers_names(shop: Shop) -> None:
    shop.pay(shop.till, "1.00", 2)
    shop.pay(shop.till, "2.00", 2, "OUTERCARD")
    names = {"Cash": "assets:petty cash", "Clearing": "assets:bank", "Sales": "revenue", "Prepaid": ""}

    lines = shop.journal(Accounts=names).decode().splitlines()
    assert [line.split("  ")[2] for line in lines if line.startswith("    ")] == [
        *("assets:petty cash", "revenue"),
        *("assets:bank:OUTERCARD", "revenue"),
    ]


def test_xero_needs_a_code_for_each_account_that_occurs(shop: Shop) -> None:
    assert shop.export("xero", Accounts={}).error == (200, 0)  # no account occurs

    shop.pay(shop.till, "1.00", 2)
    reply = shop.export("xero", Accounts={"Clearing": "801"})

    assert reply.error == (400, 202)
    assert reply.findings == [("Accounts.Sales", 1), ("Accounts.Cash", 1), ("Accounts.TaxRate", 1)]
    assert shop.export("xero", Accounts={"Sales": "200", "Cash": "800", "TaxRate": "None"}).error == (200, 0)
