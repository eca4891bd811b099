"""Calls of AWS: the addresses of its services, the signature of requests, and which calls are repeated.

`AWS_ENDPOINT_URL_<SERVICE>` and `AWS_ENDPOINT_URL` of the environment come before the address of a region. Endpoints in
a profile, FIPS and dual-stack endpoints, and proxies are not used.

Requests are signed with AWS Signature Version 4, for a POST to the path / without a query. Credentials and region are
those of the environment, as in Lambda, else botocore's, which finds what a person has on a computer (profiles, single
sign-on, the role of a machine). It is loaded only then: it costs more than everything else of a first call.
https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html

Calls that brought no result are repeated by the rules of botocore's mode `standard`. No error shows parameters, items,
keys or what AWS wrote. A request that brought no usable answer is repeated, also a write: each write of ours is
conditional, has a token, or may happen twice without harm.
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
LONGEST = 20  # seconds of a pause
MOST_ASKED = 5  # seconds that the service may add to a pause


class CallError(Exception):
    """A call of AWS that brought no result."""


class RefusedError(CallError):
    """AWS answered with an error: its code, and why each write of a transaction was cancelled.

    The message of AWS may quote what was sent. It is in `message`, and neither in the text nor in the repr.
    """

    def __init__(
        self, operation: str, code: str, *, status: int = 400, message: str = "", reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(f"{operation}: {code} ({status})")
        self.operation = operation
        self.code = code
        self.status = status
        self.message = message
        self.reasons = tuple(reasons)  # of a cancelled transaction: a code for each write; "None": not this one


class UnansweredError(CallError):
    """No answer that can be used. If the request left, it may have been carried out."""


class UnreachableError(UnansweredError):
    """No connection: nothing was sent."""


class TimedOutError(UnansweredError):
    """A request that left and was not answered in time."""


class Quota:
    """The repeats a process may still make: an outage uses them up, answers bring them back."""

    MOST, COST, COST_OF_THROTTLED = 500, 14, 5

    def __init__(self) -> None:
        self._left, self._lock = self.MOST, Lock()

    def take(self, cost: int) -> bool:
        """Take the cost of one repeat, if so much is left."""
        with self._lock:
            if cost > self._left:
                return False
            self._left -= cost
            return True

    def give_back(self, cost: int) -> None:
        """Give back what the repeats before an answer cost; 1 for a call that needed none."""
        if self._left < self.MOST:
            with self._lock:
                self._left = min(self.MOST, self._left + cost)


def is_repeated(error: CallError) -> bool:
    """Return whether another attempt may bring a result."""
    if not isinstance(error, RefusedError):
        return True
    return error.code in TRANSIENT or error.status in UNAVAILABLE or is_throttled(error)


def is_throttled(error: CallError) -> bool:
    """Return whether the service wants fewer requests."""
    return isinstance(error, RefusedError) and (error.code in THROTTLED or error.status == TOO_MANY)


def pause(error: CallError, attempt: int, scale: float, asked: str = "") -> float:
    """Return the seconds before the next attempt: up to `scale` doubled with each, or a second when throttled.

    The service may ask for more, in milliseconds.
    """
    longest = (1.0 if is_throttled(error) else scale) * 2.0 ** (attempt - 1)
    drawn = random.random() * min(longest, LONGEST)  # noqa: S311  jitter, not a secret
    return max(drawn, min(int(asked[:9]) / 1000, MOST_ASKED + drawn)) if asked.isdecimal() else drawn


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


DOMAINS = {  # by the beginning of the region's name
    "cn-": "amazonaws.com.cn",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
}
PORTS = {"http": 80, "https": 443}
TOKEN = "ClientRequestToken"  # noqa: S105  not a secret: the name of a parameter
WITH_TOKEN = frozenset({"TransactWriteItems", "PutSecretValue"})  # a repeated request with the same token is one
PAUSE, PAUSE_DYNAMODB = 0.05, 0.025  # seconds: the longest first one
ERROR = 300  # HTTP status from which an answer is an error


class Service(NamedTuple):
    """A service with a JSON interface."""

    name: str  # in addresses and signatures
    variable: str  # the end of the variable that says where it is
    target: str  # before the name of the operation
    content_type: str


DYNAMODB = Service("dynamodb", "DYNAMODB", "DynamoDB_20120810", "application/x-amz-json-1.0")
SECRETS_MANAGER = Service("secretsmanager", "SECRETS_MANAGER", "secretsmanager", "application/x-amz-json-1.1")
S3 = Service("s3", "S3", "", "")  # only its address: boto3 calls it
KMS = Service("kms", "KMS", "TrentService", "application/x-amz-json-1.1")


class Endpoint(NamedTuple):
    """The address of a service."""

    host: str
    port: int
    is_secure: bool
    authority: str  # the host, and the port when it is not the usual one: the header Host

    @property
    def url(self) -> str:
        """Return the URL of the service."""
        return f"{'https' if self.is_secure else 'http'}://{self.authority}/"


def endpoint_of(service: Service) -> Endpoint:
    """Return the address of a service; raise ValueError for one in the environment that is no plain http(s) URL."""
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
    """The time limits of a client of AWS, and the attempts it makes of one call."""

    connect_seconds: float
    read_seconds: float
    attempts: int

    @property
    def longest(self) -> float:
        """Return the seconds that one attempt loses at most."""
        return self.connect_seconds + self.read_seconds


class Client:
    """A client of one service with the same limits for every call; many threads may use it."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self._endpoint = endpoint_of(service)
        self._pause = PAUSE_DYNAMODB if service is DYNAMODB else PAUSE
        self._quota = Quota()

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Carry out an operation and return its answer; parameters and answer are in the form of the wire.

        Raises RefusedError when the service answered with an error, UnansweredError when no usable answer came.
        """
        from chalicelib.aws import connections  # noqa: PLC0415  the first call loads http.client and ssl

        if operation in WITH_TOKEN and TOKEN not in parameters:
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
    """Return what the answer of an operation says; raise what is wrong with it."""
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
    """Return the error of an answer; without a code it is the HTTP status."""
    code = str(body.get("__type") or status).partition(":")[0].rpartition("#")[2]
    message = str(body.get("message") or body.get("Message") or "")
    listed = body.get("CancellationReasons")
    reasons = [str(dict(reason).get("Code")) for reason in listed] if isinstance(listed, list) else ()
    return RefusedError(operation, code, status=status, message=message, reasons=reasons)
