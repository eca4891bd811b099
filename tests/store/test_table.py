from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.aws.client import RefusedError, UnreachableError
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import retries, table, transactions
from chalicelib.store.retries import ATTEMPTS
from chalicelib.store.table import AlreadyExistsError, client, commit, put_new, read_all
from chalicelib.web import refuse
from tests.support.transactions import a_guid, a_payment


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses between attempts, which are recorded instead of waited for."""
    pauses: list[float] = []
    clock = SimpleNamespace(sleep=pauses.append, monotonic=lambda: 0.0)
    monkeypatch.setattr(retries, "time", clock)  # not the whole process's
    monkeypatch.setattr(table, "time", clock)
    return pauses


def cancelled(*codes: str) -> RefusedError:
    return RefusedError("TransactWriteItems", "TransactionCanceledException", reasons=codes)


def failing(monkeypatch: pytest.MonkeyPatch, *failures: Exception) -> list[Exception]:
    """Let the client's transactions fail in this order and then work; return the failures that are left."""
    left = list(failures)
    really = client().call

    def call(operation: str, **parameters: Any) -> Any:
        if left and operation == "TransactWriteItems":
            raise left.pop(0)
        return really(operation, **parameters)

    monkeypatch.setattr(client(), "call", call)
    return left


@pytest.mark.usefixtures("engine")
def test_a_record_is_stored_once() -> None:
    payment = a_payment()
    commit(put_new("transactions", payment, "id"))

    with pytest.raises(AlreadyExistsError):
        commit(put_new("transactions", payment, "id"))


@pytest.mark.usefixtures("engine")
def test_a_refused_write_undoes_every_write_beside_it() -> None:
    first, second = a_payment(), a_payment()
    commit(put_new("transactions", first, "id"))
    with pytest.raises(LookupError):
        commit(put_new("transactions", second, "id"), put_new("transactions", first, "id", LookupError()))

    assert transactions.get(second.id) is None


@pytest.mark.usefixtures("engine")
def test_many_records_are_read_in_the_order_they_were_requested() -> None:
    payments = [a_payment() for _ in range(3)]
    for payment in payments:
        commit(put_new("transactions", payment, "id"))
    requested = [payments[2].id, a_guid(), payments[0].id, payments[2].id]

    found = read_all([transactions.key(name) for name in requested])

    assert found == [payments[2], None, payments[0], payments[2]]


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_collision_is_retried(code: str, monkeypatch: pytest.MonkeyPatch, impatient: list[float]) -> None:
    payment = a_payment()
    failing(monkeypatch, cancelled("None", code), cancelled(code))

    transactions.record(payment)

    assert transactions.get(payment.id) == payment
    assert len(impatient) == 2


@pytest.mark.usefixtures("moto")
def test_collisions_without_end_are_an_outage_not_a_hang(
    monkeypatch: pytest.MonkeyPatch, impatient: list[float]
) -> None:
    failing(monkeypatch, *[cancelled("TransactionConflict")] * ATTEMPTS * 2)

    with pytest.raises(ServiceError) as refused:
        transactions.record(a_payment())

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert len(impatient) == ATTEMPTS
    assert sum(impatient) < 6


@pytest.mark.usefixtures("moto")
def test_a_condition_that_fails_is_an_answer_even_beside_a_collision(monkeypatch: pytest.MonkeyPatch) -> None:
    left = failing(monkeypatch, cancelled("ConditionalCheckFailed", "TransactionConflict"))

    with pytest.raises(AlreadyExistsError):
        transactions.record(a_payment())

    assert left == []


@pytest.mark.usefixtures("moto", "impatient")
def test_a_store_out_of_reach_is_903(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, UnreachableError())

    with pytest.raises(ServiceError) as refused:
        transactions.record(a_payment())

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert refuse(refused.value).headers["Retry-After"] == "1"


@pytest.mark.usefixtures("moto")
def test_a_defect_of_ours_is_not_called_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, RefusedError("TransactWriteItems", "ValidationException"))

    with pytest.raises(RefusedError):
        transactions.record(a_payment())


@pytest.mark.usefixtures("impatient", "engine")
@pytest.mark.parametrize(
    ("failure", "is_repeated_as_one"),
    [
        (RefusedError("TransactWriteItems", "TransactionInProgressException"), True),
        (RefusedError("TransactWriteItems", "ThrottlingException"), True),
        (cancelled("None", "TransactionConflict"), False),
    ],
    ids=["in progress", "throttled", "cancelled"],
)
def test_a_transaction_that_may_still_happen_is_repeated_as_the_same_one(
    monkeypatch: pytest.MonkeyPatch, failure: RefusedError, *, is_repeated_as_one: bool
) -> None:
    tokens: list[str] = []
    really = client().call

    def call(operation: str, **parameters: Any) -> Any:
        tokens.append(parameters["ClientRequestToken"])
        if len(tokens) == 1:
            raise failure
        return really(operation, **parameters)

    monkeypatch.setattr(client(), "call", call)
    commit(put_new("transactions", a_payment(), "id"))

    assert (tokens[0] == tokens[1]) is is_repeated_as_one


@pytest.mark.usefixtures("engine")
def test_what_a_batch_leaves_out_is_asked_for_again_after_a_pause(
    impatient: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = a_payment()
    commit(put_new("transactions", payment, "id"))
    really, asked = client().call, []

    def call(operation: str, **parameters: Any) -> Any:
        asked.append(operation)
        if len(asked) < ATTEMPTS:
            return {"Responses": {}, "UnprocessedKeys": parameters["RequestItems"]}
        return really(operation, **parameters)

    monkeypatch.setattr(client(), "call", call)

    assert [found.id for found in read_all([transactions.key(payment.id)])] == [payment.id]
    assert len(impatient) == ATTEMPTS - 1
