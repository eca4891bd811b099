"""A forgotten password: the link that sets another one, and the e-mails about it. The link is stored as a digest."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chalicelib.domain.agent import NO_CLIENT, Agent, Login
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.message_limits import PER_ADDRESS, Limit
from chalicelib.domain.outbox import EMAIL, NOTICE, RESET, Outbox
from chalicelib.domain.permissions import is_manager
from chalicelib.domain.printed_text import one_line

GOOD_FOR = timedelta(minutes=30)
PER_LOGIN = 3  # links of a day
MINUTES = GOOD_FOR // timedelta(minutes=1)


@dataclass(frozen=True)
class ResetLink:
    """A link, under the digest of its token. Each change of its agent since it was asked for ends it.

    An e-mail or a right that was given back revives none.
    """

    name: str
    agent_id: int
    email: str
    credential_version: int
    login_version: int
    until: datetime
    expires_at: int


def links_of_day(login: str) -> Limit:
    """Return the limit of a login, known or not, by its pseudonym."""
    return Limit(f"resets#{login}", PER_LOGIN)


def new_link(name: str, agent: Agent, login: Login, now: datetime) -> ResetLink:
    """Return a link of an agent that begins now."""
    until, versions = now + GOOD_FOR, (agent.credential_version, login.agent_version)
    return ResetLink(name, agent.id, agent.email, *versions, until, int(until.timestamp()) + 1)


def may_have_link(agent: Agent | None, merchant: Merchant | None) -> bool:
    """Return whether an agent gets a link: an active administrator of an active merchant, or an active system user."""
    if agent is None or not agent.is_active or not is_manager(agent):
        return False
    return agent.client_id == NO_CLIENT or bool(merchant and merchant.is_active)


def is_good(link: ResetLink, agent: Agent, login: Login, now: datetime) -> bool:
    """Return whether a link still sets the password of its agent."""
    known = (link.agent_id, link.email, link.credential_version)
    is_same = known == (agent.id, agent.email, agent.credential_version)
    return now < link.until and is_same and link.login_version == login.agent_version


def request(entry_id: str, email: str, login: Login | None, limit: Limit, now: datetime) -> Outbox:
    """Return the e-mail that is owed to a login, known or not. It gets its link, and counts, when it is sent."""
    version = login.agent_version if login else None
    return Outbox(entry_id, RESET, NO_CLIENT, (email,), EMAIL, now, counter=limit.name, login_version=version)


def limit_of(entry: Outbox) -> Limit:
    """Return the limit of the address of an owed e-mail. Who sends it may not know the key of the digests."""
    return Limit(entry.counter or "", PER_ADDRESS)


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
