"""Scheduled jobs. Each is deployed as a function of its own, which loads neither app.py nor the middleware.

The API registers the jobs and runs none, so each imports its modules only when it runs.
"""

from datetime import UTC, datetime

from chalice.app import Blueprint, CloudWatchEvent, Rate

jobs = Blueprint(__name__)


@jobs.schedule(Rate(1, unit=Rate.MINUTES))
def sweep_payments(_event: CloudWatchEvent) -> None:
    """Finish the payments that a crash or a lost answer left unfinished, or whose Deadline has passed."""
    from chalicelib.log import log  # noqa: PLC0415  see above
    from chalicelib.services import payment_sweep  # noqa: PLC0415

    swept = payment_sweep.run(datetime.now(UTC))
    log("sweep", payments=swept.payments, behind_seconds=swept.behind_seconds, silent=swept.silent)


@jobs.schedule(Rate(1, unit=Rate.MINUTES))
def sweep_outbox(_event: CloudWatchEvent) -> None:
    """Send the messages that are due."""
    from chalicelib.log import log  # noqa: PLC0415  see above
    from chalicelib.services import outbox  # noqa: PLC0415

    done = outbox.deliver_due(datetime.now(UTC))
    log("sweep", messages=done, behind_seconds=outbox.lag_seconds(datetime.now(UTC)))
