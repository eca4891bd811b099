"""Session login: an e-mail and a password in, a session out."""

from typing import Annotated

from pydantic import Field, SecretStr

from chalicelib.schemas.base import Answer, Request, View


class SignIn(Request):
    """The e-mail of an agent and its password."""

    email: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[SecretStr, Field(strict=False, min_length=1, max_length=512)]


class SessionData(View):
    """The value to send as `Authorization: Session <SESSION_ID>`."""

    session_id: str


class SessionAnswer(Answer):
    """A session that began."""

    data: SessionData
