"""The e-mails that welcome a new agent, and the manager of a new merchant."""

from datetime import datetime

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.outbox import EMAIL, WELCOME, Outbox
from chalicelib.domain.printed_text import one_line


def welcome_agent(entry_id: str, client_id: int, name: str, email: str, now: datetime) -> Outbox:
    """Return the e-mail that welcomes a new agent. It never contains a password or key."""
    text = (
        f"Hello {one_line(name)},\n\n"
        f"an account has been opened for you. You sign in with {email}.\n"
        "Your administrator gives you the password; it is never sent by e-mail.\n"
    )
    return Outbox(entry_id, WELCOME, client_id, (email,), EMAIL, now, subject="Welcome", text=text)


def welcome_merchant(entry_id: str, merchant: Merchant, now: datetime) -> Outbox:
    """Return the e-mail that tells the manager of a new merchant that the merchant is open."""
    email = merchant.manager.email
    text = (
        f"Hello {one_line(merchant.manager.name)},\n\n"
        f"{one_line(merchant.name)} is now open for payments, as merchant {merchant.id}.\n"
        "Its administrator's account is opened next; no password is ever sent by e-mail.\n"
    )
    return Outbox(entry_id, WELCOME, merchant.id, (email,), EMAIL, now, subject="Welcome", text=text)
