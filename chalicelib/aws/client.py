"""Calls of AWS: the addresses of services, the signatures of requests, and the repetition of calls.

The variables `AWS_ENDPOINT_URL_<SERVICE>` and `AWS_ENDPOINT_URL` replace a service's address in the region. Endpoints
in a profile, FIPS and dual-stack endpoints, and proxies are not supported.

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
import random
import time
import uuid
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from chalicelib.domain.secret import Secret

if TYPE_CHECKING:
    from botocore.session import Session

    from chalicelib.aws.connections import Answer

TRANSIENT = frozenset({
    "PriorRequestNotComplete", "ReplicatedWriteConflictException", "RequestTimeout", "RequestTimeoutException",
})  # fmt: skip
THROTTLED = frozenset({
    "BandwidthLimitExceeded", "EC2ThrottledException", "LimitExceededException", "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled", "RequestThrottledException",
    "SlowDown", "ThrottledException", "Throttling", "ThrottlingException", "TooManyRequestsException",
    "TransactionInProgressException",
})  # fmt: skip
UNAVAILABLE = frozenset({500, 502, 503, 504})
TOO_MANY = 429
LONGEST = 20  # seconds: the longest pause
MOST_ASKED = 5  # seconds: the most that the service may add to a pause


class CallError(Exception):
    """A call of AWS failed."""


class RefusedError(CallError):
    """AWS answered with an error: its code, and the reason for each write of a cancelled transaction.

    The message of AWS may quote the request. So it is only in `message`, not in the error's text or repr.
    """

    def __init__(
        self, operation: str, code: str, *, status: int = 400, message: str = "", reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(f"{operation}: {code} ({status})")
        self.operation = operation
        self.code = code
        self.status = status
        self.message = message
        self.reasons = tuple(reasons)  # for a cancelled transaction: a code per write, "None" if that write was fine


class UnansweredError(CallError):
    """No usable answer came. If the request was sent, it may have been executed."""


class UnreachableError(UnansweredError):
    """No connection was made, so nothing was sent."""


class TimedOutError(UnansweredError):
    """A sent request was not answered in time."""


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


def is_repeated(error: CallError) -> bool:
    """Return whether another attempt may succeed."""
    if not isinstance(error, RefusedError):
        return True
    return error.code in TRANSIENT or error.status in UNAVAILABLE or is_throttled(error)


def is_throttled(error: CallError) -> bool:
    """Return whether the service asks for fewer requests."""
    return isinstance(error, RefusedError) and (error.code in THROTTLED or error.status == TOO_MANY)


def pause(error: CallError, attempt: int, scale: float, asked: str = "") -> float:
    """Return the seconds before the next attempt: up to `scale`, doubled per attempt, or up to a second when throttled.

    `asked` is the service's own wish in milliseconds, which may be longer.
    """
    longest = (1.0 if is_throttled(error) else scale) * 2.0 ** (attempt - 1)
    drawn = random.random() * min(longest, LONGEST)  # noqa: S311  jitter, not a secret
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
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415  slow to load, and not needed in Lambda

    try:
        found = _session().get_credentials()
        if found is None:
            raise UnansweredError(NO_CREDENTIALS)
        frozen = found.get_frozen_credentials()  # botocore renews them in time
    except BotoCoreError as error:
        raise UnansweredError(NO_CREDENTIALS) from error
    token = Secret(frozen.token) if frozen.token else None
    return Credentials(frozen.access_key or "", Secret(frozen.secret_key or ""), token)


@cache
def _session() -> "Session":
    from botocore.session import get_session  # noqa: PLC0415  slow to load, and not needed in Lambda

    return get_session()


DOMAINS = {  # by the prefix of the region's name
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}
PORTS = {"http": 80, "https": 443}
TOKEN = "ClientRequestToken"  # noqa: S105  not a secret: the name of a parameter
IDEMPOTENT = "TransactWriteItems"  # repeats with the same token count as one request
PAUSE, PAUSE_DYNAMODB = 0.05, 0.025  # seconds: the longest first pause
ERROR = 300  # this HTTP status and all above are errors


class Service(NamedTuple):
    """A service with a JSON interface."""

    name: str  # its name in addresses and signatures
    variable: str  # the end of the variable with its address
    target: str  # the prefix of the operation's name
    content_type: str


DYNAMODB = Service("dynamodb", "DYNAMODB", "DynamoDB_20120810", "application/x-amz-json-1.0")
SECRETS_MANAGER = Service("secretsmanager", "SECRETS_MANAGER", "secretsmanager", "application/x-amz-json-1.1")
S3 = Service("s3", "S3", "", "")  # only for its address: boto3 calls it
KMS = Service("kms", "KMS", "TrentService", "application/x-amz-json-1.1")


class Endpoint(NamedTuple):
    """The address of a service."""

    host: str
    port: int
    is_secure: bool
    authority: str  # the header Host: the host, and the port unless it is the default

    @property
    def url(self) -> str:
        """Return the URL of the service."""
        return f"{'https' if self.is_secure else 'http'}://{self.authority}/"


def endpoint_of(service: Service) -> Endpoint:
    """Return the address of a service; raise ValueError if the environment has no plain http(s) URL for it."""
    named = os.environ.get(f"AWS_ENDPOINT_URL_{service.variable}") or os.environ.get("AWS_ENDPOINT_URL")
    parts = urlsplit(named or f"https://{service.name}.{region()}.{_domain(region())}")
    usual = PORTS.get(parts.scheme)
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username)
    if usual is None or not parts.hostname or any(rest):
        message = "An endpoint of AWS is http://host:port or https://host:port, without a path."
        raise ValueError(message)
    port = parts.port or usual
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    authority = host if port == usual else f"{host}:{port}"
    return Endpoint(parts.hostname, port, is_secure=parts.scheme == "https", authority=authority)


def _domain(name: str) -> str:
    return next((domain for prefix, domain in DOMAINS.items() if name.startswith(prefix)), "amazonaws.com")


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
        from chalicelib.aws import connections  # noqa: PLC0415  the first call loads http.client and ssl

        if operation == IDEMPOTENT and TOKEN not in parameters:
            parameters = {**parameters, TOKEN: str(uuid.uuid4())}
        body = json.dumps(parameters, separators=(",", ":")).encode()
        taken, attempt = 1, 0
        while True:
            attempt += 1
            headers = self._headers(operation, body)
            asked = ""
            try:
                answer = connections.exchange(
                    self._endpoint, headers, body, self.limits.connect_seconds, self.limits.read_seconds
                )
                asked = answer.headers.get("x-amz-retry-after", "")
                result = _result(operation, answer)
            except CallError as error:
                cost = Quota.COST_OF_THROTTLED if is_throttled(error) else Quota.COST
                if attempt >= self.limits.attempts or not is_repeated(error) or not self._quota.take(cost):
                    raise
                taken = cost
                time.sleep(pause(error, attempt, self._pause, asked))
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
    message = str(body.get("message") or body.get("Message") or "")
    listed = body.get("CancellationReasons")
    reasons = [str(dict(reason).get("Code")) for reason in listed] if isinstance(listed, list) else ()
    return RefusedError(operation, code, status=status, message=message, reasons=reasons)
