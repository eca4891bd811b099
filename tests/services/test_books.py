"""Journals of payments and reversals in the store: equal to the takings, at their cost, the same each time."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.history_export import ExportHistory
from chalicelib.schemas.takings import ReportTakings
from chalicelib.services import books as service
from chalicelib.services.takings import report
from tests.support.book_programs import Sums, each_program, sums
from tests.support.cost import store_calls
from tests.support.export_files import object_of
from tests.support.ledger import PAID, Books, a_merchant_with_agents, fill, local, paid

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
YEAR = {"From": "2027-03-10", "To": "2028-03-08"}
XERO = {"Sales": "200", "Returns": "201", "Cash": "800", "Clearing": "801", "Prepaid": "850", "TaxRate": "Tax Exempt"}
CODES = {
    "Assets:Cash": "800",
    "Assets:Clearing": "801",
    "Liabilities:Prepaid": "850",
    "Income:Sales": "200",
    "Income:Returns": "201",
}
TAX = ""
TENDERS = {"CASH": "Assets:Cash", "PREPAID": "Liabilities:Prepaid"}


def caller_of(agent: Agent) -> Caller:
    return Caller(agent.id, agent.client_id, agent.credential_version)


def export(  # noqa: PLR0913
    books: Books,
    form: str,
    period: Mapping[str, str],
    *,
    of: Agent | None = None,
    now: datetime = NOW,
    tax: str | None = None,
    most_pages: int = service.MOST_PAGES,
    **context: Any,
) -> bytes:
    accounts = {**(XERO if form == "xero" else {}), "Tax": tax}
    body = ExportHistory.model_validate({"Format": form, "Period": period, "Accounts": accounts, **context})
    content: bytes = object_of(service.export(body, caller_of(of or books.agents[0]), now, most_pages))["Body"]
    return content


def in_accounts(books: Books, form: str, period: Mapping[str, str], of: Agent) -> dict[tuple[str, str], Decimal]:
    """Return the sums that follow from the transactions, the taxes under `TAX`; the first agent sees all."""
    found = defaultdict[tuple[str, str], Decimal](Decimal)
    for one in books.kept:
        took, gave = one.original.id is None and one.phase in PAID, one.phase is Phase.REVERSAL_APPROVED
        is_shown = of == books.agents[0] or one.agent.id == of.id
        if not (took or gave) or not is_shown or not period["From"] <= str(local(one).date()) <= period["To"]:
            continue
        sign, income = (1, "Income:Sales") if took else (-1, "Income:Returns")
        unit, currency = Decimal(sign) / 10**one.currency.digits, one.currency.code
        tender = TENDERS.get(one.acquirer, "Assets:Clearing")
        for name, amount in ((tender, one.amount_minor * unit), (income, -one.amount_minor * unit)):
            shown = name if name != "Assets:Clearing" else f"{name}:{one.acquirer}"
            found[CODES[name] if form == "xero" else shown, currency] += amount
        found[TAX, currency] -= sum(tax.tax_minor for tax in one.tax_amounts) * unit
    return {key: amount for key, amount in found.items() if amount}


@pytest.fixture
def year(engine: str) -> Books:
    """A merchant with payments and reversals of three tills over a year."""
    del engine
    books = a_merchant_with_agents(count=3)
    fill(books, 60, NOW, seed=32)
    return books


@pytest.mark.slow
@each_program
def test_a_year_is_a_recount_for_all_and_for_an_agent(program: str, year: Books, tmp_path: Path) -> None:
    period = YEAR if program != "xero" else {**YEAR, "From": "2028-02-01"}
    for agent in (year.agents[0], year.agents[1]):
        found = sums(program, export(year, program, period, of=agent), tmp_path)
        account = "820" if program == "xero" else "Liabilities:VAT"
        split = sums(program, export(year, program, period, of=agent, tax=account), tmp_path)

        expected = in_accounts(year, program, period, agent)
        taxes = {key: expected.pop(key) for key in [*expected] if key[0] == TAX}
        assert found == expected
        assert len({currency for _, currency in found}) > 1
        assert {(TAX, currency): tax for (name, currency), tax in split.items() if name == account} == taxes
        assert income_in(split, account) == income_in(found, account)


def income_in(found: Sums, tax: str) -> dict[tuple[str, str], Decimal]:
    """Return the sums with sales, returns and their tax as one account."""
    joined = Counter[tuple[str, str]]()
    for (name, currency), amount in found.items():
        joined["" if name in {"Income:Sales", "Income:Returns", "200", "201", tax} else name, currency] += amount  # type: ignore[assignment]
    return dict(joined)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["hledger", "beancount"])
def test_each_day_is_the_same_by_itself_and_in_a_year(year: Books, form: str) -> None:
    def entries(period: Mapping[str, str]) -> set[str]:
        blocks = export(year, form, period).decode().split("\n\n")[1:]
        return {block.rstrip("\n") for block in blocks}

    days = {str(local(one).date()) for one in year.kept}
    of_days = [entries({"From": day, "To": day}) for day in sorted(days) if day <= YEAR["To"]]

    assert set().union(*of_days) == entries(YEAR)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["hledger", "beancount", "xero"])
def test_a_day_is_equal_to_the_byte_until_something_is_added(year: Books, form: str) -> None:
    day = {"From": "2028-02-29", "To": "2028-02-29"}
    at = datetime(2028, 2, 29, 12, tzinfo=UTC)
    first = export(year, form, day)
    assert export(year, form, day, now=NOW + 40 * DAY, Lang="af-ZA", GMT=-5) == first

    year.record(paid(year, year.agents[0], at + DAY))
    assert export(year, form, day) == first

    year.record(paid(year, year.agents[2], at, amount_minor=1))
    assert export(year, form, day) != first


def test_a_day_ends_in_the_merchants_zone(engine: str) -> None:
    del engine
    books = a_merchant_with_agents(gmt=14)
    last = datetime(2028, 3, 9, 9, 59, 59, tzinfo=UTC)  # 23:59:59 there
    books.record(paid(books, books.agents[0], last))
    period = {"From": "2028-03-09", "To": "2028-03-09"}

    with pytest.raises(ServiceError) as refusal:
        export(books, "hledger", period, now=last)
    assert refusal.value.error is ErrorCode.VALIDATION_FAILED

    assert b"2028-03-09 (2028-03-09-ZAR-CASH)" in export(books, "hledger", period, now=last + timedelta(seconds=1))


def test_it_reads_what_takings_read(year: Books) -> None:
    with store_calls() as of_takings:
        report(ReportTakings.model_validate({"Period": YEAR}), caller_of(year.agents[0]), NOW)
    with store_calls() as of_books:
        export(year, "hledger", YEAR)

    names_of_agents, late_sales = 1, 1
    assert len(of_books) == len(of_takings) - names_of_agents - late_sales


def test_a_journal_too_large_to_read_is_refused(year: Books) -> None:
    with pytest.raises(ServiceError) as refusal:
        export(year, "hledger", YEAR, most_pages=3)
    assert refusal.value.error is ErrorCode.PERIOD_TOO_LONG


def test_kinds_of_card_are_one_entry_and_every_other_tender_has_its_own(engine: str) -> None:
    del engine
    books = a_merchant_with_agents()
    kinds = {
        InputType.CHIP: "SANDBOX",
        InputType.CONTACTLESS: "SANDBOX",
        InputType.OUTER_CARD: "OUTERCARD",
        InputType.PREPAID: "PREPAID",
        InputType.ON_ACCOUNT: "CREDIT",
        InputType.CASH: "CASH",
    }
    for kind, acquirer in kinds.items():
        books.record(paid(books, books.agents[0], NOW - DAY, input_type=kind, acquirer=acquirer))
    lines = export(books, "hledger", YEAR).decode().splitlines()

    assert [line for line in lines if line.endswith(("  ; 1 payment", "  ; 2 payments")) and "Income" not in line] == [
        "    Assets:Cash  12.30 ZAR  ; 1 payment",
        "    Assets:Receivable  12.30 ZAR  ; 1 payment",
        "    Assets:Clearing:OUTERCARD  12.30 ZAR  ; 1 payment",
        "    Liabilities:Prepaid  12.30 ZAR  ; 1 payment",
        "    Assets:Clearing:SANDBOX  24.60 ZAR  ; 2 payments",
    ]
