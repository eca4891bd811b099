"""The bank's books, its door and its command."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.error import HTTPError

import pytest

from infra.bank import __main__ as command
from infra.bank import books
from infra.bank.bank import Bank
from infra.bank.server import Server
from infra.local import ports
from tests.infra.bank.messages import NOW, PAN, Line, a_chip_purchase, a_purchase, a_refund, an_advice, ask, code

TODAY = date(2026, 11, 21)
RUN = [sys.executable, "-m", "infra.bank"]


def a_day() -> tuple[Bank, list[str]]:
    """A bank after a day, and the RRNs of what stands."""
    bank = Bank(clock=lambda: NOW)
    taken, cancelled, declined = (a_purchase(minor, now=NOW) for minor in (10_000, 5000, 3051))
    partial, yen = a_purchase(3070, now=NOW), a_purchase(500, now=NOW, f49="392")
    refund, undone = a_refund(taken, 3340, now=NOW), a_refund(taken, 100, now=NOW)
    yesterday = a_purchase(700, now=NOW, f13="1120")
    for message in (taken, cancelled, declined, partial, yen, refund, undone, yesterday):
        code(bank, message)
    for message in (an_advice(cancelled, "4000"), an_advice(undone)):
        code(bank, message)
    return bank, [message.text(37) for message in (taken, partial, yen, refund)]


def test_the_list_of_a_day_has_what_stands_and_what_was_reversed_is_not_in_it() -> None:
    bank, standing = a_day()

    rows = list(csv.DictReader(io.StringIO(books.list_of(bank, TODAY))))

    assert tuple(rows[0]) == books.COLUMNS
    assert [row["RRN"] for row in rows] == standing
    assert [(row["type"], row["amount"], row["currency"]) for row in rows] == [
        ("purchase", "100.00", "ZAR"),
        ("purchase", "15.35", "ZAR"),
        ("purchase", "500", "JPY"),
        ("refund", "33.40", "ZAR"),
    ]
    assert {(row["date"], row["TID"], len(row["approval code"])) for row in rows} == {("2026-11-21", "DEMO0001", 6)}
    assert len(list(csv.reader(io.StringIO(books.list_of(bank, date(2026, 11, 20)))))) == 2


def test_the_year_of_a_day_is_that_in_which_it_came() -> None:
    bank = Bank(clock=lambda: datetime(2027, 1, 1, 0, 30, tzinfo=UTC))
    code(bank, a_purchase(now=bank.clock(), f13="1231"))

    assert books.list_of(bank, date(2026, 12, 31)).count("\n") == 2
    assert books.list_of(bank, date(2027, 12, 31)).count("\n") == 1


def test_the_door_shows_the_books_and_no_card() -> None:
    bank, standing = a_day()

    with books.serve(bank) as url:
        port = int(url.rpartition(":")[2])
        shown = json.loads(books.read_from(port, "/books"))
        listed = books.read_from(port, "/list/2026-11-21")
        for path in ("/", "/list/yesterday"):
            with pytest.raises(HTTPError):
                books.read_from(port, path)

    assert sorted((one["currency"], one["amount"]) for one in shown["held"]) == [("JPY", "500"), ("ZAR", "88.95")]
    assert {one["RRN"] for one in shown["transactions"]} >= set(standing)
    assert shown["violations"] == []
    assert listed == books.list_of(bank, TODAY)
    assert PAN not in json.dumps(shown) + listed


@contextmanager
def running(*arguments: str) -> Iterator[tuple[int, int, "subprocess.Popen[str]"]]:
    """The bank as a process on free ports: its port, its door, and it."""
    port, door = ports.free_port(), ports.free_port()
    line = [*RUN, "--port", str(port), "--control", str(door), *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        printed = "".join(process.stdout.readline() for _ in range(4))
        assert f"127.0.0.1:{port}" in printed, process.stderr.read() if process.stderr else ""
        try:
            yield port, door, process
        finally:
            process.kill()


def test_the_command_runs_a_bank_that_survives_being_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    purchase = a_purchase()
    with running("--plain", "--folder", str(tmp_path / "bank")) as (port, _, process):
        line = Line(port)
        assert line.ask(purchase)
        line.socket.close()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)

    with running("--plain", "--folder", str(tmp_path / "bank")) as (port, door, process):
        line = Line(port)
        again = line.ask(purchase)
        line.socket.close()
        command.main(["--books", "--control", str(door)])
        command.main(["--list", "2026-01-01", "--control", str(door)])
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10) == 0

    assert again
    assert again.text(39) == "94"
    printed = capsys.readouterr().out
    assert '"amount": "30.00"' in printed
    assert printed.endswith(",".join(books.COLUMNS) + "\n")


def test_the_command_says_in_a_line_why_it_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    door = ports.free_port()
    with pytest.raises(SystemExit, match=f"The bank's door at port {door}"):
        command.main(["--books", "--control", str(door)])
    with Server(Bank()) as host, pytest.raises(SystemExit, match="The bank cannot start"):
        command.main(["--port", str(host.port), "--control", str(door)])
    assert capsys.readouterr().out == ""


def test_a_chip_purchase_is_in_the_books_as_any_other() -> None:
    with Server(bank := Bank()) as host:
        assert ask(host, a_chip_purchase(1230))
    assert bank.held(PAN) == 1230
