"""What follows from the transactions is written again while they change."""

from contextlib import nullcontext
from typing import Any

import pytest

from chalicelib.aws.errors import RefusedError
from chalicelib.domain.phases import Phase
from chalicelib.errors import ServiceError
from chalicelib.store import aws_retries, history, transactions
from chalicelib.store.table import AlreadyExistsError, client, commit, table_name
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


def test_items_are_read_to_the_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    every, asked = [{"at": {"S": str(number)}} for number in range(5)], list[str]()

    def call(operation: str, **parameters: Any) -> dict[str, Any]:
        assert parameters["ConsistentRead"]
        asked.append(operation)
        start = parameters.get("ExclusiveStartKey", 0)
        more = {"LastEvaluatedKey": start + 2} if start + 2 < len(every) else {}
        return {"Items": every[start : start + 2], **more}

    monkeypatch.setattr(client(), "call", call)

    assert [item for page in items.pages(table_name("history")) for item in page] == every
    assert items.items_of_partition("history", "7#2026-03") == every
    assert asked == ["Scan"] * 3 + ["Query"] * 3


def test_an_item_is_written_and_deleted_only_as_it_was_read() -> None:
    payment, other = transactions.item_of(a_payment()), {"phase": {"S": "approved"}, "invoice": {"S": "other"}}
    commit(items.put(transactions.TABLE, payment, None))
    for write in (
        items.put(transactions.TABLE, payment, None),
        items.put(transactions.TABLE, payment, payment | other),
        items.delete(transactions.TABLE, payment | other),
    ):
        with pytest.raises(AlreadyExistsError):
            commit(write)

    commit(items.put(transactions.TABLE, payment | other, payment))
    commit(items.delete(transactions.TABLE, payment | other))
    assert items.items_at(transactions.TABLE, [payment]) == {}


@pytest.mark.parametrize(("code", "is_none"), [("ResourceNotFoundException", True), ("InternalServerError", False)])
def test_a_missing_copy_of_a_table_has_no_items(code: str, monkeypatch: pytest.MonkeyPatch, *, is_none: bool) -> None:
    monkeypatch.setattr(aws_retries, "ATTEMPTS", 1)

    def call(operation: str, **_: Any) -> Any:
        raise RefusedError(operation, code)

    monkeypatch.setattr(client(), "call", call)

    with nullcontext() if is_none else pytest.raises(ServiceError):
        assert items.items_at(transactions.TABLE, [{"id": {"S": "1"}}], name="a copy") == {}
