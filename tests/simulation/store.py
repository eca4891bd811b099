"""The store of the simulation: DynamoDB in memory, as far as the service uses it, one call at a time.

It knows the operations of `chalicelib.store` and refuses parameters it does not know. `tests/simulation/test_store.py`
compares it with DynamoDB Local. Collisions, throttling and lost answers are faults of the wire, not of the store.
"""

import marshal
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from chalicelib.store.aws_client import RefusedError
from tests.simulation import expressions, queries
from tests.simulation.expressions import Values, added, check_operands, check_values
from tests.simulation.tables import Key, Stored, Table, View
from tests.simulation.values import MAX_ITEM_BYTES, InvalidError, Item, Value, comparable, stored

Answer = dict[str, Any]
TRANSACTION = "TransactWriteItems"
BATCH, BATCH_OF_WRITES = 100, 25
TOKEN_SECONDS = 600  # for which a repeated transaction is the same one
CHECKED = frozenset({"TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"})
READ = frozenset({"ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames"})
KNOWN = {
    "GetItem": READ | {"TableName", "Key"},
    "BatchGetItem": frozenset({"RequestItems"}),
    "BatchWriteItem": frozenset({"RequestItems"}),
    "Query": READ
    | {"TableName", "IndexName", "KeyConditionExpression", "FilterExpression", "ExpressionAttributeValues"}
    | {"Limit", "ExclusiveStartKey", "ScanIndexForward"},
    "Scan": READ | {"TableName", "IndexName", "ExclusiveStartKey"},
    "PutItem": CHECKED | {"Item", "ReturnValues"},
    "UpdateItem": CHECKED | {"Key", "UpdateExpression", "ReturnValues"},
    "DeleteItem": CHECKED | {"Key", "ReturnValues"},
    "TransactWriteItems": frozenset({"TransactItems", "ClientRequestToken"}),
    "Put": CHECKED | {"Item"},
    "Update": CHECKED | {"Key", "UpdateExpression"},
    "Delete": CHECKED | {"Key"},
    "ConditionCheck": CHECKED | {"Key"},
}
OF_TRANSACTION = frozenset({"Put", "Update", "Delete", "ConditionCheck"})
NO_VALUES: Values = {}


class ConditionFailedError(Exception):
    """A write whose condition does not hold."""


class NoTableError(Exception):
    """A table that does not exist."""


class Change(NamedTuple):
    """A write that was decided: the item that takes the place of the one before, or None where it is deleted."""

    table: Table
    key: Key
    before: Stored | None
    after: Stored | None


class Store:
    """The tables, and every operation on them. `clock` returns seconds, `delay` those until an index sees a write."""

    def __init__(self, tables: Iterable[Table], clock: Callable[[], float], delay: Callable[[], float] = float) -> None:
        self.tables = {table.name: table for table in tables}
        self._clock, self._delay = clock, delay
        self.watched: list[Callable[[Change], None]] = []  # who is told of every change
        self._tokens: dict[str, tuple[float, Any]] = {}
        self._operations: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
            "GetItem": self._get_item,
            "BatchGetItem": self._batch_get_item,
            "BatchWriteItem": self._batch_write_item,
            "Query": self._query,
            "Scan": self._scan,
            "PutItem": self._put_item,
            "DeleteItem": self._delete_item,
            "UpdateItem": self._update_item,
            "TransactWriteItems": self._transact_write_items,
        }

    def copy(self, clock: Callable[[], float], delay: Callable[[], float]) -> "Store":
        """Return a store with the same items, that changes apart from this one."""
        return Store([table.copy() for table in self.tables.values()], clock, delay)

    def call(self, operation: str, parameters: Mapping[str, Any]) -> Answer:
        """Carry out an operation; raise RefusedError as the client does when DynamoDB refuses it."""
        try:
            _check_known(operation, parameters)
            answer = self._operations[operation](parameters)
        except InvalidError:
            raise RefusedError(operation, "ValidationException") from None
        except ConditionFailedError:
            raise RefusedError(operation, "ConditionalCheckFailedException") from None
        except NoTableError:
            raise RefusedError(operation, "ResourceNotFoundException") from None
        return answer

    def items(self, name: str) -> list[Stored]:
        """Return every item of a table."""
        return list(self.tables[name].items.items.values())

    def shows_any(self, name: str, index: str) -> bool:
        """Return whether an index shows anything by now."""
        return bool(self.tables[name].indexes[index].follow(self._clock()).items)

    def expire(self, epoch: float) -> None:
        """Delete everything that has expired at that time, as DynamoDB does some time after."""
        for table in self.tables.values():
            table.expire(epoch, self._clock())

    def _table(self, parameters: Mapping[str, Any]) -> Table:
        name = parameters["TableName"]
        if name not in self.tables:
            raise NoTableError
        return self.tables[name]

    def _get_item(self, parameters: Mapping[str, Any]) -> Answer:
        only = queries.projected(parameters.get("ProjectionExpression"), _names(parameters))
        table = self._table(parameters)
        item = self._read(table, table.key_of(parameters["Key"]), parameters)
        return {} if item is None else {"Item": _part(item, only)}

    def _batch_get_item(self, parameters: Mapping[str, Any]) -> Answer:
        requests = parameters["RequestItems"]
        found: dict[str, list[Any]] = {}
        if not requests or sum(len(request["Keys"]) for request in requests.values()) > BATCH:
            raise InvalidError
        for name, request in requests.items():
            _check_known("GetItem", request, "Keys")
            only = queries.projected(request.get("ProjectionExpression"), _names(request))
            table = self._table({"TableName": name})
            keys = [table.key_of(key) for key in request["Keys"]]
            if len(set(keys)) < len(keys) or not keys:
                raise InvalidError
            items = (self._read(table, key, request) for key in keys)
            found[name] = [_part(item, only) for item in items if item is not None]
        return {"Responses": found, "UnprocessedKeys": {}}

    def _batch_write_item(self, parameters: Mapping[str, Any]) -> Answer:
        requests = [(name, one) for name, several in parameters["RequestItems"].items() for one in several]
        if not 0 < len(requests) <= BATCH_OF_WRITES:
            raise InvalidError
        writes = [_of_batch(name, *next(iter(request.items()))) for name, request in requests]
        decided = [write.decided(self._table(write.parameters)) for write in writes]
        if len({(change.table.name, change.key) for change in decided}) < len(decided):
            raise InvalidError
        self._apply(decided)
        return {"UnprocessedItems": {}}

    def _read(self, table: Table, key: Key, parameters: Mapping[str, Any]) -> Stored | None:
        strong = parameters.get("ConsistentRead")
        return (table.items if strong else table.replica.follow(self._clock())).items.get(key)

    def _query(self, parameters: Mapping[str, Any]) -> Answer:
        values = parameters.get("ExpressionAttributeValues", NO_VALUES)
        asked = queries.asked(
            parameters["KeyConditionExpression"],
            parameters.get("FilterExpression"),
            parameters.get("ProjectionExpression"),
            _names(parameters),
            tuple(values) if "ExpressionAttributeValues" in parameters else None,
        )
        for value in values.values():
            stored(value)
        asked.check(values)
        table = self._table(parameters)
        view = self._view(table, parameters)
        span = queries.span(asked, view.hash_key, view.range_key)
        partition, low, high = span.bounds(values, table.types)
        if "IndexName" in parameters:
            projected = table.indexes[parameters["IndexName"]].projected
            if projected is not None and not asked.attributes <= projected:
                raise InvalidError
        start = None
        if "ExclusiveStartKey" in parameters:
            start = _start(parameters["ExclusiveStartKey"], table, (view.hash_key, view.range_key))
        forward = parameters.get("ScanIndexForward", True)
        found = view.after(partition, low, start) if forward else view.before(partition, high, start)
        if span.is_above:
            found = (each for each in found if each[0] != low)
        is_open = span.is_open and "IndexName" not in parameters  # several items of an index may have one sort key
        read, last = queries.page(found, (low, high), parameters.get("Limit"), is_open=is_open, forward=forward)
        matching, only = asked.matching, asked.only
        items = [_part(item, only) for item in read if matching is None or matching.holds(item, values)]
        answer = {"Items": items, "Count": len(items), "ScannedCount": len(read)}
        if last is not None:
            by = dict.fromkeys((*table.keys, view.hash_key, view.range_key))
            answer["LastEvaluatedKey"] = {name: last[name] for name in by if name}
        return answer

    def _view(self, table: Table, parameters: Mapping[str, Any]) -> View:
        name, strong = parameters.get("IndexName"), parameters.get("ConsistentRead")
        if name is None:
            return table.items if strong else table.replica.follow(self._clock())
        if name not in table.indexes or strong:
            raise InvalidError
        return table.indexes[name].follow(self._clock())

    def _scan(self, parameters: Mapping[str, Any]) -> Answer:
        """Return every item, in one page: what is scanned is small."""
        only = queries.projected(parameters.get("ProjectionExpression"), _names(parameters))
        items = self._view(self._table(parameters), parameters).items.values()
        return {"Items": [_part(item, only) for item in items], "Count": len(items), "ScannedCount": len(items)}

    def _put_item(self, parameters: Mapping[str, Any]) -> Answer:
        return self._single("Put", parameters, {"NONE", "ALL_OLD"})

    def _delete_item(self, parameters: Mapping[str, Any]) -> Answer:
        return self._single("Delete", parameters, {"NONE", "ALL_OLD"})

    def _update_item(self, parameters: Mapping[str, Any]) -> Answer:
        return self._single("Update", parameters, {"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"})

    def _single(self, kind: str, parameters: Mapping[str, Any], may_return: set[str]) -> Answer:
        table, wanted = self._table(parameters), parameters.get("ReturnValues", "NONE")
        if wanted not in may_return:
            raise InvalidError
        write = _Write(kind, parameters)
        change = write.decided(table)
        self._apply([change])
        item = change.after if wanted.endswith("NEW") else change.before
        if wanted == "NONE" or item is None:
            return {}
        if not wanted.startswith("UPDATED"):
            return {"Attributes": dict(item)}
        changed = {name: item[name] for name in write.update.changes if name in item} if write.update else {}
        return {"Attributes": changed} if changed else {}

    def _transact_write_items(self, parameters: Mapping[str, Any]) -> Answer:
        writes = [_of_transaction(item) for item in parameters["TransactItems"]]
        if not 0 < len(writes) <= BATCH:
            raise InvalidError
        token, content = parameters.get("ClientRequestToken"), parameters["TransactItems"]
        before = self.done_as(token)
        if before is not None:
            if before != content:
                raise RefusedError(TRANSACTION, "IdempotentParameterMismatchException")
            return {}
        keys = [(write.parameters["TableName"], write.key(self._table(write.parameters))) for write in writes]
        if len(set(keys)) < len(keys):
            raise InvalidError
        decided = [_decided(write, self._table(write.parameters)) for write in writes]
        if any(isinstance(each, Exception) for each in decided):
            reasons = [REASONS.get(type(each), "None") for each in decided]
            raise RefusedError(TRANSACTION, "TransactionCanceledException", reasons=reasons)
        self._apply(each for each in decided if isinstance(each, Change))
        if token is not None:
            self._tokens[token] = (self._clock(), content)
        return {}

    def done_as(self, token: str | None) -> Any:
        """Return what was carried out under the token of a transaction; None if nothing was, or long ago."""
        at, content = self._tokens.get(token or "", (0.0, None))
        return content if self._clock() < at + TOKEN_SECONDS else None

    def _apply(self, changes: Iterable[Change]) -> None:
        visible_at = self._clock() + self._delay()
        for change in changes:
            if change.after is not change.before:
                change.table.apply(change.key, change.after, visible_at)
                for watching in self.watched:
                    watching(change)


class _Write:
    """One write as it was sent: everything that can be refused before an item is looked at, is."""

    def __init__(self, kind: str, parameters: Mapping[str, Any]) -> None:
        self.kind, self.parameters = kind, parameters
        self.values: Values = parameters.get("ExpressionAttributeValues", NO_VALUES)
        self.condition, self.update = queries.written(
            parameters.get("ConditionExpression"),
            parameters.get("UpdateExpression"),
            _names(parameters),
            tuple(self.values) if "ExpressionAttributeValues" in parameters else None,
        )
        if kind == "ConditionCheck" and self.condition is None:
            raise InvalidError
        for value in self.values.values():
            stored(value)
        self.item: Item = {name: stored(value) for name, value in parameters.get("Item", {}).items()}
        self._key: Key | None = None

    def key(self, table: Table) -> Key:
        """Return the key of its item; refuse what the table can see without the item."""
        if self._key is None:
            if self.condition:
                check_operands(self.condition, self.values)
            if self.update:
                check_values(self.update, self.values)
                if not set(table.keys).isdisjoint(self.update.changes):
                    raise InvalidError
            is_put = self.kind == "Put"
            self._key = table.key_of(self.item if is_put else self.parameters["Key"], alone=not is_put)
        return self._key

    def decided(self, table: Table) -> Change:
        """Return what it does; raise ConditionFailedError or InvalidError."""
        key = self.key(table)
        table.check(self.item)
        before = table.items.items.get(key)
        if self.condition and not self.condition.holds(before or {}, self.values):
            raise ConditionFailedError
        return Change(table, key, before, self._after(table, before))

    def _after(self, table: Table, before: Stored | None) -> Stored | None:
        if self.kind == "Delete":
            return None
        if self.kind == "ConditionCheck":
            return before
        after = Stored(self.item) if self.update is None else self._updated(table, before)
        # Written by `marshal`, which is quick, an item is never shorter than DynamoDB counts it.
        if len(marshal.dumps(dict(after), 2)) > MAX_ITEM_BYTES and after.size > MAX_ITEM_BYTES:
            raise InvalidError
        return after

    def _updated(self, table: Table, before: Stored | None) -> Stored:
        was: Item = before if before is not None else {}
        after = Stored(before if before is not None else self.parameters["Key"])
        update = self.update
        if update is None:
            return after
        for name, evaluate in update.set:
            value = evaluate(was, self.values)
            if value is None:
                raise InvalidError
            after[name] = stored(value)
        for name in update.remove:
            after.pop(name, None)
        for name, placeholder in update.add:
            after[name] = added(was.get(name), stored(self.values[placeholder]))
        table.check({name: after[name] for name in update.changes if name in after})
        return after


def _of_batch(table: str, kind: str, request: Mapping[str, Any]) -> _Write:
    return _Write(kind.removesuffix("Request"), {"TableName": table, **request})


def _of_transaction(item: Mapping[str, Any]) -> _Write:
    ((kind, parameters),) = item.items()
    if kind not in OF_TRANSACTION:
        raise InvalidError
    _check_known(kind, parameters)
    return _Write(kind, parameters)


REASONS: dict[type, str] = {ConditionFailedError: "ConditionalCheckFailed", InvalidError: "ValidationError"}


def _decided(write: _Write, table: Table) -> Change | ConditionFailedError | InvalidError:
    """Return the change that a write of a transaction makes, or the error that cancels the transaction."""
    try:
        return write.decided(table)
    except (ConditionFailedError, InvalidError) as error:
        return error


def _check_known(operation: str, parameters: Mapping[str, Any], *also: str) -> None:
    if parameters.keys() <= KNOWN[operation]:
        return
    if unknown := parameters.keys() - KNOWN[operation] - set(also):
        message = f"{operation}: {', '.join(sorted(unknown))} is not modelled"
        raise AssertionError(message)


def _names(parameters: Mapping[str, Any]) -> expressions.Names | None:
    names = parameters.get("ExpressionAttributeNames")
    return None if names is None else tuple(names.items())


def _part(item: Item, only: tuple[str, ...] | None) -> Item:
    return dict(item) if only is None else {name: item[name] for name in only if name in item}


def _start(key: Mapping[str, Value], table: Table, by: tuple[str, str | None]) -> tuple[Any, Key]:
    if key.keys() != {*table.keys, by[0], *([by[1]] if by[1] else [])}:
        raise InvalidError
    own = table.key_of(key, alone=False)
    return (comparable(key[by[1]]) if by[1] else (), own)
