"""The credentials and the region of the calls: those of the environment, as in Lambda, else botocore's.

botocore finds what a person has on a computer (profiles, single sign-on, the role of a machine). It is loaded for that
alone: it costs more than everything else of a first call.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from chalicelib.aws.errors import UnansweredError
from chalicelib.domain.secret import Secret

if TYPE_CHECKING:
    from botocore.session import Session

NO_CREDENTIALS = "there are no credentials for AWS"


class Credentials(NamedTuple):
    """The names and secrets that a request is signed with."""

    access_key: str
    secret_key: Secret
    token: Secret | None = None


def credentials() -> Credentials:
    """Return the credentials of the next request; raise UnansweredError when there are none."""
    return _of_environment() or _of_botocore()


@cache
def region() -> str:
    """Return the region of the calls; raise SystemExit when none is configured."""
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    found: str | None = named or _session().get_config_variable("region")
    if not found:
        message = "No region is configured: set AWS_REGION."
        raise SystemExit(message)
    return found


@cache
def _of_environment() -> Credentials | None:
    access_key, secret_key = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        return None
    token = os.environ.get("AWS_SESSION_TOKEN")
    return Credentials(access_key, Secret(secret_key), Secret(token) if token else None)


def _of_botocore() -> Credentials:
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415  see above

    try:
        found = _session().get_credentials()
        if found is None:
            raise UnansweredError(NO_CREDENTIALS)
        frozen = found.get_frozen_credentials()  # renewed when it is time
    except BotoCoreError as error:
        raise UnansweredError(NO_CREDENTIALS) from error
    token = Secret(frozen.token) if frozen.token else None
    return Credentials(frozen.access_key or "", Secret(frozen.secret_key or ""), token)


@cache
def _session() -> "Session":
    from botocore.session import get_session  # noqa: PLC0415  see above

    return get_session()
