"""The wire between the service and its store: latencies, and everything that can go wrong on it, by the seed.

What is sent has the form of `marshal`, which costs a fifth of JSON; the JSON of the client has tests of its own.
"""

import base64
import json
import marshal
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.aws.connections import Answer
from chalicelib.aws.endpoints import Endpoint
from chalicelib.aws.errors import RefusedError, TimedOutError, UnansweredError, UnreachableError
from infra.demo.partner import PARTNER_SECRET, PRODUCT
from tests.simulation.call_descriptions import described, summary
from tests.simulation.faults import Faults
from tests.simulation.scheduler import Scheduler
from tests.simulation.store import Store

SECRET: dict[str, Any] = {
    "digest_key": "the key of digests of a simulated stage",
    "signing": ["x" * 40],
    "partners": {PRODUCT: PARTNER_SECRET},
}
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
NO_CONNECTION, TOO_LATE, CUT = "no connection", "no answer in time", "the connection was cut"
QUICK, SLOW = (0.001, 0.012), (0.005, 0.4)  # seconds to the store, and back


class Written(bytes):
    """A request or an answer as it is on the wire."""

    __slots__ = ()

    def encode(self) -> bytes:
        """Return it: it is bytes already."""
        return self


class Form:
    """The form of what is on the wire, in the place of the client's module `json`: a copy each way, as JSON makes."""

    @staticmethod
    def dumps(value: Any, separators: Any = None) -> Written:
        """Write a value; refuse what is no text, number, list or mapping."""
        del separators
        return Written(marshal.dumps(value, 2))  # without references: equal values are equal bytes

    @staticmethod
    def loads(written: bytes) -> Any:
        """Read what was written."""
        return marshal.loads(written)  # noqa: S302  of this process


class Wire:
    """The wire of one scenario. `trace` is told what was called, and what came back."""

    def __init__(
        self, scheduler: Scheduler, store: Store, faults: Faults, trace: Callable[[str], None] | None = None
    ) -> None:
        self._scheduler, self._store, self._faults, self._trace = scheduler, store, faults, trace
        self.calls: Counter[str] = Counter()  # by the tasks that made them

    def exchange(
        self, _: Endpoint, headers: Mapping[str, str], body: bytes, connect_seconds: float, read_seconds: float
    ) -> Answer:
        """Carry a request to AWS and its answer back, or lose one of them."""
        operation = headers["x-amz-target"].rpartition(".")[2]
        parameters = marshal.loads(body)  # noqa: S302  of this process
        if operation in OTHERS:
            return _answer(200, OTHERS[operation](parameters))
        if self._scheduler.current is None:
            return self._carried_out(operation, parameters)
        return self._carried(operation, parameters, connect_seconds, read_seconds)

    def _carried(
        self, operation: str, parameters: dict[str, Any], connect_seconds: float, read_seconds: float
    ) -> Answer:
        faults, pause, task = self._faults, self._scheduler.pause, self._scheduler.current
        chance = task.chance if task else None
        self.calls[task.name if task else ""] += 1
        slow = SLOW if faults.is_slow else QUICK
        pause(chance.uniform(*slow) if chance else 0)
        fault = faults.outage_of_store(self._scheduler.now) or faults.draw("store", BEFORE)
        if fault == "unreachable":
            pause(connect_seconds)
            raise UnreachableError(NO_CONNECTION)
        if fault == "throttled":
            return self._told(operation, parameters, _error("ThrottlingException"))
        if fault == "conflict" and not self._store.done_as(parameters.get("ClientRequestToken")):
            return self._told(operation, parameters, _collision(operation, parameters))
        faults.happen(fault)  # it dies or freezes before the call has an effect

        if faults.draw("store", PARTLY) and operation in {"BatchGetItem", "Query"}:
            answer = self._in_part(operation, parameters)
        else:
            answer = self._carried_out(operation, parameters)
        self._told(operation, parameters, answer)
        fault = faults.draw("store", AFTER)
        if fault == "lost":
            pause(read_seconds)
            raise TimedOutError(TOO_LATE)
        if fault == "cut":
            raise UnansweredError(CUT)
        faults.happen(fault)
        pause(chance.uniform(*slow) if chance else 0)
        return answer

    def _carried_out(self, operation: str, parameters: dict[str, Any]) -> Answer:
        try:
            return _answer(200, self._store.call(operation, parameters))
        except RefusedError as error:
            return _error(error.code, error.reasons)

    def _in_part(self, operation: str, parameters: dict[str, Any]) -> Answer:
        """Answer with a part of what was asked for, as DynamoDB may: the rest is asked for again."""
        if operation == "Query":
            return self._carried_out(operation, {**parameters, "Limit": min(parameters.get("Limit", 2), 2)})
        requests = parameters["RequestItems"]
        keys = [(name, key) for name, request in requests.items() for key in request["Keys"]]
        now: dict[str, Any] = {}
        later: dict[str, Any] = {}
        for part, chosen in ((now, keys[: (len(keys) + 1) // 2]), (later, keys[(len(keys) + 1) // 2 :])):
            for name, key in chosen:
                part.setdefault(name, {**requests[name], "Keys": []})["Keys"].append(key)
        try:
            answer = self._store.call(operation, {"RequestItems": now})
        except RefusedError as error:
            return _error(error.code, error.reasons)
        return _answer(200, {**answer, "UnprocessedKeys": later})

    def _told(self, operation: str, parameters: Mapping[str, Any], answer: Answer) -> Answer:
        if self._trace is not None:
            self._trace(f"{described(operation, parameters)} -> {summary(Form.loads(answer.body))}")
        return answer


BEFORE = {"unreachable": 0.2, "throttled": 0.5, "conflict": 0.6, "dies": 0.5, "freezes": 0.4}
PARTLY = {"part": 1.0}
AFTER = {"lost": 0.5, "cut": 0.4, "dies": 0.5, "freezes": 0.4}


def _answer(status: int, content: dict[str, Any]) -> Answer:
    body = marshal.dumps(content, 2)
    return Answer(status, {"x-amz-crc32": str(zlib.crc32(body))}, body)


def _error(code: str, reasons: Any = ()) -> Answer:
    content: dict[str, Any] = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": code}
    if reasons:
        content["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return _answer(400, content)


def _collision(operation: str, parameters: Mapping[str, Any]) -> Answer:
    if operation == "TransactWriteItems":
        count = len(parameters["TransactItems"])
        return _error("TransactionCanceledException", ["TransactionConflict", *["None"] * (count - 1)])
    return _error("TransactionConflictException" if operation in WRITES else "ThrottlingException")


def _sealed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps([parameters["Plaintext"], parameters["EncryptionContext"]])
    return {"CiphertextBlob": base64.b64encode(text.encode()[::-1]).decode()}


def _opened(parameters: Mapping[str, Any]) -> dict[str, Any]:
    text, context = json.loads(base64.b64decode(parameters["CiphertextBlob"])[::-1])
    if context != parameters["EncryptionContext"]:
        message = "decrypted for somebody else"
        raise AssertionError(message)
    return {"Plaintext": text}


OTHERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "GetSecretValue": lambda _: {"SecretString": json.dumps(SECRET)},
    "Encrypt": _sealed,
    "Decrypt": _opened,
}
