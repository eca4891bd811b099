"""The clients of AWS, which boto3 makes, and their errors.

botocore signs the requests, keeps connections open and repeats calls by its mode `standard`. Nothing of botocore leaves
this module: not its errors, which quote AWS and may quote a request, and not its log below WARNING, which has bodies.
"""

import json
import logging
import os
import zlib
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chalicelib.errors import LoggableError
from chalicelib.settings import LOCAL, MAX_SWEEP_CONCURRENCY, settings

if TYPE_CHECKING:
    from botocore.session import Session

REGION: Final = "eu-west-1"  # of the local stage
PORT = 8001  # of its AWS
DYNAMODB, SECRETS_MANAGER, KMS = "dynamodb", "secretsmanager", "kms"


class CallError(LoggableError):
    """A call of AWS failed."""


class RefusedError(CallError):
    """AWS answered with an error: its code, and a code for each write of a cancelled transaction.

    It has no message of AWS, which may quote the request.
    """

    def __init__(self, operation: str, code: str, *, status: int = 400, reasons: Sequence[str] = ()) -> None:
        super().__init__(f"{operation}: {code} ({status})")
        self.operation = operation
        self.code = code
        self.status = status
        self.reasons = tuple(reasons)  # "None" for a write that was fine


class UnansweredError(CallError):
    """No usable answer came. If the request was sent, it may have been executed."""


class TimedOutError(UnansweredError):
    """A sent request was not answered in time."""


class Limits(NamedTuple):
    """The time limits of a client of AWS, and its attempts per call."""

    connect_seconds: float
    read_seconds: float
    attempts: int

    @property
    def longest(self) -> float:
        """Return the most seconds that one attempt can lose."""
        return self.connect_seconds + self.read_seconds


_LOCK = Lock()  # one lock for all clients, because the same session makes them


def _environment() -> tuple[tuple[str, str], ...]:
    """Return the variables that decide about region, keys and endpoints; none in Lambda, where they never change."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        return ()
    return tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))


def region() -> str | None:
    """Return the region; None where botocore finds it, in a profile."""
    named = os.environ.get("AWS_REGION")  # Lambda's name for it
    if not settings().is_local or os.environ.get("AWS_PROFILE"):
        return named
    return named or os.environ.get("AWS_DEFAULT_REGION") or REGION


def _of_the_local_stage() -> dict[str, Any]:
    """Return region, keys and address of the AWS of `make run`, for a local stage without keys; `mock_aws` has some."""
    if not settings().is_local or any(map(os.environ.get, ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"))):
        return {}
    keys, port = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), LOCAL), os.environ.get("AWS_PORT")
    if not port and any(name.startswith("AWS_ENDPOINT_URL") and url for name, url in _environment()):
        return keys
    return {**keys, "region_name": REGION, "endpoint_url": f"http://127.0.0.1:{port or PORT}"}


@lru_cache(maxsize=16)  # tests change the environment
def _session_of(_: tuple[tuple[str, str], ...]) -> "Session":
    """Return botocore's session, which finds region, credentials and endpoints. boto3 would add 20 ms and nothing."""
    from botocore.session import get_session  # noqa: PLC0415  moto serves only sessions that begin after its import

    for name in ("botocore", "urllib3", "botocore.auth", "botocore.endpoint", "botocore.parsers"):  # three have bodies
        logging.getLogger(name).setLevel(logging.WARNING)
    return get_session()


def create(service: str, limits: Limits, **options: Any) -> Any:
    """Create a client of botocore. `options` go to its Config."""
    from botocore.config import Config  # noqa: PLC0415  see `_session_of`

    with _LOCK:
        client = _session_of(_environment()).create_client(
            service,
            **{"region_name": region(), **(local := _of_the_local_stage())},
            config=Config(
                connect_timeout=limits.connect_seconds,
                read_timeout=limits.read_seconds,
                retries={"mode": "standard", "total_max_attempts": limits.attempts},
                max_pool_connections=MAX_SWEEP_CONCURRENCY,
                parameter_validation=False,
                proxies={} if "endpoint_url" in local else None,  # None: those of the environment
                tcp_keepalive=True,
                account_id_endpoint_mode="disabled",  # it would need one more call, and another look-up
                **options,
            ),
        )
    if service in {DYNAMODB, SECRETS_MANAGER, KMS}:
        client.meta.events.register("before-parse", _refuse_damaged)
    return client


DAMAGED = "RequestTimeout"  # the code of AWS that botocore repeats for every service


def _refuse_damaged(response_dict: dict[str, Any], **_: Any) -> None:
    """Turn a damaged answer into an error. botocore would take it as an empty success, also of a write."""
    body, checksum = response_dict["body"], response_dict["headers"].get("x-amz-crc32")
    is_whole = checksum in {None, str(zlib.crc32(body))}
    if is_whole and response_dict["status_code"] < HTTPStatus.MULTIPLE_CHOICES:
        try:
            is_whole = isinstance(json.loads(body), dict)
        except ValueError:
            is_whole = False
    if not is_whole:
        response_dict.update(status_code=HTTPStatus.BAD_REQUEST, body=json.dumps({"__type": DAMAGED}).encode())


@lru_cache(maxsize=16)  # as above
def _shared(service: str, limits: Limits, _: tuple[tuple[str, str], ...]) -> Any:
    """Return the client of a service, which all threads of the process share."""
    checksums = dict.fromkeys(("request_checksum_calculation", "response_checksum_validation"), "when_required")
    return create(service, limits, **checksums)  # only S3 has them, and looking for them takes time


class Client:
    """A client of one service with fixed limits. Many threads may use it."""

    def __init__(self, service: str, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self._made()  # now, not in a request

    def _made(self) -> Any:
        """Return the client for the environment as it is now: a test may begin or end a `mock_aws`."""
        try:
            return _shared(self.service, self.limits, _environment())
        except Exception as error:  # noqa: BLE001  a region or an address is missing or wrong, or a profile is
            problem = type(error).__name__
        message = f"{self.service}: no client ({problem})"
        raise UnansweredError(message)

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Execute an operation and return its answer.

        Raise RefusedError when the service answers with an error, UnansweredError when no usable answer comes.
        """
        from botocore import xform_name  # noqa: PLC0415  see `_session_of`
        from botocore.exceptions import ClientError, ReadTimeoutError  # noqa: PLC0415

        client, failure = self._made(), CallError()
        try:
            answer: dict[str, Any] = getattr(client, xform_name(operation))(**parameters)
        except ClientError as error:
            failure = _refusal(operation, error.response)
        except ReadTimeoutError:
            failure = TimedOutError(f"{operation}: no answer in time")
        except Exception as error:  # noqa: BLE001  botocore also raises AttributeError for an answer of another form
            failure = UnansweredError(f"{operation}: no usable answer ({type(error).__name__})")
        else:
            if "Error" not in answer:
                return answer
            failure = _refusal(operation, answer)  # of a damaged success
        raise failure


def _refusal(operation: str, response: Any) -> CallError:
    """Return the error in an answer. Without a code, the HTTP status is the code."""
    code, status = response["Error"].get("Code", ""), response["ResponseMetadata"]["HTTPStatusCode"]
    if code == DAMAGED:
        return UnansweredError(f"{operation}: the answer is damaged")
    reasons = [reason.get("Code", "None") for reason in response.get("CancellationReasons") or ()]
    return RefusedError(operation, code, status=status, reasons=reasons)
