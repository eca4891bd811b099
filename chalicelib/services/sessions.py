"""Session login: a session in exchange for a password."""

import uuid
from datetime import datetime

from chalicelib.domain.secret import Secret
from chalicelib.domain.session import new_session
from chalicelib.schemas.session_login import SignIn
from chalicelib.services import authentication
from chalicelib.services.admission import admit
from chalicelib.services.denials import Attempt, log_denial
from chalicelib.store import sessions

SCHEME = "Login"  # in the log: this sign-in has no Authorization header


def sign_in(body: SignIn, now: datetime, source: str = "") -> Secret:
    """Return the ID of a new session: a GUID of 122 random bits, returned only here and stored as a digest.

    `source` is the address the request came from: it is logged when the sign-in is denied.
    """
    attempt = Attempt(source, SCHEME)
    with log_denial(attempt):
        caller = authentication.caller_of_password(body.to_domain(), now, attempt)
        admit(caller)

    session_id = Secret(str(uuid.uuid4()))
    session = new_session(authentication.session_digest(session_id), caller.agent_id, caller.credential_version, now)

    sessions.create(session)
    return session_id
