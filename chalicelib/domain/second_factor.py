"""The second factor of a sign-in: codes of an authenticator app (RFC 6238), and recovery codes. Each is taken once."""

from dataclasses import dataclass
from datetime import datetime

from chalicelib.domain.agent import Login

STEP_SECONDS = 30
CLOCK_ERROR = 1  # steps by which the clock of an app may be wrong
RECOVERY_CODES = 10
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # of a recovery code: none looks like another one
LENGTH = 10  # letters of a recovery code: 50 bits


@dataclass(frozen=True)
class Factor:
    """A second factor that is on. Its secret is sealed, `step` is that of its first code. Empty: none is on."""

    sealed: bytes | None = None
    step: int | None = None
    recovery_codes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CodeUse:
    """A right code, which the store takes once: its step, or the digest of a recovery code."""

    sealed: bytes
    step: int | None = None
    recovery_code: str | None = None


def canonical(code: str) -> str:
    """Return a typed code as it is compared: in capitals, without blanks and hyphens."""
    return "".join(code.split()).replace("-", "").upper()


def steps_at(now: datetime) -> range:
    """Return the steps whose codes are right now, in order."""
    step = int(now.timestamp()) // STEP_SECONDS
    return range(step - CLOCK_ERROR, step + CLOCK_ERROR + 1)


def is_unused(login: Login, use: CodeUse) -> bool:
    """Return whether a right code may still be taken: its step is later than the last one, or nobody used it."""
    if use.recovery_code is not None:
        return use.recovery_code in login.recovery_codes - login.used_codes
    return use.step is not None and use.step > (login.totp_step or 0)
