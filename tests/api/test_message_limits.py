"""Receipts, welcome e-mails and webhook tests beyond the limits of a day."""

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import boto3
import pytest

from chalicelib import outside
from chalicelib.domain import message_limits as limits
from chalicelib.domain.message_limits import Limit
from chalicelib.domain.outbox import NotSentError
from chalicelib.services import outbox, payment_sweep
from chalicelib.store import message_limits
from chalicelib.store.table import commit
from infra.stack.resources import STACK
from tests.api.test_files import a_file
from tests.support import events, http
from tests.support.builders import Shop, a_shop, a_webhook, agent_body, an_email, merchant_body
from tests.support.cards import a_card_body
from tests.support.cost import store_calls
from tests.support.giving import environment
from tests.support.http import Reply, post
from tests.support.intercepted_calls import before, failing
from tests.support.receipts import mails, messages
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
KEY = "a secret key of some length"


def a_number() -> str:
    return f"+2782{secrets.randbelow(10**7):07d}"


def an_agent(shop: Shop) -> tuple[tuple[str, str], int]:
    """Return the login and the ID of a new agent with a terminal."""
    agent = shop.agent(TerminalID=shop.terminal(Currency="710")["ID"], SecretKey=KEY, SendWelcomeEmail=False)
    return (agent["Email"], KEY), agent["ID"]


def pay(stage: str, receipt: dict[str, Any], body: dict[str, Any] | None = None, login: Any = http.TILL) -> Reply:
    return post(stage, SUBMIT, {**(body or a_body()), "Receipt": receipt}, login)


def give_back(stage: str, transaction_id: str, amount: int, receipt: dict[str, Any]) -> Reply:
    basic = {"TransactionID": transaction_id, "ReverseMode": 2, "Amount": amount, "PartialReverse": True}
    return post(stage, "/api/v1/payment/reverse", {"BasicReverseTran": basic | {"ID": a_guid()}, "Receipt": receipt})


def use_up(limit: Limit, leave: int = 0) -> None:
    """Count messages until only these are left."""
    commit(*message_limits.additions({limit: limit.most - leave}, limits.day_of(datetime.now(UTC))))


def warnings(reply: Reply) -> list[tuple[int, str, int]]:
    return [(item["Type"], item["Property"], item["Code"]) for item in reply.body["Validations"] or []]


def warned(*paths: str) -> list[tuple[int, str, int]]:
    return [(2, path, 5) for path in paths]


def test_an_address_gets_ten_messages_a_day_and_the_next_payment_says_so(stage: str) -> None:
    to, body = an_email(), a_body()
    replies = [pay(stage, {"Email": to if number % 2 else to.upper()}) for number in range(10)]
    beyond = pay(stage, {"Email": to.title()}, body)
    events.deliver_all()

    assert [(reply.error, warnings(reply)) for reply in replies] == [((200, 0), [])] * 10
    assert (beyond.error, warnings(beyond)) == ((200, 0), warned("Receipt.Email"))
    assert beyond.body["Transaction"]["ReceiptEmail"] == to.title()
    assert len(mails(to)) + len(mails(to.upper())) == 10
    assert mails(to.title()) == []


@pytest.mark.parametrize("wrong", ["x", "0829876543", "+27", 829876543, "9" * 70, "\ud83d", {"a": 1}], ids=repr)
def test_an_address_that_cannot_be_read_refuses_a_sale_only_online(stage: str, wrong: Any) -> None:
    to, number, queue = an_email(), a_number(), {"OfflineMode": True, "OfflineQueueId": a_guid()}
    receipt = {"Email": wrong, "Emails": ["", to, wrong], "Phone": wrong, "Phones": [None, wrong, number]}
    paths = ["Receipt.Email", "Receipt.Emails[2]", "Receipt.Phone", "Receipt.Phones[1]"]
    online, body = pay(stage, receipt), a_body(OfflineTran=queue)
    sold, again = (pay(stage, receipt, body) for _ in range(2))
    events.deliver_all()

    assert online.error == (400, 202)
    assert sorted({path.partition(".a")[0] for path, _ in online.findings}) == paths
    assert sold.error == again.error == (200, 0)
    assert warnings(sold) == warnings(again) == [(2, path, 3) for path in paths]
    assert (len(mails(to)), len(messages(number))) == (1, 1)


def test_an_offline_sale_with_too_many_addresses_is_taken(stage: str) -> None:
    to = [an_email() for _ in range(6)]
    sold = pay(stage, {"Emails": to, "Phone": a_number()}, a_body(OfflineTran={"OfflineMode": True}))

    assert (sold.error, warnings(sold)) == ((200, 0), [(2, "Receipt.Emails[5]", 3), (2, "Receipt.Phone", 3)])


def test_a_replay_warns_as_the_first_answer_did(stage: str) -> None:
    to, other = an_email(), an_email()
    for _ in range(10):
        pay(stage, {"Email": to})
    body = a_body()
    first = pay(stage, {"Emails": [other, to]}, body)
    again = pay(stage, {"Email": an_email()}, body)
    events.deliver_all()

    assert again.headers["Idempotent-Replayed"] == "true"
    assert warnings(first) == warnings(again) == warned("Receipt.Emails[1]")
    assert len(mails(other)) == 1


def test_a_path_is_the_one_that_was_sent_with_its_placeholders(stage: str) -> None:
    abroad, near = "+447700900123", a_number()
    reply = pay(stage, {"Phone": "", "Phones": ["", near, None, abroad], "Email": None})
    events.deliver_all()

    assert warnings(reply) == warned("Receipt.Phones[3]")
    assert len(messages(near)) == 1


def test_an_address_that_is_named_twice_counts_and_warns_once(stage: str) -> None:
    to = an_email()
    replies = [pay(stage, {"Email": to, "Emails": [to.upper()]}) for _ in range(11)]

    assert [warnings(reply) for reply in replies] == [[]] * 10 + [warned("Receipt.Email")]


@pytest.mark.parametrize("number", ["+447700900123", "+881612345678", "+870773111632", "+27900123456"])
def test_no_sms_goes_abroad_to_a_satellite_or_to_a_premium_number(stage: str, number: str) -> None:
    reply = pay(stage, {"Phone": number})
    events.deliver_all()

    assert (reply.error, warnings(reply)) == ((200, 0), warned("Receipt.Phone"))
    assert messages(number) == []


@contextmanager
def sms_to(countries: str) -> Iterator[None]:
    with environment(SMS_COUNTRIES=countries):
        yield


def test_the_setting_names_the_countries_that_get_sms(stage: str) -> None:
    near, abroad = a_number(), f"+4477009{secrets.randbelow(10**5):05d}"
    with sms_to("GB, NA"):
        replies = [pay(stage, {"Phones": [near, abroad]})]
        events.deliver_all()

    assert [warnings(reply) for reply in replies] == [warned("Receipt.Phones[0]")]
    assert (len(messages(near)), len(messages(abroad))) == (0, 1)


def test_a_number_is_the_same_in_every_spelling(stage: str) -> None:
    number = a_number()
    spellings = [number, f"00{number[1:]}", f"0{number[3:]}", f"{number[:3]} {number[3:5]} {number[5:]}"]
    replies = [pay(stage, {"Phone": spellings[n % 4]}, {**a_body(), "CountryCode": "ZA"}) for n in range(11)]
    events.deliver_all()

    assert [warnings(reply) for reply in replies] == [[]] * 10 + [warned("Receipt.Phone")]
    assert len(messages(number)) == 10


def test_a_reversal_does_not_repeat_the_warnings_of_its_payment(stage: str) -> None:
    paid = pay(stage, {"Phone": "+447700900123"})
    transaction_id = paid.body["Transaction"]["ID"]

    reversals = [give_back(stage, transaction_id, 1, receipt) for receipt in ({}, {"Phone": "+447700900124"})]

    assert [warnings(reply) for reply in (paid, *reversals)] == [warned("Receipt.Phone"), [], warned("Receipt.Phone")]


def test_receipts_of_reversals_and_welcomes_count_too(stage: str) -> None:
    to = an_email()
    a_shop(stage).agent(Email=to)
    paid = pay(stage, {"Email": to}).body["TransactionID"]
    reversals = [give_back(stage, paid, 1, {"Email": to}) for _ in range(9)]
    events.deliver_all()

    assert [(reply.error, warnings(reply)) for reply in reversals[:8]] == [((200, 0), [])] * 8
    assert (reversals[8].error, warnings(reversals[8])) == ((200, 0), warned("Receipt.Email"))
    assert len(mails(to)) == 10


def test_a_return_that_is_tried_again_after_another_one_counts_its_receipt_once(stage: str) -> None:
    to, paid = an_email(), pay(stage, {}).body["TransactionID"]
    others: list[tuple[int, int]] = []

    def another(amount: int) -> None:
        others.append(give_back(stage, paid, amount, {}).error)

    with outside.given(client=before("TransactWriteItems", partial(another, 2), lambda: None, partial(another, 4))):
        assert give_back(stage, paid, 1, {"Email": to}).error == (200, 0)
    replies = [pay(stage, {"Email": to}) for _ in range(10)]

    assert [warnings(reply) for reply in replies] == [[]] * 9 + [warned("Receipt.Email")]


def test_declined_payments_count_nothing_and_warn_of_nothing(stage: str) -> None:
    to = an_email()
    declines = [pay(stage, {"Email": to}, a_card_body("12.05")) for _ in range(11)]
    paid = [pay(stage, {"Email": to}, a_card_body()) for _ in range(10)]
    declined = pay(stage, {"Email": to}, a_card_body("12.05"))
    beyond = pay(stage, {"Email": to}, a_card_body())
    events.deliver_all()

    assert [(reply.error, warnings(reply)) for reply in (*declines, declined)] == [((200, 1005), [])] * 12
    assert [warnings(reply) for reply in paid] == [[]] * 10
    assert warnings(beyond) == warned("Receipt.Email")
    assert len(mails(to)) == 10


def test_a_payment_of_unknown_outcome_warns_at_once_and_later(stage: str) -> None:
    unknown = pay(stage, {"Phone": "+447700900123"}, body := a_card_body("12.68"))
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=2))
    known = pay(stage, {"Phone": "+447700900123"}, body)

    assert (unknown.body["ErrorCode"], warnings(unknown)) == (310, warned("Receipt.Phone"))
    assert (known.body["ErrorCode"], warnings(known)) == (0, warned("Receipt.Phone"))


def test_the_receipt_of_a_signed_payment_counts_as_another_message(stage: str) -> None:
    to, body = an_email(), a_card_body("10.08")
    for _ in range(9):
        pay(stage, {"Email": to})
    authorized = pay(stage, {"Email": to}, body)
    signed, again = (pay(stage, {"Email": to}, {**body, "Files": [a_file("SIGNATURE")]}) for _ in range(2))
    events.deliver_all()

    assert warnings(authorized) == []
    assert warnings(signed) == warnings(again) == warned("Receipt.Email")
    assert len(mails(to)) == 10


def test_a_repeated_attempt_at_a_message_counts_once(stage: str) -> None:
    to = an_email()
    with outside.given(send_mail=failing(NotSentError("ReadTimeoutError"))):
        replies = [pay(stage, {"Email": to}) for _ in range(10)]
        events.deliver_all()
    while outbox.sweep(datetime.now(UTC).replace(year=2999)).done:
        pass

    assert [warnings(reply) for reply in replies] == [[]] * 10
    assert len(mails(to)) == 10


def test_the_spellings_of_a_mailbox_of_google_are_one(stage: str) -> None:
    name = secrets.token_hex(8)
    spellings = [f"{name[:at]}.{name[at:]}@gmail.com" for at in range(1, 8)]
    spellings += [f"{'.'.join(name)}+tag@GMail.com", f"{name}@googlemail.com", f"{name[:3]}.{name[3:]}@googlemail.com"]
    replies = [pay(stage, {"Email": one}) for one in spellings]
    beyond = [pay(stage, {"Email": f"{name}@{domain}"}) for domain in ("gmail.com", "googlemail.com")]
    elsewhere = [pay(stage, {"Email": f"{one}@home.example"}) for one in (name, f"{name[:3]}.{name[3:]}")]

    assert [warnings(one) for one in replies + elsewhere] == [[]] * 12
    assert [warnings(one) for one in beyond] == [warned("Receipt.Email")] * 2


def test_addresses_that_differ_in_a_tag_are_one(stage: str) -> None:
    name = an_email()
    tagged = [name.replace("@", f"+{number}@") for number in range(12)]
    first = pay(stage, {"Emails": tagged[:5]})
    second = pay(stage, {"Emails": tagged[5:10]})
    beyond = [pay(stage, {"Email": one}) for one in (tagged[10], name, name.upper())]

    assert [warnings(one) for one in (first, second)] == [[], []]
    assert [(one.error, warnings(one)) for one in beyond] == [((200, 0), warned("Receipt.Email"))] * 3


@pytest.mark.parametrize("of_merchant", [False, True])
def test_an_agent_and_a_merchant_send_at_most_their_limit(stage: str, *, of_merchant: bool) -> None:
    shop, neighbour = a_shop(stage), a_shop(stage)
    (login, agent_id), (colleague, _) = an_agent(shop), an_agent(neighbour if of_merchant else shop)
    if of_merchant:
        use_up(limits.of_merchant(shop.id, 2000), leave=4)  # its manager and its administrator were welcomed
    else:
        use_up(limits.of_agent(agent_id), leave=2)
    to = [an_email() for _ in range(3)]
    beyond = pay(stage, {"Emails": to}, login=login)
    none_left = pay(stage, {"Email": an_email()}, login=login)
    other = pay(stage, {"Email": an_email()}, login=colleague)
    events.deliver_all()

    assert (beyond.error, warnings(beyond)) == ((200, 0), warned("Receipt.Emails[2]"))
    assert [len(mails(address)) for address in to] == [1, 1, 0]
    assert (warnings(none_left), warnings(other)) == (warned("Receipt.Email"), [])


def test_a_merchant_sends_twenty_welcomes_a_day_and_creates_more_agents(stage: str) -> None:
    shop = a_shop(stage)  # its administrator has the first
    replies = [shop.post(f"{shop.path}/pos/create", agent_body(shop.id)) for _ in range(20)]
    unwelcomed = shop.post(f"{shop.path}/pos/create", agent_body(shop.id, SendWelcomeEmail=False))

    assert [(reply.error, warnings(reply)) for reply in replies[:18]] == [((200, 0), [])] * 18
    assert (replies[19].error, warnings(replies[19])) == ((200, 0), warned("SendWelcomeEmail"))
    assert shop.shown(replies[19].body["Pos"]["ID"])["ID"] == replies[19].body["Pos"]["ID"]
    assert warnings(unwelcomed) == []


def test_a_merchant_is_created_whose_manager_has_all_messages_of_the_day(stage: str) -> None:
    manager = {"UserName": "Thandi", "UserEmail": an_email(), "UserPhone": "+27 82 987 6543"}
    body = merchant_body(ClientManager=manager)
    replies = [post(stage, "/api/v1/merchant/create", body, http.SYSTEM) for _ in range(11)]

    assert [(reply.error, warnings(reply)) for reply in replies[:10]] == [((200, 0), [])] * 10
    assert (replies[10].error, warnings(replies[10])) == ((200, 0), warned("SendWelcomeEmail"))
    assert replies[10].body["Merchant"]["ID"] > replies[9].body["Merchant"]["ID"]


def test_a_taken_email_counts_no_welcome(stage: str) -> None:
    shop, to = a_shop(stage), an_email()
    shop.agent(Email=to)
    taken = [shop.post(f"{shop.path}/pos/create", agent_body(shop.id, Email=to)) for _ in range(12)]
    replies = [pay(stage, {"Email": to}) for _ in range(10)]

    assert {reply.error for reply in taken} == {(409, 307)}
    assert [warnings(reply) for reply in replies] == [[]] * 9 + [warned("Receipt.Email")]


def test_a_merchant_tests_its_webhooks_and_sends_events_again_only_so_often(stage: str) -> None:
    shop, other = a_shop(stage), a_shop(stage)
    numbers = [one.post(f"{one.path}/webhook/create", a_webhook()).body["Webhook"]["ID"] for one in (shop, shop, other)]
    use_up(limits.of_webhook_tests(shop.id), leave=1)
    first, beyond = (shop.post(f"{shop.path}/webhook/{number}/test", {}) for number in numbers[:2])
    use_up(limits.of_resent_events(shop.id), leave=1)
    event = f"{shop.path}/event/{first.body['EventID']}/resend"
    again, too_often = (shop.post(event, {"WebhookID": numbers[0]}) for _ in range(2))

    assert (first.error, again.error) == ((200, 0), (200, 0))
    for refused in (beyond, too_often):
        assert refused.error == (429, 402)
        assert 0 < int(refused.headers["Retry-After"]) <= 86400
    assert other.post(f"{other.path}/webhook/{numbers[2]}/test", {}).error == (200, 0)


def test_the_log_counts_withheld_messages_and_neither_log_nor_key_names_an_address(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    to, number = an_email(), a_number()
    for _ in range(11):
        pay(stage, {"Email": to, "Phone": number})

    written = capsys.readouterr().out
    lines = [json.loads(line) for line in written.splitlines() if "messages_withheld" in line]
    facts = [(line["kind"], line["messages"]) for line in lines]
    assert facts == [("receipt", 2)]
    assert {"merchant", "agent"} <= lines[0].keys()
    counters = json.dumps(boto3.client("dynamodb").scan(TableName=f"{STACK}-sequences", ConsistentRead=True)["Items"])
    assert "messages#" in counters
    for text in (written, counters):
        assert to not in text
        assert number[1:] not in text


def test_a_payment_without_an_address_costs_nothing_more_and_one_with_addresses_one_call(stage: str) -> None:
    pay(stage, {})
    with store_calls() as without:
        pay(stage, {})
    with store_calls() as to_many:
        pay(stage, {"Emails": [an_email() for _ in range(4)], "Phone": a_number()})

    assert len(to_many) == len(without) + 1
    assert to_many.count("TransactWriteItems") == 2


def test_payments_at_the_same_time_send_an_address_no_more_than_ten(stage_on_dynamodb_local: str) -> None:
    to = an_email()
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda _: pay(stage_on_dynamodb_local, {"Email": to}), range(18)))
    events.deliver_all()

    assert {reply.error for reply in replies} == {(200, 0)}
    assert [warnings(reply) for reply in replies].count([]) == 10
    assert len(mails(to)) == 10
