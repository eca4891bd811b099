"""What a request is signed with, and the signature: AWS Signature Version 4, for a POST to the path / without a query.

Credentials and region are those of the environment, as in Lambda, else botocore's, which finds what a person has on a
computer (profiles, single sign-on, the role of a machine). It is loaded only then: it costs more than everything else
of a first call. https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from chalicelib.aws.errors import UnansweredError
from chalicelib.domain.secret import Secret

if TYPE_CHECKING:
    from botocore.session import Session

ALGORITHM = "AWS4-HMAC-SHA256"
NO_CREDENTIALS = "there are no credentials for AWS"


class Credentials(NamedTuple):
    """The names and secrets that a request is signed with."""

    access_key: str
    secret_key: Secret
    token: Secret | None = None


def signed(
    headers: Mapping[str, str], body: bytes, credentials: Credentials, place: tuple[str, str], now: datetime
) -> dict[str, str]:
    """Return the headers, all of which are signed, with the time, the token and the signature.

    The names of the headers are in lower case; `host` is among them. The place is a region and a service.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    sent = {**headers, "x-amz-date": moment}
    if credentials.token:
        sent["x-amz-security-token"] = credentials.token.reveal()
    sent = {name: " ".join(sent[name].split()) for name in sorted(sent)}  # a value is signed without spare blanks

    names = ";".join(sent)
    lines = "".join(f"{name}:{value}\n" for name, value in sent.items())
    canonical = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    scope = f"{moment[:8]}/{'/'.join(place)}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = _signing_key(credentials.secret_key, moment[:8], *place)
    signature = hmac.digest(key, f"{ALGORITHM}\n{moment}\n{scope}\n{digest}".encode(), hashlib.sha256).hex()

    sent["authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return sent


@lru_cache(maxsize=8)
def _signing_key(secret_key: Secret, day: str, region: str, service: str) -> bytes:
    """Return the key of a day, a region and a service."""
    key = f"AWS4{secret_key.reveal()}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), hashlib.sha256)
    return key


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
