"""The addresses a connection may lead to, and the names and certificates it accepts."""

import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chalicelib import network
from chalicelib.domain.url_guard import is_public
from chalicelib.gateways import https
from chalicelib.gateways.https import FailedError, Reply, post
from tests.support.certificates import an_authority
from tests.support.giving import Give, environment
from tests.support.partners import a_server, says

NAME = "partner.example"
PUBLIC = "93.184.215.14"


@pytest.fixture
def resolves(give: Give) -> Callable[..., list[str]]:
    """Let every name resolve to these addresses, to the next list at each look-up; return the look-ups."""
    really = socket.getaddrinfo
    made: list[str] = []

    def set_to(*answers: list[str]) -> list[str]:
        def look_up(host: str, port: int, **options: Any) -> Any:
            addresses = answers[min(len(made), len(answers) - 1)]
            made.append(host)
            return [found for address in addresses for found in really(address, port, **options)]

        give(look_up=look_up)
        return made

    return set_to


@pytest.fixture
def connects(give: Give) -> list[Any]:
    """Refuse every connection; return the addresses that were tried."""
    tried: list[Any] = []

    class Refusing(socket.socket):
        def connect(self, address: Any) -> None:
            tried.append(address[0])
            raise ConnectionRefusedError

    give(open_socket=Refusing)
    return tried


def send(url: str, *, public_only: bool = True, seconds: float = 2) -> Reply:
    return post(url, b"{}", {}, seconds=seconds, allowed=is_public if public_only else lambda _: True)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["10.0.0.5"],
        ["::1"],
        ["::ffff:169.254.169.254"],
        [PUBLIC, "10.0.0.5"],
        ["2606:4700:4700::1111", "fd00:ec2::254"],
    ],
)
def test_a_name_that_leads_inside_is_not_connected_to(
    addresses: list[str], resolves: Callable[..., list[str]], connects: list[Any]
) -> None:
    resolves(addresses)

    with pytest.raises(FailedError, match="not public"):
        send(f"https://{NAME}/prepare")
    assert connects == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "169.254.169.254", "0"])
def test_a_host_that_is_this_machine_in_whatever_spelling_is_not_connected_to(host: str, connects: list[Any]) -> None:
    with pytest.raises(FailedError, match=r"not public|not known"):
        send(f"https://{host}/prepare")
    assert connects == []


def test_the_connection_goes_to_the_checked_address(resolves: Callable[..., list[str]], connects: list[Any]) -> None:
    made = resolves([PUBLIC], ["127.0.0.1"])  # the second look-up would lead inside

    with pytest.raises(FailedError):
        send(f"https://{NAME}/prepare")
    assert made == [NAME]
    assert connects == [PUBLIC] * 3


def test_each_address_gets_a_turn_and_ipv4_is_first(resolves: Callable[..., list[str]], connects: list[Any]) -> None:
    resolves(["2606:4700:4700::1111", PUBLIC])

    with pytest.raises(FailedError):
        send(f"https://{NAME}/prepare")
    assert connects == [PUBLIC, "2606:4700:4700::1111", PUBLIC]


def test_an_unknown_name_is_a_failure(give: Give) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    give(look_up=unknown)

    with pytest.raises(FailedError, match="not known"):
        send(f"https://{NAME}/")


def test_a_resolver_that_hangs_does_not_hold_the_request(give: Give) -> None:
    give(look_up=lambda *_, **__: time.sleep(3))
    started = time.monotonic()

    with pytest.raises(FailedError, match="in time"):
        send(f"https://{NAME}/", seconds=0.3)
    assert time.monotonic() - started < 1.5


@pytest.mark.slow
def test_an_address_that_swallows_packets_does_not_hold_the_request(
    give: Give, resolves: Callable[..., list[str]]
) -> None:
    waited: list[float | None] = []

    class Deaf(socket.socket):
        def connect(self, _: Any) -> None:
            waited.append(self.gettimeout())
            time.sleep(self.gettimeout() or 0)
            raise TimeoutError

    give(open_socket=Deaf)
    resolves([PUBLIC])
    started = time.monotonic()

    with pytest.raises(FailedError, match="in time"):
        send(f"https://{NAME}/", seconds=1)
    assert time.monotonic() - started < 1.9
    assert len(waited) == 3


def test_the_certificate_is_checked_for_the_name_though_the_connection_is_to_the_address(
    tmp_path: Path, resolves: Callable[..., list[str]]
) -> None:
    authority = an_authority(NAME)
    serving, trusted = authority.serving(tmp_path), str(authority.write(tmp_path, "trusted.pem"))
    requested: list[str | None] = []
    serving.sni_callback = lambda _, name, __: requested.append(name)
    resolves(["127.0.0.1"])
    with a_server(says(b"{}"), tls=serving) as server, environment(SSL_CERT_FILE=trusted):
        reply = send(f"https://{NAME}:{server.port}/prepare", public_only=False)

    assert reply == Reply(200, b"{}")
    assert requested == [NAME]
    assert f"Host: {NAME}:{server.port}".encode() in server.seen[0]


def test_a_certificate_of_another_name_is_refused_and_not_tried_again(
    tmp_path: Path, resolves: Callable[..., list[str]]
) -> None:
    authority = an_authority("somebody.example")
    serving, trusted = authority.serving(tmp_path), str(authority.write(tmp_path, "trusted.pem"))
    resolves(["127.0.0.1"])
    with (
        a_server(says(b"{}"), tls=serving) as server,
        environment(SSL_CERT_FILE=trusted),
        pytest.raises(FailedError, match="certificate"),
    ):
        send(f"https://{NAME}:{server.port}/prepare", public_only=False)

    assert server.seen == []
    assert server.connections == 1


def test_a_certificate_of_nobody_we_trust_is_refused(tmp_path: Path, resolves: Callable[..., list[str]]) -> None:
    serving = an_authority(NAME).serving(tmp_path)
    resolves(["127.0.0.1"])
    with a_server(says(b"{}"), tls=serving) as server, pytest.raises(FailedError, match="certificate"):
        send(f"https://{NAME}:{server.port}/prepare", public_only=False)

    assert server.seen == []


def test_an_answer_of_another_length_than_announced_is_told_apart() -> None:
    for announced in (3, 10**12):
        with a_server(says(b"{}", length=announced)) as server, pytest.raises(FailedError, match="was broken off"):
            send(f"http://127.0.0.1:{server.port}/", public_only=False)

    with a_server(says(b"{}", length=2)) as server:
        assert send(f"http://127.0.0.1:{server.port}/", public_only=False) == Reply(200, b"{}")


def test_a_server_that_speaks_no_tls_is_a_failure(resolves: Callable[..., list[str]]) -> None:
    resolves(["127.0.0.1"])
    with a_server(says(b"{}")) as server, pytest.raises(FailedError):
        send(f"https://{NAME}:{server.port}/prepare", public_only=False, seconds=0.3)


@pytest.mark.slow
def test_a_tls_handshake_that_stalls_has_its_time_and_no_more(resolves: Callable[..., list[str]]) -> None:
    resolves(["127.0.0.1"])
    started = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(FailedError, match="in time"):
        send(f"https://{NAME}:{mute.getsockname()[1]}/", public_only=False, seconds=0.6)

    assert time.monotonic() - started < 1.6


@pytest.mark.slow
def test_connecting_and_tls_share_a_limit(
    monkeypatch: pytest.MonkeyPatch, resolves: Callable[..., list[str]], give: Give
) -> None:
    class Late(socket.socket):
        def connect(self, address: Any) -> None:
            time.sleep(0.8 * (self.gettimeout() or 0))
            super().connect(address)

    monkeypatch.setattr(https, "ATTEMPTS", 1)
    give(open_socket=Late)
    resolves(["127.0.0.1"])
    started = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(FailedError, match="in time"):
        send(f"https://{NAME}:{mute.getsockname()[1]}/", public_only=False, seconds=2)

    assert time.monotonic() - started < 3


def test_tls_checks_names_and_takes_nothing_older_than_1_2() -> None:
    context = network.tls()

    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
