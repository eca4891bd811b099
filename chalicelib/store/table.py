"""Access to DynamoDB: strong reads, conditional writes, transactions, queries, and records as items.

Reads of a table's partition are strong. An index is milliseconds behind its table, so code that must not miss a record
reads by key.
"""

import json
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from decimal import Context, Decimal, Inexact, Overflow
from enum import Enum
from functools import cache, partial
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from chalicelib import outside
from chalicelib.domain.deletions import Deletion
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.log import log
from chalicelib.settings import settings
from chalicelib.store import aws_client
from chalicelib.store.aws_client import ATTEMPTS, DYNAMODB, FAILED, Client, Limits, RefusedError

Value = dict[str, Any]  # an attribute value in DynamoDB's form: {"S": "text"}
Item = Mapping[str, Value]
Decoder = Callable[[Value], Any]
R = TypeVar("R")
T = TypeVar("T")

# The version of an item: 1 when it is new, and each update raises it. A copy tells whether the item is newer, and a
# record with a field of this name is replaced only if its item still has the version.
VERSION = "version"
NEW = {"N": "1"}
DERIVED = frozenset({"history"})  # tables whose items follow from transactions; they have no version


def attributes_of(record: Any) -> dict[str, Any]:
    """Return the values of a record, each under the name of its stored attribute.

    An attribute has the name of its field. A field with `inline` is a group: each field of the contained record is an
    attribute of the item itself, and its name begins with the group's, as in `original_id`.
    """
    return {
        attribute: getattr(record if group is None else getattr(record, group), name)
        for attribute, group, name in _attributes(type(record))  # type: ignore[arg-type]  # a class is hashable
    }


def attributes_of_class(record: type) -> list[str]:
    """Return the names of a record's stored attributes."""
    return [attribute for attribute, _, _ in _attributes(record)]


@cache
def _attributes(record: type) -> list[tuple[str, str | None, str]]:
    """Return for each attribute: its name, the field of its group (None: the record itself), and its field there."""
    stored: list[tuple[str, str | None, str]] = []
    for one in fields(record):
        if one.metadata.get("inline"):
            stored += [(f"{one.name}_{each.name}", one.name, each.name) for each in fields(one.default_factory)]  # type: ignore[arg-type]
        else:
            stored.append((one.name, None, one.name))
    return stored


def encode(record: Any) -> dict[str, Value]:
    """Return the item of a record, without its empty fields, and without Booleans and texts that are the default."""
    return {name: value_of(value) for name, value in _stored_values(record).items()}


def _stored_values(record: Any) -> dict[str, Any]:
    defaults = _defaults(type(record))  # type: ignore[arg-type]  # a class is hashable
    return {
        name: value
        for name, value in attributes_of(record).items()
        if not _is_empty(value) and (name not in defaults or value != defaults[name])
    }


@cache
def _defaults(record: type) -> dict[str, bool | str]:
    """Return the Booleans and texts that are defaults, each under the name of its attribute."""
    owners: dict[str | None, Any] = {None: record}
    owners |= {one.name: one.default_factory for one in fields(record) if one.metadata.get("inline")}
    of_owner = {group: {one.name: one.default for one in fields(owner)} for group, owner in owners.items()}
    defaults: dict[str, Any] = {attribute: of_owner[group][name] for attribute, group, name in _attributes(record)}
    return {attribute: default for attribute, default in defaults.items() if type(default) in {bool, str}}


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, tuple | frozenset) and not value)


# An update rewrites its whole item. So if an item is above MOST_OF_ITEM, the LARGE attributes of its record are parts:
# items of their own, written once. A part's key is that of its owner, `#` and the attribute. The record's `apart` names
# the owner of each part: itself, or a record with the same value.
APART, PART_OF = "apart", "part_of"
MOST_OF_ITEM, LEAST_APART = 2000, 500  # bytes


def value_of(value: Any) -> Value:  # noqa: C901, PLR0911  one line a type is the clearest form of this table
    """Convert one value to an attribute value. Floats are refused, because no amount may be one."""
    match value:
        case Enum():
            return value_of(value.value)
        case str():
            return {"S": str(value)}
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case datetime():
            return {"S": value.isoformat(timespec="microseconds")}
        case date():
            return {"S": value.isoformat()}
        case frozenset():
            return {"SS": sorted(value)}
        case tuple() | list():
            return {"L": [value_of(item) for item in value]}
        case Mapping():
            return {"M": {key: value_of(item) for key, item in value.items()}}
        case _ if is_dataclass(value):
            return {"S": _row(value)} if hasattr(value, "IS_ROW") else {"M": encode(value)}
        case _:
            message = f"{type(value).__name__} cannot be stored"
            raise TypeError(message)


MALFORMED = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, IndexError)  # of a wrong stored value


# Stored times: every zone can show them.
FIRST, LAST = datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
REPAIRED_IN = 300  # seconds until a caller asks again for an unreadable record


class UnreadableError(ServiceError):
    """A stored item is no record: an attribute is missing, or has a value that cannot be right."""

    def __init__(self, reason: str) -> None:
        message = "A stored record is unreadable. An operator repairs it."
        super().__init__(ErrorCode.STORE_UNAVAILABLE, message, retry_after=REPAIRED_IN)
        self.reason = reason


def decode(record: type[R], item: Mapping[str, Value]) -> R:
    """Return the record in an item, or raise UnreadableError. Unknown attributes, as those of indexes, are ignored."""
    try:
        return _decode(record, item)
    except MALFORMED as wrong:
        raise UnreadableError(type(wrong).__name__) from wrong


def readable(table: str, items: Iterable[Item], read: Callable[[Item], T]) -> Iterator[T]:
    """Yield the record that `read` finds in each item. Log an unreadable item, and pass it over."""
    for item in items:
        try:
            found = read(item)
        except (UnreadableError, *MALFORMED) as wrong:
            log_unreadable(table, item, wrong)
        else:
            yield found


def log_unreadable(table: str, item: Item, wrong: Exception) -> None:
    """Log an unreadable item. Its key is named only where it holds no address of a person."""
    known = (text for name in ("id", "at", "place") for text in item.get(name, {}).values())
    reason = wrong.reason if isinstance(wrong, UnreadableError) else type(wrong).__name__
    log("unreadable", table=table, record=next(known, None), reason=reason)


def _decode(record: type[R], item: Mapping[str, Value]) -> R:
    decoders, groups = _decoders(record)  # type: ignore[arg-type]  # a class is hashable
    values: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {name: {} for name in groups}
    for attribute, value in item.items():
        if attribute in decoders:
            group, name, decoder = decoders[attribute]
            (values if group is None else parts[group])[name] = decoder(value)
    return record(**values, **{name: make(**parts[name]) for name, make in groups.items()})


@cache
def _decoders(record: type) -> tuple[dict[str, tuple[str | None, str, Decoder]], dict[str, type]]:
    """Return the group, field and decoder of each attribute, and the groups stored in the item itself."""
    hints = get_type_hints(record)
    groups = {one.name: hints[one.name] for one in fields(record) if one.metadata.get("inline")}
    hints_of = {None: hints} | {name: get_type_hints(group) for name, group in groups.items()}
    stored = _attributes(record)
    decoders = {attribute: (group, name, _decoder(hints_of[group][name])) for attribute, group, name in stored}
    owners: list[tuple[str | None, Any]] = [(None, record), *groups.items()]
    limits = {
        (group, one.name): one.metadata["within"]
        for group, owner in owners
        for one in fields(owner)
        if "within" in one.metadata
    }
    for attribute, (group, name, decoder) in decoders.items():
        if (group, name) in limits:
            decoders[attribute] = (group, name, partial(_within, limits[group, name], decoder))
    return decoders, groups


def _row(record: Any) -> str:
    """Return the text of a record that IS_ROW, which has only texts and numbers: hundreds of them are read fast."""
    values = (f"{value:f}" if isinstance(value, Decimal) else value for value in astuple(record))
    return json.dumps([*values], ensure_ascii=False, separators=(",", ":"))


def decode_row(record: type[R], value: Value) -> R:
    """Return the record in a stored text of a row."""
    return record(*(make(one) for make, one in zip(_makers(record), json.loads(value["S"]), strict=True)))  # type: ignore[arg-type]


@cache
def _makers(record: type) -> list[Callable[[Any], Any]]:
    hints = get_type_hints(record)
    return [hints[one.name] for one in fields(record)]


def _within(limits: range, decoder: Decoder, value: Value) -> Any:
    found = decoder(value)
    if found not in limits:
        raise ValueError(found)
    return found


def _decoder(hint: Any) -> Decoder:  # noqa: C901, PLR0911  one return a type is the clearest form of this table
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        arms = set(get_args(hint)) - {type(None)}
        return _text_or_number if arms == {int, str} else _decoder(*arms)
    if origin is tuple:
        item = _decoder(get_args(hint)[0])
        return lambda value: tuple(item(one) for one in value["L"])
    if origin is frozenset:
        return lambda value: frozenset(value["SS"])
    if origin is Mapping:
        entry = _decoder(get_args(hint)[1])
        return lambda value: {name: entry(one) for name, one in value["M"].items()}
    if hasattr(hint, "IS_ROW"):
        return partial(decode_row, hint)
    if is_dataclass(hint):
        return lambda value: _decode(hint, value["M"])  # type: ignore[arg-type]  # `hint` is a class here
    if issubclass(hint, Enum):
        return lambda value: hint(int(value["N"]) if "N" in value else value["S"])
    if issubclass(hint, datetime):
        return _instant
    if issubclass(hint, date):
        return lambda value: hint.fromisoformat(value["S"])
    if issubclass(hint, bool):
        return lambda value: bool(value["BOOL"])
    if issubclass(hint, int | Decimal):
        return lambda value: hint(value["N"])
    if issubclass(hint, bytes):
        return lambda value: bytes(value["B"])
    return lambda value: str(value["S"])


def _instant(value: Value) -> datetime:
    """Return a time far enough from the ends of the calendar for every zone."""
    found = datetime.fromisoformat(value["S"])
    if not FIRST <= found <= LAST:
        raise ValueError(found)
    return found


def _text_or_number(value: Value) -> str | int:
    return int(value["N"]) if "N" in value else str(value["S"])


ATTRIBUTE = re.compile(r"#\w+")


def attribute_names(text: str) -> dict[str, str]:
    """Return the attributes in an expression, each under its placeholder: {"#at": "at"}."""
    return {word: word[1:] for word in ATTRIBUTE.findall(text)}


BATCH = 100  # keys in one BatchGetItem, items in one transaction


@outside.made_once
def _client(limits: Limits) -> Client:
    return outside.current.client(DYNAMODB, limits)


def client() -> Client:
    """Return the client with the time limits of this request; raise 903 when too much time is lost."""
    return _client(aws_client.limits())


def call(operation: str, **parameters: Any) -> dict[str, Any]:
    """Execute an operation of DynamoDB; raise 903 in an outage, RefusedError for another error."""
    with aws_client.outages_as_903():
        return client().call(operation, **parameters)


class Key(NamedTuple, Generic[R]):
    """The key of one record, and the record's class."""

    table: str
    record: type[R]
    key: Mapping[str, Any]

    def wire(self) -> dict[str, Value]:
        """Return the key in DynamoDB's form."""
        return {name: value_of(value) for name, value in self.key.items()}


class AlreadyExistsError(Exception):
    """A condition does not hold, usually because a record with this key exists."""


@dataclass(frozen=True)
class Write:
    """One conditional write, and the exception to raise when its condition does not hold."""

    kind: str  # Put, Update, Delete or ConditionCheck
    parameters: Mapping[str, Any]
    otherwise: Exception = field(default_factory=AlreadyExistsError)
    added_to: frozenset[str] = frozenset()  # the attributes to which an update adds

    def wire(self) -> dict[str, Any]:
        """Return the write in the form of TransactWriteItems."""
        return {self.kind: self.parameters}


def table_name(table: str) -> str:
    """Return the deployed name of a table."""
    return settings().table_prefix + table


NOTHING: Mapping[str, Any] = types.MappingProxyType({})


def put_new(
    table: str, record: Any, key: str, otherwise: Exception | None = None, *, index: Mapping[str, Any] | None = None
) -> Write:
    """Return the write of a record under a new key; `index` adds attributes that only an index needs."""
    item = {**encode(record), **{name: value_of(value) for name, value in (index or {}).items()}, VERSION: NEW}
    parameters = {"TableName": table_name(table), "Item": item, **_condition(f"attribute_not_exists(#{key})", NOTHING)}
    return Write("Put", parameters, otherwise or AlreadyExistsError())


def put_with_parts(
    table: str, record: Any, key: str, like: Any = None, *, index: Mapping[str, Any] | None = None
) -> list[Write]:
    """Return the writes of a new record and of its parts, otherwise like `put_new`.

    `like` is a stored record. The new record refers to its parts with equal values.
    """
    whole = put_new(table, replace(record, apart=None), key, index=index)
    item, shared = whole.parameters["Item"], (like.apart if like else None) or {}
    known = encode(like) if shared else {}
    apart = {name: owner for name, owner in shared.items() if name in item and item[name] == known.get(name)}
    for name in apart:
        del item[name]
    large = (
        [one for one in record.LARGE if _size(item.get(one, {})) > LEAST_APART] if _size(item) > MOST_OF_ITEM else []
    )
    parts = [{key: {"S": f"{item[key]['S']}#{one}"}, PART_OF: item[key], one: item.pop(one)} for one in large]
    apart |= dict.fromkeys(large, item[key]["S"])
    if apart:
        item[APART] = value_of(apart)
    puts = (Write("Put", {"TableName": table_name(table), "Item": {**part, VERSION: NEW}}) for part in parts)
    return [whole, *puts]


def _size(value: Any) -> int:
    """Return about the bytes of an item or a value, as DynamoDB counts them."""
    if isinstance(value, dict):
        return sum(len(name) + _size(one) for name, one in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else len(str(value).encode())


def put_item(table: str, item: Mapping[str, Any]) -> Write:
    """Return the write of an item without a condition: the transaction's other writes have those that matter."""
    return Write(
        "Put", {"TableName": table_name(table), "Item": {name: value_of(value) for name, value in item.items()}}
    )


def _condition(condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a condition, which names attributes as `#name` and these values as `:name`."""
    parameters: dict[str, Any] = {
        "ConditionExpression": condition,
        "ExpressionAttributeNames": attribute_names(condition),
        "ExpressionAttributeValues": {f":{name}": value_of(value) for name, value in values.items()},
    }
    return {name: value for name, value in parameters.items() if value}


def update(  # noqa: PLR0913  the parts of UpdateItem
    key: Key[Any],
    values: Mapping[str, Any] = NOTHING,
    *,
    add: Mapping[str, Any] = NOTHING,
    start: Mapping[str, int] = NOTHING,
    remove: Iterable[str] = (),
    condition: str | None = None,
    compared: Mapping[str, Any] = NOTHING,
    otherwise: Exception | None = None,
) -> Write:
    """Return the write that sets attributes to `values`, adds, removes, and raises the item's version.

    `add` has numbers and sets of texts. A missing number is 0, or as `start` says. The condition names attributes as
    `#name`, and as `:name` these values and those in `compared`.
    """
    added = {**add, **({} if key.table in DERIVED else {VERSION: 1})}
    begun = {f"{name}_start": number for name, number in start.items()}
    clauses = {
        "SET": [
            *(f"#{name} = :{name}" for name in values),
            *(f"#{name} = if_not_exists(#{name}, :{name}_start) + :{name}" for name in start),
        ],
        "REMOVE": [f"#{name}" for name in sorted(remove)],
        "ADD": [f"#{name} :{name}" for name in added if name not in start],
    }
    expression = " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts)
    parameters: dict[str, Any] = {
        "TableName": table_name(key.table),
        "Key": key.wire(),
        "UpdateExpression": expression,
        "ExpressionAttributeNames": attribute_names(f"{expression} {condition or ''}"),
    }
    if named := {**compared, **values, **added, **begun}:
        parameters["ExpressionAttributeValues"] = {f":{name}": value_of(value) for name, value in named.items()}
    if condition:
        parameters["ConditionExpression"] = condition
    return Write("Update", parameters, otherwise or AlreadyExistsError(), frozenset(added))


def delete(
    reason: Deletion, key: Key[Any], condition: str, values: Mapping[str, Any], otherwise: Exception | None = None
) -> Write:
    """Return the deletion of an item, for a reason in the registry of deletions."""
    parameters = {"TableName": table_name(reason.table), "Key": key.wire(), **_condition(condition, values)}
    return Write("Delete", parameters, otherwise or AlreadyExistsError())


def check(key: Key[Any], condition: str, values: Mapping[str, Any], otherwise: Exception) -> Write:
    """Return a check, for a transaction with other writes, that an item fulfils a condition."""
    parameters = {"TableName": table_name(key.table), "Key": key.wire(), **_condition(condition, values)}
    return Write("ConditionCheck", parameters, otherwise)


def replace_record(key: Key[Any], record: Any, otherwise: Exception) -> Write:
    """Return the write of a record that has changed, which requires that the stored version is still the record's."""
    own, stored = {*key.key, VERSION}, _stored_values(record)
    values = {name: value for name, value in stored.items() if name not in own}
    gone = set(attributes_of_class(type(record))) - stored.keys() - own
    as_read = {"as_read": record.version}
    return update(key, values, remove=gone, condition="#version = :as_read", compared=as_read, otherwise=otherwise)


def commit(*writes: Write) -> None:
    """Execute all writes or none; raise the exception of the first write whose condition does not hold.

    All attempts of botocore have one token, so a write whose answer was lost does not happen twice.
    """
    try:
        call("TransactWriteItems", TransactItems=[write.wire() for write in writes])
    except RefusedError as error:
        _raise(error, *writes)


INVALID = "ValidationError"  # as `FAILED`
# The reasons of a call without reasons: of a single write, and of a transaction that an engine refuses as a whole.
REASONS = {"ConditionalCheckFailedException": FAILED, "ValidationException": INVALID}
SUMS = Context(prec=38, Emin=-130, Emax=125, traps=[Inexact, Overflow])  # the numbers of DynamoDB


def _raise(refusal: RefusedError, *writes: Write) -> NoReturn:
    """Raise the exception of the first write whose condition does not hold, or UnreadableError for a stored value.

    Another invalid write, such as a too large one, is a defect: raise the refusal itself.
    """
    reasons = refusal.reasons or [REASONS.get(refusal.code)] * len(writes)
    refused = list(zip(writes, reasons, strict=False))
    for write, reason in refused:
        if reason == FAILED:
            if isinstance(write.otherwise, UnreadableError):
                _log_refusing(write, write.otherwise)
            raise write.otherwise from None
    for write, reason in refused:
        if reason == INVALID and _refuses_sum(write):
            wrong = UnreadableError(refusal.code)
            _log_refusing(write, wrong)
            raise wrong from refusal
    raise refusal


def _refuses_sum(write: Write) -> bool:
    """Return whether a stored value of another type, or one that is too large, refuses an addition."""
    if not write.added_to:
        return False
    own = {name: write.parameters[name] for name in ("TableName", "Key")}
    item = call("GetItem", **own, ConsistentRead=True).get("Item", {})
    try:
        for name in write.added_to & item.keys():
            ((kind, more),) = write.parameters["ExpressionAttributeValues"][f":{name}"].items()
            stored = item[name][kind]
            if kind == "N":
                SUMS.add(Decimal(stored), Decimal(more))
    except MALFORMED:
        return True
    return False


def _log_refusing(write: Write, wrong: UnreadableError) -> None:
    table = write.parameters["TableName"].removeprefix(settings().table_prefix)
    log_unreadable(table, write.parameters["Key"], wrong)


def write_one(write: Write, returned: str = "ALL_NEW") -> dict[str, Value]:
    """Execute one Put or Update outside a transaction, at half the price.

    Return the item after an Update. `returned` may choose another result, by ReturnValues of UpdateItem.
    """
    try:
        if write.kind == "Update":
            response = call("UpdateItem", **write.parameters, ReturnValues=returned)
        else:
            response = call("PutItem", **write.parameters)
    except RefusedError as error:
        _raise(error, write)
    item: dict[str, Value] = response.get("Attributes", {})
    return item


def read(key: Key[R]) -> R | None:
    """Read the current record (a strong read); None when it is missing."""
    return _found(key, read_item(key))


def read_item(key: Key[Any]) -> dict[str, Value]:
    """Read the item of a record with its parts, and with the attributes that only an index needs (strong reads).

    It is empty when missing.
    """
    response = call("GetItem", TableName=table_name(key.table), Key=key.wire(), ConsistentRead=True)
    [item] = with_parts([key], [response.get("Item") or {}])
    return dict(item or {})


def with_parts(keys: Sequence[Key[Any]], items: Sequence[Item | None], only: Sequence[str] = ()) -> list[Item | None]:
    """Return the items of records with the parts that `only` wants (strong reads). Without a part, it is unreadable."""
    wanted = [_parts_of(key, item or {}, only) for key, item in zip(keys, items, strict=True)]
    found = _items_of_keys([part for of_item in wanted for part in of_item.values()])
    parts = (
        {name: found.get(_place(part.wire(), part), {}).get(name, {}) for name, part in of_item.items()}
        for of_item in wanted
    )
    return [{**of_item, **item} if item else None for item, of_item in zip(items, parts, strict=True)]


def _parts_of(key: Key[R], item: Item, only: Sequence[str]) -> dict[str, Key[R]]:
    """Return the keys of an item's parts, by attribute. A class with other fields of the item has none."""
    large = getattr(key.record, "LARGE", ())
    owners = {name: owner.get("S", "") for name, owner in item.get(APART, {}).get("M", {}).items() if name in large}
    return {name: part_key(key, owner, name) for name, owner in owners.items() if not only or name in only}


def part_key(key: Key[R], owner: str, attribute: str) -> Key[R]:
    """Return the key of the part with an attribute."""
    (name,) = key.key
    return Key(key.table, key.record, {name: f"{owner}#{attribute}"})


def _items_of_keys(keys: Sequence[Key[Any]], only: Sequence[str] = ()) -> dict[tuple[str, str], Item]:
    found: dict[tuple[str, str], Item] = {}
    for start in range(0, len(keys), BATCH):
        found |= _read_batch(keys[start : start + BATCH], only)
    return found


def read_all(keys: Sequence[Key[Any]], only: Sequence[str] = (), *, for_list: bool = False) -> list[Any]:
    """Read the records of the keys in their order, None for a missing one: strong reads, a hundred per call.

    `only` limits the read to these attributes, which must include the key and cover all required fields of the record.
    For a list, an unreadable record is logged and counts as missing. Otherwise it raises UnreadableError.
    """
    found = _items_of_keys(keys, only)
    items = with_parts(keys, [found.get(_place(key.wire(), key)) for key in keys], only)
    read_one = _readable_or_none if for_list else _found
    return [read_one(key, item) for key, item in zip(keys, items, strict=True)]


def _found(key: Key[R], item: Item | None) -> R | None:
    try:
        return decode(key.record, item) if item else None
    except UnreadableError as wrong:
        log_unreadable(key.table, item or {}, wrong)
        raise


def _readable_or_none(key: Key[R], item: Item | None) -> R | None:
    return next(readable(key.table, [item] if item else [], partial(decode, key.record)), None)


def _read_batch(keys: Sequence[Key[Any]], only: Sequence[str]) -> dict[tuple[str, str], Any]:
    by_table = {table_name(key.table): key for key in keys}
    projection = ", ".join(f"#{attribute}" for attribute in only)
    options: dict[str, Any] = {"ConsistentRead": True}
    if only:
        options |= {"ProjectionExpression": projection, "ExpressionAttributeNames": attribute_names(projection)}
    pending: dict[str, Any] = {name: {"Keys": [], **options} for name in by_table}
    for key in keys:
        if key.wire() not in pending[table_name(key.table)]["Keys"]:  # DynamoDB refuses repeated keys
            pending[table_name(key.table)]["Keys"].append(key.wire())

    found: dict[tuple[str, str], Any] = {}
    for number in range(ATTEMPTS):
        response = call("BatchGetItem", RequestItems=pending)
        for name, items in response["Responses"].items():
            found.update({_place(item, by_table[name]): item for item in items})
        pending = response.get("UnprocessedKeys") or {}
        if not pending:
            return found
        outside.current.pause(outside.current.between(0, 0.02 * 2**number))
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE)


def _place(item: Item, key: Key[Any]) -> tuple[str, str]:
    return table_name(key.table), repr([item[name] for name in sorted(key.key)])


Partition = tuple[str, int | str]  # the name of the partition key and its value

LIMIT = 20_000  # records in one list


def list_records(
    table: str, record: type[R], partition: Partition, index: str | None = None, *, most: int | None = None
) -> list[R]:
    """Return all readable records of a partition of a table or its index; raise 404 for more than `LIMIT`.

    With `most`, return the first records only, at most so many.
    """
    name, value = partition
    parameters: dict[str, Any] = {
        "TableName": table_name(table),
        "KeyConditionExpression": "#owner = :owner",
        "ExpressionAttributeNames": {"#owner": name},
        "ExpressionAttributeValues": {":owner": value_of(value)},
        **({"IndexName": index} if index else {"ConsistentRead": True}),
        **({"Limit": most} if most else {}),
    }
    records: list[R] = []
    for page in pages_of(parameters):
        records.extend(readable(table, page["Items"], partial(decode, record)))
        if most and len(records) >= most:
            return records[:most]
        if len(records) > LIMIT:
            raise ServiceError(ErrorCode.PERIOD_TOO_LONG, f"There are more than {LIMIT} to look at: narrow the search.")
    return records


def scan(table: str, record: type[T], **parameters: Any) -> Iterator[T]:
    """Yield every readable record of a table. `parameters` are further ones of Scan."""
    for page in pages_of({"TableName": table_name(table), **parameters}, "Scan"):
        yield from readable(table, page["Items"], partial(decode, record))


def pages_of(parameters: dict[str, Any], operation: str = "Query") -> Iterator[Mapping[str, Any]]:
    """Yield the answer for each page of a query or a scan."""
    while True:
        response = call(operation, **parameters)
        yield response
        if "LastEvaluatedKey" not in response:
            return
        parameters["ExclusiveStartKey"] = response["LastEvaluatedKey"]
