"""The stream of the outbox: messages that were just stored are sent at once."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from chalicelib.domain.outbox import Outbox
from chalicelib.errors import ServiceError
from chalicelib.log import log_defect
from chalicelib.services import outbox
from chalicelib.store.codec import decode

SECONDS = 20  # of a batch: what is not begun by then is left to the sweep


def deliver(records: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Send the new messages among these records; return the numbers of those that are to come again.

    A record is its number in the stream and the item that was stored.
    """
    until = time.monotonic() + SECONDS
    failed: list[str] = []
    for number, image in records:
        try:
            outbox.send_new(decode(Outbox, image), datetime.now(UTC), until)
        except ServiceError as outage:  # of the store
            log_defect(outage, number=number)
            failed.append(number)
    return failed
