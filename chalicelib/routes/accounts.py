"""Accounts: session login, and the configuration of the account that requests it."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.account_configuration import AccountAnswer, AuthAccount
from chalicelib.schemas.session_login import SessionAnswer, SessionData, SignIn
from chalicelib.services import account_configuration, sessions


def session(body: SignIn) -> SessionAnswer:
    """Exchange an e-mail and a password for a session: 12 hours, 30 minutes without use."""
    return SessionAnswer(data=SessionData(session_id=sessions.sign_in(body, datetime.now(UTC)).reveal()))


def configuration(body: AuthAccount, caller: Caller) -> AccountAnswer:
    """The configuration of the account that asks; once in ten minutes."""
    found = account_configuration.get(caller, datetime.now(UTC), current_account_id=body.current_account_id)
    return AccountAnswer.of(found)
