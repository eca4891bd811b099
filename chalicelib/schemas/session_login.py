"""Session login: a session in exchange for an e-mail and a password."""

from typing import Annotated, Self

from pydantic import Field, SecretStr

from chalicelib.domain.credential import Credential, credential
from chalicelib.domain.secret import Secret
from chalicelib.schemas.base import Answer, Request, View


class SignIn(Request):
    """The e-mail and the password of an agent."""

    email: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[SecretStr, Field(strict=False, min_length=1, max_length=512)]

    def to_domain(self) -> Credential:
        """Return the credential, or raise BAD_CREDENTIAL when no agent could have it."""
        return credential(self.email, self.password.get_secret_value())


class SessionData(View):
    """The session; send its ID as `Authorization: Session <SessionID>`."""

    session_id: str


class SessionAnswer(Answer):
    """The answer to a session login."""

    data: SessionData

    @classmethod
    def of(cls, session_id: Secret) -> Self:
        """Return the answer with the ID of a new session."""
        return cls(data=SessionData(session_id=session_id.reveal()))
