"""Items, conditions and pages of the tables, and what becomes of a failed write."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import (
    binary,
    booleans,
    builds,
    dates,
    datetimes,
    decimals,
    frozensets,
    integers,
    none,
    text,
    tuples,
)

from chalicelib import outside
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import Purchase, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import merchants, table, transactions, webhooks
from chalicelib.store.aws_client import ATTEMPTS, PATIENT, Client, Limits, RefusedError, UnansweredError
from chalicelib.store.table import (
    VERSION,
    AlreadyExistsError,
    Key,
    UnreadableError,
    Value,
    Write,
    attribute_names,
    client,
    commit,
    decode,
    encode,
    put_item,
    put_new,
    read,
    read_all,
    read_item,
    replace_record,
    table_name,
    update,
    value_of,
    write_one,
)
from chalicelib.web import refuse
from infra.bench.client import through
from tests.simulation.wire import Client as Repeating
from tests.simulation.wire import quotas
from tests.support.accounts import a_stored_merchant
from tests.support.builders import a_merchant
from tests.support.events import a_stored_hook
from tests.support.giving import Give
from tests.support.transactions import a_guid, a_payment


@pytest.fixture
def impatient(give: Give) -> list[float]:
    """Return the pauses between attempts, which are recorded instead of waited for."""
    pauses: list[float] = []
    give(pause=pauses.append, elapsed=lambda: 0.0)
    return pauses


def cancelled(*codes: str) -> RefusedError:
    return RefusedError("TransactWriteItems", "TransactionCanceledException", reasons=codes)


def failing(give: Give, *failures: Exception, of: str = "TransactWriteItems") -> list[Exception]:
    """Let the attempts of transactions fail in this order and then work; return the failures that are left."""
    left, make = list(failures), outside.current.client

    def client(service: str, limits: Limits) -> Repeating:
        real = make(service, limits)

        def exchange(operation: str, parameters: dict[str, Any], _: Limits) -> dict[str, Any]:
            if left and operation == of:
                raise left.pop(0)
            return real.call(operation, **parameters)

        return Repeating(service, limits, exchange, quotas)

    give(client=client)
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
def test_a_collision_is_retried(code: str, give: Give, impatient: list[float]) -> None:
    payment = a_payment()
    failing(give, cancelled("None", code), cancelled(code))
    transactions.record(payment)

    assert transactions.get(payment.id) == payment
    assert len(impatient) == 2


@pytest.mark.usefixtures("moto")
def test_endless_collisions_are_an_outage_not_a_hang(give: Give, impatient: list[float]) -> None:
    failing(give, *[cancelled("TransactionConflict")] * ATTEMPTS * 2)
    with pytest.raises(ServiceError) as refused:
        transactions.record(a_payment())

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert len(impatient) == ATTEMPTS - 1
    assert sum(impatient) < 6


@pytest.mark.usefixtures("moto")
def test_a_condition_that_fails_is_an_answer_even_beside_a_collision(give: Give) -> None:
    left = failing(give, cancelled("ConditionalCheckFailed", "TransactionConflict"))
    with pytest.raises(AlreadyExistsError):
        transactions.record(a_payment())

    assert left == []


@pytest.mark.usefixtures("moto", "impatient")
def test_a_store_out_of_reach_is_903(give: Give) -> None:
    failing(give, *[UnansweredError()] * PATIENT.attempts)
    with pytest.raises(ServiceError) as refused:
        transactions.record(a_payment())

    assert refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert refuse(refused.value).headers["Retry-After"] == "1"


def a_stored_item(name: str, count: Value) -> Key[Any]:
    """Store an item as it is, also with a count that the service never stores."""
    key = Key(transactions.TABLE, object, {"id": name})
    client().call("PutItem", TableName=table_name(key.table), Item={**key.wire(), "count": count})
    return key


@pytest.mark.usefixtures("exact_engine")
@pytest.mark.parametrize("write", [commit, write_one])
@pytest.mark.parametrize(
    ("count", "more"),
    [({"S": "?"}, 1), ({"SS": ["a"]}, 1), ({"N": "1"}, frozenset({"a"})), ({"N": f"1{'0' * 38}"}, 1)],
    ids=["text", "set", "number", "too many digits"],
)
def test_a_stored_value_that_refuses_an_addition_is_unreadable(
    write: Callable[[Write], object], count: Value, more: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = a_stored_item("RIGHT", value_of(more)), a_stored_item("WRONG", count)
    writes = [update(key, {"note": "new"}, add={"count": more}) for key in (right, wrong)]
    with pytest.raises(UnreadableError):
        write(*writes) if write is commit else write(writes[1])

    line = json.loads(capsys.readouterr().out)
    assert (line["table"], line["record"]) == ("transactions", "WRONG")
    assert "note" not in read_item(right)


@pytest.mark.usefixtures("exact_engine")
@pytest.mark.parametrize("write", [commit, write_one])
def test_another_invalid_write_is_a_defect_of_ours(write: Callable[[Write], object]) -> None:
    too_large = {"note": "x" * 400 * 1024}
    for wrong in (
        update(a_stored_item("RIGHT", {"N": "1"}), too_large, add={"count": 1}),
        put_item("audit", too_large),
    ):
        with pytest.raises(RefusedError):
            write(wrong)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("times", [ATTEMPTS - 1, ATTEMPTS])
def test_what_a_batch_leaves_out_is_read_after_a_pause_and_at_last_an_outage(
    times: int, impatient: list[float], give: Give
) -> None:
    payment = a_payment()
    commit(put_new("transactions", payment, "id"))
    asked: list[str] = []

    def call(client: Client, operation: str, **parameters: Any) -> Any:
        asked.append(operation)
        if len(asked) <= times:
            return {"Responses": {}, "UnprocessedKeys": parameters["RequestItems"]}
        return client.call(operation, **parameters)

    give(client=through(call))

    with pytest.raises(ServiceError) if times == ATTEMPTS else nullcontext() as refused:
        assert [found.id for found in read_all([transactions.key(payment.id)])] == [payment.id]
    assert refused is None or refused.value.error is ErrorCode.STORE_UNAVAILABLE
    assert len(impatient) == times


@pytest.mark.usefixtures("engine")
def test_a_replaced_record_is_stored_as_a_new_one_is() -> None:
    key = merchants.key(a_stored_merchant().id)
    before = read_item(key)
    write_one(replace_record(key, read(key), AlreadyExistsError()))

    assert read_item(key) == {**before, VERSION: {"N": "2"}}


@dataclass(frozen=True)
class Part:
    name: str
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Whole:
    text: str
    number: int
    exact: Decimal
    yes: bool
    at: datetime
    day: date
    phase: Phase
    kind: InputType
    part: Part
    sealed: bytes = b"\0"
    parts: tuple[Part, ...] = ()
    absent: str | None = None
    names: frozenset[str] = frozenset()
    either: str | int | None = None


parts = builds(Part, name=text(), numbers=tuples(integers(-(10**15), 10**15)))
wholes = builds(
    Whole,
    text=text(),
    number=integers(-(10**18), 10**18),
    exact=decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-180, max_value=180),
    yes=booleans(),
    at=datetimes(*(one.replace(tzinfo=None) for one in (table.FIRST, table.LAST))).map(
        lambda at: at.replace(tzinfo=UTC)
    ),
    day=dates(),
    part=parts,
    sealed=binary(min_size=1),
    parts=tuples(parts, parts),
    absent=none() | text(min_size=1),
    names=frozensets(text(min_size=1)),
    either=none() | text() | integers(-(10**18), 10**18),
)


@given(whole=wholes)
def test_a_record_reads_back_as_it_was_written(whole: Whole) -> None:
    assert decode(Whole, encode(whole)) == whole


def test_a_payment_reads_back_as_it_was_written() -> None:
    payment = a_payment(
        latitude=Decimal("-33.9249"), ext_id="A-1", purchases=(Purchase("Tea", Decimal(2), Decimal(1)),)
    )

    assert decode(type(payment), encode(payment)) == payment


@pytest.mark.parametrize("wrong", ["", "{}", "[]", '["VAT15","VAT","x",1,1]', '["VAT15","VAT","15",1,1,1]'])
def test_a_tax_is_stored_as_one_text_and_another_text_is_unreadable(wrong: str) -> None:
    tax = TaxAmount("VAT15", "Umsatzsteuer für Ä", Decimal("15.50"), 2300, 300)
    item = encode(a_payment(tax_amounts=(tax,)))

    assert item["tax_amounts"] == {"L": [{"S": '["VAT15","Umsatzsteuer für Ä","15.50",2300,300]'}]}
    assert decode(Transaction, item).tax_amounts == (tax,)
    with pytest.raises(UnreadableError):
        decode(Transaction, item | {"tax_amounts": {"L": [{"S": wrong}]}})


def test_an_attribute_has_the_name_of_its_field_after_that_of_its_group() -> None:
    item = encode(a_payment(ext_id="A-1", original_id="A"))

    assert item["agent"]["M"]["id"] == {"N": "17"}
    assert item["particulars_ext_id"] == {"S": "A-1"}
    assert item["original_id"] == {"S": "A"}
    assert not {"ext_id", "particulars", "original"} & item.keys()


def test_an_absent_field_is_not_written() -> None:
    assert set(encode(Part("a"))) == {"name"}


def test_attributes_of_an_index_do_not_disturb_the_record() -> None:
    assert decode(Part, {**encode(Part("a")), "due_at": {"S": "x"}}) == Part("a")


def test_a_float_is_never_stored() -> None:
    with pytest.raises(TypeError):
        value_of(0.1)


@pytest.mark.usefixtures("engine")
def test_an_update_sets_adds_removes_and_raises_the_version() -> None:
    key = a_stored_item("UPDATED", {"N": "5"})
    write_one(update(key, {"note": "old", "gone": "a"}, add={"names": frozenset({"a"}), "last": 2}, start={"last": 7}))
    write_one(
        update(
            key,
            {"note": "new"},
            add={"count": -2, "names": frozenset({"b"}), "last": 2},
            start={"last": 1},
            remove=("gone", "never"),
            condition="#note = :before AND #count > :last",
            compared={"before": "old"},
        )
    )

    item = read_item(key)
    assert sorted(item.pop("names")["SS"]) == ["a", "b"]
    assert item == {**key.wire(), "note": {"S": "new"}} | {
        n: {"N": t} for n, t in [("count", "3"), ("last", "11"), ("version", "2")]
    }


def test_the_attributes_of_an_expression_are_found_in_functions_and_operators() -> None:
    text = "attribute_not_exists(#n05) OR #at<:before AND #n05 = :wasn05"

    assert attribute_names(text) == {"#n05": "n05", "#at": "at"}


@pytest.mark.usefixtures("engine")
def test_a_list_goes_on_to_its_last_page(give: Give) -> None:
    merchant = a_stored_merchant().id
    hooks = [a_stored_hook(merchant, f"https://shop.example/{number}") for number in range(3)]

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        return client.call(operation, **parameters, **({"Limit": 2} if operation in {"Query", "Scan"} else {}))

    give(client=through(call))

    assert webhooks.of_merchant(merchant) == hooks
    assert [hook for hook in webhooks.every() if hook.client_id == merchant] == hooks


@pytest.mark.usefixtures("engine")
def test_a_list_holds_what_was_stored_just_before(give: Give) -> None:
    asked: list[Any] = []

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        asked.append((operation, parameters.get("ConsistentRead")))  # the engines of tests are never behind
        return client.call(operation, **parameters)

    give(client=through(call))
    webhooks.of_merchant(a_merchant().id)

    assert asked == [("Query", True)]
