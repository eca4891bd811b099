"""The clients of AWS, which boto3 makes, their errors, and the calls that botocore repeats.

botocore signs the requests, keeps connections open and repeats calls by its mode `standard`, and by `Repeats`. Nothing
of botocore leaves this module: not its errors, which quote AWS and may quote a request, and not its log below WARNING,
which has bodies.
"""

import json
import logging
import os
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chalicelib import outside
from chalicelib.errors import ErrorCode, LoggableError, ServiceError
from chalicelib.settings import LOCAL, MAX_SWEEP_CONCURRENCY, settings

if TYPE_CHECKING:
    from botocore.session import Session

for _name in ("botocore", "urllib3", "botocore.auth", "botocore.endpoint", "botocore.parsers"):  # three have bodies
    logging.getLogger(_name).setLevel(logging.WARNING)  # also of clients that infra makes

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


PATIENT = Limits(connect_seconds=1, read_seconds=3, attempts=3)  # leaves most of GATEWAY_SECONDS to the acquirer
HURRIED = Limits(connect_seconds=0.5, read_seconds=2.5, attempts=1)
HURRIED_SECRET = Limits(connect_seconds=0.5, read_seconds=1, attempts=1)  # short, to leave time for the store


@dataclass(eq=False, repr=False)
class _Allowance:
    left: float


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def limit_lost_time(seconds: float) -> Iterator[None]:
    """Limit the time that AWS calls in the block may lose; after it they raise 903."""
    token = _allowance.set(_Allowance(seconds))
    try:
        yield
    finally:
        _allowance.reset(token)


def limits(hurried: Limits = HURRIED) -> Limits:
    """Return the limits of the next call; raise 903 when it could lose more time than is left."""
    allowance = _allowance.get()
    if allowance is None:
        return PATIENT
    if allowance.left < HURRIED.longest:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)
    return hurried


def spend(seconds: float) -> None:
    """Count the time that a failed call lost."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.left -= seconds


ATTEMPTS = 8  # of a colliding call: the pauses take at most three seconds together, on average half of that
REPEATED_FOR = 10  # seconds from the beginning of a colliding call to its last attempt
COLLISIONS = frozenset({
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ThrottlingError",
    "ThrottlingException",
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
})  # fmt: skip
FAILED = "ConditionalCheckFailed"  # the reason why a write cancels its transaction
OUTAGES = frozenset({"InternalServerError", "ServiceUnavailable", "InternalFailure"})
DROPPED = "ResourceNotFoundException"  # a table is gone, until an operator restores it


def is_dropped(error: BaseException | None) -> bool:
    """Return whether a call was refused because its table does not exist."""
    return isinstance(error, RefusedError) and error.code == DROPPED


def is_cancelled(error: CallError | None) -> bool:
    """Return whether a transaction did not happen. Another error may hide a success, so its repeat keeps the token."""
    return isinstance(error, RefusedError) and bool(error.reasons)


def _is_outage(error: CallError) -> bool:
    if not isinstance(error, RefusedError) or _collided(error):
        return True
    return error.code in {*OUTAGES, DROPPED} or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _collided(error: CallError) -> bool:
    """Return whether a call only collided with another: a condition that does not hold is an answer."""
    if not isinstance(error, RefusedError) or FAILED in error.reasons:
        return False
    return not COLLISIONS.isdisjoint({error.code, *error.reasons})


@dataclass
class Repeats:
    """The repeats of one call that botocore's mode `standard` does not know: of collisions, and in limited time."""

    began: float  # by `outside.current.elapsed`
    lost: float = 0.0  # seconds, already counted

    def pause_after(self, failure: CallError, attempt: int) -> float | None:
        """Return the seconds until the call is repeated; False: it is not; None: botocore's own rules decide.

        A timed-out call is not repeated in limited time, because it may have succeeded and no time is left.
        """
        allowance, now = _allowance.get(), outside.current.elapsed()
        if is_dropped(failure) or not _is_outage(failure) or (allowance is None and not _collided(failure)):
            return None
        pause = outside.current.between(0, 0.02 * 2 ** (attempt - 1))
        lost = now - self.began + pause
        spend(lost - self.lost)
        self.lost = lost
        has_time = now - self.began <= REPEATED_FOR and (allowance is None or allowance.left >= HURRIED.longest)
        return pause if has_time and attempt < ATTEMPTS and not isinstance(failure, TimedOutError) else False


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


def of_the_local_stage() -> dict[str, Any]:
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

    return get_session()


def create(service: str, limits: Limits, **options: Any) -> Any:
    """Create a client of botocore. `options` go to its Config.

    A client with one attempt for everything has a new connection for each call: a kept one may have died while Lambda
    slept, and a message is not given up for that.
    """
    from botocore.config import Config  # noqa: PLC0415  see `_session_of`

    with _LOCK:
        client = _session_of(_environment()).create_client(
            service,
            **{"region_name": region(), **(local := of_the_local_stage())},
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
        client.meta.events.register("before-call", _begin)
        name = client.meta.service_model.service_id.hyphenize()
        # The first answer decides; the types of botocore know none.
        client.meta.events.register_first(f"needs-retry.{name}", _pause_after)  # type: ignore[arg-type]
    elif limits.attempts == 1:
        client.meta.events.register("before-send", _close_after)
    return client


def _close_after(request: Any, **_: Any) -> None:
    request.headers["Connection"] = "close"


def _begin(context: dict[str, Any], **_: Any) -> None:
    context["repeats"] = Repeats(outside.current.elapsed())


def _pause_after(
    operation: Any, response: Any, caught_exception: Exception | None, attempts: int, request_dict: Any, **_: Any
) -> float | None:
    """Answer botocore, after each attempt, whether it repeats the call."""
    failure = _failure(operation.name, response[1] if response else {}, caught_exception)
    pause = request_dict["context"]["repeats"].pause_after(failure, attempts) if failure else None
    if is_cancelled(failure):
        body = {**json.loads(request_dict["body"]), "ClientRequestToken": str(uuid.uuid4())}
        request_dict["body"] = json.dumps(body).encode()
    return pause


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
        from botocore.exceptions import ClientError  # noqa: PLC0415

        client, raised = self._made(), None
        answer: Any = {}
        try:
            answer = getattr(client, xform_name(operation))(**parameters)
        except ClientError as error:
            answer = error.response
        except Exception as error:  # noqa: BLE001  botocore also raises AttributeError for an answer of another form
            raised = error
        if failure := _failure(operation, answer, raised):  # also of a damaged success
            raise failure
        found: dict[str, Any] = answer
        return found


@contextmanager
def outages_as_903() -> Iterator[None]:
    """Raise 903 for an outage in the block. Another refusal of AWS is a defect and stays a RefusedError.

    A write without a response may have happened. A repeated request with the same ID finds it stored.
    """
    try:
        yield
    except CallError as error:
        if _is_outage(error):
            raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from error
        raise


def _failure(operation: str, answer: Any, raised: Exception | None) -> CallError | None:
    from botocore.exceptions import ReadTimeoutError  # noqa: PLC0415  see `_session_of`

    if isinstance(raised, ReadTimeoutError):
        return TimedOutError(f"{operation}: no answer in time")
    if raised:
        return UnansweredError(f"{operation}: no usable answer ({type(raised).__name__})")
    return _refusal(operation, answer) if "Error" in answer else None


def _refusal(operation: str, response: Any) -> CallError:
    """Return the error in an answer. Without a code, the HTTP status is the code."""
    code, status = response["Error"].get("Code", ""), response["ResponseMetadata"]["HTTPStatusCode"]
    if code == DAMAGED:
        return UnansweredError(f"{operation}: the answer is damaged")
    reasons = [reason.get("Code", "None") for reason in response.get("CancellationReasons") or ()]
    return RefusedError(operation, code, status=status, reasons=reasons)
