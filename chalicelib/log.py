"""The log: one JSON line an event. Facts only: no body, no credential, no card number is ever handed in."""

import json
import sys
import traceback
from typing import Any

from chalicelib.settings import settings

FRAMES = 8  # of a defect: where it happened, innermost last


def log(event: str, **facts: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps({"event": event, "stage": settings().stage, **facts}, default=str) + "\n")
    sys.stdout.flush()


def log_defect(defect: BaseException, **facts: Any) -> None:
    """Write where a defect happened and its type. Its message stays out: it may quote what a caller sent."""
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(defect.__traceback__)]
    log("defect", error=type(defect).__name__, frames=frames[-FRAMES:], **facts)
