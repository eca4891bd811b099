"""The signature of a request: AWS Signature Version 4, for a POST to the path / without a query.

https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

from chalicelib.aws.credentials import Credentials
from chalicelib.domain.secret import Secret

ALGORITHM = "AWS4-HMAC-SHA256"


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
    signature = hmac.new(key, f"{ALGORITHM}\n{moment}\n{scope}\n{digest}".encode(), hashlib.sha256).hexdigest()

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
