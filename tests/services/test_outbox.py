import json
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain import message_limits as limits
from chalicelib.domain.outbox import EMAIL, SMS, NotSentError, Outbox, receipts_for
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import ReceiptAddresses, Transaction, snapshot_of
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import mail
from chalicelib.receipts.text_and_sms import as_sms
from chalicelib.schemas.payments import Receipt
from chalicelib.services import outbox, receipts
from chalicelib.store import merchants, message_limits, terminals, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store.table import commit, encode, put_new
from infra.operator import payer_records
from tests.support.builders import a_merchant, a_terminal, an_email
from tests.support.giving import Give
from tests.support.intercepted_calls import StoppedError, failing, hooked
from tests.support.receipts import a_moment, an_entry, due_ids, mails, messages, when_due
from tests.support.stored import stored_record, stored_transaction
from tests.support.tills import a_till
from tests.support.transactions import a_body, a_guid, a_payment, altered

NUMBER = "+27829870000"


def kept(entry: Outbox) -> Outbox:
    commit(outbox_store.put(entry))
    return entry


def now_kept(entry: Outbox) -> Outbox:
    return stored_record(outbox_store.key(entry.id))


def send_new(entries: Iterable[Outbox], now: datetime) -> None:
    for entry in entries:
        outbox.send_new(entry, now, time.monotonic() + outbox.SECONDS)


def a_sale(**changes: Any) -> Transaction:
    """A payment that is kept; its merchant is called otherwise now."""
    merchant = a_merchant(name="Bean & Leaf")
    terminal = a_terminal(client_id=merchant.id)
    facts = {"client_id": merchant.id, "terminal_id": terminal.id, "merchant": snapshot_of(merchant, None)}
    payment = a_payment(**facts | changes)
    renamed = replace(merchant, name="Another Name")
    commit(put_new(merchants.TABLE, renamed, "id"), put_new(terminals.TABLE, terminal, "id"))
    transactions.record(payment)
    return payment


def wanted(payment: Transaction, **receipt: Any) -> Transaction:
    """The same sale, whose customer wants a receipt."""
    return altered(payment, addresses=Receipt.model_validate(receipt).to_domain())


@pytest.fixture
def broken(give: Give) -> list[str]:
    """Addresses e-mail to which fails, in a way that can be mended."""
    addresses: list[str] = []
    really = mail.send

    def send(message: Outbox, to: str) -> str:
        if to in addresses:
            reason = "ReadTimeoutError"
            raise NotSentError(reason)
        return really(message, to)

    give(send_mail=send)
    return addresses


@pytest.fixture
def no_sender(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MAIL_FROM", "")
    monkeypatch.setenv("SMS_SENDER", "")
    outside.forget()
    yield
    monkeypatch.undo()
    outside.forget()


@pytest.mark.usefixtures("engine")
def test_a_receipt_is_one_entry_for_the_mails_and_one_for_the_messages() -> None:
    entries = receipts_for(
        wanted(a_sale(), Email="A@shop.example", Emails=["b@shop.example", "a@shop.example"], Phone=NUMBER), a_moment()
    )

    assert [(entry.channel, entry.to) for entry in entries] == [
        (EMAIL, ("A@shop.example", "b@shop.example")),
        (SMS, (NUMBER,)),
    ]


@pytest.mark.usefixtures("engine")
def test_who_wants_no_receipt_gets_none() -> None:
    assert receipts_for(wanted(a_sale()), a_moment()) == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("phase", [Phase.DECLINED, Phase.SENT, Phase.UNKNOWN, Phase.REJECTED])
def test_what_took_no_money_has_no_receipt(phase: Phase) -> None:
    assert receipts_for(wanted(a_sale(phase=phase), Email=an_email()), a_moment()) == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("sent", "retries"), [({}, 3), ({"RetryNum": 0}, 0), ({"RetryNum": 7}, 7)])
def test_the_request_says_how_often_a_receipt_is_tried_again(sent: dict[str, int], retries: int) -> None:
    (entry,) = receipts_for(wanted(a_sale(), Email=an_email(), **sent), a_moment())

    assert entry.retries == retries


@pytest.mark.usefixtures("engine")
def test_what_a_kept_transaction_wanted_is_known_later() -> None:
    receipt = {"Email": "a@shop.example", "Phones": [NUMBER], "RetryNum": 2}
    payment = a_payment(addresses=Receipt.model_validate(receipt).to_domain())
    transactions.record(payment)
    stored = stored_transaction(payment.id)

    paths = ("Receipt.Email", "Receipt.Phones[0]")
    assert stored.receipt.addresses == ReceiptAddresses(("a@shop.example",), (NUMBER,), 2, paths)


@pytest.mark.usefixtures("engine")
def test_what_was_just_kept_is_sent_and_owed_no_more() -> None:
    to = an_email()
    sale = wanted(a_sale(), Email=to, Phone=NUMBER)
    now = a_moment()
    entries = receipts_for(sale, now)
    commit(*map(outbox_store.put, entries))
    send_new(map(now_kept, entries), now)

    (sent,) = mails(to)
    assert sent.subject == "Receipt from Bean & Leaf: R 12.30"
    assert sent.source == '"Bean & Leaf by payments.example" <receipts@payments.example>'
    assert sent.body.startswith("<!doctype html>")
    assert sale.merchant
    assert messages(NUMBER)[-1].body == as_sms(sale, stage="Payments")
    assert [now_kept(entry).sent_at for entry in entries] == [now, now]


COPY = ">Copy</td>"
TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("own", "waits", "copied"),
    [
        (False, [timedelta(), timedelta()], [False, True]),
        (False, [TEN_MINUTES], [False]),
        (False, [TEN_MINUTES + timedelta(microseconds=1)], [True]),
        (True, [timedelta()], [False, True]),
    ],
    ids=["first and second request", "ten minutes", "more than ten minutes", "after the payment's own"],
)
def test_a_receipt_is_a_copy_after_the_first_one_and_after_ten_minutes(
    own: bool,  # noqa: FBT001  parameters of the test
    waits: list[timedelta],
    copied: list[bool],
) -> None:
    till, to, now = a_till(), an_email(), a_moment()
    sale = till.pay(a_body() | ({"Receipt": {"Email": to}} if own else {}), now)
    for wait in waits:
        till.send_receipt(sale, now + wait, Email=to)
    outbox.sweep(now + timedelta(hours=1))

    assert sorted(COPY in sent.body for sent in mails(to)) == copied


@pytest.mark.usefixtures("engine")
def test_of_two_receipts_that_are_sent_at_once_one_is_the_original() -> None:
    till, to, now = a_till(), an_email(), a_moment()
    sale = till.pay(a_body(), now)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda key: till.send_receipt(sale, now, key=key, Email=to), "ab"))
    till.send_receipt(sale, now, key="a", Email=to)
    outbox.sweep(now + timedelta(hours=1))

    assert sorted(COPY in sent.body for sent in mails(to)) == [False, True]


@pytest.mark.usefixtures("engine")
def test_a_receipt_that_is_shown_is_a_copy_after_ten_minutes() -> None:
    till, now = a_till(), a_moment()
    paid_at = f"{now - timedelta(days=2):%Y-%m-%dT%H:%M:%S}"
    sale = till.pay(a_body(OfflineTran={"OfflineMode": True, "Invoice": "A-1", "Paid": paid_at}), now)
    shown = [
        receipts.get(sale.id, till.caller, now + wait, lang)
        for wait in (TEN_MINUTES, TEN_MINUTES + timedelta(seconds=1))
        for lang in (None, "af")
    ]

    words = [("Copy" if "Copy" in one.text else "Afskrif" if "Afskrif" in one.text else "") for one in shown if one]
    assert words == ["", "", "Copy", "Afskrif"]


@pytest.mark.usefixtures("engine")
def test_a_sweep_sends_what_the_stream_did_not() -> None:
    to, other = an_email(), an_email()
    (receipt_kept,) = receipts_for(wanted(a_sale(), Email=to), a_moment())
    kept(receipt_kept)
    welcome = kept(an_entry(to=(other,), created_at=receipt_kept.created_at))
    outbox.sweep(when_due(welcome))

    assert [mail.subject for mail in mails(to)] == ["Receipt from Bean & Leaf: R 12.30"]
    assert [mail.body for mail in mails(other)] == [welcome.text]
    assert now_kept(receipt_kept).sent_at


@pytest.mark.usefixtures("engine")
def test_only_those_who_have_not_got_it_are_sent_it_again(broken: list[str]) -> None:
    first, second = an_email(), an_email()
    broken.append(second)
    entry = kept(an_entry(to=(first, second)))
    send_new([now_kept(entry)], entry.created_at)
    broken.clear()
    outbox.sweep(entry.created_at + timedelta(minutes=1))

    assert (len(mails(first)), len(mails(second))) == (1, 1)
    assert now_kept(entry).sent_at


@pytest.mark.usefixtures("engine")
def test_what_always_fails_is_given_up_after_its_retries(broken: list[str]) -> None:
    entry = kept(an_entry(retries=2))
    broken.extend(entry.to)
    send_new([now_kept(entry)], entry.created_at)
    sweeps = [outbox.sweep(entry.created_at + timedelta(minutes=minutes)).done for minutes in (1, 5.1, 600)]

    found = now_kept(entry)
    assert sweeps == [1, 1, 0]
    assert (found.attempts, found.given_up_at is None, found.due_at) == (3, False, None)


@pytest.mark.usefixtures("engine")
def test_an_entry_that_kills_its_holders_is_given_up_too(give: Give) -> None:
    give(elapsed=lambda: 0.0)
    entry = kept(an_entry(retries=1))
    now = when_due(entry)
    for _ in range(2):
        assert outbox_store.claim(entry.id, now)
        now += timedelta(minutes=1)
    outbox.sweep(now)

    assert mails(entry.to[0]) == []
    assert now_kept(entry).given_up_at == now


@pytest.mark.usefixtures("engine", "no_sender")
@pytest.mark.parametrize(("channel", "to"), [(EMAIL, "a@shop.example"), (SMS, "+27829870009")])
def test_a_stage_without_a_sender_gives_up_and_logs(channel: str, to: str, capsys: pytest.CaptureFixture[str]) -> None:
    entry = kept(an_entry(channel=channel, to=(to,)))
    send_new([now_kept(entry)], entry.created_at)

    assert now_kept(entry).given_up_at
    log = capsys.readouterr().out
    assert "the stage has no sender" in log
    assert f'"merchant": {entry.client_id}' in log
    assert messages(to) == []


@pytest.mark.usefixtures("engine")
def test_a_defect_while_sending_is_logged_and_the_entry_stays_owed(
    give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = kept(an_entry())

    def explode(*_: object) -> str:
        raise ZeroDivisionError(entry.to[0])

    give(send_mail=explode)
    send_new([now_kept(entry)], entry.created_at)
    log = capsys.readouterr().out

    assert due_ids(when_due(entry)) == [entry.id]
    assert "ZeroDivisionError" in log
    assert entry.to[0] not in log


@pytest.mark.usefixtures("engine")
def test_a_receipt_that_cannot_be_worded_stops_no_payment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "receipt_of", failing(ZeroDivisionError()))
    now = a_moment()
    entries = receipts_for(wanted(a_sale(), Email=an_email()), now)
    commit(*map(outbox_store.put, entries))
    send_new(map(now_kept, entries), now)

    assert now_kept(entries[0]).attempts == 1
    assert now_kept(entries[0]).due_at == now + timedelta(minutes=1)


@pytest.mark.usefixtures("engine")
def test_when_its_time_is_over_a_batch_leaves_the_rest_to_the_sweep(give: Give) -> None:
    now = datetime.now(UTC)
    entries = [kept(an_entry(created_at=now)) for _ in range(4)]
    clock = [0.0]
    give(elapsed=lambda: clock[0])
    really = mail.send

    def slow(message: Outbox, to: str) -> str:
        clock[0] += outbox.SECONDS * 0.7
        return really(message, to)

    give(send_mail=slow)
    assert outbox.deliver([(entry.id, encode(now_kept(entry))) for entry in entries]) == []
    assert [len(mails(entry.to[0])) for entry in entries] == [1, 1, 0, 0]
    assert [now_kept(entry).due_at for entry in entries[2:]] == [now + timedelta(minutes=1)] * 2


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("share", "sent", "reason"), [(0.9, [1, 1], None), (1.1, [1, 0], "out of time")])
def test_an_address_whose_turn_comes_after_the_time_is_left_to_the_next_attempt(
    share: float,
    sent: list[int],
    reason: str | None,
    give: Give,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry, clock, really = kept(an_entry(to=(an_email(), an_email()))), [0.0], mail.send
    give(elapsed=lambda: clock[0])

    def slow(message: Outbox, to: str) -> str:
        clock[0] += outbox.SECONDS * share
        return really(message, to)

    give(send_mail=slow)
    outbox.send_new(now_kept(entry), entry.created_at, outbox.SECONDS)

    assert [len(mails(address)) for address in entry.to] == sent
    assert now_kept(entry).to == tuple(
        to for to, number in zip(entry.to, sent, strict=True) if not number or not reason
    )
    assert json.loads(capsys.readouterr().out)["reason"] == reason


@pytest.mark.usefixtures("engine")
def test_a_receipt_without_its_transaction_is_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    entry = kept(an_entry(text=None, transaction_id=a_guid()))
    send_new([now_kept(entry)], entry.created_at)

    assert (now_kept(entry).attempts, now_kept(entry).due_at) == (1, entry.created_at + timedelta(minutes=1))
    assert json.loads(capsys.readouterr().out)["reason"] == "its text cannot be written"
    assert mails(entry.to[0]) == []


@pytest.mark.usefixtures("engine")
def test_a_sweep_begins_with_the_longest_due_and_says_how_far_behind_it_is(give: Give) -> None:
    moment = a_moment()
    entries = [kept(an_entry(created_at=moment + timedelta(seconds=number))) for number in (3, 0, 2, 1)]
    tried: list[str] = []

    def send(message: Outbox, to: str) -> str:
        tried.append(to)
        return mail.send(message, to)

    give(send_mail=send, elapsed=lambda: outbox.SECONDS if len(tried) == 3 else 0.0)
    swept = outbox.sweep(moment + timedelta(minutes=2))

    assert (swept.done, swept.is_unfinished) == (3, True)
    assert 57 + outbox.SECONDS <= swept.behind_seconds < 60 + outbox.SECONDS
    assert [len(mails(entry.to[0])) for entry in entries] == [0, 1, 1, 1]


@pytest.mark.usefixtures("engine")
def test_short_messages_do_not_wait_for_the_mails_before_them(give: Give) -> None:
    moment = a_moment()
    kept(an_entry(created_at=moment))
    message = kept(an_entry(created_at=moment + timedelta(seconds=30), channel=SMS, to=("+27829870008",)))
    is_sent, real = threading.Event(), mail.send

    def send(entry: Outbox, to: str) -> str:
        assert is_sent.wait(20), "the short message waits for the mail"
        return real(entry, to)

    def text(*_: object) -> str:
        is_sent.set()
        return "id"

    give(send_mail=send, send_sms=text)
    outbox.sweep(moment + timedelta(minutes=2))

    assert now_kept(message).sent_at


@pytest.mark.usefixtures("dynamodb_local")
def test_sweeps_side_by_side_send_everything_once() -> None:
    moment = a_moment()
    entries = [kept(an_entry(created_at=moment)) for _ in range(20)]
    with ThreadPoolExecutor(4) as pool:
        swept = list(pool.map(lambda _: outbox.sweep(when_due(entries[0])), range(4)))

    assert sum(one.done for one in swept) == 20
    assert [len(mails(entry.to[0])) for entry in entries] == [1] * 20


@pytest.mark.usefixtures("dynamodb_local")
def test_a_sweep_leaves_alone_what_the_stream_is_sending() -> None:
    entry = kept(an_entry())
    outbox.sweep(entry.created_at + timedelta(seconds=59))
    send_new([now_kept(entry)], entry.created_at)
    outbox.sweep(entry.created_at + timedelta(days=1))

    assert len(mails(entry.to[0])) == 1


@pytest.mark.usefixtures("engine")
def test_a_record_that_comes_twice_or_late_sends_nothing_more() -> None:
    entry, late = kept(an_entry()), kept(an_entry())
    image = now_kept(entry)
    for _ in range(2):
        send_new([image], entry.created_at)
    send_new([now_kept(late)], late.created_at + timedelta(seconds=31))

    assert (len(mails(entry.to[0])), mails(late.to[0])) == (1, [])


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_receipt_later_whose_process_ends_is_stored_and_counted_once_by_its_repeat(engine: str, when: str) -> None:
    del engine
    till, now = a_till(), datetime.now(UTC)
    payment = till.pay(a_body(), now)

    def stop(*call: str) -> None:
        if call == (when, "TransactWriteItems"):
            raise StoppedError

    with hooked(stop), pytest.raises(StoppedError):
        till.send_receipt(payment, now, key="later", Email=an_email(), Phone=NUMBER)
    with pytest.raises(ServiceError) if when == "after" else nullcontext():
        till.send_receipt(payment, now, key="later", Email=an_email())  # other addresses

    limit = limits.of_agent(till.agent.id)
    assert message_limits.counted([limit], limits.day_of(now)) == {limit: 2 if when == "after" else 1}
    sent = [one.channel for one in payer_records.messages_of(till.merchant, [payment.id])]
    assert sorted(sent) == ([EMAIL, SMS] if when == "after" else [EMAIL])


@pytest.mark.parametrize(
    ("address", "is_readable", "error"),
    [(NUMBER, True, None), ("+27829870001", True, ErrorCode.ID_REUSED), (NUMBER, False, ErrorCode.IN_PROGRESS)],
)
def test_of_two_equal_requests_of_a_receipt_at_once_the_later_one_is_a_replay(
    engine: str, address: str, error: ErrorCode | None, monkeypatch: pytest.MonkeyPatch, *, is_readable: bool
) -> None:
    del engine
    till, now, waiting = a_till(), datetime.now(UTC), iter([True])
    payment = till.pay(a_body(), now)

    def meanwhile(*call: str) -> None:
        if call == ("before", "TransactWriteItems") and next(waiting, False):
            till.send_receipt(payment, now, key="later", Phone=NUMBER)

    if not is_readable:
        monkeypatch.setattr(receipts, "read", lambda _: None)
    with hooked(meanwhile), pytest.raises(ServiceError) if error else nullcontext() as refused:
        till.send_receipt(payment, now, key="later", Phone=address)

    assert error is (refused.value.error if refused else None)
    [sent] = payer_records.messages_of(till.merchant, [payment.id])
    assert sent.to == (NUMBER,)
