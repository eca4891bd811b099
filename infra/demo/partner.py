"""The demo partner: an insurer on HTTP, which fills in the fields of the product `Insurance`.

It is written as a partner would write it, from the description of the interface, without code of the service.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import threading
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any
from unittest.mock import patch

from chalicelib import outside
from chalicelib.domain.secret import Secret
from infra.local import ports
from infra.operator import stage_secret

PRODUCT = "Insurance"
PARTNER_SECRET = "demo-partner-secret-of-the-local-stage"  # noqa: S105  the local stage's, known to everybody
TIMEOUT_SECONDS = 5
MAX_SIGNATURE_AGE_SECONDS = 300  # of a signature
MAX_BODY_BYTES = 1024 * 1024
AMOUNT_PATTERN = re.compile(r"[0-9]{1,10}(\.[0-9]{1,2})?")
PREMIUM_RATE = Decimal("0.05")
CENT = Decimal("0.01")
USUAL = {"AmountClient": "1000.00", "OrderId": "NEW"}  # in place of values that the till leaves to the partner


def is_signed(timestamp: str, signature: str, body: bytes) -> bool:
    """Return whether the body was signed with the partner's secret, and recently."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12):  # noqa: PLR2004  until the year 5138
        return False
    expected = hmac.new(PARTNER_SECRET.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_recent = abs(outside.now().timestamp() - int(timestamp)) <= MAX_SIGNATURE_AGE_SECONDS
    return is_recent and hmac.compare_digest(expected.encode(), signature.encode())


def answer(request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the status and body of the answer to a correctly signed request."""
    given = {field["Name"]: field["Value"] for field in request["PrepareFields"] if field["Value"] is not None}
    fields = {**USUAL, **given}
    amount, order = fields["AmountClient"], fields["OrderId"]
    problems = []
    if not (AMOUNT_PATTERN.fullmatch(amount) and Decimal(amount) > 0):
        problems.append({"Name": "AmountClient", "Message": "An amount above zero such as 1500.00 is expected."})
    if not order.strip():
        problems.append({"Name": "OrderId", "Message": "The number of the order is expected."})
    if problems:
        return 422, {"Problems": problems}

    insured = Decimal(amount).quantize(CENT)
    filled = {
        "PolicyNumber": "POL-" + hashlib.sha256(order.encode()).hexdigest()[:10].upper(),
        "InsuredAmount": str(insured),
        "Premium": str((insured * PREMIUM_RATE).quantize(CENT, ROUND_HALF_UP)),
        "OrderId": order,
        "Plan": request["ClientProductCode"] or "STANDARD",
    }
    return 200, {"PreparedFields": [{"Code": code, "Value": value} for code, value in filled.items()]}


class _Handler(BaseHTTPRequestHandler):
    timeout = TIMEOUT_SECONDS

    def do_POST(self) -> None:
        """Check the signature, then answer."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), MAX_BODY_BYTES))
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
        """Log nothing: the service logs the result of each request."""


class _Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def store_secret() -> None:
    """Store the partner's secret in the stage's secret."""
    stage_secret.rotate_partner(PRODUCT, Secret(PARTNER_SECRET))


@contextlib.contextmanager
def serve() -> Iterator[str]:
    """Serve the demo partner on a free port, register it with the stage of this process, and yield its URL."""
    with _Server((ports.HOST, 0), _Handler) as server:
        url = f"http://{ports.HOST}:{server.server_address[1]}/prepare"
        registry = {PRODUCT: {"url": url, "timeout_seconds": TIMEOUT_SECONDS}}
        with patch.dict(os.environ, {"PARTNERS": json.dumps(registry)}), outside.given():
            store_secret()
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            try:
                yield url
            finally:
                server.shutdown()
