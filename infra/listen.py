"""A listener for the local stage: prints and verifies the events of the demo merchant, as they reach a webhook.

`python -m infra.listen [--stage http://127.0.0.1:8000] [--port 0] [--types payment.approved ...] [--merchant 1]`. It
creates a webhook of the demo merchant for a port of this machine, or uses that of an earlier run, and disables it at
the end. `--status 500` answers every event with 500, to show the repeated attempts.
"""

import argparse
import base64
import hashlib
import hmac
import json
import signal
import sys
import time
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import URLError

from infra.demo.data import OWNER
from infra.local import stage as local_stage
from infra.local.ports import HOST

DESCRIPTION = "python -m infra.listen"
TOLERANCE_SECONDS = 300  # difference of a timestamp: as in the published packages


class StageError(Exception):
    """A stage that does not answer, or refuses. The message is one line."""


def main() -> None:
    """Listen until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m infra.listen")
    parser.add_argument("--stage", default=local_stage.URL)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--types", nargs="*", default=[])
    parser.add_argument("--merchant", type=int, default=1)
    parser.add_argument("--status", type=int, default=200)
    chosen = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, local_stage.stop)
    try:
        with Listener(chosen.stage, chosen.merchant, chosen.port, chosen.types, chosen.status) as listener:
            print(f"Webhook {listener.webhook_id} of merchant {chosen.merchant} leads to {listener.url}.", flush=True)
            listener.serve_forever()
    except StageError as problem:
        sys.exit(str(problem))


class Listener(ThreadingHTTPServer):
    """A receiver on this machine, and the webhook that sends events to it until the block ends."""

    daemon_threads = True

    def __init__(self, stage: str, merchant_id: int, port: int, types: list[str], status: int = 200) -> None:
        super().__init__((HOST, port), _Handler)
        self.url = f"http://{HOST}:{self.server_port}/events"
        self.status = status
        self.verified = 0
        self._path = f"{stage}/api/v1/merchant/{merchant_id}/webhook"
        try:
            self.webhook_id, self.secret = self._subscribe(types)
        except StageError:
            super().server_close()
            raise

    def server_close(self) -> None:
        """Switch the webhook off, and stop listening."""
        _post(f"{self._path}/{self.webhook_id}/update", {"State": 0})
        super().server_close()

    def _subscribe(self, types: list[str]) -> tuple[int, str]:
        """Return the ID and the secret of the webhook: the one of an earlier run, or a new one."""
        body = {"Url": self.url, "Types": types}
        known = [one for one in _post(f"{self._path}/list", {})["Webhooks"] if one["Description"] == DESCRIPTION]
        if known:
            changes = body | {"State": 1, "RotateSecret": True}
            answer = _post(f"{self._path}/{known[0]['ID']}/update", changes)
        else:
            answer = _post(f"{self._path}/create", body | {"Description": DESCRIPTION})
        return answer["Webhook"]["ID"], answer["Webhook"]["Secret"]


class _Handler(BaseHTTPRequestHandler):
    server: Listener

    def do_POST(self) -> None:
        """Print an event, and whether its signature is right."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        problem = problem_of(self.server.secret, {name.lower(): text for name, text in self.headers.items()}, body)
        self.server.verified += problem is None
        print(line_of(self.headers.get("webhook-id", ""), body, problem), flush=True)
        self.send_response(400 if problem else self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing else."""


def problem_of(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> str | None:
    """Check a request as Standard Webhooks does. Return its problem, or None if it is genuine and recent."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs((now or time.time()) - int(timestamp)) > TOLERANCE_SECONDS:
        return "its timestamp is not of now"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    given = headers.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest(expected.encode(), one.encode()) for one in given):
        return "its signature is wrong"
    return None


def line_of(event_id: str, body: bytes, problem: str | None) -> str:
    """Return an event in one line."""
    at = f"{datetime.now(UTC).astimezone():%H:%M:%S}"
    try:
        event = json.loads(body)
        data = event["data"]
        states = f"{data.get('State')}/{data.get('Substate')}"
        what = f"{event['type']:<18} {data.get('TransactionID') or '-':<36} {states:<9}"
    except (ValueError, TypeError, KeyError, AttributeError):
        what = "not an event"
    return f"{at}  {what} {event_id}  {problem or 'verified'}"


def _post(url: str, body: dict[str, Any]) -> Any:
    credential = base64.b64encode(":".join(OWNER).encode()).decode()
    headers = {"Authorization": f"Basic {credential}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310  the stage's own address
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            return json.load(response)
    except URLError as error:
        message = f"{url}: {error}. Is the local stage running (`make run`)?"
        raise StageError(message) from None


if __name__ == "__main__":
    main()
