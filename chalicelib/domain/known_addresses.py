"""The addresses from which a system user signs in. The others are told of a new one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.domain.agent import NO_CLIENT, Agent
from chalicelib.domain.outbox import EMAIL, NOTICE, Outbox
from chalicelib.domain.printed_text import one_line

KNOWN_FOR = timedelta(days=90)  # after the last sign-in


@dataclass(frozen=True)
class KnownAddress:
    """An address from which a system user signed in. Its name has a digest of it."""

    name: str
    until: datetime
    expires_at: int


def known_address(name: str, now: datetime) -> KnownAddress:
    """Return an address that is known from now on."""
    until = now + KNOWN_FOR
    return KnownAddress(name, until, int(until.timestamp()) + 1)


def new_address(entry_id: str, agent: Agent, source: str, to: Sequence[str], now: datetime) -> Outbox:
    """Return the e-mail that tells the other system users of a sign-in."""
    text = (
        f"System user {agent.id}, {one_line(agent.name)} ({agent.email}), signed in from a new address: {source},\n"
        f"at {now:%Y-%m-%d %H:%M} UTC.\n\n"
        "Do you not expect it? Ask them by telephone. Was it somebody else? Then block this system user at once:\n"
        f"python -m infra.operator system-users block --email {agent.email}\n"
    )
    subject = f"New sign-in of {one_line(agent.name)}"
    return Outbox(entry_id, NOTICE, NO_CLIENT, tuple(to), EMAIL, now, subject=subject, text=text)
