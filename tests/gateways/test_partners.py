"""Partners that answer as agreed, and partners that do not: each call ends within its time limit."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.domain.partner import PartnerRequest, PreparedField, Problem, sign
from chalicelib.domain.secret import Secret
from chalicelib.gateways import https, partners
from chalicelib.gateways.https import FailedError
from chalicelib.settings import Partner
from infra.local import ports
from tests.support.partners import Behaviour, Server, a_server, repeats, says, sends

SECRET = Secret("a-secret-of-a-partner")
NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
REQUEST = PartnerRequest("Insurance", "HOME", (("AmountClient", "1500.00"), ("OrderId", "Ω-17")))
FILLED = {"PreparedFields": [{"Code": "Premium", "Value": "75.00"}, {"Code": "Note", "Value": ""}]}
SECONDS = 0.6
SLACK = 1.0  # what a busy machine may add


def request_fields(server: Server, seconds: float = 5) -> tuple[PreparedField, ...]:
    return partners.request_fields(Partner("Insurance", server.url, seconds), SECRET, REQUEST, NOW)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield

    assert time.monotonic() - started < seconds


def test_the_fields_are_returned_as_the_partner_filled_them_in() -> None:
    with a_server(says(FILLED)) as server:
        assert request_fields(server) == (PreparedField("Premium", "75.00"), PreparedField("Note", ""))


def test_the_fields_are_posted_as_json_and_signed() -> None:
    with a_server(says(FILLED)) as server:
        request_fields(server)
    head, _, body = server.seen[0].partition(b"\r\n\r\n")
    request_line, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)

    assert request_line == "POST /prepare?version=1 HTTP/1.1"
    assert json.loads(body) == {
        "ProductDescCode": "Insurance",
        "ClientProductCode": "HOME",
        "PrepareFields": [{"Name": "AmountClient", "Value": "1500.00"}, {"Name": "OrderId", "Value": "Ω-17"}],
    }
    assert headers["Host"] == f"127.0.0.1:{server.port}"
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Timestamp"] == "1773480413"
    assert headers["X-Signature"] == sign(SECRET, "1773480413", body)
    assert SECRET.reveal() not in server.seen[0].decode()


def test_a_body_of_a_megabyte_is_posted_whole() -> None:
    fields = tuple((f"Field{number}", "x" * 10_000) for number in range(100))
    with a_server(says(FILLED)) as server:
        partners.request_fields(Partner("Insurance", server.url, 5), SECRET, replace(REQUEST, fields=fields), NOW)

    assert len(server.seen[0]) > 1_000_000


def test_an_answer_in_chunks_or_without_a_length_is_an_answer() -> None:
    content = json.dumps(FILLED).encode()
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)
    for whole in (chunked, b"HTTP/1.0 200 OK\r\n\r\n" + content):
        with a_server(sends(whole)) as server:
            assert len(request_fields(server)) == 2


NO_ANSWERS: dict[str, Behaviour] = {
    "500": says({"error": "internal"}, "500 Internal Server Error"),
    "503 with fields": says(FILLED, "503 Service Unavailable"),
    "401": says({"Message": "who are you"}, "401 Unauthorized"),
    "201 with fields": says(FILLED, "201 Created"),
    "204": sends(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "HTML": says(b"<!doctype html><title>Welcome</title>", "200 OK", "Content-Type: text/html"),
    "422 in HTML": says(b"<html>", "422 Unprocessable Content"),
    "a redirect": says(b"", "302 Found", "Location: http://169.254.169.254/latest/meta-data/"),
    "a redirect that keeps the method": says(b"", "307 Temporary Redirect", "Location: /prepare"),
    "nothing": sends(),
    "no HTTP": sends(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "half a head": sends(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "closed mid-body": says(json.dumps(FILLED).encode(), length=4096),
    "closed mid-chunk": sends(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"Prepared'),
    "an absurd chunk": sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n"),
    "a chunk of no length": sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "10 MB": says(b"x" * 10_000_000),
    "10 MB of fields": says({"PreparedFields": [{"Code": "a", "Value": "x" * 10_000_000}]}),
    "an announced terabyte": says(b"{}", length=10**12),
    "endless": repeats(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
    "endless in one chunk": repeats(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n", b"x" * 65536
    ),
    "endless in a chunk of -1": repeats(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 65536),
    "endless headers": repeats(b"HTTP/1.1 200 OK\r\n", b"X-More: of this\r\n"),
    "endless interim answers": repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "an interim answer alone": sends(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "compressed": says(b"\x1f\x8b\x08\x00\x00", "200 OK", "Content-Encoding: gzip"),
}


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_a_response_that_is_no_answer_is_a_failure_at_once(behaviour: Behaviour) -> None:
    with a_server(behaviour) as server, within(5 + SLACK), pytest.raises(FailedError):
        request_fields(server)

    assert len(server.seen) == 1


INVALID: dict[str, Any] = {
    "no JSON": b"{",
    "a list": b"[]",
    "null": b"null",
    "nothing in it": {},
    "fields that are no list": {"PreparedFields": {"Code": "a", "Value": "b"}},
    "fields that are no objects": {"PreparedFields": ["a"]},
    "a field without a code": {"PreparedFields": [{"Value": "b"}]},
    "an empty code": {"PreparedFields": [{"Code": "", "Value": "b"}]},
    "a code that is a number": {"PreparedFields": [{"Code": 1, "Value": "b"}]},
    "a field without a value": {"PreparedFields": [{"Code": "a"}]},
    "a value that is a number": {"PreparedFields": [{"Code": "a", "Value": 75.0}]},
    "a value that is null": {"PreparedFields": [{"Code": "a", "Value": None}]},
    "one bad field among good ones": {"PreparedFields": [{"Code": "a", "Value": "b"}, {}]},
    "a long code": {"PreparedFields": [{"Code": "a" * 257, "Value": "b"}]},
    "a long value": {"PreparedFields": [{"Code": "a", "Value": "b" * 1025}]},
    "too many fields": {"PreparedFields": [{"Code": "a", "Value": "b"}] * 101},
    "half a surrogate pair": b'{"PreparedFields": [{"Code": "a", "Value": "\\ud800"}]}',
    "the other half of one": b'{"PreparedFields": [{"Code": "a", "Value": "\\udfff"}]}',
    "deep nesting": b"[" * 100_000,
    "an absurd number": b'{"PreparedFields": ' + b"9" * 100_000 + b"}",
    "no UTF-8": b'{"PreparedFields": [{"Code": "a", "Value": "\xff"}]}',
}


@pytest.mark.parametrize("content", INVALID.values(), ids=INVALID)
def test_an_invalid_answer_is_a_failure(content: bytes | dict[str, Any]) -> None:
    with a_server(says(content)) as server, pytest.raises(FailedError):
        request_fields(server)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
SLOW: dict[str, Behaviour] = {
    "silent": lambda _: time.sleep(3),
    "a body that drips": repeats(HEAD, b" ", pause=0.05),
    "a head that drips": repeats(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x", pause=0.05),
    "headers that drip": repeats(b"HTTP/1.1 200 OK\r\n", b"X-Slow: x\r\n", pause=0.05),
    "chunks that drip": repeats(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", pause=0.05),
    "interim answers that drip": repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.05),
    "a body that stops": sends(HEAD + b"{", pause=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", SLOW.values(), ids=SLOW)
def test_a_slow_partner_has_its_time_limit_and_no_more(behaviour: Behaviour) -> None:
    started = time.monotonic()
    with a_server(behaviour) as server, within(SECONDS + SLACK), pytest.raises(FailedError, match="in time"):
        request_fields(server, SECONDS)

    assert time.monotonic() - started >= SECONDS - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.004, 3], ids=["reads slowly", "does not read"])
def test_a_partner_that_reads_slowly_has_the_same_time_limit(pause: float) -> None:
    body = b"x" * 50_000_000  # more than the buffers take

    def read(listening: socket.socket) -> None:
        with contextlib.suppress(OSError), listening.accept()[0] as sock:
            while sock.recv(65536):
                time.sleep(pause)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=read, args=(listening,), daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        started = time.monotonic()
        with within(SECONDS + SLACK), pytest.raises(FailedError, match="in time"):
            https.post(url, body, {}, seconds=SECONDS, allowed=lambda _: True)

    assert time.monotonic() - started >= SECONDS - 0.01


def test_a_refused_connection_is_retried_and_the_request_is_sent_once() -> None:
    port = ports.free_port()
    answers: list[tuple[PreparedField, ...]] = []
    till = threading.Thread(target=lambda: answers.append(request_fields(Server(port))))
    till.start()
    time.sleep(0.05)
    with a_server(says(FILLED), port=port) as server:
        till.join()

    assert len(answers[0]) == 2
    assert len(server.seen) == 1


def test_a_partner_that_is_down_is_given_up_after_three_attempts() -> None:
    with within(1 + SLACK), pytest.raises(FailedError, match="ConnectionRefusedError"):
        request_fields(Server(ports.free_port()))


def test_a_refusal_names_the_problem_of_each_field() -> None:
    answer = {
        "Problems": [
            {"Name": "OrderId", "Message": "Unknown order."},
            {"Message": "Closed on Sundays."},
            {"Name": 5, "Message": "The name is no text."},
            {"Name": "OrderId"},
            {"Name": "OrderId", "Message": "x" * 2000},
            "text",
        ]
    }
    with a_server(says(answer, "422 Unprocessable Content")) as server, pytest.raises(partners.RefusedError) as refusal:
        request_fields(server)

    assert refusal.value.problems == (
        Problem("OrderId", "Unknown order."),
        Problem(None, "Closed on Sundays."),
        Problem(None, "The name is no text."),
    )


@pytest.mark.parametrize(
    "answer", [{}, {"Problems": None}, {"Problems": "no"}, {"Problems": {"a": 1}}, {"Problems": []}]
)
def test_a_refusal_without_reasons_is_a_refusal(answer: dict[str, Any]) -> None:
    with a_server(says(answer, "422 Unprocessable Content")) as server, pytest.raises(partners.RefusedError) as refusal:
        request_fields(server)

    assert refusal.value.problems == ()


def test_a_failure_never_quotes_the_partner() -> None:
    with a_server(says(b"4242424242424242", "500 4242424242424242")) as server, pytest.raises(FailedError) as failure:
        request_fields(server)

    assert "4242" not in str(failure.value)
