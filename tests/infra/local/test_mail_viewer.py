"""The page of the messages that the local stage has sent."""

import http.client
from base64 import b64encode

import boto3
import pytest

from chalicelib.domain.picture import Picture
from chalicelib.gateways import files, mail
from infra.local import aws_server, mail_viewer, ports
from tests.support.builders import PNG, an_email
from tests.support.receipts import an_entry

pytestmark = pytest.mark.usefixtures("aws")


def shown() -> tuple[int, str, str]:
    """Return status, content security policy and body of the page."""
    with aws_server.serve(ports.free_port()) as url:
        connection = http.client.HTTPConnection(url.removeprefix("http://"))
        connection.request("GET", mail_viewer.PATH)
        response = connection.getresponse()
        return response.status, response.headers["Content-Security-Policy"], response.read().decode()


def test_mails_and_text_messages_are_shown_and_nothing_in_them_is_run() -> None:
    content = {
        "Subject": {"Data": "Lunch <b>&</b>"},
        "Body": {"Html": {"Data": "<p>Paid</p><script>alert(1)</script>"}, "Text": {"Data": "Paid"}},
    }
    boto3.client("sesv2").send_email(
        FromEmailAddress="receipts@payments.example",
        Destination={"ToAddresses": ["ann@example.com"]},
        Content={"Simple": content},  # type: ignore[typeddict-item]
    )
    boto3.client("sns").publish(PhoneNumber="+27829876543", Message="Paid <i>12.30</i>")

    status, policy, page = shown()

    assert status == 200
    assert "script-src" not in policy
    assert policy.startswith("default-src 'none'")
    assert "<h3>Lunch &lt;b&gt;&amp;&lt;/b&gt;</h3>" in page
    assert "ann@example.com" in page
    assert "Paid &lt;i&gt;12.30&lt;/i&gt;" in page
    assert "<script" not in page
    assert "<iframe sandbox title" in page


def test_a_picture_that_a_mail_brings_is_shown_in_it() -> None:
    to = an_email()
    files.put("merchants/7/shown.png", Picture(PNG, "image/png"))
    mail.send(an_entry(subject="Zoë's <b>", html='<img src="cid:logo">', logo_key="merchants/7/shown.png"), to)

    _, policy, page = shown()

    assert "img-src data:" in policy
    assert to in page
    assert "<h3>Zoë&#x27;s &lt;b&gt;</h3>" in page
    assert f"src=&quot;data:image/png;base64,{b64encode(PNG).decode()}&quot;" in page
