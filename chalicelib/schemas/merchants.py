"""The requests to create and update a merchant, and the view of a merchant."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, create_model

from chalicelib.domain.agent import ACCOUNT_USER, MobileSettings
from chalicelib.domain.effective_settings import effective, merge_settings
from chalicelib.domain.merchant import Manager, Merchant
from chalicelib.errors import ErrorCode
from chalicelib.iso_codes import country_name, currency_of_country
from chalicelib.schemas.agents import PageCounters
from chalicelib.schemas.base import Answer, Identifier, LongText, Request, RuledRequest, State, Text, View, views_of
from chalicelib.schemas.bodies import request_or_part
from chalicelib.schemas.field_types import (
    CountryCode,
    Email,
    Image,
    JsonObject,
    Phone,
    one_of,
    parse_stored_object,
    request_context_text,
    shared_fields,
)
from chalicelib.schemas.misplaced_names import refused_names
from chalicelib.schemas.mobile_settings import MobileSettingsIn, MobileSettingsView
from chalicelib.schemas.names import Name
from chalicelib.schemas.request_context import Context, DeviceInfo, Location, ZoneHours

CLIENT_TYPES = {1: "Common", 2: "WE", 4: "MultiMerchant"}
CLIENT_MODES = {1: "Normal", 2: "Third Party"}
CLIENT_IMPORTANCES = {10: "Normal", 100: "Important", 500: "Budget-forming"}
NORMAL = 10

RequiredText = Annotated[str, Field(min_length=1, max_length=512)]


class FullDeviceInfo(DeviceInfo):
    """The caller's device; all its fields are required."""

    phone_manufacturer: Text
    phone_model: Text
    device_id: Text
    device_type: Text
    app_framework: Text
    os: Text
    os_version: Text = Field(alias="OSVersion")
    app_id: Text
    build_number: Text


class ClientManager(Request):
    """The contact person of the merchant."""

    user_name: Name
    user_email: Email
    user_phone: RequiredText

    def to_domain(self) -> Manager:
        """Return the contact person."""
        return Manager(self.user_name, self.user_email, self.user_phone)


ReceiptNote = Annotated[str, Field(max_length=256), AfterValidator(str.strip)]  # a blank takes the note away


class _Merchant(Context):
    location: Location
    country: Text
    country_code: CountryCode
    device_info: DeviceInfo
    gmt: ZoneHours
    app_framework: Text
    lang: Text
    ip: Text
    name: Name
    phone: Phone
    address_de_facto: RequiredText
    address_de_jure: Text | None = None
    description: LongText | None = None
    web: Text | None = None
    state: State | None = None
    client_source: Text | None = None
    tax_system_id: Identifier | None = None
    tax_id: Text | None = None
    support_curator_id: Identifier | None = None
    origin_curator_id: Identifier | None = None
    cash_register_curator_id: Identifier | None = None
    product_solution_id: Identifier | None = None
    contract_type_id: Identifier | None = None
    client_mode: Annotated[int, one_of(CLIENT_MODES)] | None = None
    client_importance: Annotated[int, one_of(CLIENT_IMPORTANCES)] | None = None
    mobile_settings: MobileSettingsIn | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the merchant's record that come from the request, except its mobile settings.

        The request context describes the caller, not the merchant.
        """
        return shared_fields(self, Merchant, without={"id", "mobile_settings", *Context.model_fields})


class CreateMerchant(_Merchant):
    """The body of merchant/create."""

    device_info: FullDeviceInfo
    lang: RequiredText
    f_inst_id: Identifier
    client_manager: ClientManager
    send_welcome_email: bool | None = None
    hunter_id: Identifier | None = None
    client_type: Annotated[int, one_of(CLIENT_TYPES)] | None = None
    image_avatar: Image | None = None
    sbp: JsonObject | None = None

    def record_fields(self) -> dict[str, Any]:
        """Return the fields of the new merchant's record that come from the request and its context."""
        return super().record_fields() | {
            "latitude": self.location.latitude,
            "longitude": self.location.longitude,
            "country": self.country or country_name(self.country_code),
            "country_code": self.country_code,
            "currency_id": currency_of_country(self.country_code),
            "language": self.lang,
            "financial_institution_id": self.f_inst_id,
            "manager": self.client_manager.to_domain(),
            "gmt": self.gmt,
            "mobile_settings": self.mobile_settings.to_domain() if self.mobile_settings else None,
            "request_context": request_context_text(self),
        }


class UpdateMerchant(_Merchant, RuledRequest):
    """The body of merchant/{merchantId}/update. Its context describes the caller and changes nothing.

    A system user may leave out what it does not change, see `let_fields_be_absent`.
    """

    JUDGED: ClassVar[tuple[str, ...]] = ("id",)

    id: Identifier | None = None
    barcode_scanner: bool | None = None
    drawer_blind: bool | None = None
    receipt_note: ReceiptNote | None = None
    image: Image | None = None

    def let_fields_be_absent(self, country_code: str) -> None:
        """Read a request with faults again, so that no field is required. `country_code` is the merchant's."""
        if self.faults and self.faults.error is ErrorCode.VALIDATION_FAILED:
            country = self.sent.get("CountryCode") or country_code  # of a national telephone number
            sent = {**self.sent, "CountryCode": country}
            again = request_or_part(_changes_of_merchant(), sent, refused_names(UpdateMerchant, self.sent))
            vars(self).clear()
            vars(self).update(vars(again))


@cache
def _changes_of_merchant() -> type[UpdateMerchant]:
    """Return the model of an update of which all fields are optional."""
    fields: dict[str, Any] = {
        name: (Annotated[field.annotation, Field(), *field.metadata] | None, Field(None, alias=field.alias))
        for name, field in UpdateMerchant.model_fields.items()
        if field.is_required()
    }
    return create_model("ChangesOfMerchant", __base__=UpdateMerchant, **fields)


@dataclass(frozen=True)
class MerchantProfile:
    """A merchant, its terminal if it has exactly one, the number of products it may sell, and its picture's URL."""

    merchant: Merchant
    institution: str  # its name
    terminal_id: int | None
    products: int
    avatar_url: str | None


class MerchantView(View):
    """The Merchant object."""

    id: int
    client_id: int
    state: int
    account_type_id: int = ACCOUNT_USER
    account_type: int = ACCOUNT_USER
    branch_id: int
    f_inst_id: int
    f_inst_name: str
    name: str
    legal_name: str
    client_name: str
    email: str
    phone: str
    web: str | None
    description: str | None
    terminal_id: int | None
    currency_id: str | None
    language_id: str
    country_id: str
    avatar: bool
    has_avatar: bool
    avatar_url: str | None
    address_de_jure: str | None
    address_de_facto: str
    product_desc_count: int
    product_desc_active_count: int
    product_desc_active_accept_payment_count: int
    product_desc_active_schedule_count: int
    deleted: bool
    receipt_skip_header: bool = False
    client_importance: int
    client_source: str | None
    tax_system_id: int | None
    tax_id: str | None
    support_curator_id: int | None
    origin_curator_id: int | None
    cash_register_curator_id: int | None
    product_solution_id: int | None
    contract_type_id: int | None
    client_mode: int | None
    mobile_settings: MobileSettingsView
    barcode_scanner: bool
    drawer_blind: bool
    receipt_note: str | None
    sbp: dict[str, Any] | None

    @classmethod
    def of(cls, profile: MerchantProfile) -> Self:
        """Return the view of a merchant. It may be sent back to merchant/update, and then changes nothing."""
        merchant = profile.merchant
        in_force = effective(None, merchant.mobile_settings)
        shown = merge_settings(in_force, merchant.mobile_settings or MobileSettings())
        has_avatar = merchant.avatar_key is not None
        counters = [name for name in cls.model_fields if name.startswith("product_desc_")]
        return cls.carried(
            merchant,
            **dict.fromkeys(counters, profile.products),
            terminal_id=profile.terminal_id,
            **dict.fromkeys(("id", "client_id", "branch_id"), merchant.id),
            **dict.fromkeys(("name", "legal_name", "client_name"), merchant.name),
            **dict.fromkeys(("avatar", "has_avatar"), has_avatar),
            f_inst_id=merchant.financial_institution_id,
            f_inst_name=profile.institution,
            email=merchant.manager.email,
            phone=merchant.phone,
            language_id=merchant.language,
            country_id=merchant.country_code,
            avatar_url=profile.avatar_url,
            client_importance=merchant.client_importance or NORMAL,
            mobile_settings=MobileSettingsView.of(shown, replace(in_force, features=shown.features)),
            barcode_scanner=bool(shown.barcode_scanner),
            sbp=parse_stored_object(merchant.sbp),
        )


class MerchantAnswer(Answer):
    """The answer to creating, updating and getting a merchant."""

    merchant: MerchantView


class ListMerchants(Context):
    """The body of merchant/list; an absent field does not filter."""

    search: Text | None = None
    state: State | None = None
    page: Identifier | None = None


class MerchantListAnswer(Answer):
    """A page of the merchants, the newest first."""

    merchants: list[MerchantView]
    merchants_counters: PageCounters

    @classmethod
    def of(cls, page: Sequence[MerchantProfile], total: int) -> Self:
        """Return the answer with one page of the matching merchants. `total` is the number of all matches."""
        return cls(merchants=views_of(MerchantView.of, page), merchants_counters=PageCounters.of(len(page), total))
