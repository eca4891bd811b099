"""The log of the local stage as a person reads it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib import log, pages
from infra.local import readable_log
from tests.support.http import get, post
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"
NOW = datetime(2026, 3, 14, 12, 30, 5, tzinfo=UTC)
REQUEST: dict[str, Any] = {"method": "POST", "route": SUBMIT, "status": 200, "error_code": 0, "milliseconds": 12.4}


def test_a_request_is_one_line() -> None:
    line = readable_log.line("request", {**REQUEST, "fields": []}, NOW)

    assert line == f"12:30:05  POST {SUBMIT}  200/0  12 ms"


def test_a_refusal_names_its_fields() -> None:
    refused = {**REQUEST, "status": 400, "error_code": 202, "fields": ["BasicTran.Amount", "GMT"]}

    line = readable_log.line("request", refused, NOW)

    assert line == f"12:30:05  POST {SUBMIT}  400/202  12 ms  BasicTran.Amount  GMT"


def test_another_event_is_its_name_and_what_is_known_of_it() -> None:
    line = readable_log.line("outbox", {"kind": "receipt", "attempts": 2, "reason": None}, NOW)

    assert line == "12:30:05  outbox  kind=receipt attempts=2"


def test_the_fields_of_a_refusal_are_logged_and_what_was_in_them_is_not(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    post(stage, SUBMIT, a_body(Amount="not-for-the-log"))
    (line,) = capsys.readouterr().out.splitlines()

    assert json.loads(line)["fields"] == ["BasicTran.Amount"]
    assert "not-for-the-log" not in line


def test_a_stage_can_write_it(stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(log, "write", readable_log.write)

    post(stage, SUBMIT, a_body(Amount="x"))

    assert capsys.readouterr().out.splitlines()[-1].endswith("ms  BasicTran.Amount")


def test_a_file_that_a_page_loads_has_no_line_unless_it_is_missing(
    stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(log, "write", readable_log.write)

    for name in ("main.js", "nothing.js"):
        get(stage, f"/app/{pages.version(pages.SHOP)}/shop/{name}", None)

    (line,) = capsys.readouterr().out.splitlines()
    assert "GET /app/{version}/{folder}/{name}  404/207" in line
