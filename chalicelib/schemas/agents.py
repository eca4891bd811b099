"""Requests to create, update and search agents, and the view of an agent (the Pos object)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PlainValidator, ValidationError, WithJsonSchema

from chalicelib.domain import paging
from chalicelib.domain.agent import ACCOUNT_AGENT, ACTIVE, BLOCKED, Agent, BranchActions, Login
from chalicelib.domain.agent_assignments import Profile
from chalicelib.domain.business_days import text_of, zone_of
from chalicelib.domain.effective_settings import effective, effective_printer
from chalicelib.domain.message_limits import PER_ADDRESS, WELCOMES_PER_MERCHANT
from chalicelib.domain.permissions import Right, is_administrator, rights_of
from chalicelib.domain.sessions import RememberedSession
from chalicelib.errors import WARNING, Check, ErrorCode, Validation, invalid
from chalicelib.iso_codes import currency_code
from chalicelib.schemas.base import (
    Answer,
    Identifier,
    Request,
    Rule,
    RuledRequest,
    State,
    Text,
    View,
    contradiction,
    fields_of,
    problem,
    validations_of,
    views_of,
)
from chalicelib.schemas.bodies import unread
from chalicelib.schemas.field_types import (
    CountryCode,
    CurrencyID,
    Email,
    Image,
    JsonObject,
    NewSecretKey,
    Password,
    Phone,
    SecretKey,
    shared_fields,
)
from chalicelib.schemas.misplaced_names import refused_in_item
from chalicelib.schemas.mobile_settings import MobileSettingsIn, MobileSettingsView, PrinterIn, PrinterView
from chalicelib.schemas.names import Name
from chalicelib.schemas.request_context import Context

MAX_RIGHTS, MAX_BRANCHES = 100, 10  # every payment reads the record, so it must stay small
CONVERTED = {"id", "client_id", "terminal_id", "branches_actions", "mobile_settings"}


class BranchActionsIn(Request):
    """The rights of an agent within a branch."""

    branch_id: Identifier
    actions: Annotated[list[Identifier], Field(max_length=MAX_RIGHTS)]

    def to_domain(self) -> BranchActions:
        """Return the rights, each once."""
        return BranchActions(self.branch_id, tuple(dict.fromkeys(self.actions)))


Rights = Annotated[list[BranchActionsIn], Field(max_length=MAX_BRANCHES)]


def rights_fields(sent: Rights | None) -> dict[str, Any]:
    """Return the field of the agent's record with these rights; none when a request changes no rights."""
    return {} if sent is None else {"branches_actions": tuple(item.to_domain() for item in sent)}


def branches_of(sent: Rights | None, path: str) -> dict[str, int]:
    """Return the branches that rights name, by the path of each, under the path of the rights."""
    return {f"{path}[{number}].branch_id": item.branch_id for number, item in enumerate(sent or ())}


class _Agent(Context):
    PATHS: ClassVar[Mapping[str, str]] = {
        "printer.printer_id": "PrinterAndTaxSettings.PrinterID",
        "printer.printer_code": "PrinterAndTaxSettings.PrinterCode",
    }
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.EMAIL_TAKEN: "Email"}
    JUDGED: ClassVar[tuple[str, ...]] = (
        *("terminal_id", "tid", "email", "password", "secret_key", "branches_actions.branch_id"),
        *("printer_and_tax_settings.printer_id", "printer_and_tax_settings.printer_code"),
    )

    terminal_id: Identifier | None = None
    tid: Name | None = None
    state: State | None = None
    password: Password | None = None
    secret_key: SecretKey | None = None
    address_de_facto: Text | None = None
    mobile_settings: MobileSettingsIn | None = None
    printer_settings: JsonObject | None = None
    printer_and_tax_settings: PrinterIn | None = None
    branches_actions: Rights | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the agent's record that are stored unchanged, and its rights if the request has any."""
        return shared_fields(self, Agent, without=CONVERTED) | rights_fields(self.branches_actions)


class CreateAgent(_Agent):
    """The body of merchant/{merchantId}/pos/create."""

    JUDGED: ClassVar[tuple[str, ...]] = (*_Agent.JUDGED, "branch_id", "client_id")

    name: Name
    email: Email
    phone: Phone
    branch_id: Identifier
    client_id: Identifier
    send_welcome_email: bool | None = None
    account_type: Identifier | None = None
    image_avatar: Image | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the agent's record that come from the request, except references and secrets."""
        return super().record_fields() | {
            "account_type_id": ACCOUNT_AGENT if self.account_type is None else self.account_type,
            "mobile_settings": self.mobile_settings.to_domain() if self.mobile_settings else None,
        }


MAX_ENDED = 50  # sessions in one transaction of the store


def _end_sessions(value: Any) -> bool | tuple[str, ...] | None:
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise problem(Check.TYPE, "true, or a list of IDs is expected.")
    if len(value) > MAX_ENDED:
        raise problem(Check.TOO_LONG, f"At most {MAX_ENDED} items are expected.")
    return tuple(value)


# Generated clients have no type for "Boolean or list".
EndSessions = Annotated[bool | tuple[str, ...] | None, PlainValidator(_end_sessions), WithJsonSchema({})]


class UpdateAgent(_Agent, RuledRequest):
    """The body of merchant/{merchantId}/pos/{posId}/update."""

    DECIDING: ClassVar[frozenset[str]] = frozenset(("TotpOff",))
    JUDGED: ClassVar[tuple[str, ...]] = (*_Agent.JUDGED, "id", "totp_off")
    RULES: ClassVar[Sequence[Rule]] = (
        contradiction(
            ("unlock", "state"),
            "unlock",
            "Unlock makes the agent active and State 0 blocks it.",
            lambda agent: agent.unlock and agent.state == BLOCKED,
        ),
        contradiction(
            ("phone_null", "phone"),
            "phone_null",
            "Phone gives a telephone number and PhoneNull clears it.",
            lambda agent: agent.phone_null and agent.phone is not None,
        ),
        contradiction(
            ("tid_null", "tid", "terminal_id"),
            "tid_null",
            "The request names a terminal and TIDNull clears it.",
            lambda agent: agent.tid_null and (agent.tid, agent.terminal_id) != (None, None),
        ),
    )

    id: Identifier | None = None
    name: Name | None = None
    email: Email | None = None
    phone: Phone | None = None
    country_id: CountryCode | None = None
    currency_id: CurrencyID | None = None
    language_id: Text | None = None
    unlock: bool | None = None
    end_sessions: EndSessions = None
    secret_key: NewSecretKey = None
    phone_null: bool | None = None
    tid_null: bool | None = Field(None, alias="TIDNull")
    totp_off: bool | None = None
    tax_id: Text | None = None
    user_kind_id: Identifier | None = None
    image: Image | None = None
    server_fiscalization: JsonObject | None = None
    acquirers_settings: JsonObject | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the agent's record to change, except references, secrets and mobile settings."""
        cleared: dict[str, Any] = {"phone": ""} if self.phone_null else {}
        cleared |= {"terminal_id": None} if self.tid_null else {}
        cleared |= {"totp_on": False} if self.totp_off else {}
        return super().record_fields() | cleared | ({"state": ACTIVE} if self.unlock else {})


class ReadableItem(Request):
    """The readable fields of an item of a batch. An unreadable e-mail is empty."""

    JUDGED: ClassVar[tuple[str, ...]] = (
        *("email", "state", "branches_actions.branch_id"),
        *("printer_and_tax_settings.printer_id", "printer_and_tax_settings.printer_code"),
    )

    email: Annotated[Text, Field(min_length=1)] = ""
    state: State | None = None
    printer_and_tax_settings: PrinterIn | None = None
    branches_actions: Rights | None = None

    @property
    def takes_administration(self) -> bool:
        """Return whether the item takes the right of an administrator away, if the agent has it."""
        rights = self.branches_actions
        return rights is not None and not any(Right.ADMINISTRATOR in (one.actions or ()) for one in rights)


class BulkItem(ReadableItem):
    """The changes of one agent. A text that is no e-mail address matches no agent (563)."""

    REFUSED: ClassVar[Mapping[str, str]] = {
        name.lower(): "A batch does not change it: pos/update does."
        for name in fields_of(UpdateAgent).names - fields_of(ReadableItem).names - fields_of(Context).names
    }

    email: Annotated[Text, Field(min_length=1)]


class BulkUpdate(Context):
    """The body of merchant/{merchantId}/pos/updatebulk. An invalid item does not prevent the others."""

    ITEMS: ClassVar[Mapping[str, type[Request]]] = {"PosBulk": BulkItem}
    JUDGED: ClassVar[tuple[str, ...]] = ("pos_bulk",)
    FINDINGS_NAME_VALUES: ClassVar[bool] = True
    MOST_FINDINGS: ClassVar[int] = 300

    pos_bulk: list[Any]

    def read_items(self) -> list[tuple[ReadableItem, list[Validation]]]:
        """Return the readable fields of each item, and the findings about its other fields."""
        return [_read_item(f"PosBulk[{number}]", item) for number, item in enumerate(self.pos_bulk)]


def _read_item(path: str, sent: Any) -> tuple[ReadableItem, list[Validation]]:
    refused = refused_in_item(BulkItem, sent, path)
    try:
        return BulkItem.model_validate(sent), refused
    except ValidationError as error:
        findings = [*(_within(path, finding) for finding in validations_of(error)), *refused]
        return unread(ReadableItem, sent if isinstance(sent, dict) else {}, invalid()), findings


def _within(path: str, finding: Validation) -> Validation:
    name = f"{path}.{finding.field}".removesuffix(".")
    return Validation(name, finding.code, finding.message)


class ListAgents(Context):
    """The body of merchant/{merchantId}/pos/list; an absent field does not filter."""

    email: Text | None = None
    search: Text | None = None
    state: State | None = None
    page: Identifier | None = None


def welcome_warning(*, withheld: bool) -> list[dict[str, Any]] | None:
    """Return the `Validations` of a new record whose welcome e-mail was withheld."""
    if not withheld:
        return None
    message = f"No welcome e-mail is sent: a merchant has {WELCOMES_PER_MERCHANT} a day, an address {PER_ADDRESS}."
    return [Validation("SendWelcomeEmail", Check.OUT_OF_RANGE, message, WARNING).on_the_wire()]


class LogonView(View):
    """The last logon of an agent, its failed attempts, and the end of its lock."""

    last_logon: str | None
    failed_attempts: int
    locked_until: str | None

    @classmethod
    def of(cls, login: Login, now: datetime, zone: int) -> Self:
        """Return the view of a login, with times in a zone. A lock that has ended is not shown."""
        until = login.locked_until if login.locked_until and login.locked_until > now else None
        return cls(
            last_logon=login.last_logon and text_of(login.last_logon, zone),
            failed_attempts=login.failed_attempts,
            locked_until=until and text_of(until, zone),
        )


class SessionView(View):
    """A remembered session of an agent. Its ID is not the session: nobody signs in with it."""

    id: str
    started: str
    last_used: str
    device: str | None

    @classmethod
    def of(cls, session: RememberedSession, zone: int) -> Self:
        """Return the view of a session, with times in a zone."""
        started, last_used = (text_of(at, zone) for at in (session.opened_at, session.used_at))
        return cls(id=session.name, started=started, last_used=last_used, device=session.device)


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
    sessions: list[SessionView] | None
    avatar_url: str | None
    has_avatar: bool
    is_administrator: bool
    rights: list[int]
    is_system_user: bool
    totp_on: bool
    deleted: bool
    country_id: str
    currency_id: str | None
    f_inst_id: int
    client_id: int
    mobile_settings: MobileSettingsView
    printer_and_tax_settings: PrinterView

    @classmethod
    def of(cls, profile: Profile, now: datetime, gmt: int | None) -> Self:
        """Return the view of an agent, with times in the zone of the request's `gmt`.

        A field that the agent does not set has its merchant's value.
        """
        agent, merchant = profile.agent, profile.merchant
        currency = agent.currency_id or merchant.currency_id
        in_force = effective(agent.mobile_settings, merchant.mobile_settings)
        printer = effective_printer(agent.printer, merchant.printer)
        zone = zone_of(gmt, merchant.gmt)
        return cls.carried(
            agent,
            phone=agent.phone,
            secret_key=profile.secret_key and profile.secret_key.reveal(),
            tid=profile.tid,
            logon=profile.login and LogonView.of(profile.login, now, zone),
            sessions=None if profile.sessions is None else [SessionView.of(one, zone) for one in profile.sessions],
            avatar_url=profile.avatar_url,
            has_avatar=agent.avatar_key is not None,
            is_administrator=is_administrator(agent),
            rights=sorted(rights_of(agent)),
            country_id=agent.country_id or merchant.country_code,
            currency_id=currency and currency_code(currency),
            f_inst_id=merchant.financial_institution_id,
            mobile_settings=MobileSettingsView.of(agent.mobile_settings, in_force),
            printer_and_tax_settings=PrinterView.of(agent.printer, printer),
        )


class PosAnswer(Answer):
    """The answer to creating, updating and getting an agent."""

    pos: PosView | None


class BulkAnswer(Answer):
    """The answer to updating several agents: the findings about the agents that were not updated."""

    FINDINGS_NAME_VALUES: ClassVar[bool] = True
    MOST_FINDINGS: ClassVar[int] = BulkUpdate.MOST_FINDINGS

    pos: PosView | None = None

    @classmethod
    def of(cls, findings: list[list[Validation]]) -> Self:
        """Return the answer with the findings of each item. Its ErrorCode is 0: the other agents were updated.

        The first finding of every faulty item comes first, so the limit leaves no faulty item unnamed.
        """
        listed = in_order(findings)[: cls.MOST_FINDINGS]
        return cls(validations=[finding.on_the_wire() for finding in listed] or None)


def in_order(findings: list[list[Validation]]) -> list[Validation]:
    """Return the findings about the items of a batch: the first one of each item, then the others."""
    first = [of_item[0] for of_item in findings if of_item]
    return first + [finding for of_item in findings for finding in of_item[1:]]


class PageCounters(View):
    """The numbers of items and pages of a list."""

    pagesize: int
    item_count_page: int
    item_count_ttl: int
    page_count: int

    @classmethod
    def of(cls, number: int, total: int) -> Self:
        """Return the counters of a page with so many of all matches."""
        pages = paging.page_count(total)
        return cls(pagesize=paging.PAGE_SIZE, item_count_page=number, item_count_ttl=total, page_count=pages)


class PosListAnswer(Answer):
    """The answer to searching agents."""

    pos_list: list[PosView]
    pos_counters: PageCounters

    @classmethod
    def of(cls, page: list[Profile], total: int, now: datetime, gmt: int | None) -> Self:
        """Return the answer with one page of the matching agents. `total` is the number of all matches."""
        views = views_of(lambda profile: PosView.of(profile, now, gmt), page)
        return cls(pos_list=views, pos_counters=PageCounters.of(len(page), total))
