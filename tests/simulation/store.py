"""The store of the simulation: DynamoDB in memory, as far as the service uses it, one call at a time.

It knows the operations of `chalicelib.store` and refuses parameters it does not know. `tests/simulation/test_store.py`
compares it with DynamoDB Local. Collisions, throttling and lost answers are faults of the wire, not of the store.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from chalicelib.aws.errors import RefusedError
from tests.simulation import expressions
from tests.simulation.expressions import Condition, Update, Values, added, check_operands, check_values
from tests.simulation.tables import Key, Stored, Table
from tests.simulation.values import MAX_ITEM_BYTES, InvalidError, Item, Value, comparable, stored

Answer = dict[str, Any]
TRANSACTION = "TransactWriteItems"
BATCH = 100
PAGE_BYTES = 1024 * 1024
TOKEN_SECONDS = 600  # for which a repeated transaction is the same one
CHECKED = frozenset({"TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"})
READ = frozenset({"ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames"})
KNOWN = {
    "GetItem": READ | {"TableName", "Key"},
    "BatchGetItem": frozenset({"RequestItems"}),
    "Query": READ
    | {"TableName", "IndexName", "KeyConditionExpression", "FilterExpression", "ExpressionAttributeValues"}
    | {"Limit", "ExclusiveStartKey"},
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
        self._tokens: dict[str, tuple[float, Any]] = {}
        self._operations: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
            "GetItem": self._get_item,
            "BatchGetItem": self._batch_get_item,
            "Query": self._query,
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
        only = _only(parameters, frozenset())
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
            only = _only(request, frozenset())
            table = self._table({"TableName": name})
            keys = [table.key_of(key) for key in request["Keys"]]
            if len(set(keys)) < len(keys) or not keys:
                raise InvalidError
            items = (self._read(table, key, request) for key in keys)
            found[name] = [_part(item, only) for item in items if item is not None]
        return {"Responses": found, "UnprocessedKeys": {}}

    def _read(self, table: Table, key: Key, parameters: Mapping[str, Any]) -> Stored | None:
        strong = parameters.get("ConsistentRead")
        return (table.items if strong else table.replica.follow(self._clock())).items.get(key)

    def _query(self, parameters: Mapping[str, Any]) -> Answer:
        names, values = _names(parameters), parameters.get("ExpressionAttributeValues", NO_VALUES)
        sought = expressions.condition(parameters["KeyConditionExpression"], names)
        text = parameters.get("FilterExpression")
        matching = expressions.condition(text, names) if text is not None else None
        only = _only(parameters, sought.used | (matching.used if matching else frozenset()), values)
        for value in values.values():
            stored(value)
        for condition in (sought, matching):
            if condition:
                check_operands(condition.parts, values)
        table = self._table(parameters)
        view, start = self._view(table, parameters), None
        partition, low, high, is_open = _range(sought.parts, values, (view.hash_key, view.range_key), table.types)
        mentioned = _mentions(matching.parts) if matching else set()
        if mentioned & {view.hash_key, view.range_key}:
            raise InvalidError
        projected = table.indexes[parameters["IndexName"]].projected if "IndexName" in parameters else None
        if projected is not None and not {*mentioned, *(only or ())} <= projected:
            raise InvalidError
        if "ExclusiveStartKey" in parameters:
            start = _start(parameters["ExclusiveStartKey"], table, (view.hash_key, view.range_key))
        read, last = _page(view.after(partition, low, start), high, parameters.get("Limit"), is_open=is_open)
        items = [_part(item, only) for item in read if matching is None or matching.holds(item, values)]
        answer = {"Items": items, "Count": len(items), "ScannedCount": len(read)}
        if last is not None:
            by = dict.fromkeys((*table.keys, view.hash_key, view.range_key))
            answer["LastEvaluatedKey"] = {name: last[name] for name in by if name}
        return answer

    def _view(self, table: Table, parameters: Mapping[str, Any]) -> Any:
        name, strong = parameters.get("IndexName"), parameters.get("ConsistentRead")
        if name is None:
            return table.items if strong else table.replica.follow(self._clock())
        if name not in table.indexes or strong:
            raise InvalidError
        return table.indexes[name].follow(self._clock())

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
        keys = [(write.parameters["TableName"], write.key(self._table(write.parameters))) for write in writes]
        if len(set(keys)) < len(keys):
            raise InvalidError
        token, content = parameters.get("ClientRequestToken"), parameters["TransactItems"]
        if token is not None:
            at, before = self._tokens.get(token, (0.0, None))
            if before is not None and self._clock() < at + TOKEN_SECONDS:
                if before != content:
                    raise RefusedError(TRANSACTION, "IdempotentParameterMismatchException")
                return {}
        decided = [_decided(write, self._table(write.parameters)) for write in writes]
        if any(isinstance(each, str) for each in decided):
            reasons = [each if isinstance(each, str) else "None" for each in decided]
            raise RefusedError(TRANSACTION, "TransactionCanceledException", reasons=reasons)
        self._apply(each for each in decided if isinstance(each, Change))
        if token is not None:
            self._tokens[token] = (self._clock(), content)
        return {}

    def _apply(self, changes: Iterable[Change]) -> None:
        visible_at = self._clock() + self._delay()
        for change in changes:
            if change.after is not change.before:
                change.table.apply(change.key, change.after, visible_at)


class _Write:
    """One write as it was sent: everything that can be refused before an item is looked at, is."""

    def __init__(self, kind: str, parameters: Mapping[str, Any]) -> None:
        self.kind, self.parameters = kind, parameters
        names = _names(parameters)
        self.values: Values = parameters.get("ExpressionAttributeValues", NO_VALUES)
        self.condition: Condition | None = None
        self.update: Update | None = None
        used: frozenset[str] = frozenset()
        if "ConditionExpression" in parameters:
            self.condition = expressions.condition(parameters["ConditionExpression"], names)
            used |= self.condition.used
        elif kind == "ConditionCheck":
            raise InvalidError
        if "UpdateExpression" in parameters:
            self.update = expressions.update(parameters["UpdateExpression"], names)
            used |= self.update.used
        _check_used(used, names, self.values, parameters)
        for value in self.values.values():
            stored(value)
        self.item: Item = {name: stored(value) for name, value in parameters.get("Item", {}).items()}

    def key(self, table: Table) -> Key:
        """Return the key of its item; refuse what the table can see without the item."""
        if self.condition:
            check_operands(self.condition.parts, self.values)
        if self.update:
            check_values(self.update, self.values)
        if self.kind == "Put":
            return table.key_of(self.item, alone=False)
        if self.update and set(self.update.changes) & set(table.keys):
            raise InvalidError
        return table.key_of(self.parameters["Key"])

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
        if after.size > MAX_ITEM_BYTES:
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


def _of_transaction(item: Mapping[str, Any]) -> _Write:
    ((kind, parameters),) = item.items()
    if kind not in OF_TRANSACTION:
        raise InvalidError
    _check_known(kind, parameters)
    return _Write(kind, parameters)


def _decided(write: _Write, table: Table) -> Change | str:
    """Return what a write of a transaction does, or the code of the reason why it is cancelled."""
    try:
        return write.decided(table)
    except ConditionFailedError:
        return "ConditionalCheckFailed"
    except InvalidError:
        return "ValidationError"


def _check_known(operation: str, parameters: Mapping[str, Any], *also: str) -> None:
    if unknown := parameters.keys() - KNOWN[operation] - set(also):
        message = f"{operation}: {', '.join(sorted(unknown))} is not modelled"
        raise AssertionError(message)


def _names(parameters: Mapping[str, Any]) -> expressions.Names:
    return tuple(parameters.get("ExpressionAttributeNames", {}).items())


def _only(parameters: Mapping[str, Any], used: frozenset[str], values: Values = NO_VALUES) -> tuple[str, ...] | None:
    """Return the attributes of a projection; refuse names and values that nothing mentions."""
    names, only = _names(parameters), None
    if "ProjectionExpression" in parameters:
        only, mentioned = expressions.projection(parameters["ProjectionExpression"], names)
        used |= mentioned
    _check_used(used, names, values, parameters)
    return only


def _check_used(used: frozenset[str], names: expressions.Names, values: Values, parameters: Mapping[str, Any]) -> None:
    if used != {*(name for name, _ in names), *values}:
        raise InvalidError
    if not values and "ExpressionAttributeValues" in parameters:
        raise InvalidError
    if not names and "ExpressionAttributeNames" in parameters:
        raise InvalidError


def _part(item: Item, only: tuple[str, ...] | None) -> Item:
    return dict(item) if only is None else {name: item[name] for name in only if name in item}


def _mentions(parts: Any) -> set[str]:
    """Return the attributes that a condition looks at."""
    if isinstance(parts, tuple):
        if parts[0] == "name":
            return {parts[1]}
        names = {parts[1]} if str(parts[0]).startswith("attribute") else set()
        return names.union(*map(_mentions, parts[1:]))
    return set()


def _range(
    parts: tuple[Any, ...], values: Values, keys: tuple[str, str | None], types: Mapping[str, str]
) -> tuple[Any, Any, Any, bool]:
    """Return the partition of a key condition, the first and last sort key (None: no limit), and whether others fit."""
    listed = parts[1:] if parts[0] == "and" else (parts,)
    bounds: dict[str, tuple[Any, Any]] = {}
    is_open = False
    for sign, subject, *operands in listed:
        kind, name = subject if len(subject) == 2 else ("", "")
        if kind != "name" or name not in keys or name in bounds or any(one[0] != "value" for one in operands):
            raise InvalidError
        literals = [values[placeholder] for _, placeholder in operands]
        if any(types[name] not in literal for literal in literals):
            raise InvalidError
        low, high = comparable(literals[0]), comparable(literals[-1])
        limits = {"=": (low, low), "between": (low, high), "<=": (None, high), ">=": (low, None)}
        if sign not in limits:
            message = f"{sign} is not modelled in a key condition"
            raise AssertionError(message)
        bounds[name] = limits[sign]
        is_open = is_open or sign != "="
    partition, sort = bounds.get(keys[0], (None, 0)), bounds.get(keys[1] or "", (None, None))
    if partition[0] is None or partition[0] != partition[1]:
        raise InvalidError
    return partition[0], *sort, is_open


def _start(key: Mapping[str, Value], table: Table, by: tuple[str, str | None]) -> tuple[Any, Key]:
    if key.keys() != {*table.keys, by[0], *([by[1]] if by[1] else [])}:
        raise InvalidError
    own = table.key_of(key, alone=False)
    return (comparable(key[by[1]]) if by[1] else (), own)


def _page(
    items: Iterable[tuple[Any, Stored]], high: Any, limit: int | None, *, is_open: bool
) -> tuple[list[Stored], Stored | None]:
    """Return the items of a page, and the last one if others may follow."""
    if limit is not None and limit < 1:
        raise InvalidError
    read: list[Stored] = []
    total = 0
    for sort, item in items:
        if high is not None and sort > high:
            return read, None
        read.append(item)
        total += item.size
        if total > PAGE_BYTES or len(read) == limit:
            return read, None if is_open and sort == high else item
    return read, None
