"""Jobs, run by a schedule or by the stream of a table.

Each job is deployed as its own function, which loads neither app.py nor the middleware. The API registers the jobs and
runs none, so each imports its modules only when it runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from chalice.app import Blueprint, CloudWatchEvent, DynamoDBEvent, Rate

from chalicelib import clock

jobs = Blueprint(__name__)

LOOK_MINUTES = 5
BATCH = 10  # records: a slow receiver delays at most nine others, once


@jobs.schedule(Rate(1, unit=Rate.MINUTES))
def sweep_payments(_event: CloudWatchEvent) -> None:
    """Resolve payments without an outcome, after a crash or a lost answer, or at their Deadline."""
    from chalicelib.log import log  # noqa: PLC0415  see above
    from chalicelib.services import payment_sweep  # noqa: PLC0415

    with _ending_in_an_outage():
        swept = payment_sweep.run(clock.now())
        log("sweep", payments=swept.done, behind_seconds=swept.behind_seconds, silent=swept.silent)


@jobs.schedule(Rate(1, unit=Rate.MINUTES))
def sweep_outbox(_event: CloudWatchEvent) -> None:
    """Send the due messages."""
    from chalicelib.log import log  # noqa: PLC0415  see above
    from chalicelib.services import outbox  # noqa: PLC0415

    with _ending_in_an_outage():
        swept = outbox.sweep(clock.now())
        log("sweep", messages=swept.done, behind_seconds=swept.behind_seconds)


@jobs.schedule(Rate(1, unit=Rate.MINUTES))
def sweep_events(_event: CloudWatchEvent) -> None:
    """Send the events that the stream missed and the events that are due again."""
    from chalicelib.log import log  # noqa: PLC0415  see above
    from chalicelib.services import deliveries  # noqa: PLC0415

    with _ending_in_an_outage():
        swept = deliveries.sweep(clock.now())
        log("sweep", deliveries=swept.done, behind_seconds=swept.behind_seconds)


@contextmanager
def _ending_in_an_outage() -> Iterator[None]:
    """Let an outage end the run with its line in the log: the function did not fail, and the next run tries again."""
    from chalicelib.errors import ServiceError  # noqa: PLC0415  see above
    from chalicelib.log import log  # noqa: PLC0415  see above

    try:
        yield
    except ServiceError as refusal:
        if not refusal.error.is_outage:
            raise
        log("sweep", outage=refusal.error.code)


@jobs.schedule(Rate(LOOK_MINUTES, unit=Rate.MINUTES))
def look_from_outside(_event: CloudWatchEvent) -> None:
    """Ask the stage for its health at its public address. An alarm counts the errors of this function."""
    from chalicelib.services import health  # noqa: PLC0415  see above

    health.look_from_outside()


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
