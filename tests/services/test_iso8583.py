"""Payments at a host that speaks ISO 8583, from the till's request to the bytes the host gets."""

import json
from typing import Any

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.errors import ServiceError
from tests.gateways.iso8583.hosts import Running, answers, closes, paying_at
from tests.gateways.iso8583.requests import CODEC
from tests.support.cards import PAN, a_card_body, chip_data
from tests.support.tills import MINUTE, Till, a_till
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def till() -> Till:
    return a_till(mid="BANK00000000001")


def sent(host: Running) -> list[tuple[str, dict[str, str]]]:
    """List what the host got: types and fields."""
    return [(content.mti, dict(content.fields)) for content in map(CODEC.decode, host.got)]


def by_chip() -> dict[str, Any]:
    card = {"CardInputMode": 1, "CardDataInput": {"ReaderData": chip_data()}}
    return a_card_body(basic={"InputType": 3}, Card=card)


def test_a_payment_by_chip_is_approved_and_shows_what_the_host_said(till: Till) -> None:
    with paying_at(answers(f55="8A023030910A11223344556677883030")) as host:
        payment = till.pay(by_chip())

    (mti, fields) = sent(host)[0]
    assert (payment.phase, payment.result.rrn, payment.result.approval_code) == (Phase.APPROVED, fields["37"], "333380")
    assert (payment.result.acquirer_tran_id, payment.result.emv_result) == (
        "HOST000000000001",
        "8A023030910A11223344556677883030",
    )
    assert (mti, fields["2"], fields["22"], fields["42"].strip()) == ("0200", PAN, "052", "BANK00000000001")


def test_a_lost_answer_is_followed_by_an_advice_that_names_the_purchase(till: Till) -> None:
    with paying_at(closes) as host:
        payment = till.pay(a_card_body())
        assert payment.phase is Phase.UNKNOWN
    with paying_at(answers()) as after:
        assert till.look(payment.id, NOW + MINUTE).phase is Phase.AUTO_CANCELLED

    (_, purchase), (mti, advice) = *sent(host), *sent(after)
    assert (mti, advice["56"], advice["37"]) == ("0420", "4021", purchase["37"])
    assert advice["90"] == f"0200{purchase['11']}{purchase['7']}{purchase['32']:0>11}{'0' * 11}"
    assert advice["11"] != purchase["11"]
    assert {"12", "13"} <= {number for number in purchase if purchase[number] == advice.get(number)}


def test_a_terminal_the_bank_does_not_know_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with paying_at(answers()) as host, pytest.raises(ServiceError) as raised:
        a_till().pay(a_card_body())

    assert [finding.field for finding in raised.value.validations] == ["terminal.mid"]
    assert host.connections == 0
    assert PAN not in json.dumps(capsys.readouterr().out)
