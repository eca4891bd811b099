"""Counters and history entries follow from the transactions, while payments come in."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain.drawer import Shown
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import AgentSnapshot, Purchase
from chalicelib.schemas.drawer import ReportDrawer
from chalicelib.services import outcomes
from chalicelib.services.drawers import report as report_drawer
from chalicelib.store import drawers, history, receipt_numbers, transactions
from chalicelib.store.table import Item, client, table_name
from infra.operator import items, rebuild
from tests.support.intercepted_calls import hooked
from tests.support.ledger import Books, a_merchant_with_agents, fill, paid
from tests.support.stored import stored_transaction, wrong_entries
from tests.support.tills import Till, a_till
from tests.support.transactions import NOW, a_body, a_payment, altered

LEAP_DAY = datetime(2028, 3, 5, 12, tzinfo=UTC)  # the year before it has every edge
Run = Callable[[], str]


@pytest.fixture
def run(exact_engine: str, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command; return its output and the message of its end."""
    del exact_engine

    def run() -> str:
        capsys.readouterr()
        end = ""
        try:
            rebuild.rebuild_command(argparse.Namespace())
        except SystemExit as stopped:
            end = str(stopped.code)
        return capsys.readouterr().out + end

    return run


@pytest.fixture
def books(exact_engine: str) -> Books:
    """A year of payments and reversals with taxes, of three agents."""
    del exact_engine
    made = a_merchant_with_agents(count=3)
    fill(made, 40, LEAP_DAY, seed=1)
    lines = tuple(Purchase(f"Coffee {number}", Decimal(25), Decimal(1)) for number in range(100))
    made.record(paid(made, made.agents[0], LEAP_DAY, receipt_purchases=lines))
    return made


def history_of(merchant_id: int) -> dict[str, Item]:
    """Return the items of a merchant's history. A counter without numbers counts nothing."""
    found = [item for page in items.pages(table_name(history.TABLE)) for item in page]
    return {
        items.name_of(history.TABLE, item): item
        for item in found
        if str(merchant_id) in item["month"]["S"].split("#")[:2] and len(item) > 2
    }


def put(table: str, item: Item) -> None:
    client().call("PutItem", TableName=table_name(table), Item=item)


def delete(table: str, item: Item) -> None:
    client().call("DeleteItem", TableName=table_name(table), Key=items.key_of(table, item))


def lines_about(merchant_id: int, printed: str) -> list[str]:
    return [line for line in printed.splitlines() if f"history {merchant_id}#" in line or f"ext#{merchant_id}#" in line]


def emptied(item: Item, number: int) -> None:
    del number
    delete(history.TABLE, item)


def every_second_deleted(item: Item, number: int) -> None:
    if number % 2:
        delete(history.TABLE, item)


def numbers_changed(item: Item, number: int) -> None:
    """Each number and text is another, a third is gone, and there is one more."""
    key = items.keys_of(history.TABLE)
    wrong = {name: value if name in key else {"N": str(number)} for name, value in item.items()}
    put(
        history.TABLE,
        {
            **dict(list(wrong.items())[:: 1 if number % 3 else 2]),
            **{name: item[name] for name in key},
            "n31": {"N": "7"},
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize("damage", [emptied, every_second_deleted, numbers_changed])
def test_a_history_is_as_the_service_wrote_it(run: Run, books: Books, damage: Callable[[Item, int], None]) -> None:
    before = history_of(books.merchant.id)
    assert len(before) > 100
    assert lines_about(books.merchant.id, run()) == []
    for number, item in enumerate(before.values()):
        damage(item, number)

    printed = run()

    assert history_of(books.merchant.id) == before
    assert lines_about(books.merchant.id, printed)
    assert lines_about(books.merchant.id, run()) == []


def test_a_counter_that_no_transaction_has_is_emptied(run: Run, books: Books) -> None:
    before = history_of(books.merchant.id)
    forged = {"month": {"S": f"{books.merchant.id}#2021-01"}, "at": {"S": "days#1#10.0.2ZAR.CASH"}}
    put(history.TABLE, {**forged, "n01": {"N": "5"}})

    run()

    assert history_of(books.merchant.id) == before


def test_an_entry_without_transaction_is_named_and_stays(run: Run, books: Books) -> None:
    lost = next(one for one in books.kept if one.phase is Phase.APPROVED)
    entries = {name: item for name, item in history_of(books.merchant.id).items() if lost.id in item["at"]["S"]}
    client().call("DeleteItem", TableName=table_name(transactions.TABLE), Key={"id": {"S": lost.id}})

    printed = run()

    assert "Left, as the lines above say" in printed
    assert all(f"{name}: no transaction has this entry" in printed for name in entries)
    assert {name: history_of(books.merchant.id)[name] for name in entries} == entries


@pytest.fixture
def till(exact_engine: str) -> Till:
    del exact_engine
    return a_till()


def numbers_of(till: Till) -> tuple[str, Item]:
    """Return the item with the till's receipt numbers and cash."""
    found = [item for page in items.pages(table_name(drawers.TABLE)) for item in page]
    place = f"{receipt_numbers.MONTH}2026-03#{till.agent.id}"
    (own,) = [item for item in found if item["place"]["S"] == place]
    return items.name_of(drawers.TABLE, own), own


@pytest.mark.parametrize("last", [None, 1, 2, 9])
def test_a_counter_of_receipt_numbers_never_goes_down(run: Run, till: Till, last: int | None) -> None:
    for _ in range(3):
        till.pay(a_body())
    name, counter = numbers_of(till)
    if last is None:
        delete(drawers.TABLE, counter)
    else:
        put(drawers.TABLE, {**counter, "last": {"M": {"14": {"N": str(last)}}}})

    printed = run()

    assert numbers_of(till)[1]["last"] == {"M": {"14": {"N": str(max(last or 0, 3))}}}
    assert numbers_of(till)[1]["cash"] == counter["cash"]
    assert (f"{name}: written" in printed) is (last != 9)
    assert till.pay(a_body()).invoice == f"260314.{till.agent.id}.{max(last or 0, 3) + 1}"


def act_on_drawer(till: Till, **body: Any) -> Shown:
    (row,) = report_drawer(ReportDrawer.model_validate(body), till.caller, NOW).rows
    return row


@pytest.mark.parametrize("damaged", [None, {}, {"m142ZAR": {"N": "7"}}, {"k012JPY": {"N": "1"}}], ids=str)
def test_the_cash_of_an_agent_is_that_of_its_transactions_less_that_of_closed_drawers(
    run: Run, till: Till, damaged: dict[str, Any] | None
) -> None:
    till.pay(a_body(Amount="1.00"))
    act_on_drawer(till, Action="open", Float="0")
    sold = till.pay(a_body(Amount="2.00"))
    till.give_back(sold, Amount="0.50", PartialReverse=True)
    act_on_drawer(till, Action="close", Counted="1.50")
    act_on_drawer(till, Action="open", Float="0")
    till.pay(a_body(Amount="4.00"))
    _, counter = numbers_of(till)
    if damaged is None:
        delete(drawers.TABLE, counter)
    else:
        put(drawers.TABLE, {**counter, "cash": {"M": damaged}})

    run()

    assert {name: value["N"] for name, value in numbers_of(till)[1]["cash"]["M"].items()} == {
        "m142ZAR": "500",
        "k142ZAR": "2",
    }
    assert act_on_drawer(till).cash_minor == 400
    assert act_on_drawer(till, Action="close", Counted="4").difference_minor == 0
    assert run() == run()
    assert "written" not in run()


def test_a_receipt_number_that_two_payments_have_is_named(run: Run, till: Till) -> None:
    first = till.pay(a_body())
    delete(drawers.TABLE, numbers_of(till)[1])
    second = till.pay(a_body())

    printed = run()

    assert first.invoice == second.invoice
    assert any(f"has the receipt number {first.invoice} of {one.id}" in printed for one in (first, second))
    assert "Left, as the lines above say" in printed


@pytest.mark.slow
def test_payments_at_every_call_are_counted_once_and_steps_are_not_undone(run: Run, till: Till) -> None:
    agent = AgentSnapshot(till.agent.id, till.agent.email, till.agent.name, till.agent.phone)
    card = {"phase": Phase.SENT, "input_type": 3, "acquirer": "SANDBOX"}
    pending = [a_payment(client_id=till.merchant.id, agent=agent, **card) for _ in range(20)]
    for one in pending:
        transactions.record(one)
    till.pay(a_body())
    for number, item in enumerate(history_of(till.merchant.id).values()):
        numbers_changed(item, number)
    waiting, is_inside = list(pending), False

    def act(when: str, _: str) -> None:
        nonlocal is_inside
        if is_inside or when == "before" or not waiting:
            return
        is_inside = True
        one = waiting.pop()
        outcomes.store(one, altered(one, phase=Phase.APPROVED, rrn="603112345678"), NOW)
        till.pay(a_body())
        is_inside = False

    with hooked(act):
        run()
    while waiting:
        act("after", "")
    run()

    approved = [stored_transaction(one.id) for one in pending]
    assert {one.phase for one in approved} == {Phase.APPROVED}
    assert wrong_entries(till.merchant.id, "2026-03", approved) == []
    assert till.counted() == (41, 41 * 1230)


def test_the_further_entry_of_a_late_sale_is_written_again(run: Run) -> None:
    till = a_till()
    offline = {"OfflineMode": True, "Invoice": "A-1", "Paid": "2026-03-01T12:00:00"}
    late, today = (till.pay(a_body(OfflineTran=offline | paid)) for paid in ({}, {"Paid": "2026-03-14T00:00:01"}))
    before = history_of(till.merchant.id)
    places = {
        name: item for name, item in before.items() if item["month"]["S"] == history.late_partition(till.merchant.id)
    }
    for item in places.values():
        client().call("DeleteItem", TableName=table_name(history.TABLE), Key=items.key_of(history.TABLE, item))

    assert [item["id"]["S"] for item in places.values()] == [late.id.casefold()]
    assert today.received_at is not None
    assert "written" in run()
    assert history_of(till.merchant.id) == before
    assert "written" not in run()
