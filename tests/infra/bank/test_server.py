"""The bank on TCP: TLS, segments, threads, idle connections, and a bank that is killed and comes back."""

import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from infra.bank.bank import Bank, FolderInUseError
from infra.bank.codec import framed
from infra.bank.server import Certificates, Server, certificates_in, host_context
from tests.infra.bank.messages import PAN, QUICK, Line, a_line, a_purchase, a_refund, again, an_advice, ask, code, raw


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates_in(tmp_path_factory.mktemp("bank"))


def test_the_certificate_is_for_this_machine_and_of_the_ca(certificates: Certificates) -> None:
    trusting = ssl.create_default_context(cafile=certificates.ca)

    with Server(Bank(), tls=host_context(certificates)) as host, a_line(host, trusting) as line:
        assert isinstance(line.socket, ssl.SSLSocket)
        assert line.socket.version() in {"TLSv1.2", "TLSv1.3"}
        answer = line.ask(a_purchase())

    assert answer
    assert answer.text(39) == "00"


def test_another_ca_does_not_trust_the_host(certificates: Certificates, tmp_path: Path) -> None:
    other = ssl.create_default_context(cafile=certificates_in(tmp_path).ca)

    with Server(bank := Bank(), tls=host_context(certificates)) as host, pytest.raises(ssl.SSLCertVerificationError):
        Line(host.port, other)
    assert bank.violations == []


def test_an_old_tls_is_refused(certificates: Certificates) -> None:
    old = ssl.create_default_context(cafile=certificates.ca)
    old.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1

    with Server(Bank(), tls=host_context(certificates)) as host, pytest.raises((ssl.SSLError, ConnectionError)):
        Line(host.port, old)


def test_a_client_certificate_may_be_asked_for(certificates: Certificates) -> None:
    without = ssl.create_default_context(cafile=certificates.ca)
    within = ssl.create_default_context(cafile=certificates.ca)
    within.load_cert_chain(certificates.client)

    with Server(bank := Bank(), tls=host_context(certificates, asks_for_client=True)) as host:
        # TLS 1.3 refuses with the first answer
        with pytest.raises((ssl.SSLError, ConnectionError)), a_line(host, without) as line:
            line.ask(a_purchase())
        assert bank.held(PAN) == 0
        with a_line(host, within) as line:
            assert line.ask(a_purchase())
    assert bank.held(PAN) == 3000


def test_certificates_are_kept_in_their_folder_and_their_keys_are_private(tmp_path: Path) -> None:
    first = certificates_in(tmp_path)
    content = first.host.read_bytes()

    assert certificates_in(tmp_path).host.read_bytes() == content
    assert {oct(path.stat().st_mode & 0o777) for path in (first.host, first.client)} == {"0o600"}


def test_a_message_may_come_byte_by_byte_and_is_carried_out_when_all_of_it_is_there() -> None:
    frame = framed(raw(a_purchase()))

    with Server(bank := Bank()) as host, a_line(host) as line:
        for index in range(len(frame) - 1):
            line.socket.sendall(frame[index : index + 1])
        assert bank.held(PAN) == 0
        line.socket.sendall(frame[-1:])
        assert line.frame()
    assert bank.held(PAN) == 3000


def test_a_message_that_was_cut_is_not_carried_out() -> None:
    with Server(bank := Bank()) as host, a_line(host) as line:
        line.socket.sendall(framed(raw(a_purchase()))[:-1])
        line.socket.shutdown(socket.SHUT_WR)
        assert line.frame() is None
    assert bank.held(PAN) == 0


@pytest.mark.parametrize("size", [0, 11, 2049, 65_535])
def test_a_length_that_no_message_has_is_hung_up_on(size: int) -> None:
    with Server(bank := Bank()) as host, a_line(host) as line:
        line.socket.sendall(size.to_bytes(2, "big") + b"0200")
        with suppress(ConnectionResetError):
            assert line.frame() is None
    assert bank.violations == ["a length header that no message has"]


def test_one_connection_takes_request_after_request_and_an_idle_one_is_closed() -> None:
    with Server(Bank(timing=replace(QUICK, idle=0.2))) as host, a_line(host) as line:
        assert line.ask(a_purchase())
        assert line.ask(a_purchase())
        assert line.frame() is None


def test_nobody_waits_for_a_client_that_does_not_shake_hands(certificates: Certificates) -> None:
    trusting = ssl.create_default_context(cafile=certificates.ca)

    with Server(Bank(), tls=host_context(certificates)) as host, a_line(host), a_line(host, trusting) as line:
        assert line.ask(a_purchase())


def test_the_books_are_exact_under_threads() -> None:
    purchases = [a_purchase(1000) for _ in range(32)]
    contested = a_purchase(1000)

    with Server(bank := Bank()) as host, ThreadPoolExecutor(16) as threads:
        assert all(threads.map(lambda one: ask(host, one), purchases))
        ask(host, contested)
        refunds = list(threads.map(lambda _: ask(host, a_refund(contested, 300)), range(16)))
        again_ = list(threads.map(lambda _: ask(host, purchases[0]), range(16)))
        advice = an_advice(purchases[1])
        acknowledged = list(threads.map(lambda _: ask(host, again(advice)), range(16)))

    assert sorted(answer.text(39) for answer in refunds if answer) == ["00"] * 3 + ["13"] * 13
    assert {answer.text(39) for answer in again_ if answer} == {"94"}
    assert {answer.text(39) for answer in acknowledged if answer} == {"00"}
    assert bank.held(PAN) == 31 * 1000 + 100
    numbers = [one.entry.number for one in bank.ledger.standing()]
    assert len(set(numbers)) == len(numbers)


def test_a_stopped_bank_closes_its_connections_and_its_port_can_be_taken_again() -> None:
    with Server(Bank()) as host:
        line = Line(host.port)
        assert line.ask(a_purchase())
    assert line.frame() is None
    line.socket.close()
    with pytest.raises(ConnectionError):
        Line(host.port)

    with Server(Bank(), port=host.port) as other:
        assert ask(other, a_purchase())


def test_a_bank_that_was_killed_comes_back_with_its_books(tmp_path: Path) -> None:
    bank = Bank(tmp_path)
    purchase, other, never = a_purchase(5000), a_purchase(1000), a_purchase(700)
    refund, cancel = a_refund(purchase, 2000), an_advice(other, "4000")
    for message in (purchase, other, refund, cancel, an_advice(never), purchase):
        code(bank, message)
    bank.close()
    with (tmp_path / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"at": "2026-')  # it was killed in the middle of a line

    again_ = Bank(tmp_path)

    assert again_.held(PAN) == 3000
    assert (again_.violations, len(again_.violations)) == (bank.violations, 3)
    assert code(again_, purchase) == "94"
    assert code(again_, again(cancel)) == "00"
    assert code(again_, never) == "68"
    assert code(again_, a_refund(purchase, 3001)) == "13"
    assert code(again_, a_refund(purchase, 3000)) == "00"
    again_.close()
    with closing(Bank(tmp_path)) as third:
        assert third.held(PAN) == 0


def test_the_folder_has_nothing_of_a_card_and_one_bank(tmp_path: Path) -> None:
    bank = Bank(tmp_path)
    code(bank, a_purchase())

    with pytest.raises(FolderInUseError):
        Bank(tmp_path)
    bank.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert PAN.encode() not in content
    assert b"9203123" not in content
    assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {"0o600"}


def test_many_connections_wait_at_once() -> None:
    with Server(bank := Bank()) as host:
        lines = [Line(host.port) for _ in range(100)]
        for line in lines:
            line.send(a_purchase(100))
        answers = [line.frame() for line in lines]
        for line in lines:
            line.socket.close()

    assert all(answers)
    assert bank.held(PAN) == 10_000
    assert threading.active_count() < 100
