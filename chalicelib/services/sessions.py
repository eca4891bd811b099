"""Signing in: a password is exchanged for a session."""

import uuid
from datetime import datetime

from chalicelib.domain.credential import credential
from chalicelib.domain.secret import Secret
from chalicelib.domain.session import opened
from chalicelib.schemas.session_login import SignIn
from chalicelib.services import authentication
from chalicelib.services.admission import admit
from chalicelib.store import sessions


def sign_in(body: SignIn, now: datetime) -> Secret:
    """The ID of a new session: a GUID of 122 random bits, shown this once and kept as a digest."""
    caller = authentication.sign_in(credential(body.email, body.password.get_secret_value()), now)
    admit(caller)

    session_id = Secret(str(uuid.uuid4()))
    session = opened(authentication.session_digest(session_id), caller.agent_id, caller.credential_version, now)

    sessions.create(session)
    return session_id
