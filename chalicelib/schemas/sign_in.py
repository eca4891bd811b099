"""Session login, and the answer of user/me."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, ClassVar, Self

from pydantic import Field

from chalicelib.domain.business_days import business_day, text_of, zone_of
from chalicelib.domain.effective_settings import Account, effective
from chalicelib.domain.permissions import is_administrator, rights_of
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import Credential, credential
from chalicelib.errors import Check, ErrorCode
from chalicelib.schemas.base import Answer, Identifier, Request, SecretText, View, checked
from chalicelib.schemas.field_types import Code, GivenCode, Password
from chalicelib.schemas.mobile_settings import FeaturesView
from chalicelib.schemas.request_context import ZoneQuery


class SignIn(Request):
    """The e-mail and the password of an agent, and the code of its second factor if one is on.

    `remember` asks for a remembered session.
    """

    email: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[SecretText, Field(min_length=1, max_length=512)]
    code: Code | None = None
    remember: bool | None = None

    def to_domain(self) -> Credential:
        """Return the credential, or raise BAD_CREDENTIAL when no agent can have it."""
        return credential(self.email, self.password.get_secret_value())


class ChangeTotp(Request):
    """The body of user/totp: empty to begin a second factor, its first code, or `off` with a code."""

    DECIDING: ClassVar[frozenset[str]] = frozenset(("Code", "Off"))  # without them another factor is begun
    JUDGED: ClassVar[tuple[str, ...]] = ()

    code: GivenCode = None
    off: Annotated[bool, checked(bool, Check.OUT_OF_RANGE, "true is expected.")] | None = None


class TotpView(View):
    """The secret of a new second factor and its address for an app; or the recovery codes, shown once."""

    secret: str | None = None
    uri: str | None = None
    recovery_codes: list[str] | None = None

    @classmethod
    def of(cls, secret: Secret | None, uri: Secret | None, codes: Sequence[Secret]) -> Self:
        """Return the view of what is shown once."""
        shown = [one.reveal() for one in codes]
        return cls(secret=secret and secret.reveal(), uri=uri and uri.reveal(), recovery_codes=shown or None)


class TotpAnswer(Answer):
    """The answer of user/totp."""

    data: TotpView | None


class ForgotPassword(Request):
    """The login whose password is forgotten."""

    email: Annotated[str, Field(min_length=1, max_length=254)]


class ResetPassword(Request):
    """The token of a link, and the new password."""

    token: Annotated[SecretText, Field(min_length=1, max_length=512)]
    password: Password


class SessionData(View):
    """The session. Send its ID as `Authorization: Session <SessionID>`."""

    session_id: str


class SessionAnswer(Answer):
    """The answer to a session login."""

    data: SessionData


class IdentityQuery(ZoneQuery):
    """The query string of user/me. With `AccountID`, a system user asks for the merchant of this account."""

    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.AGENT_NOT_FOUND: "AccountID"}

    account_id: Identifier | None = None


class IdentityView(View):
    """The caller and its merchant. A system user has no merchant, unless it names one; its zone is then UTC."""

    agent_id: int
    name: str
    email: str
    client_id: int
    client_name: str | None
    currency_id: str | None
    currency_digits: int | None
    gmt: int
    today: str
    is_administrator: bool
    is_system_user: bool
    totp_on: bool
    rights: list[int]
    features: FeaturesView
    drawer_blind: bool
    expires_at: str | None


def _text_or_none(at: datetime, gmt: int) -> str | None:
    """Return an instant as text for the wire; None if its local time is beyond the year 9999."""
    try:
        return text_of(at, gmt)
    except OverflowError:
        return None


class IdentityAnswer(Answer):
    """The answer of user/me."""

    data: IdentityView

    @classmethod
    def of(cls, account: Account, ends_at: datetime | None, now: datetime, gmt: int | None) -> Self:
        """Return the answer with an account, and the end of its credential in the request's zone."""
        agent, merchant, currency = account.agent, account.merchant, account.currency
        own = merchant.gmt if merchant else 0
        of_merchant = merchant.mobile_settings if merchant and merchant.id == agent.client_id else None
        features = effective(agent.mobile_settings, of_merchant).features
        view = IdentityView.carried(
            agent,
            agent_id=agent.id,
            client_id=merchant.id if merchant else agent.client_id,
            client_name=merchant.name if merchant else None,
            currency_id=currency and currency.code,
            currency_digits=currency and currency.digits,
            gmt=own,
            today=business_day(now, own).isoformat(),
            is_administrator=is_administrator(agent),
            rights=sorted(rights_of(agent)),
            features=FeaturesView.model_validate(features, from_attributes=True),
            drawer_blind=bool(merchant and merchant.drawer_blind),
            expires_at=ends_at and _text_or_none(ends_at, zone_of(gmt, own)),
        )
        return cls(data=view)
