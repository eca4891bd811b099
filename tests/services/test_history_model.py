"""History against a plain Python filter over the same list: every filter, every page, on Amazon's own engine."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from operator import attrgetter
from typing import Any

import pytest

from chalicelib.domain import history_page
from chalicelib.domain.transaction import Transaction
from tests.support.ledger import Books, a_merchant_with_agents, amount, fill, ids

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOME = 2
YEARS = {-12: 250, HOME: 1000, 14: 250}  # zone: transactions
BUSY = date(2028, 2, 29)


@dataclass(frozen=True)
class Case:
    """A filter as it is sent, and the same in plain Python."""

    fields: dict[str, Any]
    matches: Callable[[Transaction], bool]


def texts(transaction: Transaction) -> list[str]:
    carried, addresses = transaction.particulars, transaction.receipt.addresses
    references = (
        *(transaction.id, carried.ext_id, transaction.invoice, transaction.original.invoice, transaction.result.rrn),
        *(transaction.result.approval_code, carried.description, transaction.card and transaction.card.masked),
        *(transaction.reversals.latest_invoice, transaction.card and transaction.card.cardholder),
        *(transaction.terminal_name, transaction.agent.name),
        *((*addresses.emails, *addresses.phones) if addresses else ()),
    )
    return [text.casefold() for text in references if text]


def finding(text: str) -> Case:
    return Case({"Search": text}, lambda one: any(text.casefold() in found for found in texts(one)))


def costing(number: str) -> Case:
    """A number finds texts that hold it, and amounts that are equal to it in their own currency."""
    return Case(
        {"Search": number},
        lambda one: (
            Decimal(one.amount_minor) / 10**one.currency.digits == Decimal(number)
            or any(number in found for found in texts(one))
        ),
    )


def being(name: str, value: Any, attribute: str) -> Case:
    return Case({name: value}, lambda one: bool(attrgetter(attribute)(one) == value))


def cases(books: Books) -> list[Case]:
    second = books.agents[1].id
    searches = [
        "coffee",
        "GRÖSSE",
        "50% off",
        "A_B*C?",
        "日本",
        "order-1",
        "6000000000",
        "******0003",
        "a1b2",
        "nothing",
        "till NO. 1",
        "RET-3",
        "BOB@",
    ]
    return [
        Case({}, lambda _: True),
        *(being("AccountID", one.id, "agent.id") for one in books.agents),
        *(being("InputType", one, "input_type") for one in (1, 3, 7, 8, 9, 10)),
        *(being("AcquirerCode", one, "acquirer") for one in ("CASH", "OTHER", "SAND", "cash")),
        *(costing(number) for number in ("12.30", "1230")),
        *(Case({"Search": text}, lambda one: one.receipt.addresses is not None) for text in ("082 987 6543",)),
        *(being("ClientProductCode", one, "particulars.client_product_code") for one in ("CAFE", "Cafe")),
        Case(
            {"ClientProductCode": "CAFE", "Search": "ann@", "InputType": 10},
            lambda one: (
                (one.particulars.client_product_code, one.input_type) == ("CAFE", 10)
                and one.receipt.addresses is not None
            ),
        ),
        *(finding(text) for text in (*searches, books.kept[7].id[4:17].lower())),
        Case({"InputType": 3, "AcquirerCode": "OTHER"}, lambda one: (one.input_type, one.acquirer) == (3, "OTHER")),
        Case({"AccountID": second, "InputType": 10}, lambda one: (one.agent.id, one.input_type) == (second, 10)),
        Case({"Invoice": "inv-7"}, lambda one: one.invoice == "INV-7"),
        being("InvoiceOriginal", "INV-7", "original.invoice"),
        being("RRN", "600000000011", "result.rrn"),
        Case(
            {"Invoice": "INV-7", "Search": "coffee", "InputType": 10},
            lambda one: (one.invoice, one.input_type, one.particulars.description) == ("INV-7", 10, "Coffee"),
        ),
        Case({"Invoice": "INV-3", "AccountID": second}, lambda one: (one.invoice, one.agent.id) == ("INV-3", second)),
    ]


def periods(today: date) -> dict[str, tuple[dict[str, str], date, date]]:
    return {
        "year": ({"From": str(today - timedelta(days=365))}, today - timedelta(days=365), today),
        "usual": ({}, today - timedelta(days=30), today),
        "the busy day": ({"To": str(BUSY)}, BUSY, BUSY),
        "a border": ({"From": "2027-10-31", "To": "2027-11-01"}, date(2027, 10, 31), date(2027, 11, 1)),
        "ahead": ({"From": str(today + timedelta(days=1))}, today + timedelta(days=1), today + timedelta(days=1)),
    }


def check(books: Books, case: Case, sent: dict[str, str], span: tuple[date, date], *, oldest_first: bool) -> None:
    """Each page of a list is the page of the model, and so are its counters."""
    model = books.expected(case.matches, *span)
    shown = model[::-1] if oldest_first else model
    last = max(1, -(-len(model) // 100))
    for page in sorted({1, last // 2 + 1, last, last + 1}):
        sort = {"Sort": "Date asc"} if oldest_first else {}
        answer = books.ask(NOW, {**sent, **case.fields, **sort, "Page": page})

        assert (answer.total, answer.amount) == (len(model), amount(model)), (case.fields, sent)
        assert ids(answer.transactions) == ids(shown[(page - 1) * 100 : page * 100]), (case.fields, sent, page)


def check_by_days(books: Books, case: Case, day: date) -> None:
    """A list by days is the day and all the days before it, newest first."""
    model = books.expected(case.matches, day - timedelta(days=365), day)
    for page in (1, 2, len(model) // 100 + 1):
        answer = books.ask(NOW, {"To": str(day), **case.fields, "Page": page}, days=True)

        assert (answer.total, answer.amount) == (len(model), amount(model)), (case.fields, day)
        assert ids(answer.transactions) == ids(model[(page - 1) * 100 : page * 100]), (case.fields, day, page)


@pytest.mark.slow
@pytest.mark.parametrize("gmt", YEARS)
def test_a_page_is_what_a_plain_filter_finds(exact_engine: str, monkeypatch: pytest.MonkeyPatch, gmt: int) -> None:
    del exact_engine
    if gmt == HOME:  # a handful of payments makes a day busy, so that pages begin within days whatever the filter
        monkeypatch.setattr(history_page, "BUSY_DAY", 8)
    books = a_merchant_with_agents(gmt, count=4)
    fill(books, YEARS[gmt], NOW, seed=gmt)
    today = (NOW + timedelta(hours=gmt)).date()
    spans = [(sent, (first, last)) for sent, first, last in periods(today).values()]
    everything, *some = cases(books)[: None if gmt == HOME else 6]

    for sent, span in spans:
        check(books, everything, sent, span, oldest_first=True)
    for case, (sent, span) in product([everything, *some], spans):
        check(books, case, sent, span, oldest_first=False)
    for case, day in product([everything, *some[:7]], (today, BUSY)):
        check_by_days(books, case, day)
