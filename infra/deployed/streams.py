"""The streams of the tables, read for the functions of the template that are at them."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from infra import streams
from infra.deployed.stage import Stage


@contextlib.contextmanager
def fed(stage: Stage) -> Iterator[None]:
    """Invoke the functions with what is stored, until the block ends."""

    def invoke(function: str, event: dict[str, Any]) -> Mapping[str, Any] | None:
        name = "".join(word.capitalize() for word in function.split("_"))
        outcome = stage.functions[name].invoke(event)
        if outcome.error:  # a function that raises gets all records again
            return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["dynamodb"]["SequenceNumber"]}]}
        answer: Mapping[str, Any] | None = json.loads(outcome.payload)
        return answer

    with streams.fed(invoke):
        yield
