"""What a caller sends to create, change and find agents."""

from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from chalicelib.domain.agent import Agent, BranchActions
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
    kept_as_sent,
)
from chalicelib.schemas.mobile_settings import MobileSettingsIn, PrinterIn
from chalicelib.schemas.request_context import Context

MAX_RIGHTS, MAX_BRANCHES = 100, 10  # the record is read with every payment
BY_HAND = {"id", "client_id", "terminal_id", "branches_actions", "mobile_settings"}


class BranchActionsIn(Request):
    """Rights within a branch."""

    branch_id: Identifier
    actions: Annotated[list[Identifier], Field(max_length=MAX_RIGHTS)]

    def kept(self) -> BranchActions:
        """As they are kept: each once."""
        return BranchActions(self.branch_id, tuple(dict.fromkeys(self.actions)))


class _Agent(Context):
    """What creating and updating an agent have in common."""

    terminal_id: Identifier | None = None
    tid: Name | None = None
    state: State | None = None
    password: Password | None = None
    secret_key: SecretKey | None = None
    address_de_facto: Text | None = None
    mobile_settings: MobileSettingsIn | None = None
    printer_settings: JsonObject | None = None
    printer_and_tax_settings: PrinterIn | None = None

    def values(self) -> dict[str, Any]:
        """What is kept as it was sent, under the names of the record."""
        return kept_as_sent(self, Agent, but=BY_HAND)


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
        if self.unlock and self.state == 0:
            raise problem(Check.CONTRADICTION, "Unlock makes the agent active and State 0 blocks it.")
        return self


class BulkItem(Request):
    """What shall change of one agent."""

    email: Email
    state: State | None = None
    printer_and_tax_settings: PrinterIn | None = None


class BulkUpdate(Context):
    """The body of merchant/{merchantId}/pos/updatebulk. An item that is wrong does not stop the others."""

    pos_bulk: list[Any]

    def items(self) -> tuple[list[BulkItem], list[Validation]]:
        """The items that can be read, and what is wrong with the others."""
        items: list[BulkItem] = []
        wrong: list[Validation] = []
        for number, item in enumerate(self.pos_bulk):
            try:
                items.append(BulkItem.model_validate(item))
            except ValidationError as error:
                wrong += [_within(f"PosBulk[{number}]", finding) for finding in validations_of(error)]
        return items, wrong


def _within(path: str, finding: Validation) -> Validation:
    name = f"{path}.{finding.field}".removesuffix(".")
    return Validation(name, finding.code, finding.message)


class ListAgents(Context):
    """The body of merchant/{merchantId}/pos/list; what is absent does not filter."""

    email: Text | None = None
    search: Text | None = None
    state: State | None = None
    page: Identifier | None = None
