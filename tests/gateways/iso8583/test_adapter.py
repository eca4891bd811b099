"""The adapter as the port describes it: what it takes, what it refuses, and how it is loaded."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import (
    AnswerLostError,
    LinkRequest,
    ReversalKind,
    Reversed,
    UnreachableError,
    UnusableAnswerError,
)
from chalicelib.domain.acquirer import answers as proves
from chalicelib.domain.kinds import InputType
from chalicelib.errors import Check
from chalicelib.gateways.acquirers.iso8583.adapter import Iso8583
from chalicelib.gateways.acquirers.sandbox import Sandbox
from chalicelib.settings import ACQUIRERS
from tests.gateways.iso8583.hosts import a_host, answers, closes
from tests.gateways.iso8583.requests import (
    CHIP,
    CODEC,
    CVV2,
    TRACE,
    a_message,
    a_purchase,
    a_reversal,
    a_terminal,
    read_card,
)
from tests.support.cards import PAN, a_card, an_authorization, an_inquiry, tlv

ROOT = Path(__file__).parents[3]
NOWHERE = Iso8583(None)


@pytest.mark.parametrize("kind", ReversalKind)
def test_an_acknowledged_reversal_of_any_kind_proves_itself(kind: ReversalKind) -> None:
    request = a_reversal(kind)
    with a_host(answers()) as host:
        answer = Iso8583(host.settings).reverse(request, 2.0)

    assert (answer.is_approved, answer.reverses) == (True, Reversed(request.original, request.amount_minor))
    assert proves(answer, request)
    returned = kind is ReversalKind.RETURN
    assert host.got[0][:4] == (b"0200" if returned else b"0420")
    processing = "200000" if kind in {ReversalKind.RETURN, ReversalKind.AUTOMATIC_OF_RETURN} else "000000"
    assert CODEC.decode(host.got[0]).fields["3"] == processing


def test_a_return_that_is_declined_is_an_answer() -> None:
    with a_host(answers(f39="51")) as host:
        answer = Iso8583(host.settings).reverse(a_reversal(ReversalKind.RETURN), 2.0)

    assert (answer.code, answer.is_approved) == (51, False)


def test_a_return_used_before_leaves_its_outcome_open() -> None:
    with a_host(answers(f39="94")) as host, pytest.raises(UnusableAnswerError):
        Iso8583(host.settings).reverse(a_reversal(ReversalKind.RETURN), 2.0)


@pytest.mark.parametrize("kind", [ReversalKind.CANCEL, ReversalKind.AUTOMATIC, ReversalKind.AUTOMATIC_OF_RETURN])
def test_an_advice_without_an_answer_is_to_be_repeated(kind: ReversalKind) -> None:
    with a_host(closes) as host, pytest.raises(AnswerLostError):
        Iso8583(host.settings).reverse(a_reversal(kind), 2.0)


@pytest.mark.parametrize("code", ["00", "96"])
def test_an_echo_says_the_code_of_the_host(code: str) -> None:
    with a_host(answers(f39=code, f4=None)) as host:
        assert Iso8583(host.settings).echo(TRACE, 2.0) == int(code)

    assert host.got[0][:4] == b"0800"


def test_a_message_that_cannot_be_made_is_a_defect_and_is_not_sent(capsys: pytest.CaptureFixture[str]) -> None:
    impossible = [
        a_purchase(message=None),
        a_purchase(message=a_message(terminal=a_terminal(sic="bakery"))),
        a_purchase(amount_minor=10**12),
        a_purchase(input_type=InputType.LINKED_CARD),
    ]
    with a_host(answers()) as host:
        for request in impossible:
            with pytest.raises(UnreachableError) as raised:
                Iso8583(host.settings).authorize(request, 2.0)
            assert raised.value.__context__ is None

    assert host.connections == 0
    logged = capsys.readouterr().out
    assert logged.count('"event": "defect"') == 4
    assert PAN not in logged


def test_there_is_nothing_to_inquire_and_no_card_to_link() -> None:
    assert (NOWHERE.can_inquire, NOWHERE.quiet.total_seconds()) == (False, 0)
    with pytest.raises(AnswerLostError):
        NOWHERE.inquire(an_inquiry("reference"), 1.0)
    with pytest.raises(UnreachableError):
        NOWHERE.link(LinkRequest("card#1", a_card()), 1.0)


def test_a_stage_that_gave_up_the_host_reaches_it_no_more() -> None:
    assert NOWHERE.institution == ""
    with pytest.raises(UnreachableError):
        NOWHERE.reverse(a_reversal(), 1.0)


def test_it_knows_its_institution_and_takes_cards_that_are_read_or_keyed_in() -> None:
    with a_host(answers()) as host:
        assert Iso8583(host.settings).institution == "123456"

    assert NOWHERE.takes == {1, 2, 3, 4}


def refused(**changes: Any) -> list[tuple[str, int]]:
    return [(finding.field, finding.code) for finding in NOWHERE.refuse(a_purchase(message=None, **changes))]


LONG_TRACK = f"{PAN}=3012201" + "0" * 14
LONG_IMAGE = tlv("57", LONG_TRACK.replace("=", "D")) + tlv("95", "00" * 5)
CARD = tlv("5A", PAN) + tlv("5F24", "301231")
REFUSED: list[tuple[dict[str, Any], list[tuple[str, int]]]] = [
    ({}, []),
    ({"single_step": False}, [("single_step", Check.CONTRADICTION)]),
    ({"amount_minor": 999_999_999_999}, []),
    ({"amount_minor": 1_000_000_000_000}, [("amount", Check.OUT_OF_RANGE)]),
    ({"merchant": None}, [("terminal.mid", Check.REQUIRED)]),
    ({"merchant": ""}, [("terminal.mid", Check.REQUIRED)]),
    ({"merchant": "   "}, [("terminal.mid", Check.REQUIRED)]),
    ({"merchant": "M" * 15}, []),
    ({"merchant": "M" * 16}, [("terminal.mid", Check.TOO_LONG)]),
    ({"merchant": "Bäckerei"}, [("terminal.mid", Check.FORMAT)]),
    ({"merchant": "tab\there"}, [("terminal.mid", Check.FORMAT)]),
    ({"terminal": "T" * 8}, []),
    ({"terminal": "T" * 9}, [("terminal.tid", Check.TOO_LONG)]),
    ({"terminal": "Büro"}, [("terminal.tid", Check.FORMAT)]),
    (
        {"single_step": False, "merchant": None, "terminal": "T" * 9},
        [("single_step", Check.CONTRADICTION), ("terminal.mid", Check.REQUIRED), ("terminal.tid", Check.TOO_LONG)],
    ),
]


@pytest.mark.parametrize(("changes", "findings"), REFUSED)
def test_what_cannot_be_written_is_not_sent(changes: dict[str, Any], findings: list[tuple[str, int]]) -> None:
    assert refused(**changes) == findings


READ: list[tuple[InputType, str, list[tuple[str, int]]]] = [
    (InputType.MAGNETIC_STRIPE, LONG_TRACK[:37], []),
    (InputType.MAGNETIC_STRIPE, f";{LONG_TRACK[:37]}?5", []),
    (InputType.MAGNETIC_STRIPE, LONG_TRACK, [("card.reader_data", Check.TOO_LONG)]),
    (InputType.CHIP, CHIP, []),
    (InputType.CHIP, LONG_IMAGE, [("card.reader_data", Check.TOO_LONG)]),
    (InputType.CHIP, CARD, [("card.reader_data", Check.FORMAT)]),
    (InputType.CONTACTLESS, CARD + tlv("50", "AA"), [("card.reader_data", Check.FORMAT)]),
    (InputType.CHIP, CARD + "9F108181" + "AB" * 129 + tlv("9F6E", "00" * 119), []),
    (InputType.CHIP, CARD + "9F108181" + "AB" * 129 + tlv("9F6E", "00" * 120), [("card.reader_data", Check.TOO_LONG)]),
]


@pytest.mark.parametrize(("input_type", "data", "findings"), READ)
def test_a_card_the_host_cannot_take_is_refused_in_payments_and_returns(
    input_type: InputType, data: str, findings: list[tuple[str, int]]
) -> None:
    card = read_card(input_type, data, CVV2)
    of_return = NOWHERE.refuse(a_reversal(ReversalKind.RETURN, card=card, input_type=input_type))

    assert refused(input_type=input_type, card=card) == findings
    assert [(finding.field, finding.code) for finding in of_return] == findings
    assert PAN not in repr(of_return)


@pytest.mark.parametrize(("input_type", "data"), [row[:2] for row in READ if not row[2]])
def test_what_is_not_refused_can_be_written(input_type: InputType, data: str) -> None:
    request = a_purchase(input_type=input_type, card=read_card(input_type, data, CVV2))
    with a_host(answers()) as host:
        assert Iso8583(host.settings).authorize(request, 2.0).is_approved


def test_the_sandbox_takes_and_refuses_as_before() -> None:
    sandbox = Sandbox()

    assert (sandbox.can_inquire, sandbox.institution) == (True, "")
    assert sandbox.takes == {1, 2, 3, 4, 5}
    assert sandbox.refuse(an_authorization(single_step=False, amount_minor=10**12)) == ()


def test_the_settings_know_every_acquirer_there_is() -> None:
    assert set(outside.current.acquirers) == set(ACQUIRERS)


IMPORTED = """
import sys
from chalicelib.gateways import acquirers
acquirers.codes(), acquirers.named("SANDBOX")
print(sorted(name for name in sys.modules if "iso8583" in name or name == "chalicelib.domain.iso8583_dialect"))
"""


def test_a_stage_without_it_loads_nothing_of_it() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ISO8583")}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        cwd=ROOT,
        env={**environment, "ACQUIRERS": "SANDBOX"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[]"
