"""A host program that nobody here wrote: iso8583sim, in a process and an environment of its own.

It answers by rules and keeps no books. What it writes otherwise than the interface is in the documents of `dialects`:
it gives the card's number back, field 56 has a length of two digits, and no answer has 63 or 90.
"""

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chalicelib.domain.acquirer import AnswerLostError, AuthorizationRequest, ReversalKind, UnusableAnswerError
from chalicelib.domain.transaction import InputType
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.gateways.acquirers.iso8583.codec import Codec
from chalicelib.settings.iso8583 import PACKAGE, Host, host, usual
from infra.bank.bank import Bank
from infra.bank.codec import Message, encode
from infra.bank.server import Server
from tests.bank.messages import a_chip_purchase
from tests.gateways.iso8583.requests import (
    CHIP,
    CODEC,
    TRACE,
    a_dialect,
    a_purchase,
    a_reversal,
    by_chip,
    read_card,
)

PROGRAM = PACKAGE / ".engines" / "iso8583sim" / "bin" / "iso8583sim"
DIALECTS = "tests/gateways/iso8583/dialects"
STRIPE = ";4111111111111111=30122010000012345678?"
WAYS = {"iso8583sim.json": ("ascii-binary", "2b"), "iso8583sim-hex.json": ("ascii-hex", "4a")}
DECLINED, NEEDS_PIN, USED_BEFORE, DROPPED, CLOSED = range(2001, 2006)  # amounts
RULES = [
    {"match": {"fields": {"4": f"{DECLINED:012}"}}, "respond": "51"},
    {"match": {"fields": {"4": f"{NEEDS_PIN:012}"}}, "respond": "65"},
    {"match": {"fields": {"4": f"{USED_BEFORE:012}"}}, "respond": "94"},
    {"match": {"fields": {"4": f"{DROPPED:012}"}}, "action": "drop"},
    {"match": {"fields": {"4": f"{CLOSED:012}"}}, "action": "close"},
    {"respond": "00"},
]

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="iso8583sim is missing: `make interop`")


@contextlib.contextmanager
def the_program(folder: Path, wire: str, header: str) -> Iterator[int]:
    """Run the host until the block ends; return its port. It must have read every message it got."""
    rules = folder / "rules.json"
    rules.write_text(json.dumps({"rules": RULES}), encoding="utf-8")
    command = [str(PROGRAM), "serve", "--port", "0", "--format", wire, "--header", header, "--rules", str(rules)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            listening = re.search(r"listening on 127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert listening
            yield int(listening[1])
        finally:
            process.terminate()
            summary = process.stdout.read()
    assert re.search(r"Received [1-9]\d*, answered [1-9].* errors 0\.", summary.replace("\n", " "))


@pytest.fixture(scope="module", params=WAYS)
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Run the host in each of the ways it has in common with us; return the settings that lead to it."""
    with the_program(tmp_path_factory.mktemp("iso8583sim"), *WAYS[request.param]) as port:
        environment = {
            "ISO8583_HOST": "127.0.0.1",
            "ISO8583_PORT": str(port),
            "ISO8583_INSTITUTION": "123456",
            "ISO8583_TLS": "off",
            "ISO8583_DIALECT": f"{DIALECTS}/{request.param}",
        }
        yield host(environment, is_local=True)


def by_stripe() -> AuthorizationRequest:
    return a_purchase(
        input_type=InputType.MAGNETIC_STRIPE, card=read_card(InputType.MAGNETIC_STRIPE, STRIPE), amount_minor=3000
    )


@pytest.mark.parametrize(
    "purchase",
    [by_stripe(), by_chip(CHIP), by_chip(CHIP, InputType.CONTACTLESS)],
    ids=["stripe", "chip", "contactless"],
)
def test_it_approves_purchases(settings: Host, purchase: AuthorizationRequest) -> None:
    answer = Iso8583(settings).authorize(purchase, 5.0)

    assert (answer.code, answer.approval_code) == (0, f"A{TRACE.stan:05}")
    assert answer.emv_result == (None if purchase.input_type is InputType.MAGNETIC_STRIPE else "8A023030")


@pytest.mark.parametrize(("amount_minor", "code", "pin_mode"), [(DECLINED, 51, None), (NEEDS_PIN, 65, 1)])
def test_it_declines_purchases(settings: Host, amount_minor: int, code: int, pin_mode: int | None) -> None:
    answer = Iso8583(settings).authorize(replace(by_stripe(), amount_minor=amount_minor), 5.0)

    assert (answer.code, answer.approval_code, answer.pin_mode) == (code, None, pin_mode)


def test_what_it_says_it_has_had_before_is_no_decline(settings: Host) -> None:
    with pytest.raises(UnusableAnswerError):
        Iso8583(settings).authorize(replace(by_stripe(), amount_minor=USED_BEFORE), 5.0)


@pytest.mark.parametrize("amount_minor", [DROPPED, CLOSED], ids=["silence", "a closed connection"])
def test_no_answer_is_a_lost_one(settings: Host, amount_minor: int) -> None:
    with pytest.raises(AnswerLostError):
        Iso8583(settings).authorize(replace(by_stripe(), amount_minor=amount_minor), 0.5)


def test_it_takes_returns_with_the_card_and_without(settings: Host) -> None:
    without = a_reversal(ReversalKind.RETURN)
    with_card = replace(without, card=read_card(InputType.CHIP, CHIP), input_type=InputType.CHIP)

    for request in (without, with_card):
        answer = Iso8583(settings).reverse(request, 5.0)
        assert answer.code == 0
        assert answer.reverses
        assert answer.reverses.original == request.original


@pytest.mark.parametrize("kind", [ReversalKind.CANCEL, ReversalKind.AUTOMATIC, ReversalKind.AUTOMATIC_OF_RETURN])
def test_it_acknowledges_advices(settings: Host, kind: ReversalKind) -> None:
    assert Iso8583(settings).reverse(a_reversal(kind), 5.0).code == 0


def test_its_0431_is_no_acknowledgement_of_an_0421(settings: Host) -> None:
    with pytest.raises(AnswerLostError):
        Iso8583(settings).reverse(a_reversal(is_repeat=True), 0.5)


def test_it_answers_an_echo(settings: Host) -> None:
    assert Iso8583(settings).echo(TRACE, 5.0) == 0


def test_an_answer_with_the_number_of_the_card_is_not_taken(settings: Host) -> None:
    fields = {**settings.dialect.fields, "2": usual().fields["2"]}

    with pytest.raises(UnusableAnswerError):
        Iso8583(replace(settings, dialect=replace(settings.dialect, fields=fields))).authorize(by_stripe(), 5.0)


def text_of(message: Message) -> str:
    """Return a message as the program is told it: the bitmap and field 55 in hexadecimal."""
    told = Codec(a_dialect(bitmap="hex", fields={"55": {"encoding": "ascii"}}))
    return told.encode(CODEC.decode(encode(message.mti, message.fields))).decode()


def test_it_reads_what_the_bank_answers_it() -> None:
    request = a_chip_purchase()
    with Server(bank := Bank()) as server:
        command = [str(PROGRAM), "send", "--port", str(server.port), text_of(request)]
        done = subprocess.run(command, env={"COLUMNS": "200"}, capture_output=True, text=True, check=True)
    read = dict(re.findall(r"│ (\d+) +│[^│]*│ (\S+) +│", done.stdout))

    assert (read["0"], read["39"]) == ("0210", "00")
    assert [read[str(number)] for number in (4, 11, 37)] == [request.text(number) for number in (4, 11, 37)]
    assert read["55"].startswith("8A023030")
    assert bank.violations == []
