"""The counters of failed passwords: a known login counts its own, an expiring record those of an unknown one.

Both cost the same calls, so callers cannot find out which logins exist.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_hex

from chalicelib.domain.password_lock import FailedAttempts, Verification, is_full
from chalicelib.domain.second_factor import CodeUse
from chalicelib.domain.sign_in import canonical
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.agents import LOGINS, login_key
from chalicelib.store.table import AlreadyExistsError, Key, decode, read, update, write_one

# In capitals, because a login is stored in lower case and so can never be this key.
UNKNOWN = "UNKNOWN#"
NOT_FULL = "(attribute_not_exists(#failed_attempts) OR #failed_attempts < :limit)"
NOT_COUNTED = "(attribute_not_exists(#counted_as) OR #counted_as <> :counted_as)"
IS_OVER = "(#locked_until <= :now OR #counted_until <= :now)"
# The second factor is still the one of the code, and nobody has used the code.
STEP_UNUSED = "#totp_sealed = :sealed AND (attribute_not_exists(#totp_step) OR #totp_step < :step)"
RECOVERY_CODE_UNUSED = (
    "#totp_sealed = :sealed AND contains(#recovery_codes, :code) AND NOT contains(#used_codes, :code)"
)
NO_FACTOR = "attribute_not_exists(#totp_sealed)"
COUNTS = f"attribute_exists(#agent_id) AND ({NOT_FULL} OR {IS_OVER})"


class CodeUsedError(Exception):
    """The code of a second factor was used, or the factor has changed."""


@dataclass(frozen=True)
class Counter:
    """The record that counts the failed passwords of a login."""

    key: Key[FailedAttempts]
    is_login: bool


def counter(email: str) -> Counter:
    """Return the counter in the login of an e-mail."""
    return Counter(Key(LOGINS, FailedAttempts, {"email": canonical(email)}), is_login=True)


def counter_of_unknown(pseudonym: str) -> Counter:
    """Return the counter of an unknown login, under its pseudonym."""
    return Counter(Key(LOGINS, FailedAttempts, {"email": UNKNOWN + pseudonym}), is_login=False)


def count_failure(counter: Counter, failure: Verification, source: str, *, begins_anew: bool) -> FailedAttempts:
    """Count a wrong password, and return the attempts before it. The failure that reaches the limit locks passwords.

    With `begins_anew` the stored failures are over, and the count begins again. Raise 104 when passwords were locked
    meanwhile. The count never exceeds the limit, so parallel guesses after it learn nothing. After a lost answer
    botocore repeats the write: its name keeps it from counting twice.
    """
    name = token_hex(8)
    values = {**_expiry(counter, failure), "counted_as": name}
    if begins_anew and _restart_count(counter, failure, {**values, "sources": frozenset({source})}):
        return FailedAttempts()
    one_more = update(
        counter.key,
        values,
        add={"failed_attempts": 1, "sources": frozenset({source})},
        condition=_existing(counter, f"{NOT_FULL} AND {NOT_COUNTED}"),
        compared={"limit": failure.limit},
    )
    try:
        before = decode(FailedAttempts, write_one(one_more, "UPDATED_OLD"))
    except AlreadyExistsError:
        found = read(counter.key)
        if found is None or found.counted_as != name:
            _lock(counter, failure)
            raise ServiceError(ErrorCode.LOGIN_LOCKED) from None
        before = replace(found, failed_attempts=found.failed_attempts - 1)
    if before.failed_attempts + 1 == failure.limit:
        _lock(counter, failure)
    return before


def count_success(email: str, success: Verification, use: CodeUse | None = None, *, is_logon: bool) -> None:
    """Reset the count of failures after a right password, record the logon if `is_logon`, and take the code of `use`.

    Raise 104 when passwords were locked meanwhile: this write decides between parallel verifications. Raise
    CodeUsedError when the code was used meanwhile, or a factor is on and there is no code.
    """
    condition, compared = unused(use, success) if use else (f"{COUNTS} AND {NO_FACTOR}", counted(success))
    reset = update(
        login_key(email),
        {
            "failed_attempts": 0,
            **({"last_logon": success.at} if is_logon else {}),
            **({"totp_step": use.step} if use and use.step is not None else {}),
        },
        add={"used_codes": frozenset({use.recovery_code})} if use and use.recovery_code else {},
        remove=("locked_until", "counted_until", "sources", "counted_as"),
        condition=condition,
        compared=compared,
    )
    try:
        write_one(reset)
    except AlreadyExistsError:
        own, login = counter(email), read(login_key(email))
        found = read(own.key)
        if found and not is_full(found, success.at) and login and (use or login.totp_sealed):
            raise CodeUsedError from None
        _lock(own, success)
        raise ServiceError(ErrorCode.LOGIN_LOCKED) from None


def counted(verification: Verification) -> dict[str, object]:
    """Return the values in the condition that a verification counts."""
    return {"now": verification.at, "limit": verification.limit}


def unused(use: CodeUse, verification: Verification) -> tuple[str, dict[str, object]]:
    """Return the condition that a right code may be taken at a login, and the values in it."""
    is_step = use.recovery_code is None
    value = {"step": use.step} if is_step else {"code": use.recovery_code}
    condition = f"{COUNTS} AND {STEP_UNUSED if is_step else RECOVERY_CODE_UNUSED}"
    return condition, {**counted(verification), "sealed": use.sealed, **value}


def _restart_count(counter: Counter, failure: Verification, values: Mapping[str, object]) -> bool:
    """Count the first failure of a new series; return False when another request has done so."""
    change = update(
        counter.key,
        {"failed_attempts": 1, **values},
        remove=("locked_until",),
        condition=IS_OVER,
        compared={"now": failure.at},
    )
    try:
        write_one(change)
    except AlreadyExistsError:
        return False
    return True


def _lock(counter: Counter, verification: Verification) -> None:
    """Lock passwords unless they are locked. Each request that finds a full count does so, in case one crashed."""
    lock = update(
        counter.key,
        # The count may be almost a day old.
        {"locked_until": verification.locked_until, **_expiry(counter, verification)},
        condition="#failed_attempts >= :limit AND attribute_not_exists(#locked_until)",
        compared={"limit": verification.limit},
    )
    with suppress(AlreadyExistsError):
        write_one(lock)


def _existing(counter: Counter, condition: str) -> str:
    """Return the condition, with the requirement that a login exists. A counter of an unknown login need not exist."""
    return f"attribute_exists(#agent_id) AND {condition}" if counter.is_login else condition


def _expiry(counter: Counter, failure: Verification) -> dict[str, object]:
    until: dict[str, object] = {"counted_until": failure.counted_until}
    if counter.is_login:  # it has no expiry, because the store deletes expired records
        return until
    return {**until, "expires_at": int(failure.counted_until.timestamp()) + 1}
