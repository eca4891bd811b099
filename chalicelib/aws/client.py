"""Calls of AWS: the signatures of requests, and the repetition of calls.

Requests are signed with AWS Signature Version 4: a POST to the path / without a query. Credentials and region come from
the environment, as in Lambda. Otherwise botocore finds them on a person's computer (profiles, single sign-on, the role
of a machine). botocore is loaded only then, because loading it costs more than the rest of the first call.
https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html

Failed calls are repeated by the rules of botocore's mode `standard`. No error shows parameters, items, keys or texts of
AWS. A request without a usable answer is repeated even if it writes: each of our writes is conditional, has a token, or
may happen twice without harm.
"""

import hashlib
import hmac
import json
import os
import uuid
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import outside
from chalicelib.aws.endpoints import DYNAMODB, Service, endpoint_of, region, session
from chalicelib.aws.errors import CallError, RefusedError, UnansweredError, is_repeated, is_throttled
from chalicelib.domain.secret import Secret

if TYPE_CHECKING:
    from chalicelib.aws.connections import Answer

LONGEST = 20  # seconds: the longest pause
MOST_ASKED = 5  # seconds: the most that the service may add to a pause


class Quota:
    """The number of repeats that a process may still make. An outage uses them up, and answers restore them."""

    MOST, COST, COST_OF_THROTTLED = 500, 14, 5

    def __init__(self) -> None:
        self._left, self._lock = self.MOST, Lock()

    def take(self, cost: int) -> bool:
        """Take the cost of one repeat; return False if the quota is too low."""
        with self._lock:
            if cost > self._left:
                return False
            self._left -= cost
            return True

    def give_back(self, cost: int) -> None:
        """Restore the cost of the repeats before an answer, or 1 for a call without repeats."""
        if self._left < self.MOST:
            with self._lock:
                self._left = min(self.MOST, self._left + cost)


def pause(error: CallError, attempt: int, scale: float, asked: str = "") -> float:
    """Return the seconds before the next attempt: up to `scale`, doubled per attempt, or up to a second when throttled.

    `asked` is the service's own wish in milliseconds, which may be longer.
    """
    longest = (1.0 if is_throttled(error) else scale) * 2.0 ** (attempt - 1)
    drawn = outside.current.between(0, min(longest, LONGEST))
    return max(drawn, min(int(asked[:9]) / 1000, MOST_ASKED + drawn)) if asked.isdecimal() else drawn


ALGORITHM = "AWS4-HMAC-SHA256"
NO_CREDENTIALS = "there are no credentials for AWS"


class Credentials(NamedTuple):
    """The names and secrets for the signature of a request."""

    access_key: str
    secret_key: Secret
    token: Secret | None = None


def signed(
    headers: Mapping[str, str], body: bytes, credentials: Credentials, place: tuple[str, str], now: datetime
) -> dict[str, str]:
    """Return the headers, all of them signed, with the time, the token and the signature.

    The headers' names are in lower case and include `host`. `place` is a region and a service.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    sent = {**headers, "x-amz-date": moment}
    if credentials.token:
        sent["x-amz-security-token"] = credentials.token.reveal()
    sent = {name: " ".join(sent[name].split()) for name in sorted(sent)}  # values are signed without extra blanks

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
    """Return the signing key of a day, a region and a service."""
    key = f"AWS4{secret_key.reveal()}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), hashlib.sha256)
    return key


def credentials() -> Credentials:
    """Return the credentials of the next request; raise UnansweredError when there are none."""
    return _of_environment() or _of_botocore()


@outside.made_once
def _of_environment() -> Credentials | None:
    access_key, secret_key = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        return None
    token = os.environ.get("AWS_SESSION_TOKEN")
    return Credentials(access_key, Secret(secret_key), Secret(token) if token else None)


def _of_botocore() -> Credentials:
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415  slow to load, and not needed in Lambda

    try:
        found = session().get_credentials()
        if found is None:
            raise UnansweredError(NO_CREDENTIALS)
        frozen = found.get_frozen_credentials()  # botocore renews them in time
    except BotoCoreError as error:
        raise UnansweredError(NO_CREDENTIALS) from error
    token = Secret(frozen.token) if frozen.token else None
    return Credentials(frozen.access_key or "", Secret(frozen.secret_key or ""), token)


TOKEN = "ClientRequestToken"  # noqa: S105  not a secret: the name of a parameter
IDEMPOTENT = "TransactWriteItems"  # repeats with the same token count as one request
PAUSE, PAUSE_DYNAMODB = 0.05, 0.025  # seconds: the longest first pause
ERROR = 300  # this HTTP status and all above are errors


class Limits(NamedTuple):
    """The time limits of a client of AWS, and its attempts per call."""

    connect_seconds: float
    read_seconds: float
    attempts: int

    @property
    def longest(self) -> float:
        """Return the most seconds that one attempt can lose."""
        return self.connect_seconds + self.read_seconds


class Client:
    """A client of one service with fixed limits. Many threads may use it."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self._endpoint = endpoint_of(service)
        self._pause = PAUSE_DYNAMODB if service is DYNAMODB else PAUSE
        self._quota = Quota()

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Execute an operation and return its answer. Parameters and answer have the wire's form.

        Raise RefusedError when the service answers with an error, UnansweredError when no usable answer comes.
        """
        if operation == IDEMPOTENT and TOKEN not in parameters:
            parameters = {**parameters, TOKEN: str(uuid.uuid4())}
        body = json.dumps(parameters, separators=(",", ":")).encode()
        taken, attempt = 1, 0
        while True:
            attempt += 1
            headers = self._headers(operation, body)
            asked = ""
            try:
                answer = outside.current.exchange(
                    self._endpoint, headers, body, self.limits.connect_seconds, self.limits.read_seconds
                )
                asked = answer.headers.get("x-amz-retry-after", "")
                result = _result(operation, answer)
            except CallError as error:
                cost = Quota.COST_OF_THROTTLED if is_throttled(error) else Quota.COST
                if attempt >= self.limits.attempts or not is_repeated(error) or not self._quota.take(cost):
                    raise
                taken = cost
                outside.current.pause(pause(error, attempt, self._pause, asked))
            else:
                self._quota.give_back(taken)
                return result

    def _headers(self, operation: str, body: bytes) -> dict[str, str]:
        """Return the headers of a request that is sent now."""
        plain = {
            "accept-encoding": "identity",
            "content-type": self.service.content_type,
            "host": self._endpoint.authority,
            "x-amz-target": f"{self.service.target}.{operation}",
        }
        now = datetime.now(UTC)
        return signed(plain, body, credentials(), (region(), self.service.name), now)


def _result(operation: str, answer: "Answer") -> dict[str, Any]:
    """Return the result in an answer, or raise its error."""
    checksum = answer.headers.get("x-amz-crc32")
    try:
        is_damaged = checksum is not None and checksum != str(zlib.crc32(answer.body))
        parsed = None if is_damaged else json.loads(answer.body)
    except ValueError:
        parsed = None
    if answer.status >= ERROR and not is_damaged:
        raise _refusal(operation, answer.status, parsed if isinstance(parsed, dict) else {})
    if not isinstance(parsed, dict):
        message = f"{operation}: the answer is damaged"
        raise UnansweredError(message)
    return parsed


def _refusal(operation: str, status: int, body: dict[str, Any]) -> RefusedError:
    """Return the error in an answer. Without a code, the HTTP status is the code."""
    code = str(body.get("__type") or status).partition(":")[0].rpartition("#")[2]
    listed = body.get("CancellationReasons")
    of_writes = [dict(reason) for reason in listed] if isinstance(listed, list) else []
    reasons = [str(reason.get("Code")) for reason in of_writes]
    messages = (body.get("message") or body.get("Message"), *(reason.get("Message") for reason in of_writes))
    message = " ".join(str(one) for one in messages if one)
    return RefusedError(operation, code, status=status, message=message, reasons=reasons)
