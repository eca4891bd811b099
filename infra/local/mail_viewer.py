"""The e-mails and text messages that the local stage has sent: as a page, newest first, and as JSON, oldest first."""

import contextlib
import email
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import default
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ses.models import ses_backends
from moto.sns.models import sns_backends

from chalicelib import outside
from chalicelib.domain.outbox import EMAIL, Outbox
from chalicelib.gateways import mail as ses
from chalicelib.gateways import sms as sns
from infra.stack.resources import REGION

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

PATH, JSON_PATH = "/mail", "/mail.json"
SHOWN = 50  # of each kind
# The frame of an e-mail may run no script, load nothing from elsewhere and open no window.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
PAGE = Path(__file__).with_name("mail.html").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Mail:
    """An e-mail that moto's SES received. `pictures` has the data of the pictures in its HTML, by address."""

    to: tuple[str, ...]
    source: str
    subject: str
    body: str
    pictures: Mapping[str, str]


def sent_mails() -> list[Mail]:
    """Return the e-mails, the latest last."""
    return [_read(mail) for mail in list(ses_backends[DEFAULT_ACCOUNT_ID][REGION].sent_messages)]


def _read(mail: Any) -> Mail:
    """Return an e-mail, whether SES received it in parts or whole."""
    if not hasattr(mail, "raw_data"):
        return Mail(tuple(mail.destinations.get("ToAddresses", ())), mail.source, mail.subject, mail.body, {})
    return _read_whole(mail.raw_data, mail.source)


@lru_cache(1000)
def _read_whole(raw: str, source: str) -> Mail:
    whole = email.message_from_string(raw, EmailMessage, policy=default)
    body = whole.get_body(("html", "plain"))
    text = body.get_content().replace("\r\n", "\n").removesuffix("\n") if body else ""
    pictures = {f"cid:{part['Content-ID'][1:-1]}": _data_of(part) for part in whole.walk() if part["Content-ID"]}
    return Mail((whole["To"],), source, whole["Subject"], text, pictures)


recorded: list[dict[str, str | None]] = []  # since the last reset, oldest first: To, Subject, Text, Html, SMS


@contextlib.contextmanager
def recording() -> Iterator[None]:
    """Record what this process sends in the block: moto keeps e-mails and texts in two lists, and no second body."""
    with outside.given(send_mail=_recorded(ses.send), send_sms=_recorded(sns.send)):
        yield


def _recorded(send: Callable[[Outbox, str], str]) -> Callable[[Outbox, str], str]:
    def send_and_record(message: Outbox, to: str) -> str:
        message_id = send(message, to)
        is_mail = message.channel == EMAIL
        parts = (message.subject, message.text, message.html, None) if is_mail else (None, None, None, message.text)
        recorded.append(dict(zip(("To", "Subject", "Text", "Html", "SMS"), (to, *parts), strict=True)))
        return message_id

    return send_and_record


def page(start_response: "StartResponse") -> Iterable[bytes]:
    """Answer with the page. The caller holds the lock of moto."""
    texts = sns_backends[DEFAULT_ACCOUNT_ID][REGION].sms_messages.values()
    shown = PAGE.format(
        mails=_listed([_mail(mail) for mail in sent_mails()]), texts=_listed([_text(*message) for message in texts])
    )
    headers = [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", POLICY)]
    start_response("200 OK", headers)
    return [shown.encode()]


def _data_of(part: Any) -> str:
    return f"data:{part.get_content_type()};base64,{b64encode(part.get_content()).decode()}"


def _listed(articles: list[str]) -> str:
    return "\n".join(articles[: -SHOWN - 1 : -1]) or "<p>None was sent.</p>"


def _mail(mail: Mail) -> str:
    body = mail.body
    for address, data in mail.pictures.items():
        body = body.replace(f'src="{address}"', f'src="{data}"')
    frame = f'<iframe sandbox title="{escape(mail.subject)}" srcdoc="{escape(body)}"></iframe>'
    shown = frame if body.lstrip().startswith("<") else f"<pre>{escape(body)}</pre>"
    facts = f"<p>to {escape(', '.join(mail.to))}, from {escape(mail.source)}</p>"
    return f"<article><h3>{escape(mail.subject)}</h3>{facts}{shown}</article>"


def _text(number: str, text: str) -> str:
    return f"<article><h3>to {escape(str(number))}</h3><p>{escape(text)}</p></article>"
