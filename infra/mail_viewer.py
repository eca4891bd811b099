"""A page of the local stage: the e-mails and text messages it has sent, newest first."""

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ses.models import ses_backends
from moto.sns.models import sns_backends

from infra.engines import REGION

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse

PATH = "/mail"
SHOWN = 50  # of each kind
# An e-mail is shown in a frame that may run nothing, load nothing from elsewhere and open nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Messages of the local stage</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 1rem auto; padding: 0 1rem; }}
article {{ border: 1px solid; border-radius: .5rem; padding: .5rem 1rem; margin: 1rem 0; }}
iframe {{ width: 100%; height: 30rem; border: 0; background: white; }}
h3, p {{ margin: 0; overflow-wrap: anywhere; }}
</style>
<h1>Messages of the local stage</h1>
<h2>E-mails</h2>
{mails}
<h2>Text messages</h2>
{texts}
</html>
"""


def page(start_response: "StartResponse") -> Iterable[bytes]:
    """Answer with the page. The caller holds the lock of moto."""
    mails = ses_backends[DEFAULT_ACCOUNT_ID][REGION].sent_messages
    texts = sns_backends[DEFAULT_ACCOUNT_ID][REGION].sms_messages.values()
    shown = PAGE.format(
        mails=_listed([_mail(mail) for mail in mails]), texts=_listed([_text(*message) for message in texts])
    )
    headers = [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", POLICY)]
    start_response("200 OK", headers)
    return [shown.encode()]


def _listed(articles: list[str]) -> str:
    """Return the latest of them, newest first."""
    return "\n".join(articles[: -SHOWN - 1 : -1]) or "<p>None was sent.</p>"


def _mail(mail: Any) -> str:
    to = ", ".join(mail.destinations.get("ToAddresses", []))
    frame = f'<iframe sandbox title="{escape(mail.subject)}" srcdoc="{escape(mail.body)}"></iframe>'
    body = frame if mail.body.lstrip().startswith("<") else f"<pre>{escape(mail.body)}</pre>"
    facts = f"<p>to {escape(to)}, from {escape(mail.source)}</p>"
    return f"<article><h3>{escape(mail.subject)}</h3>{facts}{body}</article>"


def _text(number: str, text: str) -> str:
    return f"<article><h3>to {escape(str(number))}</h3><p>{escape(text)}</p></article>"
