"""Messages as a right service sends them to the bank, and a connection to send them on."""

import itertools
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from infra.bank.bank import Bank
from infra.bank.codec import Message, Value, decode, encode, framed
from infra.bank.faults import Timing
from infra.bank.server import Server

PAN, OTHER_PAN = "4111111111111111", "4242424242424242"
EXPIRY = "3012"
NOW = datetime(2026, 11, 21, 18, 0, 5, tzinfo=UTC)
QUICK = Timing(silence=0.2, late=0.2, segment=0.05, outage=0.2, idle=5, handshake=5)
CHIP = bytes.fromhex("8407A00000000310109F2608A1B2C3D4E5F607189F2701809505000000800082023800")

_numbers = itertools.count(1)


def a_purchase(amount_minor: int = 3000, *, pan: str = PAN, now: datetime | None = None, **fields: Any) -> Message:
    """A keyed purchase with CVV2; `f48="610208"` replaces a field, None leaves it out."""
    number = next(_numbers)
    now = now or datetime.now(UTC)
    right: dict[int, Value] = {
        2: pan,
        3: "000000",
        4: f"{amount_minor:012}",
        7: f"{now:%m%d%H%M%S}",
        11: f"{number % 999_999 + 1:06}",
        12: "200002",
        13: "1121",
        14: EXPIRY,
        18: "5411",
        22: "012",
        25: "01",
        32: "123456",
        37: f"R{number:011}",
        41: "DEMO0001",
        42: "DEMOBANK0000001",
        43: f"{'Demo Store':25}{'Cape Town':13}ZA",
        48: "6102089203123",
        49: "710",
    }
    return _changed(Message("0200", right), fields)


def a_chip_purchase(amount_minor: int = 3000, **fields: Any) -> Message:
    """A purchase by chip."""
    chip: dict[str, Any] = {"f22": "052", "f25": "00", "f48": "610208", "f55": CHIP}
    return a_purchase(amount_minor, **{**chip, **fields})


def a_refund(purchase: Message, amount_minor: int, **fields: Any) -> Message:
    """A refund of a purchase, without a card."""
    absent: dict[str, Any] = dict.fromkeys(("f2", "f14", "f23", "f35", "f55"))
    refund: dict[str, Any] = {
        "f3": "200000",
        "f22": "002",
        "f25": "01",
        "f48": "610208",
        "f90": named(purchase),
    }
    return a_purchase(amount_minor, **{**absent, **refund, **fields})


def an_advice(original: Message, reason: str = "4021", **fields: Any) -> Message:
    """The 0420 of a purchase or refund."""
    own = a_purchase()
    kept = {number: original.fields[number] for number in (3, 4, 12, 13, 32, 37, 41, 42, 49)}
    advice = Message("0420", {**kept, 7: own.fields[7], 11: own.fields[11], 56: reason, 90: named(original)})
    return _changed(advice, fields)


def again(advice: Message) -> Message:
    """The 0421 of an 0420."""
    return replace(advice, mti="0421")


def named(original: Message) -> str:
    """Field 90."""
    return f"0200{original.text(11)}{original.text(7)}{original.text(32):0>11}{'0' * 11}"


def _changed(message: Message, fields: dict[str, Any]) -> Message:
    merged = {**message.fields, **{int(name.removeprefix("f")): value for name, value in fields.items()}}
    return replace(message, fields={number: value for number, value in merged.items() if value is not None})


def raw(message: Message) -> bytes:
    """The bytes of a message without its length header."""
    return encode(message.mti, message.fields)


def told(bank: Bank, message: Message) -> Message:
    """What the bank answers, without a connection."""
    (frame,) = bank.reply(raw(message)).steps
    assert isinstance(frame, bytes)
    return decode(frame[2:])


def code(bank: Bank, message: Message) -> str:
    """The response code that the bank answers."""
    return told(bank, message).text(39)


class Line:
    """A connection to a bank."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None, seconds: float = 5) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")

    def send(self, message: Message) -> None:
        self.socket.sendall(framed(raw(message)))

    def frame(self) -> bytes | None:
        """The next message, None at the end of the connection."""
        header = self.exactly(2)
        return self.exactly(int.from_bytes(header, "big")) if header else None

    def exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size and (more := self.socket.recv(size - len(content))):
            content += more
        return content

    def ask(self, message: Message) -> Message | None:
        """The answer to a message; None when the bank hangs up."""
        self.send(message)
        answer = self.frame()
        return decode(answer) if answer else None


@contextmanager
def a_line(server: Server, tls: ssl.SSLContext | None = None) -> Iterator[Line]:
    line = Line(server.port, tls)
    try:
        yield line
    finally:
        line.socket.close()


def ask(server: Server, message: Message) -> Message | None:
    """The answer on a connection of its own."""
    with a_line(server) as line:
        return line.ask(message)
