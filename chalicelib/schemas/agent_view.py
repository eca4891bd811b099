"""The view of an agent: the Pos object, alone and in lists."""

from datetime import datetime
from typing import Self

from chalicelib.domain import paging
from chalicelib.domain.agent import Login
from chalicelib.domain.agent_profile import Profile
from chalicelib.domain.effective_settings import effective, effective_printer
from chalicelib.domain.local_time import text_of, zone_of
from chalicelib.domain.permissions import is_administrator
from chalicelib.errors import MAX_VALIDATIONS, Validation
from chalicelib.iso import currency_code
from chalicelib.phone_numbers import format_international
from chalicelib.schemas.base import Answer, View
from chalicelib.schemas.mobile_settings import MobileSettingsView, PrinterView


class LogonView(View):
    """The last logon of an agent, its failed attempts, and the end of its lock."""

    last_logon: str | None
    failed_attempts: int
    locked_until: str | None

    @classmethod
    def of(cls, login: Login, now: datetime, zone: int) -> Self:
        """Return the view of a login, its times in a zone; a lock that has ended is not shown."""
        until = login.locked_until if login.locked_until and login.locked_until > now else None
        return cls(
            last_logon=login.last_logon and text_of(login.last_logon, zone),
            failed_attempts=login.failed_attempts,
            locked_until=until and text_of(until, zone),
        )


class PosView(View):
    """The Pos object: an agent."""

    id: int
    state: int
    account_type_id: int
    name: str
    email: str
    phone: str
    secret_key: str | None
    terminal_id: int | None
    tid: str | None
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
    def of(cls, profile: Profile, now: datetime, gmt: int | None) -> Self:
        """Return the view of an agent, its times in the zone of the request's `gmt`.

        A field that it does not set is its merchant's.
        """
        agent, merchant = profile.agent, profile.merchant
        currency = agent.currency_id or merchant.currency_id
        in_force = effective(agent.mobile_settings, merchant.mobile_settings)
        printer = effective_printer(agent.printer, merchant.printer)
        return cls.carried(
            agent,
            phone=format_international(agent.phone),
            secret_key=profile.secret_key and profile.secret_key.reveal(),
            tid=profile.tid,
            logon=profile.login and LogonView.of(profile.login, now, zone_of(gmt, merchant.gmt)),
            avatar_url=profile.avatar_url,
            has_avatar=agent.avatar_key is not None,
            is_administrator=is_administrator(agent),
            country_id=agent.country_id or merchant.country_code,
            currency_id=currency and currency_code(currency),
            f_inst_id=merchant.financial_institution_id,
            mobile_settings=MobileSettingsView.of(agent.mobile_settings, in_force),
            printer_and_tax_settings=PrinterView.of(agent.printer, printer),
        )


class PosAnswer(Answer):
    """The answer to creating, updating and getting an agent."""

    pos: PosView | None

    @classmethod
    def of(cls, profile: Profile, now: datetime, gmt: int | None) -> Self:
        """Return the answer with an agent."""
        return cls(pos=PosView.of(profile, now, gmt))


class BulkAnswer(Answer):
    """The answer to updating several agents: the findings about those that were not updated."""

    pos: PosView | None = None

    @classmethod
    def of(cls, findings: list[Validation]) -> Self:
        """Return the answer with the findings; its ErrorCode is 0, because the other agents were updated."""
        return cls(validations=[item.on_the_wire() for item in findings[:MAX_VALIDATIONS]] or None)


class PosCounters(View):
    """The numbers of agents and pages of a list."""

    pagesize: int
    item_count_page: int
    item_count_ttl: int
    page_count: int


class PosListAnswer(Answer):
    """The answer to searching agents."""

    pos_list: list[PosView]
    pos_counters: PosCounters

    @classmethod
    def of(cls, page: list[Profile], total: int, now: datetime, gmt: int | None) -> Self:
        """Return the answer with one page of the matching agents; `total` is the number of all of them."""
        counters = PosCounters(
            pagesize=paging.PAGE_SIZE,
            item_count_page=len(page),
            item_count_ttl=total,
            page_count=paging.page_count(total),
        )
        return cls(pos_list=[PosView.of(profile, now, gmt) for profile in page], pos_counters=counters)
