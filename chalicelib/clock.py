"""The time of the service. Nothing else in it takes the time of day from the machine, except to sign calls of AWS."""

from collections.abc import Callable
from datetime import UTC, datetime


def machine_time() -> datetime:
    """Return the time of this machine, in UTC."""
    return datetime.now(UTC)


now: Callable[[], datetime] = machine_time  # the local stage sets a clock that can be put forward
