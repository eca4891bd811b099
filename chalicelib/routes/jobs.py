"""Jobs, run by a schedule or by the stream of a table.

Each job is deployed as its own function, which loads neither app.py nor the middleware. The API registers the jobs and
runs none, so each imports its modules only when it runs.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, CloudWatchEvent, DynamoDBEvent, Rate

from chalicelib import outside

if TYPE_CHECKING:
    from chalicelib.services.lane_runner import Swept

jobs = Blueprint(__name__)

LOOK_MINUTES = 5
BATCH = 10  # records: a slow receiver delays at most nine others, once


@jobs.schedule(Rate(1, unit=Rate.MINUTES))
def sweep(_event: CloudWatchEvent) -> None:
    """Do what is due: payments without an outcome, messages, and deliveries of events.

    The three run side by side, each within its own time, so that none waits for another.
    """
    from chalicelib.services import deliveries, outbox, payment_sweep  # noqa: PLC0415  see above

    kinds = {"payments": payment_sweep.run, "messages": outbox.sweep, "deliveries": deliveries.sweep}
    with ThreadPoolExecutor(len(kinds)) as pool:
        list(pool.map(_sweep, kinds, kinds.values()))


def _sweep(kind: str, run: Callable[[datetime], "Swept"]) -> None:
    """Do the due work of one kind, with a line in the log. A defect stops no other kind and leaves no line `sweep`.

    An outage is no defect: the next run tries again. The line names the merchant of the oldest work that is left.
    """
    from chalicelib.errors import ServiceError  # noqa: PLC0415  see above
    from chalicelib.log import log, log_defect  # noqa: PLC0415  see above
    from chalicelib.services.lane_runner import oldest_of  # noqa: PLC0415  see above

    try:
        swept = run(outside.now())
        oldest = oldest_of(swept)
    except Exception as failure:  # noqa: BLE001  see the docstring
        if isinstance(failure, ServiceError) and failure.error.is_outage:
            log("sweep", kind=kind, outage=failure.error.code)
        else:
            log_defect(failure, kind=kind)
    else:
        log("sweep", kind=kind, done=swept.done, behind_seconds=swept.behind_seconds, silent=swept.silent, **oldest)


@jobs.schedule(Rate(LOOK_MINUTES, unit=Rate.MINUTES))
def probe_health(_event: CloudWatchEvent) -> None:
    """Ask the stage for its health at its public address. An alarm counts the errors of this function."""
    from chalicelib.services import health  # noqa: PLC0415  see above

    health.probe_health()


@jobs.on_dynamodb_record("Events", batch_size=BATCH, starting_position="TRIM_HORIZON")
def deliver_events(event: DynamoDBEvent) -> dict[str, Any]:
    """Send the events that were just stored or requested again; report the records that must come again."""
    from chalicelib.services import deliveries  # noqa: PLC0415  see above

    return _batch_failures(deliveries.deliver(_stored(event)))


@jobs.on_dynamodb_record("Outbox", batch_size=BATCH, starting_position="TRIM_HORIZON")
def deliver_outbox(event: DynamoDBEvent) -> dict[str, Any]:
    """Send the messages that were just stored; report the records that must come again."""
    from chalicelib.services import outbox  # noqa: PLC0415  see above

    return _batch_failures(outbox.deliver(_stored(event)))


def _stored(event: DynamoDBEvent) -> list[tuple[str, Mapping[str, Any]]]:
    # Chalice's own record calls datetime.utcfromtimestamp, which Python will remove.
    records = [record["dynamodb"] for record in event.to_dict()["Records"]]
    return [(record["SequenceNumber"], record["NewImage"]) for record in records if record.get("NewImage")]


def _batch_failures(numbers: Sequence[str]) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": number} for number in numbers]}
