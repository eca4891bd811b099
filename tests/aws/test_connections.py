"""Connections: kept open, given up when they may be dead, and answers in every framing HTTP/1.1 has."""

import multiprocessing
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib import network, outside
from chalicelib.aws import connections
from chalicelib.aws.connections import Answer, exchange
from chalicelib.aws.endpoints import Endpoint
from chalicelib.aws.errors import TimedOutError, UnansweredError, UnreachableError
from infra.local import ports
from tests.aws.servers import Scripted, Step, cuts, http, scripted, sends, silent
from tests.support.certificates import Authority, an_authority
from tests.support.giving import Give

SECONDS = 2.0


def ask(server: Scripted, body: bytes = b"{}", read_seconds: float = SECONDS) -> Answer:
    endpoint = Endpoint(server.host, server.port, is_secure=False, authority=f"{server.host}:{server.port}")
    return exchange(endpoint, {"host": endpoint.authority}, body, SECONDS, read_seconds)


def test_requests_one_after_another_use_one_connection() -> None:
    with scripted(sends(http(200, b"{}"))) as server:
        for _ in range(5):
            ask(server)

        assert server.connections == 1
        assert [request.body for request in server.requests] == [b"{}"] * 5


def test_sixteen_threads_get_their_own_answers_and_keep_their_connections() -> None:
    together = threading.Barrier(16)

    def echo(sock: socket.socket) -> bool:
        asked = next(each for each in reversed(server.requests) if each.connection == numbers[sock.getpeername()])
        sock.sendall(http(200, asked.body))
        return True

    def ask_often(number: int) -> bool:
        together.wait(timeout=20)
        bodies = [f"{number}-{turn}".encode() * (1 + turn * 999) for turn in range(20)]
        return all(ask(server, body).body == body for body in bodies)

    class Numbers(dict[Any, int]):
        """The number of a connection by the address of its client."""

        def __missing__(self, key: Any) -> int:
            return next(number for number, sock in enumerate(server._open) if sock.getpeername() == key)  # noqa: SLF001

    numbers = Numbers()
    with scripted(echo) as server, ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask_often, range(16)))
        assert server.connections <= 16


def test_a_connection_that_the_peer_closed_meanwhile_is_not_used() -> None:
    with scripted(sends(http(200, b"{}"))) as server:
        ask(server)
        server.close()

        assert ask(server).status == 200
        assert (server.connections, len(server.requests)) == (2, 2)


def test_a_connection_that_waited_for_a_minute_is_not_used(give: Give) -> None:
    """A frozen function does not see its connections end."""
    with scripted(sends(http(200, b"{}"))) as server:
        ask(server)
        later = outside.now() + timedelta(seconds=connections.IDLE_SECONDS + 1)
        give(now=lambda: later)

        assert ask(server).status == 200
        assert server.connections == 2


def test_a_connection_that_is_cut_when_it_is_used_again_is_an_answer_lost_and_not_kept() -> None:
    with scripted(sends(http(200, b"{}")), cuts, sends(http(200, b"{}"))) as server:
        ask(server)
        with pytest.raises(UnansweredError):
            ask(server)

        assert ask(server).status == 200
        assert [request.connection for request in server.requests] == [0, 0, 1]


@pytest.mark.parametrize(
    "last",
    [
        sends(http(200, b"{}", Connection="close")),
        sends(http(200, b"{}") + b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a": 1}'),
        sends(http(200, b"{}").replace(b"HTTP/1.1", b"HTTP/1.0")),
    ],
    ids=["the peer says it closes", "more than was asked for", "HTTP/1.0"],
)
def test_a_connection_that_may_carry_something_else_is_not_kept(last: Step) -> None:
    with scripted(last, sends(http(200, b'{"second": 2}'))) as server:
        assert ask(server).body == b"{}"
        assert ask(server).body == b'{"second": 2}'
        assert server.connections == 2


def test_an_answer_that_drips_is_too_late_as_a_whole() -> None:
    def drips(sock: socket.socket) -> bool:
        sock.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not ended.wait(0.01):  # each byte is in time
            sock.sendall(b"a")
        return False

    ended = threading.Event()
    with scripted(drips) as server:
        began = time.monotonic()
        with pytest.raises(TimedOutError):
            ask(server, read_seconds=0.2)
        ended.set()

    assert time.monotonic() - began < 10  # it would drip for ever


def test_a_long_answer_gets_time_for_its_length() -> None:
    body = b"[" + b"1," * connections.SLOWEST + b"1]"

    def pauses(sock: socket.socket) -> bool:
        whole = http(200, body)
        sock.sendall(whole[:-2])
        threading.Event().wait(0.4)
        sock.sendall(whole[-2:])
        return True

    with scripted(pauses) as server:
        assert ask(server, read_seconds=0.2).body == body


def test_addresses_that_do_not_answer_have_no_more_time_together_than_one(give: Give) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"192.0.2.{number}", 443)) for number in range(4)]
    limits: list[float] = []

    class Deaf:
        settimeout, close = limits.append, staticmethod(lambda: None)

        def connect(self, _: object) -> None:
            raise TimeoutError

    give(look_up=lambda *_, **__: found)
    give(open_socket=lambda *_: Deaf())
    endpoint = Endpoint("dynamodb.example", 443, is_secure=True, authority="dynamodb.example")
    with pytest.raises(UnreachableError):
        exchange(endpoint, {}, b"", 0.5, SECONDS)

    assert [round(limit, 1) for limit in limits] == [0.1, 0.2, 0.2, 0.5]


def test_a_connection_without_an_answer_in_time_is_not_kept() -> None:
    with scripted(silent, sends(http(200, b"{}"))) as server:
        with pytest.raises(TimedOutError):
            ask(server, read_seconds=0.1)

        assert ask(server).status == 200
        assert server.connections == 2


def test_no_more_connections_wait_than_a_sweep_has_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_MOST", 2)
    together = threading.Barrier(4)

    def answer(sock: socket.socket) -> bool:
        together.wait(timeout=20)
        sock.sendall(http(200, b"{}"))
        return True

    with scripted(answer) as server, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ask(server), range(4)))

        assert len(connections._idle[server.host, server.port, False]) == 2  # noqa: SLF001  what is kept is the claim


def test_a_process_that_was_forked_makes_connections_of_its_own() -> None:
    with scripted(sends(http(200, b"{}"))) as server:
        ask(server)
        context = multiprocessing.get_context("fork")
        with context.Pool(1) as pool:
            assert pool.apply(_status, (server.host, server.port)) == 200
        ask(server)

        assert [request.connection for request in server.requests] == [0, 1, 0]


def _status(host: str, port: int) -> int:
    return ask(Scripted([], host=host, port=port)).status


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    with scripted(sends(b"HTTP/1.1 200 OK\r\n\r\n{}", stays=False)) as server:
        assert ask(server).body == b"{}"


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 two OK\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2a\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}a\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 70_000,
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: applica",
    ],
    ids=range(15),
)
def test_what_is_not_http_or_not_whole_is_no_answer(data: bytes) -> None:
    with pytest.raises(UnansweredError), scripted(sends(data, stays=False)) as server:
        ask(server)


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_BYTES", 1000)
    chunks = b"Transfer-Encoding: chunked\r\n\r\n" + (b"3e7\r\n" + b"a" * 999 + b"\r\n") * 200

    for rest in (chunks, b"\r\n" + b"a" * 200_000):
        data = b"HTTP/1.1 200 OK\r\n" + rest
        with pytest.raises(UnansweredError), scripted(sends(data, stays=False)) as server:
            ask(server)


@pytest.fixture
def https(tmp_path: Path) -> Iterator[Callable[[Authority], Endpoint]]:
    """Serve over TLS, under a certificate."""
    servers: list[HTTPServer] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(http(200, b"{}"))

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

        def handle_error(self, *_: Any) -> None:
            """Say nothing of a client that went away."""

    class Server(HTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Say nothing of a client that does not trust us."""

    def serve(authority: Authority) -> Endpoint:
        server = Server((ports.HOST, 0), Handler)
        server.socket = authority.serving(tmp_path).wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        port = server.server_address[1]
        return Endpoint(ports.HOST, port, is_secure=True, authority=f"{ports.HOST}:{port}")

    yield serve
    connections._forget()  # noqa: SLF001  the server waits for its one connection to end
    outside.forget()
    for server in servers:
        server.shutdown()
        server.server_close()


def test_tls_is_verified_against_the_bundle_of_the_environment(
    https: Callable[[Authority], Endpoint], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = an_authority(ports.HOST)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.write(tmp_path, "bundle.pem")))
    outside.forget()
    endpoint = https(authority)

    answers = [exchange(endpoint, {"host": endpoint.authority}, b"{}", SECONDS, SECONDS).body for _ in range(3)]

    assert answers == [b"{}"] * 3
    assert network.tls(None) is network.tls(None)  # the settings are made once


@pytest.mark.parametrize("name", [ports.HOST, "another.example"])
def test_a_certificate_of_nobody_or_for_another_name_is_no_connection(
    https: Callable[[Authority], Endpoint], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    authority = an_authority(name)
    trusted = authority if name != ports.HOST else an_authority(ports.HOST)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(trusted.write(tmp_path, "bundle.pem")))
    outside.forget()
    endpoint = https(authority)

    with pytest.raises(UnreachableError) as refused:
        exchange(endpoint, {"host": endpoint.authority}, b"{}", SECONDS, SECONDS)

    assert isinstance(refused.value.__cause__, ssl.SSLCertVerificationError)


@pytest.mark.parametrize("has_bundle", [True, False])
def test_there_are_certificates_if_python_has_none(monkeypatch: pytest.MonkeyPatch, *, has_bundle: bool) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    if not has_bundle:
        nothing = SimpleNamespace(cafile=None, capath=None)
        monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nothing)
    outside.forget()

    context = network.tls(None)
    outside.forget()

    assert len(context.get_ca_certs()) > 50
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_handshake_that_hangs_takes_no_longer_than_a_connection_may() -> None:
    with closing(socket.create_server((ports.HOST, 0))) as listener:
        endpoint = Endpoint(ports.HOST, listener.getsockname()[1], is_secure=True, authority="a")

        with pytest.raises(UnreachableError):
            exchange(endpoint, {}, b"", 0.1, SECONDS)


def test_a_name_that_leads_nowhere_is_no_connection() -> None:
    with pytest.raises(UnreachableError):
        exchange(Endpoint("nowhere.invalid", 80, is_secure=False, authority="a"), {}, b"", SECONDS, SECONDS)
