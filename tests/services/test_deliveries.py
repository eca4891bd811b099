"""Deliveries: each event reaches each webhook that takes it, whoever dies on the way and whoever else is slow."""

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from chalicelib import outside
from chalicelib.domain import deliveries as rules
from chalicelib.domain import events as event_rules
from chalicelib.domain import webhooks
from chalicelib.domain.deliveries import Delivery, DeliveryState
from chalicelib.domain.events import Event
from chalicelib.gateways import https
from chalicelib.services import deliveries
from chalicelib.services.lane_runner import OPENS_AFTER, Swept
from chalicelib.store import deliveries as deliveries_store
from chalicelib.store import due_records, events
from chalicelib.store import webhooks as webhooks_store
from chalicelib.store.audit import Act
from chalicelib.store.aws_client import Client, UnansweredError
from chalicelib.store.table import encode, table_name, update, write_one
from infra.bench.client import through
from infra.local import engines, ports
from infra.stack import resources
from tests.support import events as support_events
from tests.support.accounts import a_stored_merchant
from tests.support.events import a_stored_event, a_stored_hook, as_stored
from tests.support.giving import Give
from tests.support.intercepted_calls import StoppedError, before, failing, stopping
from tests.support.receivers import Receiver, a_receiver

LONG_AGO = timedelta(days=9)


@pytest.fixture(autouse=True)
def fresh(engine: str) -> None:
    """Let each test begin with an empty stream and no other webhook."""
    del engine
    support_events.forget()
    for hook in webhooks_store.every():
        key = {"client_id": {"N": str(hook.client_id)}, "id": {"N": str(hook.id)}}
        tables().delete_item(TableName=f"{resources.STACK}-webhooks", Key=key)


def tables() -> Any:
    """Return a client of the tables that the test chose."""
    return boto3.client("dynamodb", endpoint_url=os.environ.get(engines.ENDPOINT_VARIABLE))


def deliver(*made: Event) -> None:
    """Let the function at the stream get these events."""
    deliveries.deliver([(str(number), encode(event)) for number, event in enumerate(made)])


def found(event: Event) -> list[Delivery]:
    """Return the deliveries of an event, the oldest webhook first."""
    stored = deliveries_store.with_id(event.client_id, event.id)
    assert stored is not None
    return sorted(stored[1], key=lambda one: one.webhook_id)


def due(*queues: str) -> list[str]:
    """Return what is due at any time: in the lane of events, and in these queues."""
    return [
        one.name for name in (events.LANE, *queues) for one in due_records.of_lane(events.TABLE, name, webhooks.ALWAYS)
    ]


class Clock:
    """The time that the services see."""

    def __init__(self, give: Give) -> None:
        self.ahead = timedelta()
        give(now=lambda: self.now)

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def sweep(self, after: timedelta) -> Swept:
        """Let so much time pass, and the sweep run."""
        self.ahead += after
        return deliveries.sweep(self.now, seconds=0.5)


@pytest.fixture
def clock(give: Give) -> Clock:
    return Clock(give)


@pytest.fixture
def merchant() -> int:
    return a_stored_merchant().id


@pytest.fixture
def receiver(merchant: int) -> Iterator[Receiver]:
    """A receiver that takes everything."""
    with a_receiver() as running:
        a_stored_hook(merchant, running.url, on_since=datetime.now(UTC) - LONG_AGO, created_at=datetime.now(UTC))
        yield running


def test_of_two_events_in_a_second_each_is_found_by_its_id() -> None:
    second = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
    made = [a_stored_event(7, second + timedelta(milliseconds=number)) for number in (0, 1, 999)]

    assert [deliveries_store.with_id(7, one.id) for one in made] == [(one, []) for one in made]
    assert deliveries_store.with_id(8, made[0].id) is None


def test_a_record_that_comes_twice_is_sent_once(merchant: int, receiver: Receiver) -> None:
    event = a_stored_event(merchant)
    deliver(event, event)
    deliver(event)

    assert receiver.ids == [event.id]


def test_two_functions_at_once_send_an_event_once(merchant: int, receiver: Receiver) -> None:
    event = a_stored_event(merchant)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(deliver, [event] * 6))

    assert receiver.ids == [event.id]


def test_what_happened_before_a_webhook_was_on_is_not_sent(merchant: int) -> None:
    event = a_stored_event(merchant)
    with a_receiver() as later:
        a_stored_hook(merchant, later.url)
        deliver(event)

    assert (later.calls, found(event)) == ([], [])


def test_an_event_that_the_stream_missed_is_found_by_the_sweep(merchant: int, receiver: Receiver, clock: Clock) -> None:
    event = a_stored_event(merchant)
    clock.sweep(timedelta(seconds=5))
    assert receiver.calls == []  # it may still be the stream's
    clock.sweep(timedelta(seconds=10))
    clock.sweep(timedelta(minutes=1))

    assert receiver.ids == [event.id]


@pytest.mark.parametrize("way", ["the stream", "the sweep"])
def test_each_way_alone_sends_events_pings_and_what_was_requested_again(
    merchant: int, receiver: Receiver, clock: Clock, way: str
) -> None:
    def work() -> None:
        if way == "the stream":
            support_events.deliver_all()
        else:
            clock.sweep(timedelta(seconds=11))

    [hook] = webhooks_store.of_merchant(merchant)
    event, ping = a_stored_event(merchant), event_rules.ping("a token", merchant, hook.id, clock.now)
    events.create(ping)
    with a_receiver() as other:
        a_stored_hook(merchant, other.url, on_since=event.at + timedelta(seconds=1))
        a_stored_hook(merchant, other.url, on_since=webhooks.ALWAYS, types=("reversal.approved",))
        a_stored_hook(merchant, other.url, on_since=webhooks.ALWAYS, state=0)
        work()
    first = sorted(receiver.ids)
    deliveries_store.begin_again(rules.again(found(event)[0], clock.now))
    work()

    assert (first, receiver.ids[2:], other.ids) == (sorted([event.id, ping.id]), [event.id], [])
    assert [one.state for one in (*found(event), *found(ping))] == [DeliveryState.DELIVERED] * 2
    assert due(f"{merchant}#{hook.id}") == []


def test_an_event_stored_an_hour_after_its_time_is_found(merchant: int, receiver: Receiver, clock: Clock) -> None:
    clock.sweep(timedelta(minutes=70))
    event = a_stored_event(merchant, clock.now - timedelta(hours=1))
    clock.sweep(timedelta())

    assert receiver.ids == [event.id]


def test_a_run_that_cannot_begin_every_event_sends_some_and_the_next_goes_on(
    merchant: int, receiver: Receiver, clock: Clock, give: Give
) -> None:
    made = [a_stored_event(merchant, datetime.now(UTC) + timedelta(milliseconds=number)).id for number in range(20)]
    give(elapsed=lambda: 1.0 * len(receiver.calls))
    clock.ahead = timedelta(seconds=15)

    first = deliveries.sweep(clock.now, seconds=3, waits=False)
    got = len(receiver.calls)
    later = [deliveries.sweep(clock.now, seconds=60, waits=False) for _ in range(3)]

    assert (0 < got < len(made), first.behind_seconds > 0) == (True, True)
    assert (sorted(receiver.ids), later[-1].behind_seconds) == (sorted(made), 0)


def test_a_batch_reads_webhooks_once(merchant: int, receiver: Receiver, give: Give) -> None:
    read: list[str] = []

    def counted(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if operation == "Query" and parameters["TableName"] == table_name(webhooks_store.TABLE):
            read.append(str(parameters["ExpressionAttributeValues"]))
        return client.call(operation, **parameters)

    made = [a_stored_event(merchant) for _ in range(3)]
    give(client=through(counted))
    deliver(*made)

    assert (len(read), str(merchant) in read[0], len(receiver.calls)) == (1, True, 3)


@pytest.mark.parametrize(
    ("call", "sent"),  # the call of the store at which it dies; sent before that, and when the stream's turn is over
    [(2, (0, 1)), (3, (0, 0)), (None, (0, 0)), (4, (1, 1))],  # begin, end_beginning, the request, store_attempt
)
def test_a_process_that_dies_leaves_the_event_to_the_sweep(
    merchant: int, receiver: Receiver, clock: Clock, call: int | None, sent: tuple[int, int]
) -> None:
    event = a_stored_event(merchant)
    dying = stopping(call, "before") if call else outside.given(post=failing(StoppedError()))
    with suppress(StoppedError), dying:
        deliver(event)
    at_first = len(receiver.calls)
    clock.sweep(timedelta(seconds=15))
    after_its_turn = len(receiver.calls)  # what it held is still held
    clock.sweep(rules.HELD_FOR)

    assert (at_first, after_its_turn) == sent
    assert receiver.ids == [event.id] * (at_first + 1)
    assert [one.state for one in found(event)] == [DeliveryState.DELIVERED]
    assert due() == []


def test_an_event_that_was_begun_for_one_webhook_is_begun_for_the_other(
    merchant: int, receiver: Receiver, clock: Clock
) -> None:
    with a_receiver() as other:
        a_stored_hook(merchant, other.url, on_since=datetime.now(UTC) - LONG_AGO)
        event = a_stored_event(merchant)
        first = min(webhooks_store.of_merchant(merchant), key=lambda hook: hook.id)
        deliveries_store.begin(rules.begun_at_once(event, first, clock.now))  # and the process died
        clock.sweep(timedelta(seconds=15))
        others, firsts = list(other.ids), list(receiver.ids)
        clock.sweep(rules.HELD_FOR)

    assert (firsts, others) == ([], [event.id])
    assert (receiver.ids, other.ids) == ([event.id], [event.id])


def test_a_failed_event_is_tried_again_after_its_pause_and_not_before(merchant: int, clock: Clock) -> None:
    with a_receiver(lambda _: 500) as failing:
        a_stored_hook(merchant, failing.url)
        event = a_stored_event(merchant)
        deliver(event)
        clock.sweep(timedelta(seconds=3))
        after_three = len(failing.calls)
        clock.sweep(timedelta(seconds=3))
        after_six = len(failing.calls)
        clock.sweep(timedelta(seconds=55))
        before_a_minute = len(failing.calls)
        clock.sweep(timedelta(seconds=12))

    assert (after_three, after_six, before_a_minute, len(failing.calls)) == (1, 2, 2, 3)
    assert set(failing.ids) == {event.id}


def test_a_receiver_that_answers_with_errors_is_not_silent_and_gets_each_event_in_its_time(
    merchant: int, clock: Clock
) -> None:
    made = deliveries.THREADS + OPENS_AFTER + 3  # more than may begin before the first answers
    with a_receiver(lambda _: 500) as failing:
        a_stored_hook(merchant, failing.url)
        deliver(*(a_stored_event(merchant) for _ in range(made)))
        clock.sweep(timedelta(seconds=6))

    assert len(failing.calls) == 2 * made


def test_after_three_days_an_event_is_given_up(merchant: int, clock: Clock) -> None:
    with a_receiver(lambda _: 500) as failing:
        a_stored_hook(merchant, failing.url)
        event = a_stored_event(merchant)
        deliver(event)
        clock.sweep(timedelta(days=3, seconds=1))

    assert [one.state for one in found(event)] == [DeliveryState.GIVEN_UP]
    assert len(failing.calls) == 1


def test_a_receiver_that_is_gone_is_switched_off_and_gets_nothing_more(merchant: int, clock: Clock) -> None:
    with a_receiver(lambda _: 410) as gone:
        hook = a_stored_hook(merchant, gone.url)
        first, second = a_stored_event(merchant), a_stored_event(merchant)
        deliver(first)
        deliver(second)
        clock.sweep(timedelta(minutes=1))

    assert gone.ids == [first.id]
    assert as_stored(hook).state == 0
    assert [one.state for one in found(first)] == [DeliveryState.GIVEN_UP]


def test_a_receiver_that_is_gone_switches_off_no_webhook_that_has_moved_meanwhile(merchant: int) -> None:
    def move(_: Any) -> int:
        write_one(update(webhooks_store.key(merchant, hook.id), {"url": "https://new.example"}))
        return 410

    with a_receiver(move) as gone:
        hook = a_stored_hook(merchant, gone.url)
        deliver(a_stored_event(merchant))

    assert (as_stored(hook).state, as_stored(hook).url) == (1, "https://new.example")


def test_what_waits_for_a_webhook_that_is_switched_off_is_given_up(merchant: int, clock: Clock) -> None:
    with a_receiver(lambda _: 500) as failing:
        hook = a_stored_hook(merchant, failing.url)
        event = a_stored_event(merchant)
        deliver(event)
        write_one(update(webhooks_store.key(merchant, hook.id), {"state": 0}))
        clock.sweep(timedelta(minutes=1))

    assert len(failing.calls) == 1
    assert [one.state for one in found(event)] == [DeliveryState.GIVEN_UP]


def test_a_delivery_that_was_requested_again_is_sent_once_for_two_records(merchant: int, receiver: Receiver) -> None:
    event = a_stored_event(merchant)
    deliver(event)
    [sent] = found(event)
    deliveries_store.begin_again(rules.again(sent, datetime.now(UTC)))
    [waiting] = found(event)
    for _ in range(2):
        deliveries.deliver([("1", encode(waiting))])

    assert receiver.ids == [event.id] * 2
    assert [one.state for one in found(event)] == [DeliveryState.DELIVERED]


@pytest.mark.parametrize("is_slow", [False, True])
def test_the_stream_leaves_a_delivery_again_to_a_slow_receiver_to_its_queue(
    merchant: int, clock: Clock, *, is_slow: bool
) -> None:
    with a_receiver() as running:
        hook = a_stored_hook(merchant, running.url)
        event = a_stored_event(merchant)
        deliver(event)
        webhooks_store.note(replace(as_stored(hook), slow_since=clock.now if is_slow else None))
        [sent] = found(event)
        deliveries_store.begin_again(rules.again(sent, clock.now))
        assert deliveries.deliver([("1", encode(found(event)[0]))]) == []
        by_stream = len(running.ids)
        clock.sweep(timedelta(minutes=2))

    assert (by_stream, running.ids) == (1 if is_slow else 2, [event.id] * 2)


def test_a_defect_of_a_delivery_is_logged_and_holds_back_no_other(
    merchant: int, receiver: Receiver, give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = a_stored_hook(merchant, "https://broken.example/events")

    def post(url: str, *arguments: Any, **limits: Any) -> Any:
        if url == hook.url:
            raise ZeroDivisionError(url)
        return https.post(url, *arguments, **limits)

    give(post=post)
    event = a_stored_event(merchant)
    deliver(event)

    assert receiver.ids == [event.id]
    assert [one.state for one in found(event)] == [DeliveryState.DELIVERED, DeliveryState.PENDING]
    [line] = [json.loads(text) for text in capsys.readouterr().out.splitlines() if '"defect"' in text]
    assert (line["error"], line["event_id"], line["webhook"]) == ("ZeroDivisionError", event.id, hook.id)
    assert hook.url not in repr(line)


def test_each_delivery_is_a_line_of_the_log_with_no_part_of_an_answer(
    merchant: int, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with a_receiver(lambda _: 500, body=b"a secret of the receiver") as failing:
        a_stored_hook(merchant, failing.url)
        deliver(a_stored_event(merchant))
        clock.sweep(timedelta(days=3, seconds=1))

    written = capsys.readouterr().out
    lines = [line for line in map(json.loads, written.splitlines()) if line["event"] in {"delivery", "defect"}]
    assert "a secret of the receiver" not in written
    assert [(one["outcome"], one["status"], type(one["milliseconds"])) for one in lines] == [
        ("pending", 500, int),
        ("given up", None, type(None)),
    ]


def test_a_delivery_of_nobody_is_unreadable_and_no_defect(
    merchant: int, receiver: Receiver, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    event = a_stored_event(merchant)
    clock.sweep(timedelta(minutes=1))
    (sent,) = found(event)
    forged = replace(sent, state=DeliveryState.PENDING, due_at=clock.now, due_lane=sent.due_lane or f"{merchant}#1")
    item = encode(forged) | {"day": {"S": "F#2026-11-25"}}
    hook = sent.webhook_id
    item["due_lane"] = {"S": rules.queue_of(merchant, hook)}
    tables().put_item(TableName=f"{resources.STACK}-{events.TABLE}", Item=item)
    capsys.readouterr()

    clock.sweep(timedelta(minutes=1))

    lines = capsys.readouterr().out
    assert '"event": "unreadable"' in lines
    assert '"event": "defect"' not in lines
    assert len(receiver.ids) == 1
    tables().delete_item(TableName=f"{resources.STACK}-{events.TABLE}", Key={k: item[k] for k in ("day", "place")})


def test_a_redirect_is_not_followed_and_not_delivered(merchant: int) -> None:
    with a_receiver(lambda _: 302) as moved:
        a_stored_hook(merchant, moved.url)
        event = a_stored_event(merchant)
        deliver(event)

    [one] = found(event)
    assert (one.state, one.last_status, len(moved.calls)) == (DeliveryState.PENDING, 302, 1)


def test_an_answer_is_read_as_far_as_it_is_kept(merchant: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    really = https._beginning_of  # noqa: SLF001  how much is read is not to be seen otherwise

    def counting(response: Any, most: int) -> bytes:
        content = really(response, most)
        read.append(len(content))
        return content

    monkeypatch.setattr(https, "_beginning_of", counting)
    with a_receiver(body=b"x" * 1_000_000) as chatty:
        a_stored_hook(merchant, chatty.url)
        event = a_stored_event(merchant)
        deliver(event)

    [one] = found(event)
    assert (one.state, one.made[0].answer) == (DeliveryState.DELIVERED, "x" * 200)
    assert read == [64 * 1024]


def test_an_address_that_is_not_public_is_not_called(merchant: int) -> None:
    a_stored_hook(merchant, "https://127.0.0.1.nip.io.invalid/events")
    a_stored_hook(merchant, f"https://localhost:{ports.free_port()}/events")
    event = a_stored_event(merchant)
    deliver(event)

    assert [one.made[0].reason for one in found(event)] == ["its name is not known", "its address is not public"]


def test_a_receiver_that_was_slow_is_left_to_its_queue_and_holds_back_no_other(
    merchant: int, receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "SLOW", timedelta())
    released = threading.Event()
    with a_receiver(lambda _: 200 if released.wait(5) else 500) as slow:
        hook = a_stored_hook(merchant, slow.url, slow_since=datetime.now(UTC))
        first = a_stored_event(merchant)
        deliver(first)
        others, slows = list(receiver.ids), list(slow.ids)
        released.set()
        clock.sweep(timedelta(seconds=1))

    assert (others, slows) == ([first.id], [])
    assert slow.ids == [first.id]
    assert as_stored(hook).slow_since is not None


def test_a_failing_receiver_is_noted_on_its_webhook_until_it_takes_an_event(merchant: int) -> None:
    answers = iter([500, 200])
    with a_receiver(lambda _: next(answers)) as running:
        hook = a_stored_hook(merchant, running.url)
        deliver(a_stored_event(merchant))
        failing = as_stored(hook)
        deliver(a_stored_event(merchant))

    assert failing.failing_since is not None
    assert as_stored(hook).failing_since is None


def test_the_manager_is_told_once_a_day_that_a_webhook_fails(merchant: int, clock: Clock) -> None:
    to = "thandi@shop.example"
    before = len(outbox_of(to))
    with a_receiver(lambda _: 500) as failing:
        hook = a_stored_hook(merchant, failing.url, failing_since=datetime.now(UTC) - timedelta(days=1))
        for _ in range(3):
            deliver(a_stored_event(merchant))
        told = as_stored(hook).told_at
        clock.ahead += timedelta(days=1, minutes=1)
        deliver(a_stored_event(merchant))

    assert told is not None
    assert len(outbox_of(to)) == before + 2


@pytest.mark.parametrize("told_at", [None, datetime(2026, 3, 14, tzinfo=UTC)], ids=["never told", "told before"])
def test_of_two_processes_that_read_a_webhook_before_an_e_mail_one_tells(
    merchant: int, told_at: datetime | None
) -> None:
    hook = a_stored_hook(merchant, "https://shop.example", told_at=told_at)
    first, second = (datetime(2026, 3, 20, hour, tzinfo=UTC) for hour in (9, 10))
    for now in (first, second):
        webhooks_store.note_told(hook, now)

    assert as_stored(hook).told_at == first


def outbox_of(address: str) -> list[Any]:
    """Return what is in the outbox for an address, sent or not."""
    items = tables().scan(TableName=f"{resources.STACK}-outbox", ConsistentRead=True)["Items"]
    return [item for item in items if {"S": address} in item["to"]["L"] and item["kind"]["S"] == "notice"]


def test_a_secret_that_was_rotated_signs_beside_the_new_one(merchant: int) -> None:
    with a_receiver() as running:
        hook = a_stored_hook(merchant, running.url)
        until = datetime.now(UTC) + timedelta(hours=1)
        write_one(
            update(
                webhooks_store.key(merchant, hook.id),
                {"old_secret_sealed": hook.secret_sealed, "old_secret_until": until},
            )
        )
        deliver(a_stored_event(merchant))

    assert len(running.calls[0].headers["webhook-signature"].split(" ")) == 2


@pytest.mark.parametrize("erased", [None, True])
def test_the_answer_to_an_event_of_an_erased_payment_is_not_stored(merchant: int, *, erased: bool | None) -> None:
    with a_receiver(body=b"thanks ann@payer.example") as running:
        a_stored_hook(merchant, running.url)
        event = a_stored_event(merchant)
        if erased:
            write_one(update(events.key(event.day, event.place), {"erased": True}))
        deliver(replace(event, erased=erased))

    (answered,) = [one.answer or "" for delivery in found(event) for one in delivery.made]
    assert ("ann@payer.example" in answered) == (erased is None)


def test_an_attempt_that_ends_after_the_deletion_leaves_nothing_of_the_webhook(
    merchant: int, capsys: pytest.CaptureFixture[str]
) -> None:
    event = a_stored_event(merchant)

    def delete_while_it_answers(_: Any) -> int:
        webhooks_store.delete(webhooks_store.of_merchant(merchant)[0], Act("delete", 1, datetime.now(UTC)))
        return 503

    with a_receiver(delete_while_it_answers) as closed:
        hook = a_stored_hook(merchant, closed.url, on_since=datetime.now(UTC) - LONG_AGO)
        deliver(event)
    webhooks_store.note_told(hook, datetime.now(UTC))

    assert len(closed.calls) == 1
    assert webhooks_store.of_merchant(merchant) == []
    assert "defect" not in capsys.readouterr().out


def test_an_outage_at_the_last_write_of_beginning_delays_no_delivery(
    merchant: int, receiver: Receiver, give: Give
) -> None:
    event = a_stored_event(merchant)
    give(client=before("UpdateItem", failing(UnansweredError())))
    deliveries.deliver([("1", encode(event))])

    assert receiver.ids == [event.id]
