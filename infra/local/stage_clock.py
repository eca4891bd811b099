"""The clock of the local stage: the machine's time, and how far a developer has set it ahead.

`infra.local.advance` puts it forward. Other processes of the stage, such as the operator's commands, follow it.
"""

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from urllib.parse import urlsplit

from chalicelib import outside

PATH = "/clock"  # on the port of the simulated AWS
LONGEST_REQUEST = 60  # seconds: no call of a request waits longer

SECONDS = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
NUMBER = "(?P<{}>[0-9]{{1,20}}(?:[.,][0-9]{{1,20}})?)"
DURATION = re.compile(
    "P(?:{weeks}W|(?=.)(?:{days}D)?(?:T(?=.)(?:{hours}H)?(?:{minutes}M)?(?:{seconds}S)?)?)".format(
        **{name: NUMBER.format(name) for name in SECONDS}
    )
)
FRACTION_BEFORE_THE_LAST = re.compile("[.,][0-9]+[A-Z].")


def duration(text: str) -> Fraction:
    """Return the seconds of a duration of ISO 8601 without years and months. Raises ValueError."""
    found = DURATION.fullmatch(text)
    if found is None or FRACTION_BEFORE_THE_LAST.search(text):
        message = f"{text[:40]!r} is not a duration such as PT30M, P1DT12H or P2W."
        raise ValueError(message)
    numbers = {name: number.replace(",", ".") for name, number in found.groupdict().items() if number}
    return sum((Fraction(number) * SECONDS[name] for name, number in numbers.items()), Fraction())


class StageClock:
    """The machine's time and how far it is ahead, set between two requests, so that each request sees one time."""

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        self.ahead = ahead
        self._changed = threading.Condition()
        self._requests, self._is_moving = 0, False

    def now(self) -> datetime:
        """Return the time of the stage, in UTC."""
        return outside.machine_time() + self.ahead

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """Run a request in the block. It waits while the clock is set."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_moving)
            self._requests += 1
        try:
            yield
        finally:
            with self._changed:
                self._requests -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def between_requests(self) -> Iterator[None]:
        """Wait for the requests in progress, and let no other begin in the block. One caller at a time."""
        with self._changed:
            self._is_moving = True
            self._changed.wait_for(lambda: not self._requests, LONGEST_REQUEST)
        try:
            yield
        finally:
            with self._changed:
                self._is_moving = False
                self._changed.notify_all()

    def set_ahead(self, ahead: timedelta) -> None:
        """Set between two requests how far the clock is ahead."""
        with self.between_requests():
            self.ahead = ahead


def shown(ahead: timedelta) -> str:
    """Return how far a clock is ahead as a duration of ISO 8601: PT1800S, PT0.5S."""
    fraction = f".{ahead.microseconds:06}".rstrip("0") if ahead.microseconds else ""
    return f"PT{ahead.days * SECONDS['days'] + ahead.seconds}{fraction}S"


@contextlib.contextmanager
def followed(aws_url: str) -> Iterator[None]:
    """Give this process the time of the local stage whose simulated AWS is at the address, if it has a clock."""
    found: dict[str, Callable[[], datetime]] = {}
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        with contextlib.closing(http.client.HTTPConnection(urlsplit(aws_url).netloc, timeout=5)) as connection:
            connection.request("GET", PATH)
            ahead = timedelta(seconds=float(duration(json.load(connection.getresponse())["Ahead"])))
        found = {"now": StageClock(ahead).now}
    with outside.given(**found):
        yield
