"""A forgotten password: the link that sets another one, and the e-mails about it. The link is stored as a digest."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chalicelib.domain.agent import ACTIVE, NO_CLIENT, Agent
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.message_limits import Limit
from chalicelib.domain.outbox import EMAIL, NOTICE, RESET, Outbox
from chalicelib.domain.permissions import is_manager
from chalicelib.domain.printed_text import one_line

GOOD_FOR = timedelta(minutes=30)
PER_LOGIN = 3  # links of a day
MINUTES = GOOD_FOR // timedelta(minutes=1)


@dataclass(frozen=True)
class ResetLink:
    """A link, under the digest of its token. It is good for one e-mail and one credential version of the agent.

    So each new password, block and e-mail ends it.
    """

    name: str
    agent_id: int
    email: str
    credential_version: int
    until: datetime
    expires_at: int


def links_of_day(login: str) -> Limit:
    """Return the limit of a login, known or not, by its pseudonym."""
    return Limit(f"resets#{login}", PER_LOGIN)


def new_link(name: str, agent: Agent, now: datetime) -> ResetLink:
    """Return a link of an agent that begins now."""
    until = now + GOOD_FOR
    return ResetLink(name, agent.id, agent.email, agent.credential_version, until, int(until.timestamp()) + 1)


def may_have_link(agent: Agent | None, merchant: Merchant | None) -> bool:
    """Return whether an agent gets a link: an active administrator of an active merchant, or an active system user."""
    if agent is None or agent.deleted or agent.state != ACTIVE or not is_manager(agent):
        return False
    return agent.client_id == NO_CLIENT or bool(merchant and merchant.state == ACTIVE and not merchant.deleted)


def is_good(link: ResetLink, agent: Agent, now: datetime) -> bool:
    """Return whether a link still sets the password of its agent."""
    known = (link.agent_id, link.email, link.credential_version)
    return now < link.until and known == (agent.id, agent.email, agent.credential_version)


def request(entry_id: str, email: str, now: datetime) -> Outbox:
    """Return the e-mail that is owed to a login, known or not. It gets its link when it is sent."""
    return Outbox(entry_id, RESET, NO_CLIENT, (email,), EMAIL, now)


def with_link(entry: Outbox, agent: Agent, address: str) -> Outbox:
    """Return the e-mail with its link."""
    text = (
        f"Hello {one_line(agent.name)},\n\n"
        f"somebody asked for a new password of {agent.email}. Was it you? Then open this link and choose one:\n\n"
        f"{address}\n\n"
        f"The link is good for {MINUTES} minutes, once. It was not you? Then do nothing: your password stays.\n"
    )
    return replace(entry, subject="A new password", text=text)


def dropped(entry: Outbox, now: datetime) -> Outbox:
    """Return an entry whose login gets no link. The store soon deletes it with its address."""
    return replace(entry, to=(), due_at=None, expires_at=int(now.timestamp()))


def changed(entry_id: str, agent: Agent, now: datetime) -> Outbox:
    """Return the e-mail that tells an agent of its new password."""
    text = (
        f"Hello {one_line(agent.name)},\n\n"
        f"the password of {agent.email} was changed by a link. All its sessions have ended.\n"
        "It was not you? Then ask for another link at once, and tell the operator of the service.\n"
    )
    subject = "Your password was changed"
    return Outbox(entry_id, NOTICE, agent.client_id, (agent.email,), EMAIL, now, subject=subject, text=text)
