"""A merchant (the specification also says client) and its groups of terminals."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from chalicelib.domain.agent import ACTIVE, MobileSettings, PrinterSettings
from chalicelib.domain.business_days import ZONE
from chalicelib.domain.taxes import Tax

DEFAULT_GROUP = "DEFAULT"
GROUPS = (DEFAULT_GROUP, "SOFTPOS", "SBP")  # each merchant has these from its creation


@dataclass(frozen=True)
class TerminalGroup:
    """A named set of a merchant's terminals."""

    id: int
    code: str


@dataclass(frozen=True)
class Manager:
    """The contact person of a merchant."""

    name: str
    email: str
    phone: str


@dataclass(frozen=True)
class Merchant:
    """A stored merchant. `gmt` is its time zone in hours, fixed at creation; its business days are in that zone."""

    id: int
    name: str
    phone: str
    financial_institution_id: int
    address_de_facto: str
    manager: Manager
    latitude: Decimal
    longitude: Decimal
    country: str
    country_code: str
    gmt: int = field(metadata=ZONE)
    language: str
    groups: tuple[TerminalGroup, ...]
    created_at: datetime
    version: int = 1
    state: int = ACTIVE
    address_de_jure: str | None = None
    description: str | None = None
    web: str | None = None
    client_source: str | None = None
    tax_system_id: int | None = None
    tax_id: str | None = None
    support_curator_id: int | None = None
    hunter_id: int | None = None
    origin_curator_id: int | None = None
    cash_register_curator_id: int | None = None
    product_solution_id: int | None = None
    contract_type_id: int | None = None
    client_mode: int | None = None
    client_importance: int | None = None
    client_type: int | None = None
    mobile_settings: MobileSettings | None = None
    printer: PrinterSettings | None = None
    sbp: str | None = None  # JSON text, as sent
    currency_id: str | None = None  # alpha-3: the currency of its country
    avatar_key: str | None = None
    request_context: str | None = None  # JSON text: device, framework and IP address of the request that created it
    deleted: bool = False
    receipt_note: str | None = None  # below every receipt
    drawer_blind: bool = False  # its agents see what an open drawer should hold only after the count
    webhooks: int = 0  # the number of its webhooks, on or off
    events_until: datetime | None = None  # transactions that begin before it make events; None: none do
    lost_mids: frozenset[str] = frozenset()  # numbers at the bank that it had, and another merchant has now
    price_list_version: int = 0  # of its price list; 0: it has none
    taxes: tuple[Tax, ...] = ()  # of its price list
    taxes_changed_at: datetime | None = None  # when its price list last took away or changed a tax

    @property
    def is_active(self) -> bool:
        """Return whether it is neither blocked nor deleted."""
        return self.state == ACTIVE and not self.deleted
