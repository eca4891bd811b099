"""Accounts: signing in, and what the account that asks is configured for."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.accounts import AccountAnswer, AuthAccount, SessionAnswer, SessionData, SignIn
from chalicelib.services import accounts, sessions


def session(body: SignIn) -> SessionAnswer:
    """Exchange an e-mail and a password for a session: 12 hours, 30 minutes without use."""
    return SessionAnswer(data=SessionData(session_id=sessions.sign_in(body, datetime.now(UTC)).reveal()))


def configuration(body: AuthAccount, caller: Caller) -> AccountAnswer:
    """The configuration of the account that asks; once in ten minutes."""
    return accounts.configuration(body, caller, datetime.now(UTC))
