"""A receipt that is sent later than its payment: to whom, how often, and what it costs."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain import message_limits
from chalicelib.domain.outbox import NotSentError
from chalicelib.errors import Check
from chalicelib.services import outbox
from chalicelib.store.aws_client import Client
from infra.bench.client import through
from tests.api.test_message_limits import a_number, an_agent, use_up, warned, warnings
from tests.support import events, http
from tests.support.builders import PASSWORD, a_shop, an_email, merchant_update
from tests.support.cards import a_card_body
from tests.support.cost import store_calls, write_units
from tests.support.http import Reply, post
from tests.support.intercepted_calls import failing
from tests.support.receipts import mails, messages
from tests.support.transactions import a_body, a_guid

REVERSE = "/api/v1/payment/reverse"


def paid(stage: str, body: dict[str, Any] | None = None, login: Any = http.TILL_BY_KEY) -> str:
    transaction_id: str = post(stage, "/api/v1/payment/submit", body or a_body(), login).body["TransactionID"]
    return transaction_id


def give_back(stage: str, payment_id: str) -> str:
    body = {"BasicReverseTran": {"TransactionID": payment_id, "ReverseMode": 2}}
    reversal_id: str = post(stage, REVERSE, body).body["TransactionReverseID"]
    return reversal_id


def send(stage: str, payment_id: str, body: Any, key: str | None = None, login: Any = http.TILL_BY_KEY) -> Reply:
    """Send a receipt later, and let the stream send the message."""
    reply = post(stage, f"/api/v1/payment/receipt/{payment_id}", body, login, **headers_of(key))
    events.deliver_all()
    return reply


def headers_of(key: str | None) -> dict[str, Any]:
    return {"Idempotency_Key": key} if key else {}


def is_replayed(reply: Reply) -> bool:
    return reply.headers.get("Idempotent-Replayed") == "true"


def test_everybody_named_gets_one_right_away_and_a_request_without_key_sends_again(stage: str) -> None:
    payment, to, number = paid(stage), [an_email(), an_email()], a_number()
    local = f"0{number.removeprefix('+27')}"  # in the country of the merchant, wherever the request comes from
    body = {"Email": to[0], "Emails": [to[0].upper(), "", to[1]], "Phones": [None, local], "CountryCode": "DE"}
    replies = [send(stage, payment.lower(), body) for _ in range(2)]

    assert [reply.body for reply in replies] == [{"ErrorCode": 0, "ErrorMessage": None, "Validations": None}] * 2
    assert not any(map(is_replayed, replies))
    assert [len(mails(one)) for one in to] == [2, 2]
    assert len(messages(number)) == 2
    assert mails(to[0])[0].subject == "Receipt from Demo Store: R 12.30"


@pytest.mark.parametrize("has_key", [False, True])
def test_a_receipt_whose_first_write_got_no_answer_for_long_is_sent_once(stage: str, *, has_key: bool) -> None:
    payment, to = paid(stage), an_email()

    def repeated(client: Client, operation: str, **parameters: Any) -> Any:
        answer = client.call(operation, **parameters)
        if operation == "TransactWriteItems":  # AWS knows the first token for ten minutes
            return client.call(operation, **{**parameters, "ClientRequestToken": a_guid()})
        return answer

    with outside.given(client=through(repeated)):
        reply = post(
            stage, f"/api/v1/payment/receipt/{payment}", {"Email": to}, **headers_of(a_guid() if has_key else None)
        )
    events.deliver_all()

    assert (reply.status, reply.body["ErrorCode"]) == (200, 0)
    assert len(mails(to)) == 1


@pytest.mark.parametrize(
    ("paid_in", "sent", "subject"),
    [
        ("af", {}, "Kwitansie"),
        ("af", {"Lang": ""}, "Kwitansie"),
        ("af", {"Lang": "en"}, "Receipt"),
        ("en", {"Lang": "af-ZA"}, "Kwitansie"),
        ("af", {"Lang": "xx"}, "Receipt"),
    ],
)
def test_lang_is_the_language_of_this_receipt_else_the_payments(
    stage: str, paid_in: str, sent: dict[str, str], subject: str
) -> None:
    to, payment = an_email(), paid(stage, a_body() | {"Lang": paid_in})
    send(stage, payment, {"Email": to, **sent})

    assert [mail.subject.split()[0] for mail in mails(to)] == [subject]


def test_a_payment_that_was_reversed_in_full_and_its_reversal_have_a_receipt_to_send(stage: str) -> None:
    to, payment = an_email(), paid(stage)
    reversal = give_back(stage, payment)

    assert [send(stage, one, {"Email": to}).error for one in (payment, reversal)] == [(200, 0)] * 2
    assert sorted(mail.subject.split()[0] for mail in mails(to)) == ["Receipt", "Return"]


@pytest.mark.parametrize("cents", [".05", ".69"], ids=["declined", "pending"])
def test_what_moved_no_money_sends_no_receipt(stage: str, cents: str) -> None:
    to, payment = an_email(), paid(stage, a_card_body(f"12{cents}"))

    assert send(stage, payment, {"Email": to}, a_guid()).error == (409, 309)
    assert mails(to) == []


def test_a_missing_transaction_and_a_strangers_are_the_same_404(stage: str) -> None:
    login, _ = an_agent(a_shop(stage))
    missing, foreign = (send(stage, one, {"Email": an_email()}, login=login) for one in (a_guid(), paid(stage)))

    assert missing.error == (404, 568)
    assert missing.text == foreign.text


@pytest.mark.parametrize(
    ("body", "findings"),
    [
        ({}, [("Email", Check.REQUIRED)]),
        (None, [("Email", Check.REQUIRED)]),
        ({"Email": "", "Emails": ["", None], "Phone": None, "Phones": []}, [("Email", Check.REQUIRED)]),
        (
            {"Email": "nobody", "Emails": ["@"], "Phone": "12", "Phones": ["+27829876543", "x"]},
            [(path, Check.FORMAT) for path in ("Email", "Emails[0]", "Phone", "Phones[1]")],
        ),
        ({"Email": 5, "Phones": "+27829876543"}, [("Email", Check.TYPE), ("Phones", Check.TYPE)]),
        ({"email": "ann@home.example"}, [("email", Check.SPELLING)]),
        ({"Phone": "9" * 70}, [("Phone", Check.TOO_LONG)]),
        ({"Emails": [f"a{n}@b.example" for n in range(6)]}, [("Emails", Check.TOO_LONG)]),
        (
            {"Emails": [f"a{n}@b.example" for n in range(4)], "Phones": ["+27829876543", "", "+27829876544"]},
            [("Phones[2]", Check.TOO_LONG)],
        ),
        ({"Email": "ann@home.example", "Lang": 5}, [("Lang", Check.TYPE)]),
    ],
)
def test_wrong_addresses_and_none_are_refused_all_in_one_answer(stage: str, body: Any, findings: Any) -> None:
    reply = send(stage, paid(stage), body)

    assert reply.error == (400, 202)
    assert reply.findings == findings


@pytest.mark.parametrize(("key", "error"), [("k" * 255, (200, 0)), ("k" * 256, (400, 202)), ("é", (400, 202))])
def test_a_key_has_at_most_255_printable_characters(stage: str, key: str, error: tuple[int, int]) -> None:
    login, _ = an_agent(a_shop(stage))

    assert send(stage, paid(stage, login=login), {"Email": an_email()}, key, login).error == error


def test_a_key_sends_once_and_only_for_its_payment_and_addresses(stage: str) -> None:
    payment, key, to, number = paid(stage), a_guid(), an_email(), a_number()
    first = send(stage, payment, {"Email": to, "Phone": number}, key)
    again = send(stage, payment.lower(), {"Emails": [to.upper()], "Phones": [number], "Lang": "af"}, key)
    others = [
        send(stage, payment, {"Email": an_email(), "Phone": number}, key),
        send(stage, payment, {"Email": to}, key),
        send(stage, paid(stage), {"Email": to, "Phone": number}, key),
    ]

    assert (first.error, is_replayed(first)) == ((200, 0), False)
    assert (again.error, is_replayed(again), again.body) == ((200, 0), True, first.body)
    assert [reply.error for reply in others] == [(422, 302)] * 3
    assert (len(mails(to)), len(messages(number))) == (1, 1)


def test_a_key_of_another_agent_is_another_key(stage: str) -> None:
    shop = a_shop(stage)
    (login, _), (other, _), to, key = an_agent(shop), an_agent(shop), an_email(), a_guid()
    replies = [send(stage, paid(stage, login=one), {"Email": to}, key, one) for one in (login, other)]

    assert [(reply.error, is_replayed(reply)) for reply in replies] == [((200, 0), False)] * 2
    assert len(mails(to)) == 2


def test_beyond_a_limit_nothing_is_sent_and_a_repeat_is_told_the_same(
    stage: str, capfd: pytest.CaptureFixture[str]
) -> None:
    login, agent_id = an_agent(a_shop(stage))
    payment, keys, to = paid(stage, login=login), (a_guid(), a_guid()), [an_email() for _ in range(3)]
    use_up(message_limits.of_agent(agent_id), leave=2)
    bodies = ({"Emails": to}, {"Email": to[0], "Phone": "+447700900123"})
    replies = [send(stage, payment, body, key, login) for body, key in zip(bodies, keys, strict=True)]
    again = [send(stage, payment, body, key, login) for body, key in zip(bodies, keys, strict=True)]

    assert [(reply.error, warnings(reply)) for reply in replies] == [
        ((200, 0), warned("Emails[2]")),
        ((200, 0), warned("Email", "Phone")),
    ]
    assert [reply.body for reply in again] == [reply.body for reply in replies]
    assert [is_replayed(reply) for reply in (*replies, *again)] == [False, False, True, True]
    assert [len(mails(one)) for one in to] == [1, 1, 0]
    assert capfd.readouterr().out.count('"event": "messages_withheld"') == 2


def test_a_failed_message_is_sent_by_the_sweep_also_when_the_request_is_repeated(stage: str) -> None:
    payment, to, key = paid(stage), an_email(), a_guid()
    with outside.given(send_mail=failing(NotSentError("MessageRejected"))):
        send(stage, payment, {"Email": to}, key)
    assert mails(to) == []
    assert is_replayed(send(stage, payment, {"Email": to}, key))
    while outbox.sweep(datetime.now(UTC) + timedelta(minutes=2)).done:
        pass

    assert len(mails(to)) == 1


def test_of_many_equal_requests_at_once_one_sends(stage_on_dynamodb_local: str) -> None:
    stage, to, key = stage_on_dynamodb_local, an_email(), a_guid()
    payment = paid(stage)
    path = f"/api/v1/payment/receipt/{payment}"
    with ThreadPoolExecutor(24) as pool:
        sent = [pool.submit(post, stage, path, {"Email": to}, Idempotency_Key=key) for _ in range(100)]
        replies = [one.result() for one in sent]
    events.deliver_all()

    assert {reply.error for reply in replies} == {(200, 0)}
    assert {str(reply.body["Validations"]) for reply in replies} == {"None"}
    assert sum(not is_replayed(reply) for reply in replies) == 1
    assert len(mails(to)) == 1


def test_it_costs_two_calls_and_a_repeat_one(stage_on_dynamodb_local: str) -> None:
    stage, payment, key = stage_on_dynamodb_local, paid(stage_on_dynamodb_local), a_guid()
    events.deliver_all()
    path = f"/api/v1/payment/receipt/{payment}"
    with store_calls() as calls, write_units() as charged:
        post(stage, path, {"Email": "ann@home.example"}, Idempotency_Key=key)
        post(stage, path, {"Email": "ann@home.example"}, Idempotency_Key=key)

    # GetItem is the authorizer's. The key, the mark of the original, and the counters of the address, the agent and the
    # merchant cost 2 each.
    assert calls == ["GetItem", "BatchGetItem", "TransactWriteItems", "GetItem", "BatchGetItem"]
    assert charged == [("outbox", 4), ("sequences", 10)]


def test_the_words_of_the_shop_are_below_every_receipt_until_a_blank_takes_them_away(stage: str) -> None:
    shop = a_shop(stage)
    till = shop.agent(TID=shop.terminal()["Name"])["Email"], PASSWORD
    shown = []
    for note in (f" {'n' * 253}\u0301 ", " "):
        changed = shop.post(f"{shop.path}/update", merchant_update(ReceiptNote=note))
        receipt = http.get(stage, f"/api/v1/payment/receipt/{paid(stage, login=till)}", till).body["Receipt"]
        words = note.strip()
        assert changed.body["Merchant"]["ReceiptNote"] == words
        shown.append([words in receipt["Html"], words in "".join(receipt["Text"].split())])

    assert shown[0] == [True, True]
    assert shop.post(f"{shop.path}/update", merchant_update(ReceiptNote="n" * 257)).findings == [("ReceiptNote", 4)]
