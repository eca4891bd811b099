"""The log of the local stage for people: one line for each request, with the refused fields at its end."""

import sys
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any

from chalicelib import outside

PAGE_FILE = "/{version}/{folder}/{name}"  # the end of a route. A visit loads some sixty of them, whose lines are alike


def write(event: str, facts: Mapping[str, Any]) -> None:
    """Write one line, but none for a file that a page has loaded."""
    if facts.get("route", "").endswith(PAGE_FILE) and facts["status"] == HTTPStatus.OK:
        return
    sys.stdout.write(line(event, facts, outside.now().astimezone()) + "\n")
    sys.stdout.flush()


def line(event: str, facts: Mapping[str, Any], now: datetime) -> str:
    """Return the line: `12:30:05  POST /api/v1/payment/submit  400/202  12 ms  BasicTran.Amount`."""
    if event != "request":
        known = (f"{name}={value}" for name, value in facts.items() if value not in (None, [], ""))
        return f"{now:%H:%M:%S}  {event}  {' '.join(known)}"
    code = f"{facts['status']}/{facts['error_code']}"
    parts = [f"{facts['method']} {facts['route']}", code, f"{facts['milliseconds']:.0f} ms", *facts["fields"]]
    return f"{now:%H:%M:%S}  " + "  ".join(parts)
