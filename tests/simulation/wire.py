"""The wire between the service and its store: latencies, and everything that can go wrong on it, by the seed.

botocore stands outside of the simulation; it has tests of its own.
"""

import itertools
import json
import marshal
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib import outside
from chalicelib.store.aws_client import (
    CallError,
    Limits,
    RefusedError,
    Repeats,
    TimedOutError,
    UnansweredError,
    is_cancelled,
)
from infra.demo.partner import PARTNER_SECRET, PRODUCT
from tests.simulation.call_descriptions import described, summary
from tests.simulation.faults import Faults
from tests.simulation.scheduler import Scheduler
from tests.simulation.store import Store

SECRET: dict[str, Any] = {
    "digest_key": "the key of digests of a simulated stage",
    "signing": ["x" * 40],
    "partners": {PRODUCT: PARTNER_SECRET},
    "stripe": "sk_test_simulated",
}
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
MOST, LOST = 500, 14  # the quota of repeats, and what repeating a lost call takes of it
Answer = dict[str, Any]
Exchange = Callable[[str, dict[str, Any], Limits], Answer]
Quotas = defaultdict[Any, int]  # by client: the repeats that it has left


def quotas() -> Quotas:
    """Return full quotas."""
    return defaultdict(lambda: MOST)


NO_CONNECTION, TOO_LATE, CUT = "no connection", "no answer in time", "the connection was cut"
QUICK, SLOW = (0.001, 0.012), (0.005, 0.4)  # seconds to the store, and back


class Client:
    """The client of AWS in a scenario: it repeats a call as `Repeats` says, else by botocore's mode `standard`.

    A request and an answer are copied by `marshal`, which refuses what is no text, number, list or mapping.
    """

    def __init__(self, service: str, limits: Limits, exchange: Exchange, quotas_of: Callable[[], Quotas]) -> None:
        self.service, self.limits = service, limits
        self._exchange, self._quotas_of = exchange, quotas_of

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Execute an operation and return its answer; raise a CallError."""
        if operation == "TransactWriteItems":
            parameters = {"ClientRequestToken": str(uuid.uuid4()), **parameters}
        written, repeats = marshal.dumps(parameters, 2), Repeats(outside.current.elapsed())
        left, cost = self._quotas_of(), 1
        for attempt in itertools.count(1):
            try:
                answer = self._exchange(operation, marshal.loads(written), self.limits)  # noqa: S302  of this process
            except CallError as error:
                pause = repeats.pause_after(error, attempt)
                is_standard = pause is None and isinstance(error, UnansweredError) and left[self] >= LOST
                if is_standard and attempt < self.limits.attempts:
                    cost = LOST
                    left[self] -= cost
                    pause = outside.current.between(0, 0.025 * 2.0 ** (attempt - 1))
                if pause is None or pause is False:
                    raise
                if is_cancelled(error) and "ClientRequestToken" in parameters:
                    written = marshal.dumps({**parameters, "ClientRequestToken": str(uuid.uuid4())}, 2)
                outside.current.pause(pause)
            else:
                left[self] = min(MOST, left[self] + cost)
                return answer
        raise AssertionError


class Wire:
    """The wire of one scenario. `trace` is told what was called, and what came back."""

    def __init__(
        self, scheduler: Scheduler, store: Store, faults: Faults, trace: Callable[[str], None] | None = None
    ) -> None:
        self._scheduler, self._store, self._faults, self._trace = scheduler, store, faults, trace
        self.calls: Counter[str] = Counter()  # by the tasks that made them

    def exchange(self, operation: str, parameters: dict[str, Any], limits: Limits) -> Answer:
        """Carry a request to AWS and its answer back, or lose one of them."""
        if operation in OTHERS:
            return OTHERS[operation](parameters)
        if self._scheduler.current is None:
            return self._carried_out(operation, parameters)
        return self._carried(operation, parameters, limits)

    def _carried(self, operation: str, parameters: dict[str, Any], limits: Limits) -> Answer:
        faults, pause, task = self._faults, self._scheduler.pause, self._scheduler.current
        chance = task.chance if task else None
        self.calls[task.name if task else ""] += 1
        slow = SLOW if faults.is_slow else QUICK
        pause(chance.uniform(*slow) if chance else 0)
        fault = faults.outage_of_store(self._scheduler.now) or faults.draw("store", BEFORE)
        if fault == "unreachable":
            pause(limits.connect_seconds)
            raise UnansweredError(NO_CONNECTION)
        if fault == "throttled":
            raise self._refused(operation, parameters, "ThrottlingException")
        if fault == "conflict" and not self._store.done_as(parameters.get("ClientRequestToken")):
            raise self._refused(operation, parameters, *_collision(operation, parameters))
        faults.happen(fault)  # it dies or freezes before the call has an effect

        refusal: RefusedError | None = None
        answer: Answer = {}
        try:
            if faults.draw("store", PARTLY) and operation in {"BatchGetItem", "Query"}:
                answer = self._in_part(operation, parameters)
            else:
                answer = self._carried_out(operation, parameters)
        except RefusedError as error:
            refusal = error
        self._told(operation, parameters, refusal or answer)
        fault = faults.draw("store", AFTER)
        if fault == "lost":
            pause(limits.read_seconds)
            raise TimedOutError(TOO_LATE)
        if fault == "cut":
            raise UnansweredError(CUT)
        faults.happen(fault)
        pause(chance.uniform(*slow) if chance else 0)
        if refusal is not None:
            raise refusal
        return answer

    def _carried_out(self, operation: str, parameters: dict[str, Any]) -> Answer:
        answer: Answer = marshal.loads(marshal.dumps(self._store.call(operation, parameters), 2))  # noqa: S302  as above
        return answer

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
        return {**self._carried_out(operation, {"RequestItems": now}), "UnprocessedKeys": later}

    def _refused(self, operation: str, parameters: dict[str, Any], code: str, *reasons: str) -> RefusedError:
        refusal = RefusedError(operation, code, reasons=reasons)
        self._told(operation, parameters, refusal)
        return refusal

    def _told(self, operation: str, parameters: Mapping[str, Any], answer: Answer | RefusedError) -> None:
        if self._trace is not None:
            self._trace(f"{described(operation, parameters)} -> {summary(answer)}")


BEFORE = {"unreachable": 0.2, "throttled": 0.5, "conflict": 0.6, "dies": 0.5, "freezes": 0.4}
PARTLY = {"part": 1.0}
AFTER = {"lost": 0.5, "cut": 0.4, "dies": 0.5, "freezes": 0.4}


def _collision(operation: str, parameters: Mapping[str, Any]) -> list[str]:
    """Return the code of a collision, with the reason of each write."""
    if operation == "TransactWriteItems":
        count = len(parameters["TransactItems"])
        return ["TransactionCanceledException", "TransactionConflict", *["None"] * (count - 1)]
    return ["TransactionConflictException" if operation in WRITES else "ThrottlingException"]


def _sealed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"CiphertextBlob": marshal.dumps((parameters["Plaintext"], parameters["EncryptionContext"]))[::-1]}


def _opened(parameters: Mapping[str, Any]) -> dict[str, Any]:
    text, context = marshal.loads(parameters["CiphertextBlob"][::-1])  # noqa: S302  as above
    if context != parameters["EncryptionContext"]:
        message = "decrypted for somebody else"
        raise AssertionError(message)
    return {"Plaintext": text}


OTHERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "GetSecretValue": lambda _: {"SecretString": json.dumps(SECRET)},
    "Encrypt": _sealed,
    "Decrypt": _opened,
}
