import hashlib
import hmac
import http.client
import json
import time
from typing import Any

import pytest

from chalicelib.domain.secret import Secret
from chalicelib.gateways import secrets
from infra.demo import partner as demo_partner
from infra.operator import commands as operator
from infra.operator import stage_secret
from tests.support.giving import typing

BODY = b'{"ProductDescCode":"Insurance"}'


def signature(timestamp: str, body: bytes = BODY, secret: str = demo_partner.PARTNER_SECRET) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def now(shift: float = 0) -> str:
    return str(int(time.time() + shift))


def a_request(**fields: str) -> dict[str, Any]:
    listed = [{"Name": name, "Value": value} for name, value in fields.items()]
    return {"ProductDescCode": "Insurance", "ClientProductCode": None, "PrepareFields": listed}


def test_a_right_signature_of_now_is_accepted() -> None:
    assert demo_partner.is_signed(now(), signature(now()), BODY)


@pytest.mark.parametrize("shift", [-400, 400])
def test_a_time_too_far_from_now_is_not_accepted(shift: int) -> None:
    assert not demo_partner.is_signed(now(shift), signature(now(shift)), BODY)


@pytest.mark.parametrize("timestamp", ["", "soon", "-1", "9" * 5000, "١٢٣"])
def test_a_malformed_time_is_not_accepted(timestamp: str) -> None:
    assert not demo_partner.is_signed(timestamp, signature(timestamp), BODY)


def test_a_wrong_signature_is_not_accepted() -> None:
    at = now()
    wrong = ["", "é", signature(at, b"{}"), signature(at, BODY, "another"), signature(now(-1000))]

    assert [demo_partner.is_signed(at, one, BODY) for one in wrong] == [False] * 5


def test_the_fields_are_filled_from_the_amount_and_the_order() -> None:
    status, body = demo_partner.answer(a_request(AmountClient="1500.5", OrderId="A-17"))
    filled = {field["Code"]: field["Value"] for field in body["PreparedFields"]}

    assert status == 200
    assert filled["InsuredAmount"] == "1500.50"
    assert filled["Premium"] == "75.03"
    assert filled["PolicyNumber"].startswith("POL-")
    assert (filled["OrderId"], filled["Plan"]) == ("A-17", "STANDARD")


def test_the_same_order_has_the_same_policy() -> None:
    first = demo_partner.answer(a_request(AmountClient="1", OrderId="A-17"))
    other = demo_partner.answer(a_request(AmountClient="1", OrderId="A-18"))

    assert first == demo_partner.answer(a_request(AmountClient="1", OrderId="A-17"))
    assert first != other


@pytest.mark.parametrize("amount", ["", "0", "0.00", "-1", "1e3", "1.234", "ten", "٣"])
def test_what_cannot_be_insured_is_named(amount: str) -> None:
    status, body = demo_partner.answer(a_request(AmountClient=amount, OrderId=" "))

    assert status == 422
    assert [problem["Name"] for problem in body["Problems"]] == ["AmountClient", "OrderId"]


@pytest.mark.usefixtures("moto")
def test_a_request_without_a_signature_is_refused() -> None:
    with demo_partner.serve() as url:
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=5)
        connection.request("POST", "/prepare", json.dumps(a_request(AmountClient="1", OrderId="1")))
        reply = connection.getresponse()
        reply.read()
        connection.close()

    assert reply.status == 401


@pytest.mark.usefixtures("moto")
def test_a_partners_secret_is_stored_beside_the_others() -> None:
    digest = secrets.keyed_digest(Secret("anything"))
    for text in ("a secret of this partner", "another secret of this partner"):
        stage_secret.rotate_partner("Airtime", Secret(text))

    assert secrets.partner("Airtime") == Secret("another secret of this partner")
    assert secrets.partner("Unheard") is None
    assert secrets.keyed_digest(Secret("anything")) == digest


@pytest.mark.usefixtures("moto")
def test_an_operator_stores_the_secret_agreed_with_a_partner_and_it_is_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stage_secret.rotate_partner("Travel", Secret("the secret before"))
    with typing("agreed-with-the-partner\n"):
        operator.main(["partner-secret", "Travel"])

    assert secrets.partner("Travel") == Secret("agreed-with-the-partner")
    assert "agreed" not in capsys.readouterr().out
    operator.main(["partner-secret", "Travel", "--remove"])
    assert secrets.partner("Travel") is None
    with pytest.raises(SystemExit, match="no secret of a partner for Travel"):
        operator.main(["partner-secret", "Travel", "--remove"])


@pytest.mark.usefixtures("moto")
def test_a_short_secret_is_not_stored() -> None:
    stage_secret.rotate_partner("Rail", Secret("the secret before"))

    with typing("too short\n"), pytest.raises(SystemExit, match="16 characters"):
        operator.main(["partner-secret", "Rail"])
    assert secrets.partner("Rail") == Secret("the secret before")
