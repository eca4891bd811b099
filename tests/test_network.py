"""HTTP over a socket: what is sent, and an answer in every framing and in any pieces."""

from itertools import pairwise
from socket import AF_INET, AF_INET6, SOCK_STREAM
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.network import SHORT_PARTS, SHORT_PAUSE_S, BrokenAnswerError, Connection, Deadline, body_of, look_up
from tests.support.giving import Give
from tests.support.scripted_server import http

SECONDS = 2.0


class Arriving:
    """A socket on which these pieces arrive one after another, and then the end; it remembers what was sent."""

    def __init__(self, *pieces: bytes) -> None:
        self.sent: list[bytes] = []
        self._left = [piece for piece in pieces if piece]

    def settimeout(self, _: float) -> None:
        pass

    def send(self, data: memoryview) -> int:
        self.sent.append(bytes(data))
        return len(data)

    def recv_into(self, buffer: memoryview) -> int:
        piece = self._left.pop(0) if self._left else b""
        buffer[: len(piece)] = piece
        return len(piece)


def _chunked(parts: list[bytes], ending: bytes = b"\r\n") -> bytes:
    chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in parts if part)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunks + b"0\r\n" + ending


@given(
    parts=st.lists(st.binary(max_size=300), max_size=4),
    cuts_at=st.lists(st.integers(0, 1500), max_size=6),
    framing=st.sampled_from(["length", "chunks", "trailers", "continued"]),
)
def test_an_answer_is_whole_however_it_is_framed_and_arrives(
    parts: list[bytes], cuts_at: list[int], framing: str
) -> None:
    body = b"".join(parts)
    data = {
        "length": http(200, body),
        "chunks": _chunked(parts),
        "trailers": _chunked(parts, b"X-Trailer: a\r\n\r\n"),
        "continued": b"HTTP/1.1 100 Continue\r\n\r\n" + http(200, body),
    }[framing]
    places = [0, *sorted({min(place, len(data)) for place in cuts_at}), len(data)]

    arriving: Any = Arriving(*(data[start:end] for start, end in pairwise(places)))
    response = Connection(arriving).send("POST", "/", {}, b"", Deadline(SECONDS), 2000)

    assert (response.status, body_of(response, 2000)) == (200, body)


def test_head_and_body_of_a_request_leave_in_one_write() -> None:
    arriving: Any = Arriving(http(200, b"{}"))

    Connection(arriving).send("POST", "/", {"host": "a"}, b"{1}", Deadline(SECONDS), 2)

    (sent,) = arriving.sent
    assert sent.startswith(b"POST / HTTP/1.1\r\n")
    assert sent.endswith(b"\r\n\r\n{1}")


@pytest.mark.parametrize(("path", "headers"), [("/\r\nX: y", {}), ("/", {"host": "a\nX: y"}), ("/", {"host\rX": "y"})])
def test_a_line_break_in_a_path_or_header_is_not_sent(path: str, headers: dict[str, str]) -> None:
    arriving: Any = Arriving()

    with pytest.raises(ValueError, match="control character"):
        Connection(arriving).send("POST", path, headers, b"", Deadline(SECONDS), 2)

    assert arriving.sent == []


def test_interim_answers_without_end_are_given_up() -> None:
    arriving: Any = Arriving(*[b"HTTP/1.1 100 Continue\r\n\r\n" * 100] * 100)

    with pytest.raises(BrokenAnswerError, match="too long"):
        Connection(arriving).send("POST", "/", {}, b"", Deadline(SECONDS), 1000)


def test_the_addresses_of_a_name_are_tried_ipv4_first_and_else_in_the_resolvers_order(
    give: Give,
) -> None:
    found = [(AF_INET6, "::2"), (AF_INET, "192.0.2.2"), (AF_INET6, "::1"), (AF_INET, "192.0.2.1")]
    answers = [(family, SOCK_STREAM, 6, "", (to, 443)) for family, to in found]
    give(look_up=lambda *_, **__: answers)

    tried = [to[0] for _, to in look_up("shop.example", 443, Deadline(5.0))]

    assert tried == ["192.0.2.2", "192.0.2.1", "::2", "::1"]


def test_an_answer_that_arrives_byte_by_byte_costs_few_reads(give: Give) -> None:
    pauses: list[float] = []
    give(pause=pauses.append)
    data = http(200, b"x" * 1000)

    arriving: Any = Arriving(*(bytes([one]) for one in data))
    body_of(Connection(arriving).send("POST", "/", {}, b"", Deadline(SECONDS), 2000), 2000)

    assert len(data) - SHORT_PARTS <= len(pauses) + 1 <= len(data)
    assert set(pauses) == {SHORT_PAUSE_S}


def test_an_answer_in_usual_parts_waits_for_nothing(give: Give) -> None:
    give(pause=lambda _: pytest.fail("it pauses"))
    data = http(200, b"x" * 500_000)

    arriving: Any = Arriving(*(data[at : at + 1400] for at in range(0, len(data), 1400)))
    assert len(body_of(Connection(arriving).send("POST", "/", {}, b"", Deadline(SECONDS), 500_000), 500_000)) == 500_000
