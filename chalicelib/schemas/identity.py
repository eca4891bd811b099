"""The answer of user/me: who the caller is."""

from datetime import datetime
from typing import Self

from chalicelib.domain.agent import Agent
from chalicelib.domain.local_time import text_of, zone_of
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.period import business_day
from chalicelib.domain.permissions import is_administrator
from chalicelib.schemas.base import Answer, View


class IdentityView(View):
    """The caller and its merchant; a system user has none, and the zone UTC."""

    agent_id: int
    name: str
    email: str
    client_id: int
    client_name: str | None
    currency_id: str | None
    gmt: int
    today: str
    is_administrator: bool
    is_system_user: bool
    rights: list[int]
    expires_at: str | None


class IdentityAnswer(Answer):
    """The answer of user/me."""

    data: IdentityView

    @classmethod
    def of(
        cls, agent: Agent, merchant: Merchant | None, session_ends_at: datetime | None, now: datetime, gmt: int | None
    ) -> Self:
        """Return the answer with an agent, its merchant, and the end of its session in the zone of the request."""
        own = merchant.gmt if merchant else 0
        view = IdentityView.carried(
            agent,
            agent_id=agent.id,
            client_name=merchant.name if merchant else None,
            currency_id=merchant.currency_id if merchant else None,
            gmt=own,
            today=business_day(now, own).isoformat(),
            is_administrator=is_administrator(agent),
            rights=sorted(agent.rights),
            expires_at=session_ends_at and text_of(session_ends_at, zone_of(gmt, own)),
        )
        return cls(data=view)
