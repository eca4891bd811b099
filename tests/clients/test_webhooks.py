"""What a webhook gets is verified by the published packages of Standard Webhooks, with the code of the guide."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.webhooks import new_secret
from chalicelib.gateways import webhooks
from infra.reference import ROOT
from tests.clients.tools import ENGINES, needs
from tests.support.events import SECRET
from tests.support.receivers import Call, a_receiver, problem_of

pytestmark = pytest.mark.usefixtures("moto")

PYTHON = ENGINES / "tools" / "bin" / "python"
NPM = ENGINES / "node_modules"
OLD = new_secret(bytes(32))
BODY = '{"type":"payment.approved","data":{"Name":"Käsekuchen"}}'.encode()
ASKED = {
    "python": "import json, sys\nfor one in json.load(sys.stdin):\n"
    "    print(json.dumps(verified(one['secret'], one['headers'], one['body'])))\n",
    "js": "for (const one of JSON.parse(require('fs').readFileSync(0, 'utf8')))\n"
    "  console.log(JSON.stringify(verified(one.secret, one.headers, one.body)));\n",
}
Verify = Callable[..., list[Any]]


def code_of_the_guide(language: str) -> str:
    """Return the code of the guide in a language."""
    guide = (ROOT / "docs" / "webhooks.md").read_text(encoding="utf-8")
    (code,) = re.findall(rf"```{language}\n(.*?)```", guide, re.DOTALL)
    return f"{code}\n{ASKED[language]}"


@pytest.fixture(
    params=[
        pytest.param("python", marks=needs(PYTHON)),
        pytest.param("js", marks=needs(NPM)),
    ]
)
def verify(request: pytest.FixtureRequest, tmp_path: Path) -> Verify:
    """Verify requests with the published package of a language: the event of each, None when it is refused."""
    language: str = request.param
    program = tmp_path / f"verify.{language}"
    program.write_text(code_of_the_guide(language), encoding="utf-8")
    command = [str(PYTHON), str(program)] if language == "python" else [shutil.which("node") or "node", str(program)]

    def verified(*requests: tuple[str, dict[str, str], bytes]) -> list[Any]:
        sent = [{"secret": secret, "headers": headers, "body": body.decode()} for secret, headers, body in requests]
        done = subprocess.run(
            command, input=json.dumps(sent), capture_output=True, text=True, check=False, env={"NODE_PATH": str(NPM)}
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return verified


def a_call(at: datetime, *secrets: Any) -> Call:
    """Return what a receiver gets of an event that is sent at this time."""
    with a_receiver() as receiver:
        webhooks.call(receiver.url, "evt_1", BODY, secrets or [SECRET], at)
    return receiver.calls[0]


def test_a_genuine_request_is_accepted_and_nothing_else(verify: Verify) -> None:
    secret = SECRET.reveal()
    now = datetime.now(UTC)
    genuine, rotated = a_call(now), a_call(now, SECRET, OLD)
    early, late = a_call(now - timedelta(minutes=6)), a_call(now + timedelta(minutes=6))
    changed = bytes([*genuine.body[:-2], genuine.body[-2] ^ 1, genuine.body[-1]])

    answers = verify(
        (secret, genuine.headers, genuine.body),
        (secret, rotated.headers, rotated.body),
        (OLD.reveal(), rotated.headers, rotated.body),
        (secret, genuine.headers, changed),
        (OLD.reveal(), genuine.headers, genuine.body),
        (secret, early.headers, early.body),
        (secret, late.headers, late.body),
        (secret, {**genuine.headers, "webhook-id": "evt_2"}, genuine.body),
        (secret, {**genuine.headers, "webhook-timestamp": str(int(now.timestamp()) + 1)}, genuine.body),
    )

    assert answers == [json.loads(BODY)] * 3 + [None] * 6


def test_the_listener_of_the_local_stage_verifies_alike() -> None:
    genuine = a_call(datetime.now(UTC))
    secret, now = SECRET.reveal(), time.time()

    assert problem_of(secret, genuine.headers, genuine.body, now) is None
    assert problem_of(secret, genuine.headers, genuine.body + b" ", now) == "its signature is wrong"
    assert problem_of(OLD.reveal(), genuine.headers, genuine.body, now) == "its signature is wrong"
    assert problem_of(secret, genuine.headers, genuine.body, now + 301) == "its timestamp is not of now"
    assert problem_of(secret, {}, genuine.body, now) == "its timestamp is not of now"
    assert problem_of(secret, genuine.headers | {"webhook-signature": "v1,é"}, b"", now) == "its signature is wrong"
