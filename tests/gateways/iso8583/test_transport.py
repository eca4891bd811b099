"""One exchange: each fault of a network and of a host, and what it means for the payment."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    UnreachableError,
    UnusableAnswerError,
)
from chalicelib.domain.iso8583_dialect import LengthHeader
from chalicelib.domain.transaction import MessageTrace
from chalicelib.gateways.acquirers.iso8583 import transport
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.gateways.acquirers.iso8583.codec import Codec
from chalicelib.network import Deadline
from chalicelib.settings.iso8583 import Host
from infra.local import ports
from tests.gateways.iso8583.hosts import (
    Behaviour,
    Running,
    a_host,
    answer_to,
    answers,
    closes,
    framed,
    resets,
    sends,
    stays_silent,
)
from tests.gateways.iso8583.requests import (
    APPROVAL,
    CODEC,
    CVV2,
    MADE_AT,
    a_dialect,
    a_message,
    a_purchase,
    a_reversal,
    an_answer,
)
from tests.support.cards import PAN
from tests.support.giving import Give

HANG_S = 5  # a hang, not a speed: the machine may be busy


def pay(host: Host, within_s: float = 2.0, **changes: Any) -> AcquirerAnswer:
    return Iso8583(host).authorize(a_purchase(**changes), within_s)


def test_an_approval_is_an_answer() -> None:
    with a_host(answers()) as host:
        answer = pay(host.settings)

    assert (answer.code, answer.approval_code, answer.rrn) == (0, "333380", "6JX2M0Q7TZ4A")
    assert [message[:4] for message in host.got] == [b"0200"]


def test_each_message_has_a_connection_of_its_own() -> None:
    with a_host(answers()) as host:
        adapter = Iso8583(host.settings)
        for _ in range(3):
            adapter.authorize(a_purchase(), 2.0)

    assert host.connections == 3


def half(sock: socket.socket, message: bytes) -> None:
    sock.sendall(answer_to(message)[:50])


def half_and_silence(sock: socket.socket, message: bytes) -> None:
    half(sock, message)
    stays_silent(sock, message)


def half_and_reset(sock: socket.socket, message: bytes) -> None:
    half(sock, message)
    time.sleep(0.05)  # what was sent is read before the reset
    resets(sock, message)


def too_long_a_length(sock: socket.socket, message: bytes) -> None:
    answer = answer_to(message)
    sock.sendall((len(answer) - 2 + 200).to_bytes(2) + answer[2:])
    stays_silent(sock, message)


def drip(first: Callable[[bytes], bytes]) -> Behaviour:
    """Send a byte at a time, slowly: each comes in time, all of them do not."""

    def behaviour(sock: socket.socket, message: bytes) -> None:
        for octet in first(message):
            sock.sendall(bytes([octet]))
            time.sleep(0.05)

    return behaviour


def flood(sock: socket.socket, message: bytes) -> None:
    """Send answers to somebody else as fast as they are read."""
    while True:
        sock.sendall(answer_to(message, f37="SOMEBODYELSE"))


LOST: dict[str, Behaviour] = {
    "closes without an answer": closes,
    "breaks the connection off": resets,
    "stays silent": stays_silent,
    "answers somebody else, then closes": answers(f37="SOMEBODYELSE"),
    "answers with another STAN, then closes": answers(f11="000043"),
}
UNUSABLE: dict[str, Behaviour] = {
    "half an answer, then closes": half,
    "half an answer, then silence": half_and_silence,
    "half an answer, then a reset": half_and_reset,
    "half a length": sends(b"\0"),
    "a length of 200 too many": too_long_a_length,
    "a length of nothing": sends(b"\0\0"),
    "a length of 11": sends(b"\0\x0b" + b"0" * 11),
    "a length of 2049": sends(b"\x08\x01" + b"0" * 2049),
    "the greatest length": sends(b"\xff\xff" + b"0" * 100),
    "garbage": sends(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 1000),
    "bytes that do not decode": sends(framed(b"\xff" * 100)),
    "an answer for one cent less": answers(f4="000000001229"),
    "code 94": answers(f39="94"),
    "a byte each moment": drip(answer_to),
    "a length that drips": drip(lambda _: b"\x07\xff" + b"0" * 2047),
}


@pytest.mark.parametrize("behaviour", LOST.values(), ids=LOST.keys())
def test_without_an_answer_the_outcome_is_unknown(behaviour: Behaviour) -> None:
    began = time.monotonic()
    with a_host(behaviour) as host, pytest.raises(AnswerLostError) as raised:
        pay(host.settings, 0.4)

    assert not isinstance(raised.value, UnusableAnswerError)
    assert time.monotonic() - began < HANG_S
    assert len(host.got) == 1


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_with_an_answer_nobody_can_use_the_outcome_is_unknown_too(behaviour: Behaviour) -> None:
    began = time.monotonic()
    with a_host(behaviour) as host, pytest.raises(UnusableAnswerError):
        pay(host.settings, 1.0)

    assert time.monotonic() - began < HANG_S
    assert len(host.got) == 1


def test_answers_to_somebody_else_for_ever_have_their_time_and_no_more() -> None:
    began = time.monotonic()
    with a_host(flood) as host, pytest.raises(AnswerLostError):
        pay(host.settings, 0.4)

    assert time.monotonic() - began < HANG_S


def segments(sock: socket.socket, message: bytes) -> None:
    answer = answer_to(message)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for part in (answer[:1], answer[1:2], answer[2:90], answer[90:]):
        sock.sendall(part)
        time.sleep(0.05)


def twice(sock: socket.socket, message: bytes) -> None:
    sock.sendall(answer_to(message) * 2)


def after_others(sock: socket.socket, message: bytes) -> None:
    others = answer_to(message, f37="SOMEBODYELSE") + answer_to(message, f39="51", f4="000000000001")
    sock.sendall(others + framed(b"0800" + bytes(8)) + answer_to(message))


@pytest.mark.parametrize("behaviour", [segments, twice, after_others])
def test_the_answer_is_found_however_it_arrives(behaviour: Behaviour) -> None:
    with a_host(behaviour) as host:
        assert [pay(host.settings).is_approved for _ in range(2)] == [True, True]


def test_a_host_that_does_not_listen_was_sent_nothing() -> None:
    with pytest.raises(UnreachableError):
        pay(Running(ports.free_port()).settings)


def test_a_name_nobody_knows_was_sent_nothing(give: Give) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror

    give(look_up=unknown)

    with pytest.raises(UnreachableError):
        pay(replace(Running(1).settings, host="nowhere.example"))


def test_a_resolver_that_hangs_has_its_time_and_no_more(give: Give) -> None:
    over = threading.Event()
    give(look_up=lambda *_, **__: over.wait(30))
    began = time.monotonic()

    with pytest.raises(UnreachableError):
        pay(replace(Running(1).settings, host="slow.example"), 0.2)

    over.set()
    assert time.monotonic() - began < HANG_S


def test_connecting_has_its_own_limit(give: Give) -> None:
    waited: list[float | None] = []

    class Deaf(socket.socket):
        def connect(self, _: Any) -> None:
            waited.append(self.gettimeout())
            raise TimeoutError

    give(open_socket=Deaf)

    with pytest.raises(UnreachableError):
        pay(Running(1).settings, 20.0)
    assert waited[0] is not None
    assert 4.5 < waited[0] <= transport.CONNECT_SECONDS


def test_each_address_of_a_name_gets_its_turn(give: Give) -> None:
    with a_host(answers()) as host:
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, host.port)) for address in ("127.0.0.0", "127.0.0.1")
        ]
        give(look_up=lambda *_, **__: found)

        assert pay(replace(host.settings, host="two.example")).is_approved


def test_no_time_left_before_the_first_byte_means_that_nothing_was_sent() -> None:
    with a_host(answers()) as host:
        for within_s in (0.0, -1.0):
            with pytest.raises(UnreachableError):
                pay(host.settings, within_s)

    assert host.got == []


def test_a_limit_that_passed_while_connecting_leaves_the_message_unsent() -> None:
    left, right = socket.socketpair()
    with left, right:
        line = transport.Line(left, LengthHeader(), Deadline(0))
        with pytest.raises(UnreachableError):
            line.send(APPROVAL)
        right.setblocking(False)  # noqa: FBT003  the socket's own form
        with pytest.raises(BlockingIOError):
            right.recv(1)


class _Broken:
    """A socket whose `send` fails at the byte a test chooses."""

    def __init__(self, sent: int) -> None:
        self.left = sent

    def settimeout(self, _: float) -> None:
        pass

    def send(self, data: memoryview) -> int:
        if not self.left:
            raise BrokenPipeError
        sent, self.left = min(self.left, len(data)), 0
        return sent


@pytest.mark.parametrize("sent", [0, 1, 100])
def test_once_sending_began_nothing_is_certain(sent: int) -> None:
    line = transport.Line(_Broken(sent), LengthHeader(), Deadline(1))  # type: ignore[arg-type]

    with pytest.raises(AnswerLostError):
        line.send(APPROVAL)


def test_a_host_that_reads_nothing_has_its_time_and_no_more() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        line = transport.Line(left, LengthHeader(), Deadline(0.2))
        began = time.monotonic()
        with pytest.raises(AnswerLostError):
            line.send(bytes(60_000))

    assert time.monotonic() - began < HANG_S


def test_every_connection_is_closed(give: Give) -> None:
    opened: list[socket.socket] = []

    def remember(*arguments: Any) -> socket.socket:
        opened.append(socket.socket(*arguments))
        return opened[-1]

    give(open_socket=remember)
    for behaviour in (answers(), closes, half, stays_silent, sends(b"\xff\xff")):
        with a_host(behaviour) as host:
            try:
                pay(host.settings, 0.2)
            except AnswerLostError:
                continue

    assert [sock.fileno() for sock in opened] == [-1] * 5


HEADERS: dict[str, tuple[LengthHeader, bytes]] = {
    "2 bytes": (LengthHeader(), b"\x00\x98"),
    "4 bytes": (LengthHeader(4), b"\x00\x00\x00\x98"),
    "4 digits": (LengthHeader(4, "ascii"), b"0152"),
    "2 bytes, counting themselves": (LengthHeader(2, counts_itself=True), b"\x00\x9a"),
    "4 digits, counting themselves": (LengthHeader(4, "ascii", counts_itself=True), b"0156"),
}


@pytest.mark.parametrize(("header", "length"), HEADERS.values(), ids=HEADERS.keys())
def test_a_second_host_counts_its_messages_in_its_own_way(header: LengthHeader, length: bytes) -> None:
    left, right = socket.socketpair()
    with left, right:
        line = transport.Line(left, header, Deadline(2))
        line.send(APPROVAL)

        assert right.recv(4096) == length + APPROVAL
        right.sendall(length + APPROVAL)
        assert line.receive() == APPROVAL


def test_a_second_host_is_paid_at_in_its_own_dialect() -> None:
    document = {"mti": "bcd", "bitmap": "hex", "length_header": {"bytes": 2, "counts_itself": False}}
    document |= {"fields": {"4": {"encoding": "bcd"}, "37": {"encoding": "ebcdic"}, "44": None, "63": None}}
    codec = Codec(a_dialect(**document))

    def reply(sock: socket.socket, message: bytes) -> None:
        sock.sendall(framed(codec.encode(an_answer(codec.decode(message), f63=None))))

    with a_host(reply) as host:
        answer = pay(replace(host.settings, dialect=codec.dialect))

    assert (answer.is_approved, answer.rrn, answer.acquirer_tran_id) == (True, "6JX2M0Q7TZ4A", None)
    assert host.got[0][:2] == b"\x02\x00"


@pytest.mark.parametrize("header", [b"01A0", b"-100", b"+100", b" 100", b"0011", b"2049"])
def test_a_length_in_digits_is_four_digits(header: bytes) -> None:
    left, right = socket.socketpair()
    with left, right:
        right.sendall(header + b"0" * 2048)
        line = transport.Line(left, LengthHeader(4, "ascii"), Deadline(1))
        with pytest.raises(UnusableAnswerError):
            line.receive()


def test_threads_get_their_own_answers() -> None:
    with a_host(answers()) as host:
        adapter = Iso8583(host.settings)

        def one(number: int) -> tuple[str | None, str]:
            rrn = f"RRN{number:09d}"
            message = a_message(rrn=rrn, trace=MessageTrace(number, MADE_AT))
            return adapter.authorize(a_purchase(message=message), 10.0).rrn, rrn

        with ThreadPoolExecutor(32) as pool:
            pairs = list(pool.map(one, range(1, 97)))

    assert all(answered == asked for answered, asked in pairs)
    assert len(host.got) == 96


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [*LOST.values(), *UNUSABLE.values()], ids=[*LOST, *UNUSABLE])
def test_no_failure_quotes_or_holds_the_card(behaviour: Behaviour, capsys: pytest.CaptureFixture[str]) -> None:
    with a_host(behaviour) as host, pytest.raises(AcquirerError) as raised:
        pay(host.settings, 0.2)

    output = capsys.readouterr()
    said = f"{raised.value!r} {raised.value.__cause__!r} {raised.value.__context__!r} {output.out} {output.err}"
    for secret in (PAN, PAN[6:], CVV2):
        assert secret not in said


def test_a_reversal_goes_the_same_way() -> None:
    with a_host(answers()) as host:
        request = a_reversal(is_repeat=True)
        answer = Iso8583(host.settings).reverse(request, 2.0)

    assert answer.is_approved
    assert host.got[0][:4] == b"0421"
    assert not {"2", "14", "35", "55"} & CODEC.decode(host.got[0]).fields.keys()


def test_tls_of_a_host_is_1_2_or_newer_and_checks_names() -> None:
    context = transport._tls(None, None)  # noqa: SLF001

    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
