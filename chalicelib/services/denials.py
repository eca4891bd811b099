"""The log lines of denied sign-ins. They hold pseudonyms of logins, never a login, a credential or a header."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from chalicelib.domain.credential import MANY_PLACES
from chalicelib.errors import ServiceError
from chalicelib.gateways import secrets
from chalicelib.log import log

LOGIN = "login"  # the kind of pseudonym that the log has


@dataclass(eq=False, repr=False)
class Attempt:
    """An attempt to sign in, as far as it is known yet."""

    source: str = ""  # the address it comes from
    scheme: str | None = None
    login: str | None = None


@contextmanager
def log_denial(attempt: Attempt) -> Iterator[None]:
    """Write one line when the attempt is denied in the block."""
    try:
        yield
    except ServiceError as refusal:
        if refusal.error.is_denial:
            log(
                "denied",
                scheme=attempt.scheme,
                code=refusal.error.code,
                login=None if attempt.login is None else secrets.pseudonym(LOGIN, attempt.login),
                source=attempt.source,
            )
        raise


def log_many_places(login: str) -> None:
    """Write one line about a login that is tried from many places."""
    log("login_from_many_places", login=secrets.pseudonym(LOGIN, login), sources=MANY_PLACES)
