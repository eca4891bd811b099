"""An agent: the account (POS user) that takes payments on a terminal, and its login."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from chalicelib.domain.kinds import Features

BLOCKED, ACTIVE = 0, 1  # State of a merchant, an agent or a terminal, by the specification
ACCOUNT_USER, ACCOUNT_AGENT = 11, 20
NO_CLIENT = 0  # the merchant of a system user
PASSWORD, KEY = "password", "key"  # credentials


@dataclass(frozen=True)
class MobileSettings:
    """The settings of the mobile application; None means "not set"."""

    features: Features | None = None
    mob_home_url: str | None = None
    mob_qr_url: str | None = None
    allow_linked_cards: int | None = None
    allow_credit_voucher_reverses: int | None = None
    service_pay_dashboard: bool | None = None
    mobile_app_password_store: bool | None = None
    barcode_scanner: bool | None = None
    cards_stopped: bool | None = None  # of a merchant, by the operator: no cards, whatever else is set


@dataclass(frozen=True)
class PrinterSettings:
    """The receipt printer: ID and code of an entry of the stage's catalogue."""

    printer_id: int | None = None
    printer_code: str | None = None


@dataclass(frozen=True)
class BranchActions:
    """Rights within a branch (the merchant itself: the interface has no other branches)."""

    branch_id: int
    actions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Agent:
    """A stored agent. It holds no password; its secret key is sealed with the stage's KMS key."""

    id: int
    client_id: int
    name: str
    email: str
    phone: str
    created_at: datetime
    version: int = 1
    credential_version: int = 1
    state: int = ACTIVE
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
    printer_settings: str | None = None  # JSON text, as sent
    server_fiscalization: str | None = None  # JSON text, as sent
    acquirers_settings: str | None = None  # JSON text, as sent
    avatar_key: str | None = None
    totp_on: bool = False

    @property
    def is_active(self) -> bool:
        """Return whether it is neither blocked nor deleted."""
        return self.state == ACTIVE and not self.deleted


@dataclass(frozen=True)
class Login:
    """The data for a sign-in: one record under the e-mail, so that one read suffices and the e-mail is unique.

    The secret of a second factor is sealed: `totp_sealed` of the one that is on, `totp_begun` of one that waits for its
    first code. `totp_step` is the last step (of 30 s) whose code was used. Recovery codes are digests.
    """

    email: str
    agent_id: int
    client_id: int
    version: int = 1
    agent_version: int = 0  # the version that the agent's latest change replaced
    credential_version: int = 1
    state: int = ACTIVE
    terminal_id: int | None = None
    password_hash: str | None = None
    key_digest: str | None = None
    failed_attempts: int = 0
    locked_until: datetime | None = None
    last_logon: datetime | None = None
    totp_sealed: bytes | None = None
    totp_begun: bytes | None = None
    totp_step: int | None = None
    recovery_codes: frozenset[str] = frozenset()
    used_codes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Caller:
    """The agent that the authorizer let in, the credential version that it read, and its session.

    `ends_at` is the end of the credential: of a session without further use, or of a token by its `exp`. `session` is
    the digest of the session's ID. Both are None for any other credential, which `by` names: PASSWORD or KEY. None of
    them: no request, but the operator at this machine. `verify_again` verifies the request's header
    as it stands now; None after that.
    """

    agent_id: int
    client_id: int
    credential_version: int
    terminal_id: int | None = None
    ends_at: datetime | None = None
    session: str | None = None
    by: str | None = None
    verify_again: Callable[[], "Caller"] | None = field(default=None, repr=False, compare=False)
