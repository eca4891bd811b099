"""E-mail through Amazon SES, from the stage's only sender address."""

from dataclasses import dataclass
from email.header import Header
from email.utils import formataddr, parseaddr
from itertools import islice
from typing import TYPE_CHECKING

from chalicelib import outside
from chalicelib.domain.outbox import LOGO_IN_MAIL, NotSentError, Outbox
from chalicelib.domain.printed_text import letters, without_last
from chalicelib.gateways import files
from chalicelib.log import log
from chalicelib.settings import settings

if TYPE_CHECKING:
    from mypy_boto3_sesv2 import SESV2Client
    from mypy_boto3_sesv2.type_defs import BodyTypeDef, EmailContentTypeDef, SendEmailRequestTypeDef

NAME_LENGTH = 40  # letters of a merchant's name
MAX_SENDER = 320  # characters of an address with its name that SES takes
WORD_LENGTH = 75  # the longest encoded word (RFC 2047)


def send(message: Outbox, to: str) -> str:
    """Send one e-mail to one address and return its SES ID; raise NotSentError within six seconds.

    The logo is attached, because a link to it would expire.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  only needed for a message

    sender = _from(message.sender)
    try:
        logo = _logo(message.logo_key) if message.logo_key else None
        content = _with_logo(message, sender, to, logo) if logo else _simple(message)
        request: SendEmailRequestTypeDef = {
            "FromEmailAddress": sender,
            "Destination": {"ToAddresses": [to]},
            "Content": content,
        }
        if configuration_set := settings().mail_configuration_set:
            request["ConfigurationSetName"] = configuration_set
        response = _client().send_email(**request)
    except ClientError as error:
        raise NotSentError(error.response["Error"]["Code"]) from error
    except BotoCoreError as error:
        raise NotSentError(type(error).__name__) from error
    return response["MessageId"]


@dataclass(frozen=True)
class _Logo:
    """A picture to send, and its kind: png or jpeg."""

    content: bytes
    kind: str


def _logo(name: str) -> _Logo | None:
    """Return the picture; None when it is gone, so that the receipt is sent without it."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  only needed for a message

    try:
        return _Logo(files.get(name), name.rpartition(".")[2])
    except ClientError as error:
        log("logo_missing", name=name, reason=error.response["Error"]["Code"])
        return None


def _simple(message: Outbox) -> "EmailContentTypeDef":
    body: BodyTypeDef = {"Text": {"Data": message.text or "", "Charset": "UTF-8"}}
    if message.html:
        body["Html"] = {"Data": message.html, "Charset": "UTF-8"}
    return {"Simple": {"Subject": {"Data": message.subject or "", "Charset": "UTF-8"}, "Body": body}}


def _with_logo(message: Outbox, sender: str, to: str, logo: _Logo) -> "EmailContentTypeDef":
    """Return the raw e-mail: HTML with the attached picture.

    SES could build it, but only with a botocore of 2025, which some Lambda runtimes lack.
    """
    from email.mime.image import MIMEImage  # noqa: PLC0415  only needed for a logo
    from email.mime.multipart import MIMEMultipart  # noqa: PLC0415
    from email.mime.text import MIMEText  # noqa: PLC0415

    picture = MIMEImage(logo.content, logo.kind)
    picture["Content-ID"] = f"<{LOGO_IN_MAIL.removeprefix('cid:')}>"
    picture.add_header("Content-Disposition", "inline", filename=f"logo.{logo.kind}")
    html = MIMEMultipart("related", _subparts=[MIMEText(message.html or "", "html", "utf-8"), picture])
    mail = MIMEMultipart("alternative", _subparts=[MIMEText(message.text or "", "plain", "utf-8"), html])
    mail["From"], mail["To"] = sender, to
    mail["Subject"] = Header(message.subject or "", "utf-8", WORD_LENGTH, "Subject").encode(linesep="")
    return {"Raw": {"Data": mail.as_bytes(policy=mail.policy.clone(linesep="\r\n"))}}


def _from(sender: str | None) -> str:
    """Return the stage's address under the names of the sender and the stage: "Demo Store by Payments <…>".

    A merchant chooses its own name, also the name of somebody's bank. So the stage says that it sends.
    """
    own_name, address = parseaddr(settings().mail_from or "")
    if sender is None:
        return _named(own_name, address)
    stage = own_name or address.rpartition("@")[2]
    name = "".join(islice(letters(sender), NAME_LENGTH))
    while name and len(_named(f"{name} by {stage}", address)) > MAX_SENDER:
        name = without_last(name)
    return _named(f"{name} by {stage}", address)


def _named(name: str, address: str) -> str:
    if name.isascii():
        return formataddr((name, address))
    return f"{Header(name, 'utf-8', WORD_LENGTH).encode(linesep='')} <{address}>"


@outside.made_once
def _client() -> "SESV2Client":
    # One attempt: a till may be waiting, and the outbox tries again. If only the response was lost, a second attempt
    # would also send a second e-mail.
    client: SESV2Client = outside.current.boto3_client("sesv2", attempts=1, read_seconds=2)
    return client
