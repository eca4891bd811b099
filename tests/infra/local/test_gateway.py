"""Every request gets an answer, in the envelope, whatever was sent. The app is a small one of these tests."""

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from chalice.app import AuthResponse, Chalice, Request

from chalicelib.authorizer import RequestBlueprint, SignIn
from chalicelib.errors import ErrorCode
from infra.local.gateway import Server

GOOD = {"Authorization": "Basic good"}
MEGABYTE = 1024 * 1024


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: Any


ADMITTED = AuthResponse(routes=["*"], principal_id="17", context={"agent": 17, "admin": True})  # type: ignore[dict-item]  # the app must get numbers as text
AUTHORIZED = {
    "Basic good": ADMITTED,
    "Basic gööd": ADMITTED,
    "Basic none": None,
    "Basic silent": AuthResponse(routes=[], principal_id=""),
    "Basic wrong": AuthResponse(routes=[], principal_id="", context={"code": "104", "message": "Locked, for now."}),
}


def a_small_app() -> Chalice:
    app = Chalice(app_name="small")

    def request() -> Request:
        assert app.current_request
        return app.current_request

    def context() -> Any:
        return request().lambda_context

    blueprint = RequestBlueprint(__name__)

    @blueprint.authorizer()
    def authorizer(request: SignIn) -> AuthResponse | None:
        answer = AUTHORIZED[request.token]
        if answer is ADMITTED:
            return AuthResponse(routes=["*"], principal_id="17", context={**ADMITTED.context, "source": request.source})
        return answer

    app.register_blueprint(blueprint)

    @app.route("/guarded", methods=["GET"], authorizer=authorizer)
    def guarded() -> dict[str, Any]:
        return {"context": request().context["authorizer"]}

    @app.route("/who/{name}", methods=["GET"])
    def who(name: str) -> dict[str, Any]:
        before = context().aws_request_id
        time.sleep(0.005)
        seen = request().to_dict()["uri_params"]["name"]
        same = before == context().aws_request_id == request().context["requestId"]
        return {"name": name, "seen": seen, "same": same}

    @app.route("/source", methods=["GET"])
    def source() -> dict[str, Any]:
        return {"source": request().context["identity"]["sourceIp"]}

    @app.route("/size", methods=["POST"])
    def size() -> dict[str, int]:
        return {"bytes": len(request().raw_body)}

    @app.route("/broken", methods=["GET"])
    def broken() -> object:
        return object()  # not JSON, which Chalice notices only after all its handlers

    return app


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    with Server(a_small_app()) as server:
        yield server


@pytest.fixture
def connection(small: Server) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(urlsplit(small.url).netloc, timeout=10)
    yield connection
    connection.close()


def send_request(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
) -> Answer:
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    content = response.read()
    return Answer(response.status, dict(response.getheaders()), json.loads(content) if content else None)


def send_bytes(server: Server, request: bytes) -> Answer:
    """Return the answer to exactly these bytes; the server has to close the connection by itself."""
    with socket.create_connection(server.address, timeout=10) as wire:
        wire.sendall(request)
        response = http.client.HTTPResponse(wire)
        response.begin()
        content = response.read()
        assert wire.recv(1) == b""
        return Answer(response.status, dict(response.getheaders()), json.loads(content))


def assert_refused(answer: Answer, error: ErrorCode) -> None:
    assert answer.status == error.status
    assert set(answer.body) == {"ErrorCode", "ErrorMessage", "Validations"}
    assert (answer.body["ErrorCode"], answer.body["Validations"]) == (error.code, None)
    assert answer.headers["Content-Type"] == "application/json"
    assert len(answer.headers["x-amzn-RequestId"]) == 36


def test_a_keep_alive_request_takes_no_44_ms(connection: http.client.HTTPConnection) -> None:
    send_request(connection, "POST", "/size", body=b"x")
    started = time.perf_counter()
    for _ in range(20):
        send_request(connection, "POST", "/size", {"Content-Type": "application/json"}, b"x" * 20_000)

    assert time.perf_counter() - started < 20 * 0.03


def test_eighty_requests_at_once_see_each_its_own_request_and_context(small: Server) -> None:
    def own(number: int) -> bool:
        connection = http.client.HTTPConnection(urlsplit(small.url).netloc, timeout=30)
        answer = send_request(connection, "GET", f"/who/{number}")
        connection.close()
        return bool(answer.body == {"name": str(number), "seen": str(number), "same": True})

    with ThreadPoolExecutor(80) as pool:
        assert all(pool.map(own, range(80)))


def test_an_app_may_be_served_twice() -> None:
    app = a_small_app()
    for _ in range(2):
        with Server(app) as server:
            connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
            assert send_request(connection, "GET", "/who/a").body["seen"] == "a"
            connection.close()


def test_an_allowed_request_reaches_the_app_with_its_context_as_text(connection: http.client.HTTPConnection) -> None:
    answer = send_request(connection, "GET", "/guarded", GOOD)

    assert answer.body["context"] == {"agent": "17", "admin": "true", "principalId": "17", "source": "127.0.0.1"}
    assert len(answer.headers["x-amzn-RequestId"]) == 36


def test_a_credential_outside_ascii_is_a_credential(connection: http.client.HTTPConnection) -> None:
    assert send_request(connection, "GET", "/guarded", {"Authorization": "Basic gööd"}).status == 200
    assert_refused(send_request(connection, "GET", "/nowhere", {"Authorization": "Basic gööd"}), ErrorCode.UNKNOWN_PATH)


@pytest.mark.parametrize("headers", [{}, {"Authorization": ""}, {"Authorization": "  "}])
def test_a_missing_credential_is_101(connection: http.client.HTTPConnection, headers: dict[str, str]) -> None:
    answer = send_request(connection, "GET", "/guarded", headers)

    assert_refused(answer, ErrorCode.NO_CREDENTIAL)
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="payments"'


def test_a_denial_carries_the_code_and_message_of_the_authorizer(connection: http.client.HTTPConnection) -> None:
    answer = send_request(connection, "GET", "/guarded", {"Authorization": "Basic wrong"})

    assert_refused(answer, ErrorCode.LOGIN_LOCKED)
    assert answer.body["ErrorMessage"] == "Locked, for now."
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="payments"'


@pytest.mark.parametrize("token", ["none", "silent"])
def test_an_authorizer_that_returns_no_policy_is_901(connection: http.client.HTTPConnection, token: str) -> None:
    assert_refused(send_request(connection, "GET", "/guarded", {"Authorization": f"Basic {token}"}), ErrorCode.INTERNAL)
    assert send_request(connection, "GET", "/who/next").status == 200


def test_an_authorizer_that_raises_is_903_and_says_when_to_come_back(connection: http.client.HTTPConnection) -> None:
    answer = send_request(connection, "GET", "/guarded", {"Authorization": "Basic crash"})

    assert_refused(answer, ErrorCode.STORE_UNAVAILABLE)
    assert answer.headers["Retry-After"] == "1"
    assert send_request(connection, "GET", "/who/next").status == 200


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.9"])
def test_the_authorizer_and_the_app_see_the_address_of_the_client(small: Server, address: str) -> None:
    with contextlib.closing(
        http.client.HTTPConnection(urlsplit(small.url).netloc, timeout=10, source_address=(address, 0))
    ) as connection:
        guarded = send_request(connection, "GET", "/guarded", GOOD)
        source = send_request(connection, "GET", "/source", {"X-Forwarded-For": "203.0.113.9"})

    assert guarded.body["context"]["source"] == source.body["source"] == address


def test_a_broken_app_is_901(connection: http.client.HTTPConnection) -> None:
    assert_refused(send_request(connection, "GET", "/broken"), ErrorCode.INTERNAL)


@pytest.mark.parametrize("path", ["/nowhere", "/", "/who", "/who/a/b", "//x", "/%00", "/nosize?a=" + "b" * 9000])
def test_an_unknown_path_is_207_and_repeats_no_credential(connection: http.client.HTTPConnection, path: str) -> None:
    answer = send_request(connection, "GET", path, GOOD)

    assert_refused(answer, ErrorCode.UNKNOWN_PATH)
    assert "good" not in json.dumps(answer.body)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "GET", "BREW", "get", "CONNECT", "TRACE"])
def test_a_method_that_the_path_lacks_is_left_to_the_app(connection: http.client.HTTPConnection, method: str) -> None:
    answer = send_request(connection, method, "/size")

    assert (answer.status, answer.headers["Allow"]) == (405, "POST")


def test_head_has_no_body_and_the_connection_goes_on(connection: http.client.HTTPConnection) -> None:
    head = send_request(connection, "HEAD", "/size")

    assert (head.status, head.body) == (405, None)
    assert send_request(connection, "GET", "/who/next").status == 200


@pytest.mark.parametrize("length", ["abc", "-1", "1.5", "+3", "\xb2", ""])
def test_a_content_length_that_is_no_number_is_refused(small: Server, length: str) -> None:
    request = f"POST /size HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{{}}"

    assert_refused(send_bytes(small, request.encode("latin-1")), ErrorCode.MALFORMED_JSON)


def test_two_content_lengths_are_refused(small: Server) -> None:
    request = b"POST /size HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"

    assert_refused(send_bytes(small, request), ErrorCode.MALFORMED_JSON)


CHUNKED = b"POST /size HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_body_in_chunks_is_read_to_its_end(small: Server) -> None:
    assert send_bytes(small, CHUNKED + b"2\r\n{}\r\n1;x=y\r\n \r\n0\r\nA: trailer\r\n\r\n").body == {"bytes": 3}


@pytest.mark.parametrize(("size", "error"), [(b"x", ErrorCode.MALFORMED_JSON), (b"A00001", ErrorCode.TOO_LARGE)])
def test_a_chunk_without_a_size_or_beyond_the_limit_is_refused(small: Server, size: bytes, error: ErrorCode) -> None:
    assert_refused(send_bytes(small, CHUNKED + size + b"\r\n{}\r\n0\r\n\r\n"), error)


def test_a_body_cut_short_is_refused(small: Server) -> None:
    with socket.create_connection(small.address, timeout=10) as wire:
        wire.sendall(b"POST /size HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}")
        wire.shutdown(socket.SHUT_WR)

        assert wire.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_a_body_of_ten_megabytes_is_left_to_the_app(connection: http.client.HTTPConnection) -> None:
    assert send_request(connection, "POST", "/size", body=b"x" * 10 * MEGABYTE).body == {"bytes": 10 * MEGABYTE}


def test_a_larger_body_is_203_also_for_a_client_that_sends_all_of_it_first(
    connection: http.client.HTTPConnection,
) -> None:
    answer = send_request(connection, "POST", "/size", body=b"x" * 30 * MEGABYTE)

    assert_refused(answer, ErrorCode.TOO_LARGE)
    assert answer.headers["Connection"] == "close"


def test_a_body_of_any_announced_size_is_203_before_it_is_sent(small: Server) -> None:
    for length in (b"10485761", b"9" * 5000):
        with socket.create_connection(small.address, timeout=10) as wire:
            wire.sendall(b"POST /size HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " + length + b"\r\n\r\n")

            assert wire.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_client_that_waits_for_100_continue_gets_it(small: Server) -> None:
    with socket.create_connection(small.address, timeout=10) as wire:
        wire.sendall(b"POST /size HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert wire.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"

        wire.sendall(b"{}")
        assert wire.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_credential_of_100_kilobytes_is_102(connection: http.client.HTTPConnection) -> None:
    answer = send_request(connection, "GET", "/guarded", {"Authorization": "Basic " + "a" * 100_000})

    assert_refused(answer, ErrorCode.BAD_CREDENTIAL)
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="payments"'


@pytest.mark.parametrize("headers", [{"Cookie": "a" * 100_000}, {f"X-{n}": "a" for n in range(200)}])
def test_other_headers_that_are_too_much_are_refused(
    connection: http.client.HTTPConnection, headers: dict[str, str]
) -> None:
    assert_refused(send_request(connection, "GET", "/who/a", headers), ErrorCode.MALFORMED_JSON)


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"GET",
        b"GET /who/a HTTP/x",
        b"GET /who/a HTTP/2.0",
        b"GET /a b HTTP/1.1",
        b"\xff\xfe /",
        b"GET /" + b"a" * 70_000,
    ],
)
def test_a_request_line_that_is_none_is_refused(small: Server, line: bytes) -> None:
    assert_refused(send_bytes(small, line + b"\r\n\r\n"), ErrorCode.MALFORMED_JSON)


def test_a_target_that_is_no_url_is_an_unknown_path(small: Server) -> None:
    assert_refused(send_bytes(small, b"GET http://[ HTTP/1.1\r\nConnection: close\r\n\r\n"), ErrorCode.UNKNOWN_PATH)


def test_a_client_that_goes_away_is_not_reported(small: Server, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        with socket.create_connection(small.address) as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            wire.sendall(b"POST /size HTTP/1.1\r\nContent-Length: 5\r\n\r\n")
    time.sleep(0.2)

    assert capfd.readouterr().err == ""
