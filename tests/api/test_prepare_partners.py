"""payment/prepare with a partner of the test: slow, broken, refusing or not set up."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.secret import Secret
from infra.operator import stage_secret
from tests.api.test_prepare import PREPARE, a_body, filled
from tests.support.http import post
from tests.support.partners import Behaviour, Server, a_server, repeats, says, sends

Registers = Callable[[Behaviour], contextlib.AbstractContextManager[Server]]


@pytest.fixture
def registered(stage: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registers]:
    """Return a function that registers a partner for the product `Test`, with a timeout of half a second."""
    del stage

    @contextlib.contextmanager
    def register(behaviour: Behaviour) -> Iterator[Server]:
        with a_server(behaviour) as server:
            monkeypatch.setenv("PARTNERS", json.dumps({"Test": {"url": server.url, "timeout_seconds": 0.5}}))
            outside.forget()
            stage_secret.rotate_partner("Test", Secret("a-secret-of-the-partner"))
            yield server

    yield register
    monkeypatch.undo()
    outside.forget()


UNAVAILABLE: dict[str, Behaviour] = {
    "answers 500": says(b"Traceback: secret stuff", "500 Internal Server Error"),
    "answers slowly": repeats(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b" ", pause=0.05),
    "hangs up": sends(),
}


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", UNAVAILABLE.values(), ids=UNAVAILABLE)
def test_a_misbehaving_partner_is_902_within_its_time(stage: str, registered: Registers, behaviour: Behaviour) -> None:
    post(stage, PREPARE, a_body())  # the credential is known from here on
    with registered(behaviour) as server:
        started = time.monotonic()
        reply = post(stage, PREPARE, a_body(product="Test"))
        seconds = time.monotonic() - started

    assert reply.error == (503, 902)
    assert reply.headers["Retry-After"] == "5"
    assert reply.body["ErrorMessage"] == "The acquirer or partner is out of reach; nothing was attempted."
    assert seconds < 2  # half of one is its own, the rest a busy machine's
    assert len(server.seen) == 1


def test_a_partner_without_a_secret_is_not_asked(stage: str, registered: Registers) -> None:
    with registered(says({"PreparedFields": []})) as server:
        stage_secret.remove_partner("Test")

        assert post(stage, PREPARE, a_body(product="Test")).error == (503, 902)
    assert server.seen == []


def test_outside_the_local_stage_a_partner_on_this_machine_is_not_asked(
    stage: str, registered: Registers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with registered(says({"PreparedFields": []})) as server:
        monkeypatch.setenv("STAGE", "dev")
        monkeypatch.setenv("PARTNERS", json.dumps({"Test": {"url": f"https://127.0.0.1:{server.port}/prepare"}}))
        outside.forget()

        assert post(stage, PREPARE, a_body(product="Test")).error == (503, 902)
    assert server.seen == []


@pytest.mark.parametrize(
    ("refusal", "message"),
    [({}, None), ({"Problems": [{"Message": "Closed on Sundays."}]}, "Closed on Sundays.")],
    ids=["no reason", "a reason that is about no field"],
)
def test_a_refusal_that_names_no_field_is_a_finding(
    stage: str, registered: Registers, refusal: dict[str, Any], message: str | None
) -> None:
    with registered(says(refusal, "422 Unprocessable Content")):
        reply = post(stage, PREPARE, a_body(product="Test"))

    assert (reply.error, reply.findings) == ((400, 202), [("PrepareFields", 3)])
    assert message in {None, reply.body["Validations"][0]["Message"]}


def test_what_came_of_it_is_logged_without_what_was_said(
    stage: str, registered: Registers, capsys: pytest.CaptureFixture[str]
) -> None:
    with registered(says({"PreparedFields": [{"Code": "Policy", "Value": "P-1"}]})):
        assert filled(post(stage, PREPARE, a_body(product="Test", OrderId="Z-99")).body) == {"Policy": "P-1"}
    with registered(says(b"P-2", "500 P-3")):
        post(stage, PREPARE, a_body(product="Test", OrderId="Z-99"))
    written = capsys.readouterr().out
    lines = [json.loads(line) for line in written.splitlines()]

    assert [(line["product"], line["outcome"]) for line in lines if line["event"] == "partner"] == [
        ("Test", "prepared"),
        ("Test", "it answered 500"),
    ]
    assert not any(said in written for said in ("P-1", "P-2", "P-3", "Z-99", "a-secret-of-the-partner"))
