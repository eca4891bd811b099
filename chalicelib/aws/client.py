"""A client of one service: `call` is the one way out."""

import json
import time
import uuid
import zlib
from datetime import UTC, datetime
from typing import Any

from chalicelib.aws import connections, repeats
from chalicelib.aws.connections import Answer
from chalicelib.aws.credentials import credentials, region
from chalicelib.aws.endpoints import DYNAMODB, Service, endpoint_of
from chalicelib.aws.errors import CallError, RefusedError, UnansweredError
from chalicelib.aws.signature import signed
from chalicelib.record import Record

TOKEN = "ClientRequestToken"  # noqa: S105  not a secret: the name of a parameter
WITH_TOKEN = frozenset({"TransactWriteItems", "PutSecretValue"})  # a repeated request with the same token is one
PAUSE, PAUSE_DYNAMODB = 0.05, 0.025  # seconds: the longest first one
ERROR = 300  # HTTP status from which an answer is an error


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
        self._quota = repeats.Quota()

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Carry out an operation and return its answer; parameters and answer are in the form of the wire.

        Raises RefusedError when the service answered with an error, UnansweredError when no usable answer came.
        """
        if operation in WITH_TOKEN and TOKEN not in parameters:
            parameters = {**parameters, TOKEN: str(uuid.uuid4())}
        body = json.dumps(parameters, separators=(",", ":")).encode()
        taken, attempt = 1, 0
        while True:
            attempt += 1
            headers = self._headers(operation, body)
            answer = None
            try:
                answer = connections.exchange(
                    self._endpoint, headers, body, self.limits.connect_seconds, self.limits.read_seconds
                )
                result = _result(operation, answer)
            except CallError as error:
                cost = repeats.Quota.COST_OF_THROTTLED if repeats.is_throttled(error) else repeats.Quota.COST
                if attempt >= self.limits.attempts or not repeats.is_repeated(error) or not self._quota.take(cost):
                    raise
                taken = cost
                time.sleep(repeats.pause(error, attempt, self._pause, answer))
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


def _result(operation: str, answer: Answer) -> dict[str, Any]:
    """Return what the answer of an operation says; raise what is wrong with it."""
    checksum = answer.headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(zlib.crc32(answer.body)):
        message = f"{operation}: the answer is damaged"
        raise UnansweredError(message)
    try:
        parsed = json.loads(answer.body)
    except ValueError:
        parsed = None
    if answer.status >= ERROR:
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
