"""A range of one partition, read strongly, a page of the store at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.store.codec import Value, value_of
from chalicelib.store.table import client, persist, table_name


@dataclass(frozen=True)
class Condition:
    """What the store leaves out before it sends: attributes are written `#name` in the expression."""

    expression: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """The attributes it looks at."""
        words = "".join(letter if letter.isalnum() or letter in "#_" else " " for letter in self.expression).split()
        return {word[1:] for word in words if word.startswith("#")}


@dataclass(frozen=True)
class Range:
    """The items of a partition whose second key is from `low` to `high`."""

    table: str
    partition: tuple[str, str]  # the name of the key and its value
    sort: str
    low: str
    high: str


def prefixed(table: str, partition: tuple[str, str], sort: str, prefix: str) -> Range:
    """The items whose second key begins so."""
    return Range(table, partition, sort, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


def items(wanted: Range, condition: Condition | None = None, only: Sequence[str] = ()) -> Iterator[Mapping[str, Value]]:
    """The items in the order of the second key; `only` these attributes of each, when given."""
    condition = condition or Condition()
    name, value = wanted.partition
    values = {"partition": value, "low": wanted.low, "high": wanted.high, **condition.values}
    parameters: dict[str, Any] = {
        "TableName": table_name(wanted.table),
        "KeyConditionExpression": f"#{name} = :partition AND #{wanted.sort} BETWEEN :low AND :high",
        "ExpressionAttributeNames": {f"#{one}": one for one in {name, wanted.sort, *condition.names, *only}},
        "ExpressionAttributeValues": {f":{one}": value_of(each) for one, each in values.items()},
        "ConsistentRead": True,
        **({"FilterExpression": condition.expression} if condition.expression else {}),
        **({"ProjectionExpression": ", ".join(f"#{one}" for one in only)} if only else {}),
    }
    while True:
        answer = persist(lambda: client().query(**parameters))
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        parameters["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
