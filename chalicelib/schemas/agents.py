"""The requests to create, update and search agents."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from chalicelib.domain.agent import ACCOUNT_AGENT, Agent, BranchActions
from chalicelib.domain.state import ACTIVE, BLOCKED
from chalicelib.errors import Check, Validation
from chalicelib.schemas.base import Identifier, Name, Request, State, Text, problem, validations_of
from chalicelib.schemas.field_types import (
    CountryID,
    CurrencyID,
    Email,
    Image,
    JsonObject,
    Password,
    Phone,
    SecretKey,
    shared_fields,
)
from chalicelib.schemas.mobile_settings import MobileSettingsIn, PrinterIn
from chalicelib.schemas.request_context import Context

MAX_RIGHTS, MAX_BRANCHES = 100, 10  # the record is read with every payment
CONVERTED = {"id", "client_id", "terminal_id", "branches_actions", "mobile_settings"}


class BranchActionsIn(Request):
    """The rights of an agent within a branch."""

    branch_id: Identifier
    actions: Annotated[list[Identifier], Field(max_length=MAX_RIGHTS)]

    def to_domain(self) -> BranchActions:
        """Return the rights, each once."""
        return BranchActions(self.branch_id, tuple(dict.fromkeys(self.actions)))


class _Agent(Context):
    """The common fields of creating and updating an agent."""

    PATHS: ClassVar[Mapping[str, str]] = {
        "printer.printer_id": "PrinterAndTaxSettings.PrinterID",
        "printer.printer_code": "PrinterAndTaxSettings.PrinterCode",
    }

    terminal_id: Identifier | None = None
    tid: Name | None = None
    state: State | None = None
    password: Password | None = None
    secret_key: SecretKey | None = None
    address_de_facto: Text | None = None
    mobile_settings: MobileSettingsIn | None = None
    printer_settings: JsonObject | None = None
    printer_and_tax_settings: PrinterIn | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the agent's record that are stored as sent."""
        return shared_fields(self, Agent, without=CONVERTED)


class CreateAgent(_Agent):
    """The body of merchant/{merchantId}/pos/create."""

    name: Name
    email: Email
    phone: Phone
    branch_id: Identifier
    client_id: Identifier
    send_welcome_email: bool | None = None
    branches_actions: Annotated[list[BranchActionsIn], Field(max_length=MAX_BRANCHES)] | None = None
    account_type: Identifier | None = None
    image_avatar: Image | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the agent's record that come from the request, except references and secrets."""
        return super().record_fields() | {
            "account_type_id": ACCOUNT_AGENT if self.account_type is None else self.account_type,
            "branches_actions": tuple(item.to_domain() for item in self.branches_actions or ()),
            "mobile_settings": self.mobile_settings.to_domain() if self.mobile_settings else None,
        }


class UpdateAgent(_Agent):
    """The body of merchant/{merchantId}/pos/{posId}/update."""

    id: Identifier | None = None
    name: Name | None = None
    email: Email | None = None
    phone: Phone | None = None
    country_id: CountryID | None = None
    currency_id: CurrencyID | None = None
    language_id: Text | None = None
    unlock: bool | None = None
    tax_id: Text | None = None
    user_kind_id: Identifier | None = None
    image: Image | None = None
    server_fiscalization: JsonObject | None = None
    acquirers_settings: JsonObject | None = None

    @model_validator(mode="after")
    def _blocked_or_unlocked(self) -> Self:
        if self.unlock and self.state == BLOCKED:
            raise problem(Check.CONTRADICTION, "Unlock makes the agent active and State 0 blocks it.")
        return self

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the agent's record to change, except references, secrets and mobile settings."""
        return super().record_fields() | ({"state": ACTIVE} if self.unlock else {})


class BulkItem(Request):
    """The changes of one agent."""

    email: Email
    state: State | None = None
    printer_and_tax_settings: PrinterIn | None = None


class BulkUpdate(Context):
    """The body of merchant/{merchantId}/pos/updatebulk. An invalid item does not prevent the others."""

    pos_bulk: list[Any]

    def parse_items(self) -> tuple[list[BulkItem], list[Validation]]:
        """Return the valid items, and the findings about the others."""
        items: list[BulkItem] = []
        findings: list[Validation] = []
        for number, item in enumerate(self.pos_bulk):
            try:
                items.append(BulkItem.model_validate(item))
            except ValidationError as error:
                findings += [_within(f"PosBulk[{number}]", finding) for finding in validations_of(error)]
        return items, findings


def _within(path: str, finding: Validation) -> Validation:
    name = f"{path}.{finding.field}".removesuffix(".")
    return Validation(name, finding.code, finding.message)


class ListAgents(Context):
    """The body of merchant/{merchantId}/pos/list; an absent field does not filter."""

    email: Text | None = None
    search: Text | None = None
    state: State | None = None
    page: Identifier | None = None
