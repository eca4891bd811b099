"""Exports of a history: each row is what a look-up by ID says, whatever became of the payments."""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import CardDetails, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.receipts.content import words_of
from chalicelib.schemas.history import ListHistory
from chalicelib.schemas.transaction_view import TransactionView
from chalicelib.services import history_export, outcomes
from chalicelib.services.history_export import LIMITS, Limits
from chalicelib.store import history, table, transactions
from chalicelib.store.aws_client import Client
from chalicelib.store.table import table_name
from infra.bench.client import through
from tests.support.cost import store_calls
from tests.support.export_files import Row, net_of, object_of, rows_of
from tests.support.giving import Give
from tests.support.intercepted_calls import before
from tests.support.ledger import TAXES, Books, a_merchant_with_agents, paid, taxed
from tests.support.stored import stored_transaction, wrong_entries
from tests.support.transactions import ZAR, a_guid, altered

NOW = datetime(2028, 3, 9, 21, 40, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
YEAR = {"From": "2027-03-11"}
CURRENCIES = (ZAR, ZAR, Currency("JPY", "392", 0), Currency("BHD", "048", 3))
WORDS = ("Coffee", "=1+1", "two\r\nlines", "مرحبا 🧾", '"quoted", twice', None)


def export(
    books: Books, sent: Mapping[str, Any], *, by: Agent | None = None, now: datetime = NOW, limits: Limits = LIMITS
) -> str:
    """Return the address of an export; `sent` are the fields of Period and of ListBasicModel."""
    period = {name: value for name, value in sent.items() if name in {"From", "To"}}
    model = {name: value for name, value in sent.items() if name not in period}
    body = ListHistory.model_validate({"Period": period, "ListBasicModel": model})
    agent = by or books.agents[0]
    return history_export.export(body, Caller(agent.id, agent.client_id, agent.credential_version), now, limits)


def rows(books: Books, limits: Limits = LIMITS, **sent: Any) -> list[Row]:
    return rows_of(export(books, {**YEAR, "Sort": "Date asc", **sent}, limits=limits))


def cell(text: str) -> str:
    """Return the text of a cell: without control characters, and not computed by a spreadsheet."""
    mark = "'" if text and text[0] in "=+-@\t\r" else ""
    return mark + text.replace("\r", " ").replace("\n", " ")


def looked_up(transaction_id: str) -> Row:
    """Return the row that follows from what a look-up by ID answers."""
    record = stored_transaction(transaction_id)
    view = TransactionView.of(record, NOW, record.gmt)
    moved = Decimal(0)
    if record.phase in (Phase.APPROVED, Phase.AWAITING_COMPLETION):
        moved = view.amount
    elif record.phase is Phase.REVERSAL_APPROVED:
        moved = -view.amount
    texts = {
        "Agent": view.trans_pos.name,
        "Terminal": view.terminal_name,
        "Invoice": view.invoice,
        "RRN": view.rrn,
        "ApprovalCode": view.approval_code,
        "Card": view.card.pan_masked,
        "ExtID": view.ext_id,
        "Description": view.description,
    }
    return {
        "Date": view.date,
        "ID": view.id,
        "Kind": "payment" if view.operation == "Payment" else "reversal",
        "OriginalID": (view.reverse_id or "") if record.is_reversal else "",
        "InputType": str(view.input_type),
        "AcquirerCode": view.acquirer_id,
        "State": str(view.state),
        "Substate": str(view.substate),
        "Amount": str(moved * 1 if moved else view.amount * 0),
        "AmountRequested": str(view.amount),
        "Currency": view.currency_id,
        "AgentID": str(view.pos_id),
        **{name: cell(text or "") for name, text in texts.items()},
        "InputTypeText": words_of("en")[f"kind_{view.input_type}"],
        "StateText": words_of("en")[f"state_{view.substate}_{record.shown.status.lower()}"],
        "Zone": f"UTC+{record.gmt:02d}:00",
        **_taxes(view, moved),
        "Lines": "; ".join(f"{one.quantity} x {one.title} {one.total}" for one in record.receipt.purchases),
        "Discounts": "",
        "Received": view.received or "",
    }


def _taxes(view: TransactionView, moved: Decimal) -> Row:
    taxes, sign = view.tax_amounts or [], -1 if moved < 0 else 1
    if not (moved and taxes):
        return {"TaxTotal": "", "TaxText": ""}
    texts = [f"{one.code} {one.rate} % {sign * one.tax + 0} of {sign * one.gross + 0}" for one in taxes]
    return {"TaxTotal": str(sign * sum(one.tax for one in taxes) + 0), "TaxText": "; ".join(texts)}


class Lives:
    """Payments and reversals that go on at random, each step as the service stores it."""

    def __init__(self, books: Books, seed: int) -> None:
        self.books, self.chance = books, random.Random(seed)  # noqa: S311  no secret: a seed to find a failure by
        self.at = NOW - 300 * DAY

    def go_on(self) -> None:
        self.at += self.chance.uniform(0, 2) * DAY
        some = self.chance.choice(self.books.kept) if self.books.kept and self.chance.random() < 0.7 else None
        known = some and transactions.get(some.id)
        if known and TRANSITIONS[known.phase] and self.chance.random() < 0.8:
            self.next_step(known)
        elif known and known.took_money and known.remaining_minor:
            self.give_back(known)
        else:
            self.pay()

    def pay(self) -> None:
        chance = self.chance
        by_card = chance.random() < 0.6
        facts: dict[str, Any] = {
            "description": chance.choice(WORDS),
            "ext_id": chance.choice((None, "Order-7")),
            "currency": chance.choice(CURRENCIES),
            "amount_minor": (amount_minor := chance.randrange(1, 10**6)),
            "tax_amounts": taxed(amount_minor, *TAXES[amount_minor % len(TAXES)]),
            "terminal_name": chance.choice(("DOOR-1", "bar")),
            "date": chance.choice((None, None, self.at - DAY, self.at + HOUR)),
            "result_code": None,
        }
        if by_card:
            card = CardDetails("VISA", "424242", "4242", cardholder="MOKOENA/THANDI")
            facts |= {"phase": Phase.SENT, "input_type": InputType.CHIP, "acquirer": "SANDBOX", "card": card}
        self.books.record(paid(self.books, chance.choice(self.books.agents), self.at, **facts))

    def next_step(self, before: Transaction) -> None:
        phase = self.chance.choice(sorted(TRANSITIONS[before.phase]))
        signed: dict[str, Any] = {}
        if before.phase is Phase.AWAITING_COMPLETION and self.chance.random() < 0.5:
            signed = {"signature_key": "transactions/signature.png"}
        after = altered(before, phase=phase, rrn="603112345678", approval_code="A1B2C3", **signed)
        if signed:  # as a delivered signature is stored
            transactions.store_step(before, after, self.at)
        else:
            outcomes.store(before, after, self.at)

    def give_back(self, original: Transaction) -> None:
        chance = self.chance
        amount_minor = chance.choice((original.remaining_minor, chance.randint(1, original.remaining_minor)))
        by_card = original.input_type is InputType.CHIP
        reversal = altered(
            paid(self.books, chance.choice(self.books.agents), self.at),
            id=a_guid(),
            phase=Phase.RETURNING if by_card else Phase.REVERSAL_APPROVED,
            input_type=original.input_type,
            acquirer=original.acquirer,
            currency=original.currency,
            card=original.card,
            amount_minor=amount_minor,
            invoice=f"RET-{chance.randrange(10**6)}",
            original_id=original.id,
            original_invoice=original.invoice,
            original_mode=int(ReverseMode.RETURN),
        )
        transactions.reserve(original, reversal)
        self.books.kept.append(reversal)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_each_row_is_what_a_look_up_by_id_says(engine: str, seed: int) -> None:
    del engine
    books = a_merchant_with_agents(count=2)
    lives = Lives(books, seed)
    for number in range(1, 61):
        lives.go_on()
        if number % 20 == 0:
            exported = rows_of(export(books, YEAR, now=lives.at))
            assert {row["ID"]: row for row in exported} == {one.id: looked_up(one.id) for one in books.kept}
            assert len(exported) == len(books.kept)


@pytest.fixture
def books(engine: str) -> Books:
    """A merchant with two tills, what they did in a year, and all of it finished or not."""
    del engine
    books = a_merchant_with_agents(count=2)
    lives = Lives(books, seed=11)
    for _ in range(36):
        lives.go_on()
    return books


def looking_up(books: Books) -> set[str]:
    """Return the IDs of the transactions that an export looks up."""
    read: set[str] = set()

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        wanted = parameters.get("RequestItems", {}).get(table_name(transactions.TABLE), {})
        read.update(key["id"]["S"] for key in wanted.get("Keys", ()))
        return client.call(operation, **parameters)

    with outside.given(client=through(call)):
        rows(books)
    return read


def test_what_is_finished_and_never_reversed_is_not_looked_up(books: Books) -> None:
    now = [transactions.get(one.id) or one for one in books.kept]
    told_by_entry = {one.id for one in now if not TRANSITIONS[one.phase] and one.reversals.latest_id is None}

    assert looking_up(books) == {one.id for one in now} - told_by_entry
    assert told_by_entry


def test_a_payment_that_was_completed_is_not_looked_up(engine: str) -> None:
    del engine
    books = a_merchant_with_agents()
    facts: dict[str, Any] = {"phase": Phase.SENT, "input_type": InputType.CHIP, "acquirer": "SANDBOX"}
    sent = books.record(paid(books, books.agents[0], NOW - DAY, **facts, ext_id="Order-7"))
    awaiting = replace(sent, phase=Phase.AWAITING_COMPLETION)
    outcomes.store(sent, awaiting, NOW)
    before = looking_up(books)

    outcomes.store(awaiting, replace(awaiting, phase=Phase.APPROVED), NOW)

    assert (before, looking_up(books)) == ({sent.id}, set())
    assert rows(books) == [looked_up(sent.id)]
    assert rows(books, ExtID="Order-7") == [looked_up(sent.id)]
    assert books.ask(NOW, YEAR).amount == Decimal("12.30")  # counted once


def a_payment_being_reversed(books: Books) -> tuple[Transaction, Transaction]:
    """Store a payment that awaits its completion, and a reversal of it that is requested."""
    facts: dict[str, Any] = {"phase": Phase.SENT, "input_type": InputType.CHIP, "acquirer": "SANDBOX"}
    sent = books.record(paid(books, books.agents[0], NOW - DAY, **facts))
    awaiting = replace(sent, phase=Phase.AWAITING_COMPLETION)
    outcomes.store(sent, awaiting, NOW)
    reversal = altered(
        sent, id=a_guid(), phase=Phase.RETURNING, original_id=sent.id, original_mode=2, created_at=NOW, invoice="RET-1"
    )
    transactions.reserve(awaiting, reversal)
    return awaiting, reversal


def test_a_search_for_another_text_finds_that_a_payment_is_reversed(engine: str) -> None:
    del engine
    books = a_merchant_with_agents()
    payment = books.record(paid(books, books.agents[0], NOW - DAY, description="Two coffees"))
    whole = {"phase": Phase.REVERSAL_APPROVED, "original_id": payment.id, "original_mode": 2, "description": "Spilt"}
    reversal = altered(payment, id=a_guid(), created_at=NOW, invoice="RET-1", **whole)
    transactions.reserve(payment, reversal)

    assert rows(books, Search="coffees") == [looked_up(payment.id)]
    assert rows(books, Search="coffees")[0]["Substate"] == "502"
    assert rows(books, Search="ret-1") == [looked_up(payment.id), looked_up(reversal.id)]


def test_a_pending_payment_whose_record_is_missing_is_left_out(engine: str) -> None:
    del engine
    books = a_merchant_with_agents()
    facts: dict[str, Any] = {"input_type": InputType.CHIP, "acquirer": "SANDBOX"}
    lost, approved = (
        books.record(paid(books, books.agents[0], NOW - DAY, phase=phase, **facts))
        for phase in (Phase.SENT, Phase.APPROVED)
    )
    table.client().call("DeleteItem", TableName=table.table_name(transactions.TABLE), Key={"id": {"S": lost.id}})

    assert [row["ID"] for row in rows(books)] == [approved.id]


def test_a_completion_does_not_undo_what_a_reversal_wrote_meanwhile(engine: str) -> None:
    del engine
    books = a_merchant_with_agents()
    awaiting, reversal = a_payment_being_reversed(books)
    outcomes.store(reversal, replace(reversal, phase=Phase.REVERSAL_APPROVED), NOW)

    completed = replace(awaiting, phase=Phase.APPROVED)  # decided on what was read before the reversal
    with pytest.raises(transactions.PhaseChangedError):
        transactions.store_step(awaiting, completed, NOW)
    outcomes.advance(awaiting, lambda payment: replace(payment, phase=Phase.APPROVED), NOW)

    assert [(row["State"], row["Substate"]) for row in rows(books)] == [("500", "502")] * 2
    assert rows(books)[0] == looked_up(awaiting.id)
    assert books.ask(NOW, {**YEAR, "Search": "RET-1"}).total == 2


def test_a_reversal_does_not_undo_what_a_completion_wrote(engine: str, give: Give) -> None:
    del engine
    books = a_merchant_with_agents()
    awaiting, reversal = a_payment_being_reversed(books)

    def complete() -> None:
        outcomes.advance(awaiting, lambda payment: replace(payment, phase=Phase.APPROVED), NOW)

    give(client=before("TransactWriteItems", complete))
    outcomes.advance(reversal, lambda one: replace(one, phase=Phase.REVERSAL_APPROVED), NOW)

    now = stored_transaction(awaiting.id)
    assert (now.phase, now.reversals.reserved_minor) == (Phase.APPROVED, 0)
    kept = [transactions.get(one.id) or one for one in (awaiting, reversal)]
    assert wrong_entries(awaiting.client_id, "2028-03", kept) == []


@pytest.mark.parametrize("sort", ["Date asc", "Date desc"])
def test_rows_are_in_the_order_of_the_list(books: Books, sort: str) -> None:
    at = NOW - 3 * DAY
    for number in range(6):  # at the same instant, by both tills
        books.record(paid(books, books.agents[number % 2], at))
    listed = books.ask(NOW, {**YEAR, "Sort": sort}).transactions

    assert [row["ID"] for row in rows(books, Sort=sort)] == [one.id for one in listed]


@pytest.mark.slow
@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"InputType": 10},
        {"AcquirerCode": "SANDBOX"},
        {"Search": "coffee"},
        {"Search": "two\r\nlines", "InputType": 3},
        {"RRN": "603112345678"},
        {"ExtID": "Order-7"},
        {"Search": "nothing of the kind"},
        {"Page": 7},
    ],
    ids=str,
)
def test_an_export_has_what_a_list_has_on_all_its_pages(books: Books, wanted: dict[str, Any]) -> None:
    for agent in (None, books.agents[1].id):
        narrowed = wanted | ({"AccountID": agent} if agent else {})
        listed = books.ask(NOW, {**YEAR, **narrowed, "Sort": "Date asc", "Page": 1})

        assert [row["ID"] for row in rows(books, **narrowed)] == [one.id for one in listed.transactions]
        assert listed.total == len(listed.transactions)


def test_the_same_history_gives_the_same_bytes(books: Books) -> None:
    first, second = (object_of(export(books, YEAR, now=NOW + number * HOUR))["Body"] for number in range(2))

    assert first == second


def test_the_column_amount_sums_to_payments_minus_reversals(books: Books) -> None:
    now = [transactions.get(one.id) or one for one in books.kept]
    for currency in (ZAR, *CURRENCIES[2:]):
        own = [one for one in now if one.currency == currency]
        taken = sum(one.amount_minor for one in own if one.took_money)
        given_back = sum(one.amount_minor for one in own if one.phase is Phase.REVERSAL_APPROVED)

        assert net_of(rows(books), currency.code) == Decimal(taken - given_back).scaleb(-currency.digits)


def test_a_file_is_made_piece_by_piece_alike(books: Books) -> None:
    assert rows(books, Limits(at_once=7)) == rows(books)


def test_too_many_rows_are_refused_before_an_entry_is_read(books: Books) -> None:
    books.ask(NOW, YEAR)  # reads the counters
    number = len(books.kept)
    assert len(rows(books, Limits(rows=number))) == number
    with store_calls() as calls:
        rows(books, Limits(rows=number))
    in_cash = sum(one.input_type is InputType.CASH for one in books.kept)
    assert len(rows(books, Limits(rows=in_cash), InputType=10)) == in_cash < number

    with store_calls() as of_refusal, pytest.raises(ServiceError) as refused:
        rows(books, Limits(rows=number - 1))

    assert (refused.value.error, refused.value.message) == (
        ErrorCode.PERIOD_TOO_LONG,
        f"More than {number - 1} operations are not exported at once: narrow the period.",
    )
    assert len(of_refusal) < len(calls)


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        (Limits(looked_at=20), {"InputType": 10}),
        (Limits(candidates=20), {"Search": "coffee"}),
        (Limits(records=3), {}),
        (Limits(bytes=2000), {}),
    ],
)
def test_what_is_too_much_for_one_request_is_refused(books: Books, limits: Limits, wanted: dict[str, Any]) -> None:
    with pytest.raises(ServiceError) as refused:
        rows(books, limits, **wanted)

    assert refused.value.error is ErrorCode.PERIOD_TOO_LONG


def test_a_period_at_the_end_of_the_calendar_is_empty(books: Books) -> None:
    assert rows(books, From="9999-12-01", To="9999-12-31") == []


def test_a_usual_entry_is_below_a_kilobyte(engine: str) -> None:
    del engine
    books = a_merchant_with_agents()
    payment = paid(
        books,
        replace(books.agents[0], name="Corner Store, till at the door"),
        NOW,
        description="Two Coffees and a Newspaper",
        ext_id="Order-20280309-000001",
        card=CardDetails("VISA", "424242", "4242", cardholder="MOKOENA/THANDI"),
        rrn="603112345678",
        approval_code="A1B2C3",
    )
    (write, *_) = history.writes_for_new(payment)
    assert sum(len(name) + size_of(value) for name, value in write.parameters["Item"].items()) < 800


def size_of(value: Mapping[str, Any]) -> int:
    """Return the bytes of an attribute value, as DynamoDB counts them."""
    ((kind, content),) = value.items()
    if kind == "M":
        return 3 + sum(len(name) + size_of(one) + 1 for name, one in content.items())
    return len(content.encode())


def test_a_bucket_out_of_reach_is_an_outage(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    outside.forget()
    try:
        with pytest.raises(ServiceError) as outage:
            rows(books)
    finally:
        outside.forget()

    assert outage.value.error is ErrorCode.STORE_UNAVAILABLE
