"""Sessions: sign-in with e-mail and password, and sign-out."""

import uuid
from datetime import datetime

from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller
from chalicelib.domain.masking import mask_foreign
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import device_of, new_session, remember
from chalicelib.errors import Check, Validation, invalid
from chalicelib.log import log
from chalicelib.schemas.sign_in import SignIn
from chalicelib.services import authentication
from chalicelib.services.authentication import Attempt, log_denial
from chalicelib.services.caller_check import admit
from chalicelib.store import agent_sessions
from chalicelib.store import sessions as store

MAX_USER_AGENT = 512  # characters that are read
SCHEME = "Login"  # in the log: this sign-in has no Authorization header


def sign_in(body: SignIn, now: datetime, source: str = "", user_agent: str = "") -> Secret:
    """Return the ID of a new session: a GUID of 122 random bits. Only its digest is stored. It may end the oldest one.

    `source` is the caller's address: a denial logs it. `user_agent` is the header that names its device.
    """
    attempt = Attempt(source, SCHEME)
    with log_denial(attempt):
        caller = authentication.caller_of_password(body.to_domain(), now, attempt, body.code)
        own = agent_sessions.key_of(caller.agent_id)
        admitted = admit(caller, own)

    session_id = Secret(str(uuid.uuid4()))
    session = new_session(authentication.session_digest(session_id), caller.agent_id, caller.credential_version, now)
    if body.remember and permissions.may_be_remembered(admitted.agent, admitted.merchant):
        session = remember(session, device_of(mask_foreign(user_agent[:MAX_USER_AGENT], None)))

    if admitted.agent.is_system_user:
        from chalicelib.services import new_addresses  # noqa: PLC0415  only needed for a system user

        new_addresses.remember(admitted.agent, source, now)
    agent_sessions.create(session, admitted.read(own))
    log("signed_in", agent=caller.agent_id, merchant=caller.client_id, source=source)
    return session_id


def sign_out(caller: Caller) -> None:
    """End the session that the caller used. Refuse a password or key with a finding for Authorization."""
    admit(caller, may_lack_factor=True)
    store.end(require_session(caller))


def require_session(caller: Caller) -> str:
    """Return the digest of the caller's session. Refuse a password or key with a finding for Authorization."""
    if caller.session is None:
        message = "It is a password or a key. Only a session may do this."
        raise invalid(Validation("Authorization", Check.CONTRADICTION, message))
    return caller.session
