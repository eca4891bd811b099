"""A terminal: the record under which an agent takes payments."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from chalicelib.domain.agent import ACTIVE
from chalicelib.domain.money import Currency


@dataclass(frozen=True)
class Terminal:
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


def canonical_mid(mid: str | None) -> str:
    """Return a merchant's number at its bank (MID) as it is compared: without outer blanks, and without case."""
    return (mid or "").strip().upper()
