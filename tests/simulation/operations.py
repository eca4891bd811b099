"""Random operations on three tables: as the service writes them, and with every fault that DynamoDB refuses."""

import random
from collections.abc import Callable, Mapping
from typing import Any

PLAIN, ORDERED, NUMBERED = "plain", "ordered", "numbered"
S, N = "S", "N"


def _definition(name: str, keys: Mapping[str, str], index: Mapping[str, Any] | None = None) -> dict[str, Any]:
    attributes = {**keys, **(index["keys"] if index else {})}
    indexes = (
        [
            {
                "IndexName": index["name"],
                "KeySchema": _schema(index["keys"]),
                "Projection": {"ProjectionType": index["projection"]},
            }
        ]
        if index
        else []
    )
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in attributes.items()],
        "KeySchema": _schema(keys),
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    }


def _schema(keys: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)]


DEFINITIONS = [
    _definition(PLAIN, {"id": S}, {"name": "due", "keys": {"due_lane": S, "due_at": S}, "projection": "KEYS_ONLY"}),
    _definition(ORDERED, {"month": S, "at": S}),
    _definition(NUMBERED, {"id": N}, {"name": "by_client", "keys": {"client_id": N, "id": N}, "projection": "ALL"}),
]
KEYS: dict[str, tuple[str, ...]] = {PLAIN: ("id",), ORDERED: ("month", "at"), NUMBERED: ("id",)}
NUMBERS = ("0", "1", "2", "-3", "007", "1.50", "0.10", "-0", "1e3", "12345678901234567890123456789012345678")
WRONG_NUMBERS = ("", "x", "1e200", "1e-140", "NaN", "1" * 39, "--1")
TEXTS = ("", "a", "b", "ab", "ünï 字", "10.0.2ZAR.CASH")
ATTRIBUTES = ("n", "m", "text", "tags", "parts", "flag")
SHARE_OF_FAULTS = 0.012  # at each place where one can be made
PLACEHOLDERS = (":one", ":two", ":text", ":set", ":flag", ":list")
BOUNDS = (":p", ":low", ":high")
ADDED = (":one", ":two")
SORTED = (*ADDED, ":text")


class Operations:
    """A source of operations on keys that begin with `prefix`, all drawn from one source of chance."""

    def __init__(self, chance: random.Random, prefix: str) -> None:
        self.chance, self.prefix = chance, prefix
        self._tokens = 0
        self._last: tuple[str, dict[str, Any]] | None = None

    def operation(self) -> tuple[str, dict[str, Any]]:
        """Draw the next operation and its parameters."""
        kinds: dict[str, tuple[int, Callable[[], dict[str, Any]]]] = {
            "PutItem": (4, self._put),
            "UpdateItem": (6, self._update_one),
            "DeleteItem": (1, self._delete),
            "GetItem": (2, self._get),
            "BatchGetItem": (1, self._batch),
            "Query": (4, self._query),
            "TransactWriteItems": (6, self._transaction),
        }
        if self._last and self._last[0] == "TransactWriteItems" and self.chance.random() < 0.1:
            return self._last  # the same token again
        names = list(kinds)
        name = self.chance.choices(names, [kinds[each][0] for each in names])[0]
        self._last = (name, kinds[name][1]())
        return self._last

    def every_key(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the keys that operations draw from."""
        plain = [(PLAIN, {"id": {S: self.prefix + letter}}) for letter in "abcd"]
        numbered = [(NUMBERED, {"id": {N: self._number(number)}}) for number in range(4)]
        months = [(ORDERED, {"month": {S: self.prefix + month}, "at": {S: at}}) for month in "xy" for at in "abcdefgh"]
        return plain + numbered + months

    def _number(self, number: int) -> str:
        return f"{int.from_bytes(self.prefix.encode()[-6:])}{number}"

    def _rarely(self) -> bool:
        return self.chance.random() < SHARE_OF_FAULTS

    def _key(self, faults: int = 5) -> tuple[str, dict[str, Any]]:
        table, key = self.chance.choice(self.every_key())
        if self._rarely():
            fault = self.chance.randrange(faults)
            name = KEYS[table][-1]
            if fault == 0:
                key = {name: each for name, each in key.items() if name != KEYS[table][-1]}
            elif fault == 1:
                key = {**key, "other": {S: "a"}}
            elif fault == 2:
                key = {**key, name: {"BOOL": True}}
            elif fault == 3:
                table = "missing"
            else:
                key = {**key, name: {S: ""}}
        return table, key

    def _value(self, depth: int = 0) -> dict[str, Any]:  # noqa: PLR0911  a line for each type
        chance = self.chance
        if self._rarely():
            return chance.choice(
                [
                    {N: chance.choice(WRONG_NUMBERS)},
                    {"SS": []},
                    {"SS": ["a", "a"]},
                    {"NS": ["1", "1.0"]},
                ]
            )
        kind = chance.randrange(8 if depth < 2 else 5)
        if kind < 2:
            return {N: chance.choice(NUMBERS if not depth else ("0", "7", "-2.5"))}  # nested ones are not made equal
        if kind < 4:
            return {S: chance.choice(TEXTS)}
        if kind == 4:
            return chance.choice([{"BOOL": True}, {"BOOL": False}, {"NULL": True}, {"B": b"ab"}])
        if kind == 5:
            return chance.choice([{"SS": ["a", "b"]}, {"SS": ["b"]}, {"NS": ["1", "2.5"]}])
        if kind == 6:
            return {"L": [self._value(depth + 1) for _ in range(chance.randrange(3))]}
        return {"M": {chance.choice("pq"): self._value(depth + 1) for _ in range(chance.randrange(3))}}

    def _item(self, table: str, key: dict[str, Any]) -> dict[str, Any]:
        count = self.chance.randrange(4)
        item = {**key, **{self.chance.choice(ATTRIBUTES): self._value() for _ in range(count)}}
        if table == PLAIN and self.chance.random() < 0.6:
            item["due_lane"] = {S: self.prefix + self.chance.choice("01")}
            item["due_at"] = {S: f"{self.chance.randrange(10)}{item.get('id', {}).get(S, '')}"}
        if table == NUMBERED and self.chance.random() < 0.6:
            item["client_id"] = {N: self._number(self.chance.randrange(2))}
        if self._rarely():
            item[self.chance.choice(["due_lane", "due_at", "client_id"])] = self._value()
        return item

    def _operand(self, used: set[str], usual: tuple[str, ...] = PLACEHOLDERS) -> str:
        if self.chance.random() < 0.5:
            return self._name(used)
        return self._placeholder(used, usual)

    def _name(self, used: set[str]) -> str:
        name = f"#{self.chance.choice(ATTRIBUTES)}"
        if self._rarely():
            name = self.chance.choice(["#due_at", "#unknown", "#client_id"])
        used.add(name)
        return name

    def _placeholder(self, used: set[str], usual: tuple[str, ...] = PLACEHOLDERS) -> str:
        name = self.chance.choice(PLACEHOLDERS if self._rarely() else usual)
        used.add(name)
        return name

    def _condition(self, used: set[str], depth: int = 0) -> str:  # noqa: PLR0911  a line for each kind
        kind = self.chance.randrange(12 if depth < 2 else 9)
        if kind < 2:
            function = self.chance.choice(["attribute_exists", "attribute_not_exists"])
            return f"{function}({self._name(used)})"
        if kind < 5:
            sign = self.chance.choice(["=", "<>", "<", "<=", ">", ">="])
            usual = PLACEHOLDERS if sign in {"=", "<>"} else SORTED
            return f"{self._name(used)} {sign} {self._operand(used, usual)}"
        if kind == 5:
            return f"begins_with({self._name(used)}, {self._operand(used, (':text',))})"
        if kind == 6:
            return f"contains({self._name(used)}, {self._operand(used)})"
        if kind == 7:
            low, high = self.chance.choice([((":two",), (":two",)), ((":text",), ()), ((), (":one",))])
            return f"{self._name(used)} BETWEEN {self._bound(used, low)} AND {self._bound(used, high)}"
        if kind == 8:
            listed = ", ".join(self._operand(used) for _ in range(self.chance.randrange(1, 4)))
            return f"{self._name(used)} IN ({listed})"
        if kind == 9:
            return f"NOT {self._condition(used, depth + 1)}"
        word = " AND " if kind == 10 else " OR "
        return f"({word.join(self._condition(used, depth + 1) for _ in range(2))})"

    def _bound(self, used: set[str], usual: tuple[str, ...]) -> str:
        return self._placeholder(used, usual) if usual else self._name(used)

    def _update(self, used: set[str]) -> str:
        clauses = []
        for clause in self.chance.sample(["SET", "REMOVE", "ADD"], self.chance.choice([1, 1, 1, 2, 3])):
            count = self.chance.choice([1, 1, 2])
            clauses.append(f"{clause} " + ", ".join(self._action(clause, used) for _ in range(count)))
        if self._rarely():
            clauses.append(clauses[0])
        return " ".join(clauses)

    def _action(self, clause: str, used: set[str]) -> str:
        name = self._name(used)
        if clause == "REMOVE":
            return name
        if clause == "ADD":
            return f"{name} {self._placeholder(used, (':one', ':two', ':set'))}"
        kind = self.chance.randrange(5)
        if kind == 0:
            return f"{name} = {self._operand(used, ADDED)} {self.chance.choice('+-')} {self._operand(used, ADDED)}"
        if kind < 3:
            start = f"if_not_exists({self._name(used)}, {self._placeholder(used, ADDED)})"
            return f"{name} = {start} + {self._placeholder(used, ADDED)}"
        return f"{name} = {self._operand(used)}"

    def _named(self, used: set[str]) -> dict[str, Any]:
        """Return the names and the values that expressions mention, seldom one too few or too many."""
        names = {name: name[1:] for name in used if name.startswith("#") and name != "#unknown"}
        values = {name: self._value_of(name) for name in used if name.startswith(":")}
        if self._rarely():
            fault = self.chance.randrange(4)
            if fault == 0:
                names["#spare"] = "spare"
            elif fault == 1:
                values[":spare"] = {N: "1"}
            elif fault == 2 and values:
                values.pop(min(values))
            elif names:
                names.pop(min(names))
        return {
            **({"ExpressionAttributeNames": dict(sorted(names.items()))} if names else {}),
            **({"ExpressionAttributeValues": dict(sorted(values.items()))} if values else {}),
        }

    def _value_of(self, placeholder: str) -> dict[str, Any]:
        if self._rarely():
            return self._value(1)
        chosen: dict[str, list[dict[str, Any]]] = {
            ":one": [{N: "1"}, {N: "1"}, {N: "0.5"}],
            ":two": [{N: "2"}, {N: "-1"}],
            ":text": [{S: "a"}, {S: "b"}, {S: "ab"}],
            ":set": [{"SS": ["a"]}, {"SS": ["c", "a"]}, {"NS": ["2"]}],
            ":flag": [{"BOOL": True}, {"BOOL": False}],
            ":list": [{"L": [{N: "1"}]}, {"M": {"p": {S: "a"}}}],
        }
        return self.chance.choice(chosen[placeholder])

    def _write(self, kind: str, key: tuple[str, dict[str, Any]] | None = None) -> dict[str, Any]:
        table, key_of_item = key or self._key()
        used: set[str] = set()
        write: dict[str, Any] = {"TableName": table}
        if table == "missing":  # and nothing else is wrong: which of two faults is told is nowhere written
            condition = {"ConditionExpression": "attribute_exists(#n)", "ExpressionAttributeNames": {"#n": "n"}}
            action = {"UpdateExpression": "REMOVE #n"} if kind == "Update" else {}
            return {**write, "Item" if kind == "Put" else "Key": key_of_item, **condition, **action}
        if kind == "Put":
            write["Item"] = self._item(table, key_of_item)
        else:
            write["Key"] = key_of_item
        if kind == "Update":
            write["UpdateExpression"] = self._update(used)
        if kind == "ConditionCheck" or self.chance.random() < 0.5:
            write["ConditionExpression"] = self._condition(used)
        return {**write, **self._named(used)}

    def _returning(self, write: dict[str, Any], *kinds: str) -> dict[str, Any]:
        return {**write, "ReturnValues": self.chance.choice(kinds)} if self.chance.random() < 0.7 else write

    def _put(self) -> dict[str, Any]:
        return self._returning(self._write("Put"), "NONE", "ALL_OLD", "ALL_NEW" if self._rarely() else "NONE")

    def _update_one(self) -> dict[str, Any]:
        if self._rarely():
            table, key = self._key()
            name = KEYS.get(table, ("id",))[0]
            text = f"REMOVE #{name}"
            return {
                "TableName": table,
                "Key": key,
                "UpdateExpression": text,
                "ExpressionAttributeNames": {f"#{name}": name},
            }
        return self._returning(self._write("Update"), "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "NONE")

    def _delete(self) -> dict[str, Any]:
        return self._returning(self._write("Delete"), "NONE", "ALL_OLD")

    def _projection(self) -> dict[str, Any]:
        if self.chance.random() < 0.7:
            return {}
        used: set[str] = set()
        text = ", ".join(self._name(used) for _ in range(self.chance.choice([1, 2])))
        return {"ProjectionExpression": text, **self._named(used)}

    def _get(self) -> dict[str, Any]:
        table, key = self._key()
        if table == "missing":
            return {"TableName": table, "Key": key}
        strong = {"ConsistentRead": True} if self.chance.random() < 0.7 else {}
        return {"TableName": table, "Key": key, **strong, **self._names_alone(self._projection())}

    @staticmethod
    def _names_alone(parameters: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if name != "ExpressionAttributeValues"}

    def _batch(self) -> dict[str, Any]:
        requests: dict[str, Any] = {}
        for _ in range(self.chance.randrange(1, 5)):
            table, key = self._key()
            request = requests.setdefault(table, {"Keys": [], "ConsistentRead": True})
            if key not in request["Keys"] or self._rarely():
                request["Keys"].append(key)
        if "missing" in requests:
            requests = {"missing": requests["missing"]}
        return {"RequestItems": requests}

    def _query(self) -> dict[str, Any]:
        table = self.chance.choice([PLAIN, ORDERED, ORDERED, NUMBERED])
        used: set[str] = set()
        if table == ORDERED:
            names, values = ("month", "at"), ({S: self.prefix + self.chance.choice("xy")}, *self._texts())
            parameters: dict[str, Any] = {"ConsistentRead": True} if self.chance.random() < 0.8 else {}
        elif table == PLAIN:
            names, values = ("due_lane", "due_at"), ({S: self.prefix + self.chance.choice("01")}, {S: "3"}, {S: "7"})
            parameters = {"IndexName": "due"}
        else:
            names, values = ("client_id", "id"), ({N: self._number(self.chance.randrange(2))}, {N: "1"}, {N: "9" * 20})
            parameters = {"IndexName": "by_client"}
        if self._rarely():
            parameters["ConsistentRead"] = True
        text, bound = self._key_condition(names)
        placed = {name: value for name, value in zip(BOUNDS, values, strict=True) if name in bound}
        parameters |= {"TableName": table, "KeyConditionExpression": text}
        if self.chance.random() < 0.4:
            parameters["FilterExpression"] = self._condition(used)
        if self.chance.random() < 0.3:
            parameters["Limit"] = self.chance.choice([1, 2, 3])
        if self.chance.random() < 0.3:
            parameters["ScanIndexForward"] = False
        found = self._named(used)
        found["ExpressionAttributeNames"] = {f"#{n}": n for n in names if f"#{n}" in text} | found.get(
            "ExpressionAttributeNames", {}
        )
        found["ExpressionAttributeValues"] = placed | found.get("ExpressionAttributeValues", {})
        return {**parameters, **found}

    def _texts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        low, high = sorted(self.chance.choices("abcdefgh", k=2))
        return ({S: low}, {S: high}) if not self._rarely() else ({S: high}, {N: "1"})

    def _key_condition(self, names: tuple[str, str]) -> tuple[str, set[str]]:
        partition, sort = (f"#{name}" for name in names)
        texts = [
            (f"{partition} = :p", {":p"}),
            (f"{partition} = :p AND {sort} BETWEEN :low AND :high", {":p", ":low", ":high"}),
            (f"{partition} = :p AND {sort} <= :high", {":p", ":high"}),
            (f"{sort} >= :low AND {partition} = :p", {":p", ":low"}),
            (f"{partition} = :p AND {sort} > :low", {":p", ":low"}),
            (f"{partition} = :p AND {sort} = :low", {":p", ":low"}),
        ]
        wrong = [
            (f"{sort} = :low", {":low"}),
            (f"{partition} <= :p", {":p"}),
            (f"{partition} = :p OR {sort} = :low", {":p", ":low"}),
            (f"{partition} = :p AND {partition} = :low", {":p", ":low"}),
        ]
        return self.chance.choice(wrong if self._rarely() else texts)

    def _transaction(self) -> dict[str, Any]:
        items, keys = [], []
        for _ in range(self.chance.choice([1, 2, 2, 3, 4])):
            key = self._key(faults=4)
            bare = (key[0], {name: value for name, value in key[1].items() if name != "other"})
            if bare not in keys:  # which of several faults is found first is nowhere written
                keys.append(bare)
                kind = self.chance.choice(["Put", "Update", "Update", "Delete", "ConditionCheck"])
                items.append({kind: self._write(kind, key)})
        if self._rarely():
            table, key_of_item = self.chance.choice(self.every_key())
            items = [{"Delete": {"TableName": table, "Key": key_of_item}}] * 2
        if any(key[0] == "missing" for key in keys):
            items = [item for item in items for write in item.values() if write["TableName"] == "missing"][:1]
        parameters: dict[str, Any] = {"TransactItems": items if not self._rarely() else []}
        if self.chance.random() < 0.5:
            self._tokens += 1
            number = self.chance.randint(1, self._tokens) if self._rarely() else self._tokens
            parameters["ClientRequestToken"] = f"{self.prefix}-{number}"[-36:]
        return parameters
