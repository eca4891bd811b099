"""Calls of the store in words, for the timeline of a scenario that failed."""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from chalicelib.store.aws_client import RefusedError

Call = Mapping[str, Any]

GUID = re.compile(r"\b([0-9A-F]{8})(-[0-9A-F]{4}){3}-[0-9A-F]{12}\b")
INSTANT = re.compile(r"\b20\d\d-\d\d-\d\dT[0-9:.]+(\+00:00|Z)")
# Told when they are not 0.
NOT_ZERO = frozenset({"reversals_amount_minor", "reversals_reserved_minor", "reversals_count", "failed_attempts"})
PHASES = {
    "sent": "the acquirer is asked",
    "unknown": "no answer came",
    "rejected": "nothing came of it: nothing was attempted, it never arrived, or it was undone",
    "owed": "approved, and a signature is missing",
    "approved": "paid",
    "declined": "refused by the acquirer",
    "auto_cancelling": "to be reversed automatically, because nobody knows its outcome, or it was approved for less",
    "auto_cancelled": "reversed automatically, as the acquirer acknowledged",
    "cancelling": "a cancel is under way",
    "returning": "a return is under way",
    "given_back": "a reversal that was done",
}

LONGEST = 64  # characters of a value
KEYS = ("id", "email", "digest", "name", "object", "month", "at", "place")
ASIDE = frozenset({"history", "audit"})  # tables whose writes are only counted beside others
NOUNS = {"transactions": "transaction", "agents": "agent", "merchants": "merchant", "terminals": "terminal"}
# Attributes by which a person follows what happens.
TOLD = (
    *("phase", "state", "amount_minor", "reversals_amount_minor", "reversals_reserved_minor", "reversals_count"),
    *("original_id", "due_at", "attempts", "sent_at", "failed_attempts", "locked_until"),
    *("credential_version", "version"),
)
WORDS = {"GetItem": "reads", "PutItem": "stores", "UpdateItem": "changes", "DeleteItem": "deletes"}
OF_TRANSACTION = {"Put": "stores", "Update": "changes", "Delete": "deletes", "ConditionCheck": "checks"}

NEW = re.compile(r"attribute_not_exists\(#\w+\)")  # of each new item


def described(operation: str, parameters: Call) -> str:
    """Return what a call is for, in one line."""
    if operation == "TransactWriteItems":
        return _together(parameters["TransactItems"])
    if operation == "BatchGetItem":
        requests = parameters["RequestItems"].items()
        return "reads " + ", ".join(_thing(name, key) for name, request in requests for key in request["Keys"])
    if operation == "Query":
        sought = " to ".join(map(_value, parameters["ExpressionAttributeValues"].values()))
        index = f" by {parameters['IndexName']}" if "IndexName" in parameters else ""
        return f"lists {_table(parameters['TableName'])}{index}: {sought}"
    if operation == "Scan":
        return f"lists {_table(parameters['TableName'])}"
    return f"{WORDS[operation]} {_written(parameters)}"


def summary(content: Call | RefusedError) -> str:
    """Return an answer of the store in a few words."""
    if isinstance(content, RefusedError):
        failed = ", ".join(sorted({reason for reason in content.reasons if reason != "None"}))
        return f"refused: {content.code}{f' ({failed})' if failed else ''}"
    item = content.get("Item") or content.get("Attributes")
    if item:
        return f"found {_told(item)}".rstrip()
    if "Items" in content:
        return f"{len(content['Items'])} found" + (", and more" if "LastEvaluatedKey" in content else "")
    if "Responses" in content:
        found = sum(map(len, content["Responses"].values()))
        return f"{found} found" + (", others later" if content["UnprocessedKeys"] else "")
    return "done"


def _together(items: list[Call]) -> str:
    """Return what the writes of a transaction do; those that only keep its history are counted."""
    aside: Counter[str] = Counter()
    told = []
    for kind, write in ((kind, write) for item in items for kind, write in item.items()):
        if _table(write["TableName"]) in ASIDE:
            aside[_table(write["TableName"])] += 1
        else:
            told.append(f"{OF_TRANSACTION[kind]} {_written(write)}")
    told += [f"{number} of the {table}" for table, number in aside.items()]
    return "all or nothing: " + "; ".join(told)


def _written(write: Call) -> str:
    item = write.get("Key") or {name: write["Item"][name] for name in KEYS if name in write["Item"]}
    text = _thing(write["TableName"], item)
    if "Item" in write:
        text += f" ({_told(write['Item'])})"
    expression, condition = write.get("UpdateExpression"), write.get("ConditionExpression")
    values = write.get("ExpressionAttributeValues", {})
    if expression:
        text += f": {_filled(expression, values)}"
    if condition and not NEW.fullmatch(condition):
        text += f", if {_filled(condition, values)}"
    return text


def _filled(expression: str, values: Mapping[str, Any]) -> str:
    """Return an expression with its values in the places of their names."""
    for name in sorted(values, key=len, reverse=True):
        expression = expression.replace(name, _value(values[name]))
    return expression.replace("#", "")


def _thing(table: str, key: Mapping[str, Any]) -> str:
    name = _table(table)
    return f"{NOUNS.get(name, name)} {'/'.join(map(_value, key.values()))}"


def _told(item: Mapping[str, Any]) -> str:
    shown = {name: _value(item[name]) for name in TOLD if name in item}
    return ", ".join(f"{name} {text}" for name, text in shown.items() if name not in NOT_ZERO or text != "0")


def short(text: str, began: datetime) -> str:
    """Return a line of the timeline with the beginnings of its IDs, and its times as seconds since `began`."""

    def seconds(found: re.Match[str]) -> str:
        return f"{(datetime.fromisoformat(found.group()) - began).total_seconds():.1f} s"

    return INSTANT.sub(seconds, GUID.sub(r"\1", text))


def _table(name: str) -> str:
    return name.rpartition("-")[2]


def _value(value: Mapping[str, Any]) -> str:
    text = str(next(iter(value.values())))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
