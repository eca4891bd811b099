"""An agent together with the records that are shown with it."""

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.secret import Secret
from chalicelib.record import Record


class Profile(Record):
    """An agent, its merchant and login, the name of its terminal, and the signed URL of its picture.

    With its secret key where it is shown.
    """

    agent: Agent
    merchant: Merchant
    login: Login | None = None
    tid: str | None = None
    avatar_url: str | None = None
    secret_key: Secret | None = None


def matches_search(agent: Agent, text: str, tid: str | None) -> bool:
    """Return whether an agent matches a search text.

    The text is part of the agent's name, e-mail or terminal name, in any case, or its digits are part of the telephone
    number. No stored number has the zeros in front of one that is dialled.
    """
    searched = text.casefold()
    digits = "".join(letter for letter in text if letter.isdigit())
    digits = digits.lstrip("0") or digits
    is_number = bool(digits) and not set(text) - set("0123456789+-() ")
    texts = (agent.name, agent.email, tid or "")
    return any(searched in part.casefold() for part in texts) or (is_number and digits in agent.phone)
