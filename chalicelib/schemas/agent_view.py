"""How an agent is shown: the Pos object, alone and in lists."""

from datetime import datetime
from typing import Self

from chalicelib.domain.agent import Login
from chalicelib.domain.agent_profile import Profile
from chalicelib.domain.effective_settings import effective, effective_printer
from chalicelib.domain.permissions import is_administrator
from chalicelib.errors import Validation
from chalicelib.phone_numbers import international
from chalicelib.schemas.base import Answer, View
from chalicelib.schemas.mobile_settings import MobileSettingsView, PrinterView
from chalicelib.schemas.transaction_parts import moment


class LogonView(View):
    """When the agent last signed in, and what stands in its way."""

    last_logon: str | None
    failed_attempts: int
    locked_until: str | None

    @classmethod
    def of(cls, login: Login, now: datetime, gmt: int | None) -> Self:
        """The state of the login; a lock that is over is none."""
        until = login.locked_until if login.locked_until and login.locked_until > now else None
        return cls(
            last_logon=login.last_logon and moment(login.last_logon, gmt),
            failed_attempts=login.failed_attempts,
            locked_until=until and moment(until, gmt),
        )


class PosView(View):
    """The Pos object."""

    id: int
    state: int
    account_type_id: int
    name: str
    email: str
    phone: str
    secret_key: str | None
    logon: LogonView | None
    avatar_url: str | None
    has_avatar: bool
    is_administrator: bool
    is_system_user: bool
    deleted: bool
    country_id: str
    currency_id: str | None
    f_inst_id: int
    client_id: int
    mobile_settings: MobileSettingsView
    printer_and_tax_settings: PrinterView

    @classmethod
    def of(cls, profile: Profile, now: datetime, gmt: int | None = None) -> Self:
        """The agent as it is shown, times shifted by `gmt` hours; what it has not of its own is its merchant's."""
        agent, merchant = profile.agent, profile.merchant
        in_force = effective(agent.mobile_settings, merchant.mobile_settings)
        printer = effective_printer(agent.printer, merchant.printer)
        same = ("id", "state", "account_type_id", "name", "email", "is_system_user", "deleted", "client_id")
        return cls(
            **{name: getattr(agent, name) for name in same},
            phone=international(agent.phone),
            secret_key=profile.secret_key and profile.secret_key.reveal(),
            logon=profile.login and LogonView.of(profile.login, now, gmt),
            avatar_url=profile.avatar_url,
            has_avatar=agent.avatar_key is not None,
            is_administrator=is_administrator(agent),
            country_id=agent.country_id or merchant.country_code,
            currency_id=agent.currency_id or merchant.currency_id,
            f_inst_id=merchant.financial_institution_id,
            mobile_settings=MobileSettingsView.of(agent.mobile_settings, in_force),
            printer_and_tax_settings=PrinterView.of(agent.printer, printer),
        )


class PosAnswer(Answer):
    """What creating, updating and getting an agent answer."""

    pos: PosView | None

    @classmethod
    def of(cls, profile: Profile, now: datetime, gmt: int | None = None) -> Self:
        """The agent, enveloped."""
        return cls(pos=PosView.of(profile, now, gmt))


class BulkAnswer(Answer):
    """What updating several agents answers: what could not be done."""

    pos: None = None

    @classmethod
    def of(cls, problems: list[Validation]) -> Self:
        """The problems, under ErrorCode 0: whatever was right is done."""
        return cls(validations=[item.on_the_wire() for item in problems] or None)


class PosCounters(View):
    """How many there are, and how they are paged."""

    pagesize: int
    item_count_page: int
    item_count_ttl: int
    page_count: int


class PosListAnswer(Answer):
    """What searching agents answers."""

    pos_list: list[PosView]
    pos_counters: PosCounters

    @classmethod
    def of(cls, page: list[PosView], total: int, size: int) -> Self:
        """One page of all that match."""
        counters = PosCounters(
            pagesize=size, item_count_page=len(page), item_count_ttl=total, page_count=-(-total // size)
        )
        return cls(pos_list=page, pos_counters=counters)
