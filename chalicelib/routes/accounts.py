"""The caller's account: session login, who the caller is, AuthAccount, and linked cards."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.sign_in import Source
from chalicelib.schemas.auth_account import AccountAnswer, AuthAccount
from chalicelib.schemas.linked_cards import GetLinkedCards, LinkedCardsAnswer, LinkedCardView
from chalicelib.schemas.request_context import ZoneQuery
from chalicelib.schemas.sign_in import IdentityAnswer, SessionAnswer, SessionData, SignIn
from chalicelib.services import admission, auth_account, linked_cards
from chalicelib.services.admission import admit


def session(body: SignIn, source: Source) -> SessionAnswer:
    """Sign in with an e-mail and a password; the session lasts 12 hours, or 30 minutes without use."""
    session_id = admission.sign_in(body, datetime.now(UTC), source)
    return SessionAnswer(data=SessionData(session_id=session_id.reveal()))


def me(body: ZoneQuery, caller: Caller) -> IdentityAnswer:
    """Return who the caller is, and what it may do."""
    admitted = admit(caller)
    return IdentityAnswer.of(admitted.agent, admitted.merchant, caller.session_ends_at, datetime.now(UTC), body.gmt)


def configuration(body: AuthAccount, caller: Caller) -> AccountAnswer:
    """Get the configuration of the caller's account, at most once in ten minutes."""
    found = auth_account.get(caller, datetime.now(UTC), current_account_id=body.current_account_id)
    return AccountAnswer.of(found)


def list_cards(body: GetLinkedCards, caller: Caller) -> LinkedCardsAnswer:
    """List the cards linked to an agent, 100 a page."""
    cards, merchant_gmt = linked_cards.list_cards(body, caller)
    return LinkedCardsAnswer(linked_cards=[LinkedCardView.of(card, body.gmt, merchant_gmt) for card in cards])
