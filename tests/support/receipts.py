"""Builders of outbox entries, and the messages that moto's SES and SNS were given to send."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ses.models import SESBackend, ses_backends
from moto.sns.models import sns_backends

from chalicelib.domain import outbox
from chalicelib.domain.outbox import EMAIL, RECEIPT, SMS, Outbox
from chalicelib.store import due_records
from chalicelib.store import outbox as outbox_store
from infra.local import mail_viewer
from infra.stack.resources import REGION
from tests.support.builders import an_email
from tests.support.transactions import a_guid

_moments: Iterator[int] = itertools.count()
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


def a_moment() -> datetime:
    """A time of its own, before anything another test left due."""
    return LONG_AGO - timedelta(days=next(_moments))


def an_entry(**changes: Any) -> Outbox:
    """A welcome mail, just written."""
    facts: dict[str, Any] = {
        "id": a_guid(),
        "kind": RECEIPT,
        "client_id": 7,
        "to": (an_email(),),
        "channel": EMAIL,
        "created_at": a_moment(),
        "subject": "Hello",
        "text": "Hello, world.",
    }
    return Outbox(**{**facts, **changes})


def when_due(entry: Outbox) -> datetime:
    """The moment it belongs to nobody any more."""
    return entry.created_at + outbox.HELD_FOR


def due_ids(now: datetime) -> list[str]:
    """List the IDs of the entries that are due as the sweep reads them: e-mails, then short messages."""
    return [due.id for channel in (EMAIL, SMS) for due in due_records.of_lane(outbox_store.TABLE, channel, now)]


@dataclass(frozen=True)
class Sent:
    """One mail or short message."""

    to: str
    subject: str
    body: str
    source: str = ""


def ses() -> SESBackend:
    """The local SES."""
    return ses_backends[DEFAULT_ACCOUNT_ID][REGION]


def mails(to: str) -> list[Sent]:
    """Return the e-mails SES was given for an address."""
    return [Sent(to, mail.subject, mail.body, mail.source) for mail in mail_viewer.sent_mails() if to in mail.to]


def messages(to: str) -> list[Sent]:
    """Return the messages SNS was given for a number."""
    sent = sns_backends[DEFAULT_ACCOUNT_ID][REGION].sms_messages
    return [Sent(to, "", text) for number, text in list(sent.values()) if number == to]
