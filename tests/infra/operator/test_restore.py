"""A bad day: items are deleted, overwritten or altered, and `restore` brings them back by one rule."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from chalicelib.domain.outbox import held_for_stream, sent
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import Original, Transaction
from chalicelib.domain.welcome import welcome_agent
from chalicelib.errors import ServiceError
from chalicelib.services import outcomes
from chalicelib.settings import settings
from chalicelib.store import (
    agent_changes,
    agents,
    drawers,
    events,
    merchants,
    outbox,
    receipt_numbers,
    sequences,
    transactions,
    webhooks,
)
from chalicelib.store.audit import Act
from chalicelib.store.table import DERIVED, VERSION, Item, client, encode, table_name, update, write_one
from infra.local import streams
from infra.operator import commands as operator
from infra.operator import items, restore
from tests.support.accounts import an_account
from tests.support.builders import a_login
from tests.support.events import a_hook
from tests.support.intercepted_calls import StoppedError, hooked
from tests.support.stored import stored_transaction
from tests.support.tills import Till, a_till
from tests.support.transactions import a_body, a_guid, altered

pytestmark = pytest.mark.slow

Run = Callable[..., str]
NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(autouse=True)
def own_tables(moto_tables: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """The tables with the demo data for each test. Its copies are deleted after it."""
    moto_tables.module = None
    request.getfixturevalue("moto")
    yield
    tables = boto3.client("dynamodb")
    for name in tables.list_tables()["TableNames"]:
        if name.removeprefix(settings().table_prefix) not in items.definitions():
            tables.delete_table(TableName=name)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command for a time; return its output, with the message of its end."""

    def run(at: datetime, *options: str, is_done: bool | None = True) -> str:
        capsys.readouterr()
        end = ""
        try:
            operator.main(["restore", "--at", at.isoformat(), *options])
        except SystemExit as stopped:
            end = str(stopped.code)
        printed = capsys.readouterr().out + end
        assert is_done is None or bool(end) is not is_done, printed
        return printed

    return run


@pytest.fixture
def copied(run: Run) -> Callable[[], datetime]:
    """Copy all tables as they are now, because moto knows no earlier state; return the time of the copies."""

    def copy() -> datetime:
        at = datetime.now(UTC)
        run(at, is_done=False)
        return at

    return copy


def stored_in(table: str) -> dict[str, Item]:
    return {items.name_of(table, item): item for page in items.pages(table_name(table)) for item in page}


def stored() -> dict[str, dict[str, Item]]:
    return {table: stored_in(table) for table in items.definitions().keys() - DERIVED}


def put(table: str, item: Item) -> None:
    client().call("PutItem", TableName=table_name(table), Item=item)


def delete(table: str, item: Item) -> None:
    client().call("DeleteItem", TableName=table_name(table), Key=items.key_of(table, item))


def of(transaction_id: str) -> Item:
    return stored_in(transactions.TABLE)[transaction_id]


def deleted(table: str, item: Item) -> None:
    delete(table, item)


def overwritten(table: str, item: Item) -> None:
    put(table, {**items.key_of(table, item), "rubbish": {"S": "?"}})


def altered_item(table: str, item: Item) -> None:
    put(table, {**item, "zone": {"N": "99"}})


def outdated(table: str, item: Item) -> None:
    put(table, {**item, VERSION: {"N": "0"}, "name": item.get("name", {"S": "earlier"})})


@pytest.mark.parametrize("damage", [deleted, overwritten, altered_item, outdated])
def test_all_tables_are_as_they_were(
    run: Run, copied: Callable[[], datetime], damage: Callable[[str, Item], None]
) -> None:
    till = a_till()
    till.give_back(till.pay(a_body(ExtTransData=f'["{"x" * 4000}"]'), NOW), NOW, Amount="2.30", PartialReverse=True)
    before, at = stored(), copied()
    assert any(name.endswith("#particulars_ext_tran_data") for name in before[transactions.TABLE])
    for table, found in before.items():
        for item in found.values():
            damage(table, item)
    wrong = stored()

    named = run(at, is_done=False)
    assert stored() == wrong
    for table, found in before.items():
        assert all(f"{table} {name}: " in named for name in found)

    run(at, "--yes", is_done=None)

    restored = stored()
    left = {
        (table, name) for table, found in before.items() for name in found if restored[table].get(name) != found[name]
    }
    assert all("due_lane" in before[table][name] and table in restore.SENDING for table, name in left)


@pytest.fixture
def till() -> Till:
    return a_till()


def test_an_item_that_was_written_since_stays_and_is_named(
    run: Run, copied: Callable[[], datetime], till: Till
) -> None:
    payment = till.pay(a_body(), NOW)
    at = copied()
    till.give_back(payment, NOW, Amount="2.30", PartialReverse=True)
    before = stored()

    printed = run(at, "--yes")

    assert f"transactions {payment.id}: newer than the copy, stays: reversals_amount_minor" in printed
    assert "2026" not in printed.partition(payment.id)[2].partition("\n")[0], "no value is printed"
    assert stored() == before


def test_an_item_that_is_written_between_comparison_and_write_stays(
    run: Run, copied: Callable[[], datetime], till: Till
) -> None:
    payment = till.pay(a_body(), NOW)
    at = copied()
    altered_item(transactions.TABLE, of(payment.id))

    def give_back(when: str, operation: str) -> None:
        if (
            when == "before"
            and operation == "TransactWriteItems"
            and not stored_transaction(payment.id).reversals.count
        ):
            write_one(update(transactions.key(payment.id), {"reversals_count": 1}))

    with hooked(give_back):
        printed = run(at, "--table", "transactions", "--yes", is_done=False)

    assert f"transactions {payment.id}: it was written meanwhile: run the command again" in printed
    assert stored_transaction(payment.id).reversals.count == 1


def test_an_item_that_has_expired_is_not_missing(run: Run, copied: Callable[[], datetime]) -> None:
    soon, late = (
        {
            "name": {"S": f"offline#{hours}"},
            "sale": {"S": "x"},
            "expires_at": {"N": f"{NOW.timestamp() + hours * 3600:.0f}"},
        }
        for hours in (-1, 1)
    )
    for item in (soon, late):
        put(sequences.TABLE, item)
    at = copied()
    for item in (soon, late):
        delete(sequences.TABLE, item)

    run(at, "--table", "sequences", "--yes")

    assert {name for name in stored_in(sequences.TABLE) if name.startswith("offline#")} == {"offline#1"}


# Deletions


def test_the_login_of_a_former_address_stays_deleted_and_the_new_one_comes_back(
    run: Run, copied: Callable[[], datetime]
) -> None:
    account, act = an_account(), Act("update", 1, datetime.now(UTC))
    at = copied()
    after = replace(account.agent, email=f"new-{account.email}")
    agent_changes.change(account.agent, after, agent_changes.LoginChange(moved=account.login), act)
    before = stored()

    printed = run(at, "--yes")

    assert f"logins {account.email}: deleted since, stays deleted" in printed
    assert stored() == before


def test_an_address_that_another_agent_has_now_stays_that_agents(run: Run, copied: Callable[[], datetime]) -> None:
    account, other = an_account(), an_account()
    for _ in range(3):
        agents.rehash(account.login, account.login.password_hash or "")
    at, act = copied(), Act("delete", 1, datetime.now(UTC))
    last = replace(account.agent, deleted=True)
    agent_changes.delete(account.agent, last, act)
    write_one(agent_changes.create_login(a_login(other.agent, email=account.email)))

    run(at, "--yes")

    assert stored_in(agents.LOGINS)[account.email]["agent_id"]["N"] == str(other.agent.id)


def test_a_login_that_was_lost_comes_back(run: Run, copied: Callable[[], datetime]) -> None:
    account = an_account()
    before, at = stored(), copied()
    delete(agents.LOGINS, before[agents.LOGINS][account.email])

    printed = run(at, "--yes")

    assert f"logins {account.email}: missing, comes back" in printed
    assert stored() == before


def test_a_deleted_webhook_stays_deleted_and_a_lost_one_comes_back(run: Run, copied: Callable[[], datetime]) -> None:
    hooks = [a_hook(client_id=7, id=number) for number in (1, 2)]
    for hook in hooks:
        webhooks.create(hook, Act("create", 1, NOW))
    at = copied()
    webhooks.delete(hooks[0], Act("delete", 1, datetime.now(UTC)))
    delete(webhooks.TABLE, stored_in(webhooks.TABLE)["7 2"])

    run(at, "--yes")

    assert list(stored_in(webhooks.TABLE)) == ["7 2"]


# Money


def a_reversal_of(payment: Transaction) -> Transaction:
    """A return of R 3.00 that was asked for and is not decided."""
    original = Original(payment.id, payment.invoice, ReverseMode.RETURN, partial=True)
    return altered(payment, id=a_guid(), phase=Phase.RETURNING, amount_minor=300, original=original)


def lose(*transactions_: Transaction) -> None:
    for one in transactions_:
        delete(transactions.TABLE, of(one.id))


def test_a_lost_payment_comes_back_with_the_sums_of_its_later_reversals(
    run: Run, copied: Callable[[], datetime], till: Till
) -> None:
    payment = till.pay(a_body(), NOW)
    at = copied()
    till.give_back(payment, NOW, Amount="2.30", PartialReverse=True)
    till.give_back(payment, NOW + timedelta(seconds=1), Amount="4.00", PartialReverse=True)
    reversals = stored_transaction(payment.id).reversals
    lose(payment)

    run(at, "--yes")

    assert stored_transaction(payment.id).reversals == reversals
    assert "transactions: 0 come back." in run(at, "--yes")
    with pytest.raises(ServiceError, match=r"6\.00"):
        till.give_back(payment, NOW, Amount="6.01", PartialReverse=True)
    till.give_back(payment, NOW, Amount="6.00", PartialReverse=True)


@pytest.mark.parametrize("phase", [Phase.REVERSAL_APPROVED, Phase.DECLINED])
def test_a_lost_reversal_that_was_pending_is_decided_again_and_counts_once(
    run: Run, copied: Callable[[], datetime], till: Till, phase: Phase
) -> None:
    payment = till.pay(a_body(), NOW)
    returning = a_reversal_of(stored_transaction(payment.id))
    transactions.reserve(payment, returning)
    at = copied()
    outcomes.store(returning, altered(returning, phase=phase), NOW)
    decided = stored_transaction(payment.id).reversals
    lose(returning)

    run(at, "--yes")

    pending = stored_transaction(payment.id).reversals
    assert (pending.amount_minor, pending.reserved_minor, pending.count) == (300, 300, 1)
    outcomes.store(returning, altered(returning, phase=phase), NOW)
    again = stored_transaction(payment.id).reversals
    assert (again.amount_minor, again.reserved_minor, again.count) == (decided.amount_minor, 0, decided.count)


def test_a_payment_and_its_pending_reversal_come_back_together(
    run: Run, copied: Callable[[], datetime], till: Till
) -> None:
    payment = till.pay(a_body(), NOW)
    returning = a_reversal_of(stored_transaction(payment.id))
    transactions.reserve(payment, returning)
    before, at = stored_in(transactions.TABLE), copied()
    outcomes.store(returning, altered(returning, phase=Phase.DECLINED), NOW)
    lose(returning, payment)

    run(at, "--yes")

    assert stored_in(transactions.TABLE) == before


def test_a_run_after_a_killed_one_completes_it(run: Run, copied: Callable[[], datetime], till: Till) -> None:
    payment = till.pay(a_body(), NOW)
    returning = a_reversal_of(stored_transaction(payment.id))
    transactions.reserve(payment, returning)
    lasting, at = stored_in(transactions.TABLE), copied()
    for killed_at in count(1):
        lose(payment, returning)
        calls = 0

        def kill(when: str, _: str, at_call: int = killed_at) -> None:
            nonlocal calls
            calls += when == "after"
            if calls == at_call:
                raise StoppedError

        with hooked(kill), suppress(StoppedError):
            run(at, "--table", "transactions", "--yes")
        if calls < killed_at:
            break
        run(at, "--table", "transactions", "--yes")
        assert stored_in(transactions.TABLE) == lasting
    assert killed_at > 5


def test_a_reversal_without_its_payment_is_named(run: Run, copied: Callable[[], datetime], till: Till) -> None:
    payment = till.pay(a_body(), NOW)
    returning = till.give_back(payment, NOW, Amount="3.00", PartialReverse=True)
    lose(payment)
    at = copied()
    lose(returning)

    printed = run(at, "--yes", is_done=False)

    assert f"transactions {returning.id}: not written: its payment {payment.id} is missing" in printed


# Numbers


def numbers_of(till: Till) -> dict[str, Item]:
    return {
        name: item
        for name, item in stored_in(drawers.TABLE).items()
        if name.startswith(f"{till.merchant.id} {receipt_numbers.MONTH}")
    }


@pytest.mark.parametrize("sold_again", [0, 1])
def test_receipt_numbers_go_on_after_those_of_the_payments(
    run: Run, copied: Callable[[], datetime], till: Till, sold_again: int
) -> None:
    till.pay(a_body(), NOW)
    at = copied()
    till.pay(a_body(), NOW)
    for item in numbers_of(till).values():
        delete(drawers.TABLE, item)
    for _ in range(sold_again):
        till.pay(a_body(), NOW)

    run(at, "--yes", is_done=None)
    if sold_again:  # the counter may equal its copy
        with pytest.raises(SystemExit, match="Left"):  # two payments have one number
            operator.main(["rebuild"])

    assert till.pay(a_body(), NOW).invoice.endswith(f"{till.agent.id}.3")


def test_ids_that_may_be_in_use_are_named(run: Run, copied: Callable[[], datetime]) -> None:
    at, agents_last = copied(), stored_in(sequences.TABLE)["agents"]
    delete(sequences.TABLE, agents_last)

    printed = run(at, "--table", "sequences", "--yes", is_done=False)

    assert f"sequences agents: it is {agents_last['last']['N']} again. Numbers above it may be in use" in printed


# Messages and events


def test_a_message_that_may_have_been_sent_is_named_and_not_sent_again(
    run: Run, copied: Callable[[], datetime], till: Till
) -> None:
    entry = held_for_stream(welcome_agent(a_guid(), till.merchant.id, "Ann", "ann@shop.example", NOW))
    sent_before = sent(replace(entry, id=a_guid()), NOW)
    write_one(outbox.put(entry))
    put(outbox.TABLE, encode(sent_before))
    at = copied()
    for item in stored_in(outbox.TABLE).values():
        delete(outbox.TABLE, item)

    printed = run(at, "--yes", is_done=False)

    assert f"outbox {entry.id}: not decided: it waited at that time, and may have been sent since" in printed
    assert stored_in(outbox.TABLE).keys() == {sent_before.id}


def test_no_receiver_hears_of_a_lost_event_again(run: Run, copied: Callable[[], datetime]) -> None:
    event = {"day": {"S": "7#2026-03-14"}, "place": {"S": "1#2"}, "kind": {"S": "payment"}, VERSION: {"N": "2"}}
    put(events.TABLE, event)
    at = copied()
    delete(events.TABLE, event)
    list(streams.batches())

    run(at, "--yes")

    assert stored_in(events.TABLE) == {"7#2026-03-14 1#2": event}
    assert list(streams.batches()) == []


# The command


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--at", "yesterday"], "The time must be like 2026-03-14T09:00:00Z"),
        (["--at", "2026-03-14T09:00:00"], "must have its zone"),
        (["--at", "2099-03-14T09:00:00Z"], "must be over"),
        (["--at", "2026-03-14T09:00:00Z", "--table", "history"], "follows from the transactions: run `rebuild`"),
        (["--at", "2026-03-14T09:00:00Z", "--table", "none"], "There is no table none: there are agents"),
    ],
)
def test_a_wrong_option_is_one_clear_line(options: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        operator.main(["restore", *options])


def test_an_engine_that_restores_nothing_copies_the_tables_as_they_are(
    run: Run, copied: Callable[[], datetime], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = BaseClient._make_api_call  # type: ignore[attr-defined]  # noqa: SLF001

    def as_dynamodb_local(own: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        if operation == "RestoreTableToPointInTime":
            raise ClientError({"Error": {"Code": "UnknownOperationException"}}, operation)
        return call(own, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", as_dynamodb_local)
    before, at = stored(), copied()
    delete(merchants.TABLE, before[merchants.TABLE]["1"])
    altered_item(agents.TABLE, before[agents.TABLE]["1"])

    printed = run(at, "--yes")

    assert "agents 1: altered, comes back: zone" in printed
    assert stored() == before
