"""A terminal: the till that takes payments, and its currency."""

from datetime import datetime
from decimal import Decimal

from chalicelib.domain.agent import ACTIVE
from chalicelib.domain.money import Currency
from chalicelib.record import Record

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
