"""AuthAccount: its request, and its answer, the configuration of an account."""

from typing import Self

from pydantic import Field

from chalicelib.domain.effective_settings import AccountConfiguration, PaymentOption
from chalicelib.iso_codes import country_name
from chalicelib.schemas.base import Answer, Identifier, Text, View
from chalicelib.schemas.request_context import ZoneQuery


class AuthAccount(ZoneQuery):
    """The inputs of payment/AuthAccount, in the query string or in a body."""

    current_account_id: Identifier | None = None
    lang: Text | None = None
    ip: Text | None = None


class ProductView(View):
    """A product whose fields payment/prepare fills in."""

    product_desc_code: str


class PaymentOptionView(View):
    """An enabled way to pay. None requires an e-mail or a phone, because receipts are optional."""

    id: int = Field(alias="Id")
    acquirer_code: str
    acquirer_name: str
    requires_email_or_phone: int = 0
    requires_email_or_phone_for_own_fiscalization: int = 0
    img_url: str | None = None
    product_desc_codes_re: int = Field(0, alias="ProductDescCodesRE")
    product_desc_codes: dict[str, ProductView]

    @classmethod
    def of(cls, option: PaymentOption, products: list[ProductView]) -> Self:
        """Return the option for the wire. It can pay for every product."""
        return cls(
            id=option.input_type,
            acquirer_code=option.acquirer_code,
            acquirer_name=option.acquirer_name,
            product_desc_codes={product.product_desc_code: product for product in products},
        )


class AccountAnswer(Answer):
    """The configuration of the caller's account."""

    session_id: int | None = None
    language_id: str | None
    id: int
    client_id: int
    currency_id: str | None
    country_id: str | None
    country_name: str | None
    is_system_user: bool
    payment_options: list[PaymentOptionView]
    product_desc_list_phone: list[ProductView]

    @classmethod
    def of(cls, configuration: AccountConfiguration) -> Self:
        """Return the answer with a configuration. A field that the agent does not set has its merchant's value."""
        agent, merchant = configuration.agent, configuration.merchant
        country = agent.country_id or (merchant.country_code if merchant else None)
        products = [ProductView(product_desc_code=code) for code in configuration.products]
        return cls(
            language_id=agent.language_id or (merchant.language if merchant else None),
            id=agent.id,
            client_id=agent.client_id,
            currency_id=configuration.currency and configuration.currency.code,
            country_id=country,
            country_name=country and country_name(country),
            is_system_user=agent.is_system_user,
            payment_options=[PaymentOptionView.of(option, products) for option in configuration.options],
            product_desc_list_phone=products,
        )
