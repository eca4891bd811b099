"""E-mail through Amazon SES, from the one address of the stage."""

from email.header import Header
from email.utils import formataddr, parseaddr
from typing import TYPE_CHECKING

from chalicelib.domain.outbox import LOGO_IN_MAIL, NotSentError, Outbox
from chalicelib.gateways import files
from chalicelib.gateways.clients import Once, create
from chalicelib.log import log
from chalicelib.settings import MAX_SWEEP_CONCURRENCY, settings

if TYPE_CHECKING:
    from mypy_boto3_sesv2 import SESV2Client
    from mypy_boto3_sesv2.type_defs import AttachmentTypeDef, BodyTypeDef, ContentTypeDef, MessageTypeDef

NAME_LENGTH = 40  # in any script: SES takes at most 320 characters of an address with its name
WORD_LENGTH = 75  # of an encoded word: RFC 2047


def send(message: Outbox, to: str) -> str:
    """Send one e-mail to one address and return its SES ID; raise NotSentError after six seconds at the latest.

    It brings the logo with it, because a link to it would expire.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  loaded for a message alone

    body: BodyTypeDef = {"Text": {"Data": message.text or "", "Charset": "UTF-8"}}
    if message.html:
        body["Html"] = {"Data": message.html, "Charset": "UTF-8"}
    subject: ContentTypeDef = {"Data": message.subject or "", "Charset": "UTF-8"}
    simple: MessageTypeDef = {"Subject": subject, "Body": body}
    try:
        if message.logo_key:
            simple["Attachments"] = _logo(message.logo_key)
        response = _client().send_email(
            FromEmailAddress=_from(message.sender), Destination={"ToAddresses": [to]}, Content={"Simple": simple}
        )
    except ClientError as error:
        raise NotSentError(error.response["Error"]["Code"]) from error
    except BotoCoreError as error:
        raise NotSentError(type(error).__name__) from error
    return response["MessageId"]


def _logo(name: str) -> "list[AttachmentTypeDef]":
    """Return the picture as the one that the HTML names; none when it is gone: the receipt is without it then."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  loaded for a message alone

    try:
        content = files.get(name)
    except ClientError as error:
        log("logo_missing", name=name, reason=error.response["Error"]["Code"])
        return []
    media = name.rpartition(".")[2]
    return [
        {
            "RawContent": content,
            "FileName": f"logo.{media}",
            "ContentType": f"image/{media}",
            "ContentDisposition": "INLINE",
            "ContentId": LOGO_IN_MAIL.removeprefix("cid:"),
        }
    ]


def _from(sender: str | None) -> str:
    """Return the stage's address under the name of the sender: "Demo Store <receipts@example.com>"."""
    own_name, address = parseaddr(settings().mail_from or "")
    name = (sender or own_name)[:NAME_LENGTH]
    if name.isascii():
        return formataddr((name, address))
    return f"{Header(name, 'utf-8', WORD_LENGTH).encode(linesep='')} <{address}>"


@Once
def _client() -> "SESV2Client":
    # One attempt: a till may be waiting, and the outbox tries again. A repeated attempt would also send a second mail
    # when only the response was lost.
    client: SESV2Client = create("sesv2", attempts=1, read_seconds=2, max_pool_connections=MAX_SWEEP_CONCURRENCY)
    return client
