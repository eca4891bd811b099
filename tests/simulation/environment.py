"""The world around the service while it is simulated: clock, randomness, its processes' memory, and its doors.

The code of the service is the real one. Replaced are what it asks for time and randomness, the wire to AWS, the port of
acquirers and the senders of messages. What a process keeps in a module is kept for each instance instead: the module's
name leads to the instance that runs.
"""

import json
import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from unittest.mock import patch

from chalicelib import log, outside
from chalicelib.domain import history_page, paging
from chalicelib.domain.outbox import Outbox
from chalicelib.gateways import acquirers, https, secrets
from chalicelib.services import deliveries, lane_runner, passwords
from chalicelib.store.aws_client import Limits
from infra.demo.partner import PRODUCT
from infra.local import stage_settings
from infra.operator import payer_records
from tests.simulation.bucket import Bucket
from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import Threads
from tests.simulation.wire import Client, Exchange, quotas
from tests.support.accounts import QUICK_HASHER

PAYMENTS = "sweep of payments"  # the job, and its tasks
MORNING = datetime(2026, 3, 14, 7, 0, tzinfo=UTC)
PARTNER_URL, PARTNER_SECONDS = "https://insurer.example/prepare", 5
SETTINGS = {
    "ACQUIRERS": "SANDBOX,ISO8583,STRIPE",
    "STRIPE_URL": "http://127.0.0.1:9",
    "ISO8583_HOST": "127.0.0.1",
    "ISO8583_PORT": "9",
    "ISO8583_INSTITUTION": "123456",
    "ISO8583_TLS": "off",
    "SWEEP_CONCURRENCY": "3",
    "PRINTERS": json.dumps({"1": "ESCPOS58", "2": "ESCPOS80"}),
    "PARTNERS": json.dumps({PRODUCT: {"url": PARTNER_URL, "timeout_seconds": PARTNER_SECONDS}}),
}


class Instance:
    """One process of the service: what it remembers, and how far its clock is ahead."""

    def __init__(self, name: str, ahead: float) -> None:
        self.name, self.ahead = name, ahead
        self.is_busy = False
        self.is_dead = False
        self.quotas = quotas()
        self.lane_memory: dict[str, int] = {}
        self.secrets = secrets.Remembered(secrets._load_document)  # noqa: SLF001  what a process keeps there


class Scenario(Protocol):
    """The part of the running scenario that the doors need: see `tests.simulation.scenario`."""

    scheduler: Scheduler
    began: datetime

    @property
    def exchange(self) -> Exchange:
        """Carry a request to AWS and its answer back."""

    @property
    def acquirers(self) -> Mapping[str, Any]:
        """The acquirers by their codes."""

    def deliver(self, message: Outbox, to: str) -> str:
        """Deliver a message to an address."""

    @property
    def has_threads(self) -> bool:
        """Return whether the sweep of payments has threads; without them a scenario runs faster."""

    @property
    def files(self) -> Bucket:
        """The files in the bucket, by their names."""

    def keep_picture(self, name: str, content: bytes) -> None:
        """Put a picture into the bucket, or fail to."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> https.Reply:
        """Call a webhook."""

    def note(self, event: str, facts: Any) -> None:
        """Take a line of the log."""


class _Present:
    """The scenario that runs, and who runs in it."""

    scenario: Scenario
    outside = Instance("outside", 0)

    @property
    def instance(self) -> Instance:
        task = self.scenario.scheduler.current
        found = task.instance if task is not None else None
        return found if isinstance(found, Instance) else self.outside

    def now(self) -> float:
        return self.scenario.scheduler.now

    def clock(self) -> datetime:
        """Return what the clock of the instance shows."""
        return self.scenario.began + timedelta(seconds=self.now() + self.instance.ahead)

    def chance(self) -> random.Random:
        task = self.scenario.scheduler.current
        return task.chance if task is not None else SETTING_UP


SETTING_UP = random.Random(0)  # noqa: S311  the order of a test, not a secret
present = _Present()


def _client(service: str, limits: Limits) -> Client:
    def exchange(operation: str, parameters: dict[str, Any], allowed: Limits) -> dict[str, Any]:
        return present.scenario.exchange(operation, parameters, allowed)

    return Client(service, limits, exchange, lambda: present.instance.quotas)


def _random_bytes(count: int) -> bytes:
    return present.chance().randbytes(count)


def _time() -> float:
    return present.clock().timestamp()


def _sleep(seconds: float) -> None:
    present.scenario.scheduler.pause(seconds)


def _random() -> float:
    return present.chance().random()


def _deliver(message: Outbox, to: str) -> str:
    return present.scenario.deliver(message, to)


class _Files:
    """The client of the bucket."""

    def put_object(self, *, Key: str, Body: Any, **_: Any) -> None:  # noqa: N803  boto3's names
        """Store a picture or an export."""
        if isinstance(Body, bytes):
            present.scenario.keep_picture(Key, Body)
        else:
            present.scenario.files[Key] = Body.read()

    def generate_presigned_url(self, _: str, *, Params: dict[str, str], **__: Any) -> str:  # noqa: N803
        """Return the URL of a file."""
        return f"https://files.example/{Params['Key']}"


def _post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float, **_: Any) -> https.Reply:
    return present.scenario.post(url, body, headers, seconds)


def _threads(most: int, *_: Any, **__: Any) -> Threads:
    task = present.scenario.scheduler.current
    is_of_payments = task is not None and PAYMENTS in task.name
    return Threads(present.scenario.scheduler, 1 if is_of_payments and not present.scenario.has_threads else most)


def _note(event: str, facts: Any) -> None:
    present.scenario.note(event, facts)


PAGES = ((paging, "PAGE_SIZE"), (history_page, "BUSY_DAY"))


def use_page_size(size: int) -> None:
    """Let the pages of lists have this size, so that a few transactions have several."""
    paging.PAGE_SIZE, history_page.BUSY_DAY = size, 2 * size


@contextmanager
def simulated() -> Iterator[None]:
    """Replace the world around the service until the block ends."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, {**stage_settings.ENVIRONMENT, **SETTINGS}))
        stack.enter_context(outside.given(**_given()))
        for target, name, value in _replacements():
            stack.enter_context(patch.object(target, name, value))
        yield


def _given() -> dict[str, Any]:
    return {
        "now": present.clock,
        "elapsed": present.now,
        "pause": _sleep,
        "between": lambda low, high: present.chance().uniform(low, high),
        "hasher": lambda: QUICK_HASHER,
        "client": _client,
        "boto3_client": lambda *_, **__: _Files(),
        "post": _post,
        "send_mail": _deliver,
        "send_sms": _deliver,
    }


def _replacements() -> list[tuple[Any, str, Any]]:
    def named(code: str) -> Any:
        return present.scenario.acquirers[code]

    return [
        (time, "time", _time),
        (time, "monotonic", present.now),
        (time, "perf_counter", present.now),
        (time, "sleep", _sleep),
        (os, "urandom", _random_bytes),
        (random, "_urandom", _random_bytes),
        (random, "random", _random),
        (random, "uniform", lambda low, high: present.chance().uniform(low, high)),
        (passwords, "UNKNOWN_LOGIN_HASH", QUICK_HASHER.hash("nobody has it")),
        (deliveries, "ThreadPoolExecutor", _threads),
        (payer_records, "ThreadPoolExecutor", _threads),
        (payer_records, "bucket", lambda: present.scenario.files),
        (lane_runner, "memory", lambda: present.instance.lane_memory),
        (lane_runner, "ThreadPoolExecutor", _threads),
        (secrets, "remembered", lambda: present.instance.secrets),
        (acquirers, "named", named),
        (log, "write", _note),
        *((module, name, getattr(module, name)) for module, name in PAGES),
    ]
