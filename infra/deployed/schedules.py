"""The schedules of the template: each function that has one is invoked as often as it says."""

import contextlib
import re
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from infra.deployed.functions import Function
from infra.deployed.stage import Stage
from infra.engines import ACCOUNT_ID, REGION

RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
SECONDS = {"minute": 60, "hour": 3600, "day": 86400}


@contextlib.contextmanager
def kept(stage: Stage) -> Iterator[None]:
    """Invoke every function that has a schedule, until the block ends."""
    ended = threading.Event()
    for name, function in stage.functions.items():
        for seconds in intervals(stage.resources[name]["Properties"]):
            threading.Thread(target=_run, args=(function, seconds, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def intervals(properties: dict[str, Any]) -> list[int]:
    """Return the seconds between two runs, for each schedule of a function."""
    expressions = [
        event["Properties"]["Schedule"]
        for event in properties.get("Events", {}).values()
        if event["Type"] == "Schedule"
    ]
    return [int(found[1]) * SECONDS[found[2]] for text in expressions if (found := RATE.fullmatch(text))]


def scheduled_event() -> dict[str, Any]:
    """Return the event that EventBridge sends for a schedule."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT_ID,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [],
        "detail": {},
    }


def _run(function: Function, seconds: int, ended: threading.Event) -> None:
    while not ended.wait(seconds):
        function.invoke(scheduled_event())
