"""Conditions of the steps of transactions, one write at a time."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from chalicelib.domain import steps
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import CANCELS, ReverseMode
from chalicelib.domain.transaction import Erasure, Pictures, Transaction
from chalicelib.store import outbox, transactions
from chalicelib.store.aws_client import Client
from chalicelib.store.table import AlreadyExistsError, UnreadableError, commit, read_item, update, write_one
from infra.bench.client import through
from tests.support.giving import Give
from tests.support.receipts import an_entry
from tests.support.stored import stored_transaction
from tests.support.tills import MINUTE, SECOND
from tests.support.transactions import NOW, a_guid, a_payment, altered

pytestmark = pytest.mark.usefixtures("engine")


def recorded(**changes: Any) -> Transaction:
    """A payment by card that is stored."""
    payment = a_payment(**{"input_type": InputType.CHIP, "acquirer": "SANDBOX", "result_code": None} | changes)
    transactions.record(payment)
    return payment


def requested(
    original: Transaction, amount_minor: int, mode: ReverseMode = ReverseMode.RETURN, **changes: Any
) -> Transaction:
    """A reversal that is stored, and has no outcome yet."""
    reversal = altered(
        original,
        id=a_guid(),
        phase=Phase.CANCELLING if mode in CANCELS else Phase.RETURNING,
        original_id=original.id,
        original_mode=int(mode),
        amount_minor=amount_minor,
        invoice="RET-1",
        created_at=NOW + SECOND,
        **changes,
    )
    transactions.reserve(original, reversal)
    return reversal


def amounts(payment: Transaction) -> tuple[int, int, int]:
    stored = stored_transaction(payment.id)
    return stored.reversals.amount_minor, stored.reversals.reserved_minor, stored.reversals.count


@pytest.mark.parametrize("wish", [None, True])
def test_a_merchant_gets_an_event_if_it_wishes(*, wish: bool | None, give: Give) -> None:
    tables: list[str] = []

    def noted(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        writes = [write for item in parameters.get("TransactItems", ()) for write in item.values()]
        tables.extend(write["TableName"].rsplit("-", 1)[-1] for write in writes)
        return client.call(operation, **parameters)

    give(client=through(noted))
    transactions.record(a_payment(makes_events=wish))

    assert tables.count("events") == (1 if wish else 0)


def test_a_message_that_a_lost_transaction_left_behind_does_not_stop_a_payment() -> None:
    payment, message = a_payment(), an_entry()
    commit(outbox.put(message))
    before = read_item(outbox.key(message.id))

    transactions.record(payment, outbox.put(replace(message, text="Another text")))
    assert stored_transaction(payment.id) == payment
    assert read_item(outbox.key(message.id)) == before
    with pytest.raises(AlreadyExistsError):
        transactions.record(payment, outbox.put(message))


def test_a_transaction_is_due_from_its_time_on() -> None:
    payment = recorded(phase=Phase.UNKNOWN)
    at = steps.due_at(payment, payment.created_at)
    assert at is not None

    assert transactions.get_due(payment.id, at - timedelta(microseconds=1)) is None
    assert transactions.get_due(payment.id, at) == payment


def test_a_step_that_was_decided_on_an_older_phase_is_not_stored() -> None:
    sent = recorded(phase=Phase.SENT)
    approved = replace(sent, phase=Phase.APPROVED)
    transactions.store_step(sent, approved, NOW)

    with pytest.raises(transactions.PhaseChangedError):
        transactions.store_step(sent, replace(sent, phase=Phase.DECLINED), NOW)

    stored = stored_transaction(sent.id)
    assert stored.phase is Phase.APPROVED


@pytest.mark.parametrize("erasure", Erasure)
def test_a_step_is_stored_after_an_erasure_and_not_if_that_began_meanwhile(erasure: Erasure) -> None:
    stale = recorded(phase=Phase.SENT)
    write_one(update(transactions.key(stale.id), {"erasure": erasure}))
    with pytest.raises(transactions.PhaseChangedError):
        transactions.store_step(stale, replace(stale, phase=Phase.APPROVED), NOW)

    sent = stored_transaction(stale.id)
    transactions.store_step(sent, replace(sent, phase=Phase.APPROVED), NOW)

    assert (sent.phase, stored_transaction(stale.id).phase) == (Phase.SENT, Phase.APPROVED)


def test_no_write_that_read_a_payment_before_its_erasure_began_is_made() -> None:
    """Each of them copies data of the payer: into the history, a message or an event."""
    payment = recorded()
    returning = requested(payment, 300)
    stale = stored_transaction(payment.id)
    write_one(update(transactions.key(payment.id), {"erasure": Erasure.REPLACED}))
    done, declined = (replace(returning, phase=phase) for phase in (Phase.REVERSAL_APPROVED, Phase.DECLINED))
    before = amounts(payment)

    for release in (transactions.release(done, stale), transactions.release(declined, stale)):
        with pytest.raises(transactions.PhaseChangedError):
            write_one(release)
    with pytest.raises(transactions.RemainderChangedError):
        requested(stale, 100)
    assert amounts(payment) == before


@pytest.mark.parametrize("is_two_step", [False, True])
def test_a_signature_is_not_stored_with_amounts_of_before_a_return(*, is_two_step: bool) -> None:
    owed = recorded(phase=Phase.AWAITING_COMPLETION, signature_required=True, single_step=not is_two_step)
    requested(owed, 300)

    with pytest.raises(transactions.PhaseChangedError):
        transactions.store_step(owed, steps.signed(owed, Pictures(signature_key="a picture")), NOW)

    now = stored_transaction(owed.id)
    transactions.store_step(now, steps.signed(now, Pictures(signature_key="a picture")), NOW)
    assert amounts(owed) == (300, 300, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"reversals_amount_minor": 300},
        {"reversals_reserved_minor": 300},
        {"reversals_count": 1},
        {"pictures_signature_key": "another"},
    ],
    ids=str,
)
def test_a_signature_is_not_stored_when_any_of_these_has_changed(change: dict[str, Any]) -> None:
    owed = recorded(phase=Phase.AWAITING_COMPLETION, signature_required=True)
    write_one(update(transactions.key(owed.id), change))

    with pytest.raises(transactions.PhaseChangedError):
        transactions.store_step(owed, steps.signed(owed, Pictures(signature_key="a picture")), NOW)


def test_a_return_without_a_key_is_not_stored_after_another_one() -> None:
    payment = recorded()
    first = requested(payment, 100)
    seen = stored_transaction(payment.id)
    write_one(transactions.release(replace(first, phase=Phase.DECLINED)))  # its amount is free again
    requested(seen, 100)

    late = replace(first, id=a_guid())
    with pytest.raises(transactions.RemainderChangedError):
        transactions.reserve(seen, late, follows_latest=True)


@pytest.mark.parametrize("end", [steps.not_attempted, partial(steps.unanswered, now=NOW + MINUTE)])
@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_request_of_a_return_ends_as_nothing_attempted_or_unanswered_unless_it_was_claimed(
    end: Callable[[Transaction], Transaction], *, is_claimed: bool
) -> None:
    returning = requested(recorded(), 300)
    assert not is_claimed or transactions.claim(returning, NOW + SECOND)

    with pytest.raises(transactions.PhaseChangedError) if is_claimed else nullcontext():
        transactions.store_step(returning, end(returning), NOW + MINUTE)

    expected = replace(returning, claimed_at=NOW + SECOND) if is_claimed else end(returning)
    after = stored_transaction(returning.id)
    assert (after.phase, after.claimed_at) == (expected.phase, expected.claimed_at)


def test_a_return_that_was_declined_gives_its_amount_back_to_the_payment() -> None:
    payment = recorded()
    requested_before = amounts(payment)
    returning = requested(payment, 300)
    while_pending = amounts(payment)
    write_one(transactions.release(replace(returning, phase=Phase.DECLINED)))

    assert (requested_before, while_pending, amounts(payment)) == ((0, 0, 0), (300, 300, 1), (0, 0, 0))


def test_no_payment_is_made_up_when_the_payment_of_a_return_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    missing = a_payment()
    returning = altered(missing, id=a_guid(), original_id=missing.id, phase=Phase.REVERSAL_APPROVED)
    with pytest.raises(UnreadableError):
        commit(transactions.release(returning))

    assert transactions.get(missing.id) is None
    assert f'"record": "{missing.id}"' in capsys.readouterr().out


@pytest.mark.parametrize("is_restored", [False, True])
def test_a_return_that_was_declined_gives_no_line_back(*, is_restored: bool) -> None:
    payment = recorded()
    returning = requested(payment, 300, gives_back={"line0": Decimal(1)})
    if is_restored:  # as it was before the return
        write_one(update(transactions.key(payment.id), remove=("reversals_given_back",)))
    write_one(transactions.release(replace(returning, phase=Phase.DECLINED), stored_transaction(payment.id)))

    assert not any((stored_transaction(payment.id).reversals.given_back or {}).values())


def test_lines_that_came_back_meanwhile_stay_given_back_when_another_return_fails() -> None:
    payment = recorded()
    failed = requested(payment, 300, gives_back={"line0": Decimal(1)})
    read_before = stored_transaction(payment.id)
    requested(read_before, 300, gives_back={"line1": Decimal(1)})

    with pytest.raises(transactions.PhaseChangedError):
        write_one(transactions.release(replace(failed, phase=Phase.DECLINED), read_before))

    assert (stored_transaction(payment.id).reversals.given_back or {})["line1"] == 1


@pytest.mark.parametrize(("has_failed", "came"), [(True, False), (False, True), (True, True)])
def test_lines_are_not_returned_by_a_payment_that_another_return_has_changed(*, has_failed: bool, came: bool) -> None:
    payment = recorded()
    first = requested(payment, 300, gives_back={"line0": Decimal(1)})
    read_before = stored_transaction(payment.id)
    if has_failed:
        write_one(transactions.release(replace(first, phase=Phase.DECLINED), read_before))
    if came:  # the amount may be the same again
        requested(stored_transaction(payment.id), 300, gives_back={"line1": Decimal(1)})
    now = stored_transaction(payment.id)

    with pytest.raises(transactions.RemainderChangedError):
        requested(read_before, 300, gives_back={"line2": Decimal(1)})

    assert stored_transaction(payment.id) == now


def test_a_return_that_was_done_keeps_its_amount_reversed() -> None:
    payment = recorded()
    returning = requested(payment, 300)
    write_one(transactions.release(replace(returning, phase=Phase.REVERSAL_APPROVED)))

    assert amounts(payment) == (300, 0, 1)


def test_a_return_of_more_than_remains_by_now_is_not_stored() -> None:
    payment = recorded()
    requested(payment, 1000)
    with pytest.raises(transactions.RemainderChangedError):
        requested(payment, 1000)

    assert amounts(payment) == (1000, 1000, 1)


def test_a_cancel_of_what_was_returned_in_part_by_now_is_not_stored() -> None:
    payment = recorded()
    requested(payment, 300)
    with pytest.raises(transactions.RemainderChangedError):
        requested(payment, payment.amount_minor, ReverseMode.CANCEL)

    assert amounts(payment) == (300, 300, 1)
