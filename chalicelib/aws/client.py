"""The services of AWS that are called, their addresses, and the client: `call` is the one way out.

`AWS_ENDPOINT_URL_<SERVICE>` and `AWS_ENDPOINT_URL` of the environment come before the address of a region. Endpoints in
a profile, FIPS and dual-stack endpoints, and proxies are not used.
"""

import json
import os
import time
import uuid
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from chalicelib.aws import errors
from chalicelib.aws.errors import CallError, Quota, RefusedError, UnansweredError
from chalicelib.aws.signature import credentials, region, signed
from chalicelib.record import Record

if TYPE_CHECKING:
    from chalicelib.aws.connections import Answer

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


class Limits(Record):
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
                cost = Quota.COST_OF_THROTTLED if errors.is_throttled(error) else Quota.COST
                if attempt >= self.limits.attempts or not errors.is_repeated(error) or not self._quota.take(cost):
                    raise
                taken = cost
                time.sleep(errors.pause(error, attempt, self._pause, asked))
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
