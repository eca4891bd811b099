"""What follows from the transactions is written again while they change."""

from typing import Any

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.store import history, transactions
from chalicelib.store.table import client
from infra.operator import items, recount
from tests.support.stored import stored_transaction, wrong_entries
from tests.support.transactions import NOW, a_payment, altered

pytestmark = pytest.mark.usefixtures("engine")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_step_beside_the_reading_of_entries_is_not_undone(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    payment = a_payment(phase=Phase.SENT, input_type=3, acquirer="SANDBOX")
    transactions.record(payment)
    really = items.items_at

    def approve() -> None:
        approved = altered(payment, phase=Phase.APPROVED, rrn="603112345678")
        transactions.store_step(payment, approved, NOW, *history.writes_for_outcome(approved, NOW))

    def items_at(*arguments: Any) -> Any:
        if when == "before":
            approve()
        found = really(*arguments)
        if when == "after":
            approve()
        return found

    monkeypatch.setattr(items, "items_at", items_at)
    recount._write_entries_of(payment.id)  # noqa: SLF001

    assert wrong_entries(payment.client_id, f"{payment.created_at:%Y-%m}", [stored_transaction(payment.id)]) == []


def test_what_a_batch_leaves_out_is_read_next(monkeypatch: pytest.MonkeyPatch) -> None:
    payments = [a_payment() for _ in range(3)]
    for payment in payments:
        transactions.record(payment)
    really = client().call

    def one_by_one(operation: str, **parameters: Any) -> Any:
        ((name, asked),) = parameters["RequestItems"].items()
        answer = really(operation, RequestItems={name: {**asked, "Keys": asked["Keys"][:1]}})
        return {**answer, "UnprocessedKeys": {name: {"Keys": asked["Keys"][1:]}} if asked["Keys"][1:] else {}}

    monkeypatch.setattr(client(), "call", one_by_one)

    wanted = [{"id": {"S": one.id}} for one in payments]
    assert items.items_at(transactions.TABLE, wanted).keys() == {one.id for one in payments}
