"""An agent: the account (POS user) that takes payments on a terminal, and the login it signs in with."""

from dataclasses import dataclass
from datetime import datetime

ACCOUNT_USER, ACCOUNT_AGENT = 11, 20
NO_CLIENT = 0  # the merchant of a system user


@dataclass(frozen=True)
class Features:
    """What an agent may do; None is "not set here": the merchant's value holds, then the default."""

    accept_cards: bool | None = None
    accept_cash: bool | None = None
    accept_prepaid: bool | None = None
    accept_credit: bool | None = None
    accept_outer_card: bool | None = None
    show_inventory: bool | None = None
    regular_payments: bool | None = None
    offline: bool | None = None
    async_cash_processing: bool | None = None
    internal_update: bool | None = None
    auto_login: bool | None = None
    inherited: bool | None = None
    change_client_logo: bool | None = None
    barcode_scanner: bool | None = None


@dataclass(frozen=True)
class MobileSettings:
    """The settings of the mobile application; None is "not set here"."""

    features: Features | None = None
    mob_home_url: str | None = None
    mob_qr_url: str | None = None
    allow_linked_cards: int | None = None
    allow_credit_voucher_reverses: int | None = None
    service_pay_dashboard: bool | None = None
    mobile_app_password_store: bool | None = None
    barcode_scanner: bool | None = None


@dataclass(frozen=True)
class PrinterSettings:
    """The receipt printer; the code comes from the stage's catalogue."""

    printer_id: int | None = None
    printer_code: str | None = None


@dataclass(frozen=True)
class BranchActions:
    """Rights within a branch (the merchant itself: the interface has no other branches)."""

    branch_id: int
    actions: tuple[int, ...]


@dataclass(frozen=True)
class Agent:
    """An agent as it is kept. No password is in here; the secret key is, sealed under the stage's KMS key."""

    id: int
    client_id: int
    name: str
    email: str
    phone: str
    created_at: datetime
    version: int = 1
    credential_version: int = 1
    state: int = 1
    account_type_id: int = ACCOUNT_AGENT
    is_system_user: bool = False
    deleted: bool = False
    terminal_id: int | None = None
    branches_actions: tuple[BranchActions, ...] = ()
    secret_key_sealed: bytes | None = None
    address_de_facto: str | None = None
    country_id: str | None = None
    currency_id: str | None = None
    language_id: str | None = None
    tax_id: str | None = None
    user_kind_id: int | None = None
    mobile_settings: MobileSettings | None = None
    printer: PrinterSettings | None = None
    printer_settings: str | None = None  # JSON text, as it was sent
    server_fiscalization: str | None = None  # JSON text, as it was sent
    acquirers_settings: str | None = None  # JSON text, as it was sent
    avatar_key: str | None = None

    @property
    def rights(self) -> frozenset[int]:
        """Everything the agent is allowed beyond its own payments."""
        return frozenset(action for branch in self.branches_actions for action in branch.actions)


@dataclass(frozen=True)
class Login:
    """What signing in needs, in one item under the e-mail, so that it is one read and the e-mail is unique."""

    email: str
    agent_id: int
    client_id: int
    credential_version: int = 1
    state: int = 1
    terminal_id: int | None = None
    password_hash: str | None = None
    key_digest: str | None = None
    failed_attempts: int = 0
    locked_until: datetime | None = None
    last_logon: datetime | None = None


@dataclass(frozen=True)
class Caller:
    """Who the authorizer let in, and which credential version it saw."""

    agent_id: int
    client_id: int
    credential_version: int
    terminal_id: int | None = None
