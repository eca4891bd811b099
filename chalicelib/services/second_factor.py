"""The second factor of an account: begin it, confirm it by a code, switch it off, and verify codes at sign-in."""

import base64
import secrets as random_source
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.domain.agent import Caller, Login
from chalicelib.domain.password_lock import finished
from chalicelib.domain.second_factor import (
    LENGTH,
    LETTERS,
    RECOVERY_CODES,
    CodeUse,
    Factor,
    canonical,
    is_unused,
    steps_at,
)
from chalicelib.domain.secret import Secret
from chalicelib.errors import Check, ErrorCode, ServiceError, Validation, invalid
from chalicelib.gateways.secrets import keyed_digest, seal, unseal
from chalicelib.schemas.sign_in import ChangeTotp
from chalicelib.services.authentication import Attempt, check_unlocked, count_wrong_code, log_denial
from chalicelib.services.caller_check import admit
from chalicelib.services.sessions import require_session
from chalicelib.store import agent_changes, agents, password_lock
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.audit import Act
from chalicelib.store.retries import ChangedMeanwhileError, retry_on_change
from chalicelib.store.table import read, update, write_one

if TYPE_CHECKING:
    from pyotp import TOTP

ISSUER = "Payments"  # the name that an app shows next to the login
SECRET_BYTES = 20  # RFC 4226
SCHEME = "Totp"  # in the log: of a denied code


@dataclass(frozen=True)
class Shown:
    """What is shown once: the secret of a new factor and its address for an app, or the recovery codes."""

    secret: Secret | None = None
    uri: Secret | None = None
    recovery_codes: tuple[Secret, ...] = ()


def change(body: ChangeTotp, caller: Caller, source: str, now: datetime) -> Shown | None:
    """Begin a second factor of the caller, confirm it, or switch it off, as the request says. Only a session may.

    Raise SECOND_FACTOR for a wrong or used code, which counts as a wrong password, and LOGIN_LOCKED while these are
    locked. The factor that is on stays on until the code of another one comes.
    """

    def attempt() -> Shown | None:
        agent = admit(caller, may_lack_factor=True).agent
        require_session(caller)
        body.check_readable()
        login = read(agents.login_key(agent.email))
        if login is None or login.agent_id != agent.id:
            raise ChangedMeanwhileError
        if body.code is None:
            if body.off:
                raise invalid(Validation("Code", Check.REQUIRED, "A code switches the second factor off."))
            return _begin(login)
        check_unlocked(login.email, now)

        if body.off:
            use = _required_use(login, body.code, source, now)
            condition, compared = password_lock.unused(use, finished(now))
            change, codes = LoginChange(factor=Factor(), condition=condition, compared=compared), None
        else:
            factor, codes = _confirmed(login, body.code, source, now)
            still = {"begun": login.totp_begun}
            change = LoginChange(factor=factor, condition="#totp_begun = :begun", compared=still)

        after = replace(agent, totp_on=not body.off)
        agent_changes.change(agent, after, change, Act("update", agent.id, now))
        return Shown(recovery_codes=codes) if codes else None

    return retry_on_change(attempt)


def _begin(login: Login) -> Shown:
    """Store a new factor that waits for its first code. An earlier one that waits is replaced."""
    secret = base64.b32encode(random_source.token_bytes(SECRET_BYTES)).decode()
    begun = {"totp_begun": seal(Secret(secret), login.agent_id)}
    condition, own = "#agent_id = :agent_id", {"agent_id": login.agent_id}
    key = agents.login_key(login.email)
    write_one(update(key, begun, condition=condition, compared=own, otherwise=ChangedMeanwhileError()))
    uri = _totp(Secret(secret)).provisioning_uri(name=login.email, issuer_name=ISSUER)
    return Shown(Secret(secret), Secret(uri))


def _confirmed(login: Login, code: Secret, source: str, now: datetime) -> tuple[Factor, tuple[Secret, ...]]:
    """Return the factor that waits for this code, and its recovery codes."""
    if login.totp_begun is None and login.totp_sealed is None:
        raise invalid(Validation("Code", Check.CONTRADICTION, "No second factor was begun: send {} first."))
    step = _step_of(login.totp_begun, login.agent_id, code, now) if login.totp_begun else None
    if step is None:
        _refuse(login, source, now)
    codes = tuple(Secret(_new_code()) for _ in range(RECOVERY_CODES))
    return Factor(login.totp_begun, step, frozenset(_digest(one, login.agent_id) for one in codes)), codes


def _required_use(login: Login, code: Secret, source: str, now: datetime) -> CodeUse:
    if login.totp_sealed is None:
        raise invalid(Validation("Off", Check.CONTRADICTION, "No second factor is on."))
    return use_of(login, code, now) or _refuse(login, source, now)


def _refuse(login: Login, source: str, now: datetime) -> CodeUse:
    attempt = Attempt(source, SCHEME, login.email)
    with log_denial(attempt):
        count_wrong_code(login.email, attempt, now)
    raise ServiceError(ErrorCode.SECOND_FACTOR)


def use_of(login: Login, code: Secret, now: datetime) -> CodeUse | None:
    """Return the use of a right code of the factor that is on; None for a wrong or used one."""
    if login.totp_sealed is None:
        return None
    step = _step_of(login.totp_sealed, login.agent_id, code, now)
    digest = None if step is not None else _digest(code, login.agent_id)
    use = CodeUse(login.totp_sealed, step, digest)
    return use if is_unused(login, use) else None


def _step_of(sealed: bytes, agent_id: int, code: Secret, now: datetime) -> int | None:
    """Return the latest step whose code this is; None for a wrong code."""
    totp, typed = _totp(unseal(sealed, agent_id)), Secret(canonical(code.reveal()))
    return next((step for step in reversed(steps_at(now)) if Secret(totp.generate_otp(step)) == typed), None)


def _totp(secret: Secret) -> "TOTP":
    from pyotp import TOTP  # noqa: PLC0415  only needed where a code is made or judged

    return TOTP(secret.reveal())


def _digest(code: Secret, agent_id: int) -> str:
    return keyed_digest(Secret(f"{agent_id}\0{canonical(code.reveal())}"))


def _new_code() -> str:
    return "".join(random_source.choice(LETTERS) for _ in range(LENGTH))
