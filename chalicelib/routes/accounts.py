"""The caller's account: session login, identity, AuthAccount, and linked cards."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.domain.sign_in import Source
from chalicelib.schemas.account_configuration import AccountAnswer, AuthAccount
from chalicelib.schemas.base import Answer, Headers, views_of
from chalicelib.schemas.linked_cards import GetLinkedCards, LinkedCardsAnswer, LinkedCardView
from chalicelib.schemas.sign_in import (
    ChangeTotp,
    ForgotPassword,
    IdentityAnswer,
    IdentityQuery,
    ResetPassword,
    SessionAnswer,
    SessionData,
    SignIn,
    TotpAnswer,
    TotpView,
)
from chalicelib.services import account_configuration, linked_cards, password_reset, second_factor, sessions


def session(body: SignIn, source: Source, headers: Headers) -> SessionAnswer:
    """Sign an agent in with e-mail and password, and return a session."""
    session_id = sessions.sign_in(body, outside.now(), source, headers.get("user-agent", ""))
    return SessionAnswer(data=SessionData(session_id=session_id.reveal()))


def end_session(caller: Caller) -> Answer:
    """End the session of the caller."""
    sessions.sign_out(caller)
    return Answer()


def totp(body: ChangeTotp, caller: Caller, source: Source) -> TotpAnswer:
    """Begin a second factor, confirm it by its first code, or switch it off."""
    shown = second_factor.change(body, caller, source, outside.now())
    return TotpAnswer(data=shown and TotpView.of(shown.secret, shown.uri, shown.recovery_codes))


def forget_password(body: ForgotPassword) -> Answer:
    """Send a link for a new password to an administrator or a system user."""
    password_reset.forget(body, outside.now())
    return Answer()


def reset_password(body: ResetPassword, source: Source) -> Answer:
    """Set a new password by a link."""
    password_reset.reset(body, source, outside.now())
    return Answer()


def me(body: IdentityQuery, caller: Caller) -> IdentityAnswer:
    """Return the account of the caller, its merchant and its rights."""
    account = account_configuration.identity(caller, body.account_id)
    return IdentityAnswer.of(account, caller.ends_at, outside.now(), body.gmt)


def configuration(body: AuthAccount, caller: Caller) -> AccountAnswer:
    """Return the configuration of the caller's account."""
    found = account_configuration.get(caller, outside.now(), current_account_id=body.current_account_id)
    return AccountAnswer.of(found)


def list_cards(body: GetLinkedCards, caller: Caller) -> LinkedCardsAnswer:
    """List the linked cards of an agent, 100 per page."""
    cards, merchant_gmt = linked_cards.list_cards(body, caller)
    return LinkedCardsAnswer(linked_cards=views_of(lambda card: LinkedCardView.of(card, body.gmt, merchant_gmt), cards))
