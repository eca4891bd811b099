"""The listener: it subscribes the demo merchant on the local stage, and prints what arrives."""

import threading

import pytest

from infra.listen import DESCRIPTION, Listener, StageError, line_of
from tests.support import events
from tests.support.http import OWNER, TILL, post
from tests.support.transactions import a_body


def webhooks_of(stage: str) -> list[tuple[str, int]]:
    found = post(stage, "/api/v1/merchant/1/webhook/list", {}, OWNER).body["Webhooks"]
    return [(one["Url"], one["State"]) for one in found if one["Description"] == DESCRIPTION]


def test_it_takes_one_webhook_however_often_it_is_started(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with Listener(stage, 1, 0, []) as listener:
            threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
            during = webhooks_of(stage)
            events.forget()
            paid = post(stage, "/api/v1/payment/submit", a_body(), TILL).body["TransactionID"]
            events.deliver_all()
            listener.shutdown()

        assert during == [(listener.url, 1)]
        assert webhooks_of(stage) == [(listener.url, 0)]
        assert listener.verified == 1
        [line] = [line for line in capsys.readouterr().out.splitlines() if paid in line and "verified" in line]
        assert "payment.approved" in line


def test_without_a_stage_it_says_so() -> None:
    with pytest.raises(StageError, match="Is the local stage running"):
        Listener("http://127.0.0.1:9", 1, 0, [])


@pytest.mark.parametrize("body", [b"", b"[]", b'{"type": 1}', b"\xff", b'{"type": "a", "data": []}'])
def test_what_is_no_event_is_printed_as_such(body: bytes) -> None:
    assert "not an event" in line_of("evt_1", body, "its signature is wrong")
