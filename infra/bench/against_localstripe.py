"""Card payments over HTTP compared with localstripe, a stand-in for Stripe: `make bench PEER=localstripe`.

Both programs run as processes on this machine and take turns, one request at a time, so other load slows both. The
service has its tables in DynamoDB Local. localstripe keeps its objects in memory, and writes all of them to a file
after each change.
"""

import base64
import contextlib
import http.client
import json
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from infra.bench.table import Table
from infra.demo import data as demo_data
from infra.local.engines import ENGINES_DIR
from infra.local.ports import HOST, START_SECONDS, free_port, running

SIZES = (100, 400, 1_400)  # earlier payments
WINDOW = 50  # the last payments before each size, whose median is shown
LOCALSTRIPE = ENGINES_DIR / "localstripe" / "bin" / "localstripe"
LOCALSTRIPE_FILE = Path("/tmp/localstripe.pickle")  # noqa: S108  its fixed place
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
PAN, EXPIRY_MONTH, EXPIRY_YEAR, CVV2 = "4242424242424242", "12", "2035", "123"


class PeerError(Exception):
    """A peer that is unknown, not installed or refuses a payment. The message is one line."""


@dataclass
class Till:
    """A connection that takes one payment after another, and remembers how long each took."""

    port: int
    login: tuple[str, str]
    pay: Callable[["Till"], None]
    seconds: list[float] = field(default_factory=list)
    card: str = ""  # the peer's ID of the card

    def __post_init__(self) -> None:
        """Keep one connection, as a till does."""
        self._connection = http.client.HTTPConnection(HOST, self.port, timeout=START_SECONDS)

    def post(self, path: str, body: bytes, content_type: str) -> Any:
        """Send a request and return the JSON it is answered with. Raise PeerError unless the status is 200."""
        credential = base64.b64encode(":".join(self.login).encode()).decode()
        headers = {"Authorization": f"Basic {credential}", "Content-Type": content_type}
        self._connection.request("POST", path, body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != http.client.OK:
            message = f"{path} answered {response.status}: {answer[:200].decode(errors='replace')}"
            raise PeerError(message)
        return json.loads(answer)

    def take_payment(self) -> None:
        """Take a payment and remember its time."""
        started = time.perf_counter()
        self.pay(self)
        self.seconds.append(time.perf_counter() - started)

    @property
    def latest_ms(self) -> float:
        """Return the median of the latest payments."""
        return statistics.median(self.seconds[-WINDOW:]) * 1000


def compare_with(peer: str) -> Table:
    """Return the times of both programs, by the number of earlier payments. Raises PeerError."""
    if peer != "localstripe":
        message = f"PEER is localstripe, not {peer}."
        raise PeerError(message)
    if not LOCALSTRIPE.exists():
        message = "localstripe is missing: `make bench PEER=localstripe` installs it."
        raise PeerError(message)
    rows = []
    with _service() as ours, _localstripe() as theirs:
        for number in range(1, max(SIZES) + 1):
            ours.take_payment()
            theirs.take_payment()
            if number in SIZES:
                our_ms, their_ms = ours.latest_ms, theirs.latest_ms
                rows.append((f"{number:,}", f"{our_ms:.1f}", f"{their_ms:.1f}", f"{their_ms / our_ms:.1f}"))
    return Table("peer", ("payments before", "p50 ms", "localstripe, p50 ms", "ratio"), rows)


@contextlib.contextmanager
def _service() -> Iterator[Till]:
    """Run the local stage on DynamoDB Local until the block ends."""
    port, aws_port = free_port(), free_port()
    settings = {"ENGINE": "dynamodb-local", "PORT": str(port), "AWS_PORT": str(aws_port), "DATA": "", "ACQUIRER": ""}
    with running(port, sys.executable, "-m", "infra.local", **settings):
        yield Till(port, demo_data.TILL, _pay_here)


@contextlib.contextmanager
def _localstripe() -> Iterator[Till]:
    """Run localstripe until the block ends, and remove the file it leaves."""
    port = free_port()
    try:
        with running(port, str(LOCALSTRIPE), "--from-scratch", "--port", str(port)):
            till = Till(port, ("sk_test_bench", ""), _pay_there)
            card = {"number": PAN, "exp_month": EXPIRY_MONTH, "exp_year": EXPIRY_YEAR, "cvc": CVV2}
            form = {"type": "card", **{f"card[{name}]": value for name, value in card.items()}}
            till.card = till.post("/v1/payment_methods", urlencode(form).encode(), FORM)["id"]
            yield till
    finally:
        LOCALSTRIPE_FILE.unlink(missing_ok=True)


def _pay_here(till: Till) -> None:
    card = {"PAN": PAN, "EXP": EXPIRY_MONTH + EXPIRY_YEAR[-2:], "CVV2": CVV2}
    transaction = {"ID": str(uuid.uuid4()), "InputType": 1, "CurrencyID": "ZAR", "Amount": "12.30"}
    body = {"BasicTran": transaction, "Card": {"CardInputMode": 1, "CardDataInput": card}}
    answer = till.post("/api/v1/payment/submit", json.dumps(body).encode(), JSON)
    if answer["ErrorCode"]:
        message = f"a payment was refused: {answer['ErrorCode']} {answer['ErrorMessage']}"
        raise PeerError(message)


def _pay_there(till: Till) -> None:
    form = {"amount": "1230", "currency": "zar", "payment_method": till.card, "confirm": "true"}
    answer = till.post("/v1/payment_intents", urlencode(form).encode(), FORM)
    if answer["status"] != "succeeded":
        message = f"localstripe did not take a payment: {answer['status']}"
        raise PeerError(message)
