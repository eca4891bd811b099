"""A merchant (the specification also says client), its terminals and their groups."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from decimal import Decimal

from chalicelib.domain.agent import ACTIVE, MobileSettings, PrinterSettings
from chalicelib.domain.business_days import ZONE
from chalicelib.domain.money import Currency
from chalicelib.domain.price_list import Tax
from chalicelib.errors import Check, ErrorCode, Finding, missing
from chalicelib.record import Record

DEFAULT_GROUP = "DEFAULT"
GROUPS = (DEFAULT_GROUP, "SOFTPOS", "SBP")  # each merchant has these from its creation


class TerminalGroup(Record):
    """A named set of a merchant's terminals."""

    id: int
    code: str


class Manager(Record):
    """The contact person of a merchant."""

    name: str
    email: str
    phone: str


class MerchantSnapshot(Record):
    """The merchant at the time of a transaction: later changes of the merchant do not change the receipt."""

    name: str
    address: str
    phone: str
    tax_id: str | None = None
    mid: str | None = None  # the terminal's
    logo_key: str | None = None

    @property
    def tax_number(self) -> str | None:
        """Return its tax number, None for a text such as a dash."""
        return self.tax_id if _says_something(self.tax_id) else None

    @property
    def can_invoice(self) -> bool:
        """Return whether it has all that a tax invoice says of the seller: a name, an address and a tax number."""
        return all(map(_says_something, (self.name, self.address, self.tax_id)))


def _says_something(text: str | None) -> bool:
    return any(map(str.isalnum, text or ""))


class Merchant(Record):
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
    webhooks: int = 0  # the number of its webhooks, on or off
    events_until: datetime | None = None  # transactions that begin before it make events; None: none do

    price_list_version: int = 0  # of its price list; 0: it has none
    taxes: tuple[Tax, ...] = ()  # of its price list

    def makes_events(self, now: datetime) -> bool:
        """Return whether a transaction that begins now makes events."""
        return self.events_until is not None and now < self.events_until


def snapshot_of(merchant: Merchant, mid: str | None) -> MerchantSnapshot:
    """Return the merchant's facts for receipts; `mid` is the merchant identifier of the terminal."""
    return MerchantSnapshot(
        name=merchant.name,
        address=merchant.address_de_jure or merchant.address_de_facto,
        phone=merchant.phone,
        tax_id=merchant.tax_id,
        mid=mid,
        logo_key=merchant.avatar_key,
    )


ENTRY_CAPS = {
    "0": "Unknown",
    "1": "No terminal used",
    "2": "Magnetic stripe reader",
    "3": "Bar code",
    "4": "OCR",
    "5": "Magnetic stripe and chip reader",
    "6": "Key entry",
    "7": "Magnetic stripe reader and key entry",
    "8": "Magnetic stripe and chip and key entry",
    "9": "Chip reader",
    "10": "None",
}


class MerchantProfile(Record):
    """A merchant, its terminal if it has exactly one, the number of products it may sell, and its picture's URL."""

    merchant: Merchant
    terminal_id: int | None
    products: int
    avatar_url: str | None


class Terminal(Record):
    """A stored terminal; `tid` is its name, unique within the merchant."""

    id: int
    client_id: int
    tid: str
    alias: str
    title: str
    sic: str
    currency: Currency
    country: str
    city: str
    location: str
    entry_caps: str
    region_code: str
    country_code: str
    group_id: int
    created_at: datetime
    financial_institution_id: int
    branch_name: str
    version: int = 1
    state: int = ACTIVE
    phone: str | None = None
    description: str | None = None
    terminal_class: str | None = None
    back_retailer_id: str | None = None
    owner: str | None = None
    region: str | None = None
    branch: str | None = None
    zip_code: str | None = None
    time_offset: str | None = None
    contactless_capable: str | None = None
    self_service: str | None = None
    type: str | None = None
    latitude: Decimal | None = None
    longitude: Decimal | None = None
    with_accounts: bool | None = None
    for_account: bool | None = None
    sbp: str | None = None  # JSON text, as sent
    request_context: str | None = None  # JSON text: device, framework and IP address of the request that created it


def resolve_group(
    merchant: Merchant, group_id: int | None, group_code: str | None
) -> tuple[TerminalGroup | None, list[Finding]]:
    """Return the merchant's terminal group with this ID, code or both, else the group DEFAULT, with the findings."""
    by_id = next((group for group in merchant.groups if group.id == group_id), None)
    code = DEFAULT_GROUP if group_id is None and group_code is None else group_code
    by_code = next((group for group in merchant.groups if group.code == code), None)
    findings = []
    if group_id is not None and by_id is None:
        findings.append(missing("group.id", ErrorCode.GROUP_NOT_FOUND))
    if group_code is not None and by_code is None:
        findings.append(missing("group.code", ErrorCode.GROUP_NOT_FOUND))
    if by_id and by_code and by_id != by_code:
        text = "TerminalGroupID and TerminalGroupCode name different groups."
        findings.append(Finding("group.code", Check.CONTRADICTION, text))
    return by_id or by_code, findings


def check_group(requested: Mapping[str, int | str], merchant: Merchant, terminal: Terminal) -> list[Finding]:
    """Return a finding for each field (name: ID or code of a group) that does not name this terminal's group."""
    findings = []
    own = next((group.code for group in merchant.groups if group.id == terminal.group_id), terminal.group_id)
    for name, number_or_code in requested.items():
        group = next((one for one in merchant.groups if number_or_code in (one.id, one.code)), None)
        if group is None:
            findings.append(missing(name, ErrorCode.GROUP_NOT_FOUND))
        elif group.id != terminal.group_id:
            findings.append(Finding(name, Check.CONTRADICTION, f"The agent's terminal is in the group {own}."))
    return findings
