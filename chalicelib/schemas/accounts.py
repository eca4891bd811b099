"""Signing in, and the configuration of one's own account."""

from typing import Annotated, Any

from pydantic import Field, SecretStr

from chalicelib.domain.account import PaymentOption
from chalicelib.schemas.common import Answer, Identifier, Request, Text, View
from chalicelib.schemas.present import KIND_TEXTS


class SignIn(Request):
    """The e-mail of an agent and its password."""

    email: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[SecretStr, Field(strict=False, min_length=1, max_length=512)]


class SessionData(View):
    """What to send as `Authorization: Session <SESSION_ID>`."""

    session_id: str


class SessionAnswer(Answer):
    """A session that began."""

    data: SessionData


class AuthAccount(Request):
    """What may be said when asking for one's configuration, in the query string or in a body."""

    current_account_id: Identifier | None = None
    lang: Text | None = None
    ip: Text | None = None


class PaymentOptionView(View):
    """One enabled way to pay. Nothing asks for an e-mail or a phone: receipts are optional."""

    id: int = Field(alias="Id")
    acquirer_code: str
    acquirer_name: str
    requires_email_or_phone: int = 0
    requires_email_or_phone_for_own_fiscalization: int = 0
    img_url: str | None = None
    product_desc_codes_re: int = Field(0, alias="ProductDescCodesRE")
    product_desc_codes: dict[str, Any] | None = None

    @classmethod
    def of(cls, option: PaymentOption) -> "PaymentOptionView":
        """The option on the wire."""
        name = KIND_TEXTS[option.input_type]
        return cls(id=option.input_type, acquirer_code=option.acquirer_code, acquirer_name=name)


class AccountAnswer(Answer):
    """The configuration of the account that asks."""

    session_id: int | None = None
    language_id: str | None
    id: int
    client_id: int
    currency_id: str | None
    country_id: str | None
    country_name: str | None
    is_system_user: bool
    payment_options: list[PaymentOptionView]
    product_desc_list_phone: list[dict[str, Any]] = Field(default_factory=list)
