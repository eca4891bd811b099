"""A month of demo payments is what the service would have made of the same requests."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib import exact_json
from chalicelib.domain.agent import Agent
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.gateways.acquirers import sandbox
from chalicelib.gateways.acquirers.sandbox import SandboxRecord
from chalicelib.store import agents, linked_cards, transactions
from chalicelib.store.table import NEW, VERSION, Key, encode, read_item
from infra.demo import month as demo_month
from infra.demo.month import DECLINED, ENTRIES, TILLS, Sale, sales_of
from infra.operator.rebuild import differing_counters
from tests.support.http import OWNER, TILL, Reply, call, post

DAY = date(2026, 3, 14)  # a Saturday
NOW = datetime(2026, 3, 14, 11, tzinfo=UTC)
SUBMIT, LIST = "/api/v1/payment/submit", "/api/v1/payment/listHistoryEx"


def demo_till() -> Agent:
    """Return the agent of the demo till."""
    return next(one for one in agents.of_merchant(1) if one.email == TILL[0])


def sale(input_type: InputType, *, is_declined: bool = False) -> Sale:
    """Return a sale of that kind at the first till."""
    for ago in range(100):
        for one in sales_of(DAY - timedelta(days=ago), linked_card=1):
            declined = any(number in str(one.body) for number in DECLINED)
            if one.input_type is input_type and declined is is_declined:
                return one
    raise AssertionError(input_type)


def submit(stage: str, body: dict[str, Any]) -> Reply:
    return call(stage, "POST", SUBMIT, exact_json.text(body).encode())


KINDS = [
    (InputType.CASH, False),
    (InputType.MANUAL_ENTRY, False),
    (InputType.CHIP, False),
    (InputType.CONTACTLESS, False),
    (InputType.CONTACTLESS, True),
]


@pytest.mark.parametrize(("input_type", "is_declined"), KINDS)
def test_a_payment_is_stored_as_one_that_came_by_http(
    input_type: InputType,
    is_declined: bool,  # noqa: FBT001
    stage: str,
) -> None:
    body = sale(input_type, is_declined=is_declined).body
    transaction_id = body["BasicTran"]["ID"]

    assert submit(stage, body).status == 200
    by_http = transactions.get(transaction_id)
    assert by_http
    recorded = input_type is not InputType.CASH and read_item(Key(sandbox.TABLE, SandboxRecord, {"id": transaction_id}))
    made, record = demo_month.take(body, demo_month.open_till(demo_till()), by_http.created_at)

    assert by_http.phase is (Phase.DECLINED if is_declined else Phase.APPROVED)
    assert replace(made, auto_cancel_id=by_http.auto_cancel_id, invoice=by_http.invoice) == by_http
    assert (encode(record) | {VERSION: NEW} if record else False) == recorded
    assert set(transactions.items_of(made)[0]) == set(read_item(transactions.key(transaction_id)))


def test_the_sales_of_a_day_are_the_same_each_time_and_of_every_kind() -> None:
    week = [list(sales_of(DAY - timedelta(days=ago), linked_card=1)) for ago in range(7)]
    sales = [one for day in week for one in day]

    assert week[0] == list(sales_of(DAY, linked_card=1))
    assert {one.input_type for one in sales} == set(ENTRIES)
    assert {one.till for one in sales} == set(range(len(TILLS)))
    assert len({one.body["BasicTran"]["ID"] for one in sales}) == len(sales)
    assert len(week[0]) > len(week[3])  # Saturday, Wednesday
    assert all(7 <= one.at.hour < 18 for one in sales)


def test_a_month_is_in_lists_and_totals_and_its_cards_can_be_given_back(stage: str) -> None:
    first = demo_till()

    demo_month.fill(first, NOW, days=4)

    (card,) = linked_cards.of_agent(first.id)
    sales = [one for ago in range(4) for one in sales_of(DAY - timedelta(days=ago), card.id)]
    until_now = [one for one in sales if one.at < NOW.replace(tzinfo=None) + timedelta(hours=2)]
    stored = [transactions.get(one.body["BasicTran"]["ID"]) for one in until_now]
    taken = [one for one in stored if one and one.took_money]
    assert len(until_now) < len(sales), "what is sold later today is not there yet"
    assert len(taken) > len(until_now) * 0.9
    assert {one.agent.id for one in taken} == {one.id for one in agents.of_merchant(1) if one.email != OWNER[0]}
    reversals = [one.reversal for one in until_now if one.reversal]
    given_back = [transactions.get(one.body["BasicReverseTran"]["ID"]) for one in reversals]
    assert any(one and one.phase is Phase.REVERSAL_APPROVED for one in given_back)

    period = {"From": "2026-03-11", "To": "2026-03-14"}
    listed = post(stage, LIST, {"Period": period, "ListBasicModel": {}}, OWNER).body
    assert listed["TransactionsCounters"]["AmountCvt"] == Decimal(sum(one.amount_minor for one in taken)) / 100
    assert differing_counters("1#2026-03") == []

    by_card = next(one for one in taken if one.input_type is InputType.CONTACTLESS and not one.reversals.count)
    back = {"BasicReverseTran": {"TransactionID": by_card.id, "ReverseMode": 2}}
    assert post(stage, "/api/v1/payment/reverse", back).error == (200, 0)
