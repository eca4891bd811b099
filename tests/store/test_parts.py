"""Large parts of transactions in items of their own, which only those read and write who need them."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Purchase, Taxes, Transaction
from chalicelib.errors import ServiceError
from chalicelib.store import transactions
from chalicelib.store.table import AlreadyExistsError, Item, Key, client, read, table_name
from tests.support.cost import store_calls, written_tables
from tests.support.stored import stored_transaction
from tests.support.transactions import a_guid, a_payment, altered

pytestmark = pytest.mark.usefixtures("engine")

LARGE: dict[str, Any] = {
    "receipt_purchases": tuple(Purchase(f"Coffee number {n}", Decimal(25), Decimal(1), ("VAT15",)) for n in range(100)),
    "receipt_taxes": Taxes(tuple(f"code-{number}" * 5 for number in range(50))),
    "ext_tran_data": json.dumps({"order": "x" * 2000}),
    "description": "Two coffees for table 7, " * 30,
}


def recorded(**changes: Any) -> Transaction:
    payment = a_payment(**changes)
    transactions.record(payment)
    return payment


def returned(payment: Transaction, **changes: Any) -> Transaction:
    """A stored reversal of R 3.00 with all texts of its payment."""
    facts = {"phase": Phase.RETURNING, "original_id": payment.id, "original_mode": 2, "amount_minor": 300}
    own = {"receipt_purchases": (), "invoice": "RET-1"}
    reversal = altered(payment, id=a_guid(), **{**facts, **own, **changes})
    transactions.reserve(payment, reversal)
    return reversal


def item_of(name: str) -> Item:
    key = {"id": {"S": name}}
    item: Item = client().call("GetItem", TableName=table_name(transactions.TABLE), Key=key).get("Item", {})
    return item


def test_a_record_is_read_with_its_parts_and_each_is_an_item() -> None:
    payment = recorded(**LARGE)

    assert stored_transaction(payment.id) == payment
    for name in Transaction.LARGE:
        assert item_of(f"{payment.id}#{name}").keys() == {"id", "part_of", "version", name}
    assert not {*Transaction.LARGE} & item_of(payment.id).keys()


def test_a_usual_payment_costs_no_item_and_no_call() -> None:
    with written_tables() as tables:
        payment = recorded(receipt_purchases=LARGE["receipt_purchases"][:15], ext_tran_data="{}", description="Coffee")
    with store_calls() as calls:
        assert stored_transaction(payment.id) == payment

    assert tables.count("transactions") == 1
    assert calls == ["GetItem"]


def test_a_list_reads_the_parts_that_it_shows() -> None:
    with_lines = recorded(receipt_purchases=LARGE["receipt_purchases"])
    with_texts = recorded(**LARGE)
    with store_calls() as few:
        assert [one and one.id for one in transactions.list_by_ids([with_lines.id])] == [with_lines.id]
    with store_calls() as calls:
        listed = transactions.list_by_ids([with_lines.id, with_texts.id])

    assert (few, calls) == (["BatchGetItem"], ["BatchGetItem"] * 2)
    assert [one and (one.particulars, one.receipt.purchases) for one in listed] == [
        (one.particulars, ()) for one in (with_lines, with_texts)
    ]


@dataclass(frozen=True)
class Phases:
    """Another record of the same item, without parts."""

    phase: Phase


def test_a_record_without_parts_is_read_in_one_call() -> None:
    payment = recorded(**LARGE)
    with store_calls() as calls:
        found = read(Key(transactions.TABLE, Phases, {"id": payment.id}))

    assert (found, calls) == (Phases(payment.phase), ["GetItem"])


def test_a_due_transaction_has_its_parts() -> None:
    due = recorded(**LARGE, phase=Phase.SENT, input_type=InputType.CHIP, acquirer="SANDBOX")

    assert transactions.get_due(due.id, due.deadline) == due


def test_a_reversal_refers_to_the_texts_of_its_payment_and_has_its_own() -> None:
    payment = stored_transaction(recorded(**LARGE).id)
    plain, explained = returned(payment), returned(stored_transaction(payment.id), description="Spilt")
    by_line = returned(stored_transaction(payment.id), receipt_purchases=LARGE["receipt_purchases"][:2])

    inherited = {"receipt_taxes", "particulars_description", "particulars_ext_tran_data"}
    for one in (plain, explained, by_line):
        own = {"particulars_description"} if one is explained else set()
        assert stored_transaction(one.id) == one
        assert item_of(one.id)["apart"] == {"M": {name: {"S": payment.id} for name in inherited - own}}
        assert not any(item_of(f"{one.id}#{name}") for name in Transaction.LARGE)


def test_a_lost_part_makes_its_record_unreadable_and_a_list_without_it_readable() -> None:
    payment = recorded(receipt_purchases=LARGE["receipt_purchases"])
    key = {"id": {"S": f"{payment.id}#receipt_purchases"}}
    client().call("DeleteItem", TableName=table_name(transactions.TABLE), Key=key)

    with pytest.raises(ServiceError, match="unreadable"):
        transactions.get(payment.id)
    assert [one and one.id for one in transactions.list_by_ids([payment.id])] == [payment.id]


def test_a_payment_that_is_sent_again_replaces_no_part() -> None:
    payment = recorded(**LARGE)
    with pytest.raises(AlreadyExistsError):
        transactions.record(altered(payment, receipt_purchases=LARGE["receipt_purchases"][:50]))

    assert stored_transaction(payment.id) == payment
