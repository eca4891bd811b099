import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from email import message_from_string
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from chalicelib import outside
from chalicelib.domain.outbox import NotSentError
from chalicelib.domain.picture import Picture
from chalicelib.gateways import files, mail, sms
from chalicelib.settings import settings
from tests.support.builders import JPEG, PNG, an_email
from tests.support.giving import Give, boto3_client
from tests.support.intercepted_calls import failing
from tests.support.receipts import an_entry, mails, messages, ses
from tests.support.scripted_server import http, scripted

pytestmark = pytest.mark.usefixtures("moto")


BY = " by payments.example"  # a stage without a name of its own


def test_a_mail_carries_the_name_of_its_sender_and_of_the_stage() -> None:
    to = an_email()
    mail.send(an_entry(sender='Corner "Store", Inc.'), to)

    (sent,) = mails(to)
    assert sent.source == f'"Corner \\"Store\\", Inc.{BY}" <receipts@payments.example>'
    assert sent.body == "Hello, world."


@pytest.mark.parametrize(
    ("sender", "by"), [("Your Bank", "Your Bank by "), (None, ""), ("日" * 99, f"{'日' * 40} by ")]
)
def test_the_stage_has_the_name_in_mail_from(give: Give, sender: str | None, by: str) -> None:
    named = replace(settings(), mail_from="Zoë's Payments <receipts@payments.example>")
    give(settings=named)
    to = an_email()
    mail.send(an_entry(sender=sender), to)

    encoded, _ = mails(to)[0].source.rsplit(" ", 1)
    assert str(make_header(decode_header(encoded))) == f"{by}Zoë's Payments"


@pytest.mark.parametrize("name", ["Zoë", "日本語の店" * 50, "ë" * 256, "ශ්\u200dරී"])
def test_a_name_in_any_script_arrives_in_words_that_mail_can_carry(name: str) -> None:
    to = an_email()
    mail.send(an_entry(sender=name), to)

    (sent,) = mails(to)
    encoded, address = sent.source.rsplit(" ", 1)
    assert address == "<receipts@payments.example>"
    assert str(make_header(decode_header(encoded))) == name[:40] + BY
    assert max(map(len, encoded.split())) <= 75
    assert len(sent.source) <= 320


def raw(to: str) -> EmailMessage:
    """Return the mail to an address as it goes over the wire."""
    (sent,) = [mail for mail in ses().sent_messages if to in mail.destinations]
    message = message_from_string(sent.raw_data, EmailMessage, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def test_a_mail_brings_the_logo_that_its_html_names() -> None:
    to, html = an_email(), '<p dir="auto">Kaffee für مرحبا 🧾' + " x" * 2000 + '<img src="cid:logo">'
    files.put("merchants/7/logo.png", Picture(PNG, "image/png"))
    subject = 'Receipt from "Zoë\'s", Ltd: ₤ 12.30 ' + "日本" * 60
    sender = "Zoë, <evil@example.com>"
    mail.send(an_entry(sender=sender, subject=subject, html=html, logo_key="merchants/7/logo.png"), to)

    message = raw(to)
    assert [part.get_content_type() for part in message.walk()] == [
        *("multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png")
    ]
    _, text, _, page, picture = message.walk()
    assert isinstance(picture, EmailMessage)
    assert (picture["Content-ID"], picture.get_content_disposition()) == ("<logo>", "inline")
    assert picture.get_content() == PNG
    assert isinstance(text, EmailMessage)
    assert isinstance(page, EmailMessage)
    assert (text.get_content().strip(), page.get_content().strip()) == ("Hello, world.", html)
    assert (message["To"], message["Subject"]) == (to, subject)
    (mailbox,) = message["From"].addresses
    assert (mailbox.display_name, mailbox.addr_spec) == (sender + BY, "receipts@payments.example")


def test_a_long_name_is_cut_between_its_letters() -> None:
    to = an_email()
    mail.send(an_entry(sender="👩\u200d🍳" * 60), to)

    (sent,) = mails(to)
    name = str(make_header(decode_header(sent.source.rsplit(" ", 1)[0]))).removesuffix(BY)
    assert len(name) % 3 == 0
    assert 300 < len(sent.source) <= 320


def test_a_mail_with_a_logo_is_of_short_lines_of_ascii() -> None:
    to = an_email()
    files.put("merchants/7/logo.jpeg", Picture(JPEG, "image/jpeg"))
    message = an_entry(sender="日" * 300, subject="é" * 900, html="ü" * 9000, text="x" * 9000)
    mail.send(replace(message, logo_key="merchants/7/logo.jpeg"), to)

    (sent,) = [mail for mail in ses().sent_messages if to in mail.destinations]
    assert sent.raw_data.isascii()
    assert max(map(len, sent.raw_data.split("\r\n"))) <= 998


def test_a_mail_with_a_logo_needs_nothing_that_an_old_botocore_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    files.put("merchants/7/logo.png", Picture(PNG, "image/png"))
    model: Any = mail._client().meta.service_model  # noqa: SLF001
    monkeypatch.delitem(model._shape_resolver._shape_map["Message"]["members"], "Attachments")  # noqa: SLF001  as in 1.34
    to = an_email()
    mail.send(an_entry(html='<img src="cid:logo">', logo_key="merchants/7/logo.png"), to)

    assert [sent.body for sent in mails(to)] == ['<img src="cid:logo">']


def test_a_mail_whose_logo_is_gone_is_sent_without(capsys: pytest.CaptureFixture[str]) -> None:
    to = an_email()
    mail.send(an_entry(html="<p>Hello", logo_key="merchants/7/never.png"), to)

    assert [sent.body for sent in mails(to)] == ["<p>Hello"]
    assert "logo_missing" in capsys.readouterr().out


def test_a_mail_waits_for_a_storage_out_of_reach(give: Give) -> None:
    give(boto3_client=boto3_client("s3", get_object=failing(ReadTimeoutError(endpoint_url="https://s3.example"))))

    with pytest.raises(NotSentError, match="ReadTimeoutError"):
        mail.send(an_entry(logo_key="merchants/7/other.png"), an_email())


def test_a_mail_without_a_name_is_from_the_stage() -> None:
    to = an_email()
    mail.send(an_entry(), to)

    assert [sent.source for sent in mails(to)] == ["receipts@payments.example"]


def test_a_mail_is_html_where_there_is_html() -> None:
    to = an_email()
    mail.send(an_entry(html="<p>Hello"), to)

    assert [sent.body for sent in mails(to)] == ["<p>Hello"]


@pytest.mark.parametrize("name", [None, "payments-dev"])
def test_a_mail_names_the_set_that_reports_its_bounces(name: str | None, give: Give) -> None:
    calls: list[dict[str, Any]] = []

    def send_email(**parameters: Any) -> dict[str, str]:
        calls.append(parameters)
        return {"MessageId": "1"}

    give(
        settings=replace(settings(), mail_configuration_set=name),
        boto3_client=boto3_client("sesv2", send_email=send_email),
    )
    mail.send(an_entry(), an_email())

    assert [call.get("ConfigurationSetName") for call in calls] == [name]


def test_a_mail_that_is_refused_was_not_sent(give: Give) -> None:
    rejected = ClientError({"Error": {"Code": "MessageRejected"}}, "SendEmail")
    give(boto3_client=boto3_client("sesv2", send_email=failing(rejected)))

    with pytest.raises(NotSentError, match="MessageRejected"):
        mail.send(an_entry(), an_email())


def test_a_short_message_names_its_sender(give: Give) -> None:
    calls: list[dict[str, Any]] = []

    def publish(**parameters: Any) -> dict[str, str]:
        calls.append(parameters)
        return {"MessageId": "1"}

    give(boto3_client=boto3_client("sns", publish=publish))  # moto does not keep the attributes
    sms.send(an_entry(text="Hello"), "+27829870001")

    assert calls[0]["MessageAttributes"] == {
        "AWS.SNS.SMS.SMSType": {"DataType": "String", "StringValue": "Transactional"},
        "AWS.SNS.SMS.SenderID": {"DataType": "String", "StringValue": "Payments"},
    }


def test_a_short_message_goes_to_its_number() -> None:
    sms.send(an_entry(text="Hello"), "+27829870002")

    assert [sent.body for sent in messages("+27829870002")] == ["Hello"]


def test_a_short_message_that_is_refused_was_not_sent(give: Give) -> None:
    def refuse(**_: object) -> None:
        raise ClientError({"Error": {"Code": "Throttled", "Message": "+27829870003 has had enough"}}, "Publish")

    give(boto3_client=boto3_client("sns", publish=refuse))

    with pytest.raises(NotSentError, match=r"^Throttled$"):
        sms.send(an_entry(text="Hello"), "+27829870003")


@pytest.mark.parametrize(("gateway", "service", "operation"), [(mail, "sesv2", "send_email"), (sms, "sns", "publish")])
def test_a_sender_without_an_answer_has_not_sent(gateway: Any, service: str, operation: str, give: Give) -> None:
    def hang(**_: object) -> None:
        raise ReadTimeoutError(endpoint_url="https://ses.example")

    give(boto3_client=boto3_client(service, **{operation: hang}))

    with pytest.raises(NotSentError, match="ReadTimeoutError"):
        gateway.send(an_entry(), "+27829870003")


@pytest.mark.parametrize("client", [mail._client, sms._client])  # noqa: SLF001  its configuration is the claim
def test_a_sender_has_three_seconds_and_one_attempt(client: Callable[[], Any]) -> None:
    config = client().meta.config

    assert timedelta(seconds=config.connect_timeout + config.read_timeout) <= timedelta(seconds=3)
    assert config.retries["total_max_attempts"] == 1


@pytest.mark.parametrize("through", ["e-mail", "SMS", "logo"])
def test_a_message_after_a_pause_is_sent_on_a_connection_of_its_own(
    monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    """The peer has forgotten each connection that it kept, as while Lambda sleeps: a second request gets no answer."""
    send: Callable[[int], object] = {
        "e-mail": lambda number: mail.send(an_entry(), f"{number}@shop.example"),
        "SMS": lambda number: sms.send(an_entry(text="Hello"), f"+2782987000{number}"),
        "logo": lambda number: files.get(f"pictures/{number}.png"),
    }[through]
    body = b"<PublishResponse><PublishResult><MessageId>7</MessageId></PublishResult></PublishResponse>"
    body = b'{"MessageId": "7"}' if through == "e-mail" else body

    def answer_once(sock: socket.socket) -> bool:
        [*earlier, last] = [one for one in server.requests if one.connection == server.requests[-1].connection]
        closes = "Connection: close" in last.head
        if not earlier:
            sock.sendall(http(200, body, **({"Connection": "close"} if closes else {})))
        return not earlier and not closes

    files.get.cache_clear()
    with scripted(answer_once) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        for service in ("SESV2", "SNS", "S3"):
            monkeypatch.delenv(f"AWS_ENDPOINT_URL_{service}", raising=False)
        outside.forget()
        for number in range(3):
            send(number)
    outside.forget()
    files.get.cache_clear()

    assert len(server.requests) == server.connections == 3
