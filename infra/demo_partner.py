"""The demo partner: an insurer on HTTP, which fills in the fields of the product `Insurance`.

It is written as a partner would write it, from the description of the interface alone: nothing of the service that
asks it is imported for the answer.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any
from unittest.mock import patch

from chalicelib.domain.secret import Secret
from chalicelib.gateways import secrets
from infra import engines

PRODUCT = "Insurance"
SECRET = "demo-partner-secret-of-the-local-stage"  # noqa: S105  the local stage's, known to everybody
TIMEOUT_SECONDS = 5
TOLERATED_SECONDS = 300  # how old a signature may be
BODY_BYTES = 1024 * 1024
AMOUNT = re.compile(r"[0-9]{1,10}(\.[0-9]{1,2})?")
PREMIUM = Decimal("0.05")
CENT = Decimal("0.01")


def is_signed(timestamp: str, signature: str, body: bytes) -> bool:
    """Whether the body was signed with our secret, lately."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12):  # noqa: PLR2004  until the year 5138
        return False
    expected = hmac.new(SECRET.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_recent = abs(time.time() - int(timestamp)) <= TOLERATED_SECONDS
    return is_recent and hmac.compare_digest(expected.encode(), signature.encode())


def answer(question: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status and body for a question whose signature is right."""
    given = {field["Name"]: field["Value"] for field in question["PrepareFields"]}
    amount, order = given.get("AmountClient", ""), given.get("OrderId", "")
    problems = []
    if not (AMOUNT.fullmatch(amount) and Decimal(amount) > 0):
        problems.append({"Name": "AmountClient", "Message": "An amount above zero such as 1500.00 is expected."})
    if not order:
        problems.append({"Name": "OrderId", "Message": "The number of the order is expected."})
    if problems:
        return 422, {"Problems": problems}

    insured = Decimal(amount).quantize(CENT)
    filled = {
        "PolicyNumber": "POL-" + hashlib.sha256(order.encode()).hexdigest()[:10].upper(),
        "InsuredAmount": str(insured),
        "Premium": str((insured * PREMIUM).quantize(CENT, ROUND_HALF_UP)),
        "OrderId": order,
        "Plan": question["ClientProductCode"] or "STANDARD",
    }
    return 200, {"PreparedFields": [{"Code": code, "Value": value} for code, value in filled.items()]}


class _Handler(BaseHTTPRequestHandler):
    timeout = TIMEOUT_SECONDS

    def do_POST(self) -> None:
        """Check who asks, then answer."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), BODY_BYTES))
        if is_signed(self.headers.get("X-Timestamp", ""), self.headers.get("X-Signature", ""), body):
            status, reply = answer(json.loads(body))
        else:
            status, reply = 401, {"Message": "The signature is wrong or old."}
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        """Say nothing: the service logs what came of each question."""


class _Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The demo partner on a free port, registered with the stage of this process until it ends: its URL."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/prepare"
        registry = {PRODUCT: {"url": url, "timeout_seconds": TIMEOUT_SECONDS}}
        with patch.dict(os.environ, {"PARTNERS": json.dumps(registry)}):
            engines.forget()
            secrets.rotate_partner(PRODUCT, Secret(SECRET))
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            try:
                yield url
            finally:
                server.shutdown()
        engines.forget()
