"""Accounts: session login, and the configuration of the caller's account."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.credential import Source
from chalicelib.schemas.account_configuration import AccountAnswer, AuthAccount
from chalicelib.schemas.session_login import SessionAnswer, SignIn
from chalicelib.services import account_configuration, sessions


def session(body: SignIn, source: Source) -> SessionAnswer:
    """Sign in with an e-mail and a password; the session lasts 12 hours, or 30 minutes without use."""
    return SessionAnswer.of(sessions.sign_in(body, datetime.now(UTC), source))


def configuration(body: AuthAccount, caller: Caller) -> AccountAnswer:
    """Get the configuration of the caller's account, at most once in ten minutes."""
    found = account_configuration.get(caller, datetime.now(UTC), current_account_id=body.current_account_id)
    return AccountAnswer.of(found)
