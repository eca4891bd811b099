"""The log: one JSON line per event. Callers pass only facts, never a body, a credential or a card number."""

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.errors import LoggableError, ServiceError
from chalicelib.settings import settings

Writer = Callable[[str, Mapping[str, Any]], None]

FRAMES = 8  # innermost frames of a defect's stack trace


def log(event: str, **facts: Any) -> None:
    """Write one line."""
    write(event, facts)


def write_json(event: str, facts: Mapping[str, Any]) -> None:
    """Write one line of JSON."""
    sys.stdout.write(_json(event, facts))
    sys.stdout.flush()


def write_to_standard_error(event: str, facts: Mapping[str, Any]) -> None:
    """Write one line of JSON apart from the output of a command."""
    sys.stderr.write(_json(event, facts))


def _json(event: str, facts: Mapping[str, Any]) -> str:
    return json.dumps({"event": event, "stage": settings().stage, **facts}, default=str) + "\n"


write: Writer = write_json  # the local stage and the operator's commands set another one


def log_defect(defect: BaseException, **facts: Any) -> None:
    """Write the type and the stack trace of a defect, but not its message, which may quote the request.

    An outage of the store, an acquirer or a partner is a line `outage`: the alarms count only our own defects.
    """
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(defect.__traceback__)]
    event = "outage" if isinstance(defect, ServiceError) and defect.error.is_outage else "defect"
    if isinstance(defect.__cause__, LoggableError):
        facts["reason"] = str(defect.__cause__)
    log(event, error=type(defect).__name__, frames=frames[-FRAMES:], **facts)
