"""An agent with what is shown beside it."""

from dataclasses import dataclass

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.secret import Secret


@dataclass(frozen=True)
class Profile:
    """An agent, its merchant and login, the signed address of its picture; its secret key for get-by-ID alone."""

    agent: Agent
    merchant: Merchant
    login: Login | None = None
    avatar_url: str | None = None
    secret_key: Secret | None = None


def matches(agent: Agent, text: str, tid: str | None) -> bool:
    """Whether a text is part of the agent's name, e-mail or terminal's name, or its digits of the phone number."""
    wanted = text.casefold()
    digits = "".join(letter for letter in text if letter.isdigit())
    is_number = bool(digits) and not set(text) - set("0123456789+-() ")
    texts = (agent.name, agent.email, tid or "")
    return any(wanted in part.casefold() for part in texts) or (is_number and digits in agent.phone)
