"""Reading a request takes a time that is linear in its bytes, whatever it holds, and the caller is admitted first."""

import json
import time
from collections.abc import Callable

import pytest

from chalicelib import exact_json
from chalicelib.domain import masking
from chalicelib.endpoints import ENDPOINTS
from chalicelib.errors import ServiceError
from chalicelib.schemas import card as card_schema
from chalicelib.schemas.base import validated
from chalicelib.schemas.card import with_card_number_in_card_only
from chalicelib.schemas.payments import SubmitPayment
from chalicelib.schemas.reversals import ReversePayment
from tests.support import http
from tests.support.builders import PASSWORD, a_shop, merchant_update
from tests.support.cards import EXP, PAN
from tests.support.transactions import a_body, a_guid

SMALL, TIMES = 16_000, 8
MOST = 3  # times more than linear: a quadratic reader takes 8 times more


def card_numbers(count: int) -> list[str]:
    """Return numbers that a brand and the check digit allow."""
    bodies = (f"424242{number:09d}" for number in range(count))
    return [body + check_digit(body) for body in bodies]


def check_digit(digits: str) -> str:
    doubled = [sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(reversed(digits))]
    return str(-sum(doubled) % 10)


def repeated(size: int, *, different: int) -> bytes:
    """Return a valid payment whose text of this size repeats so many different numbers of its card."""
    found = card_numbers(different)
    text = (" ".join(found) * (size // (17 * different) + 1))[:size]
    data = {"PAN": "=".join(found[:200]), "ReaderData": "=".join(found[200:])}
    return json.dumps(a_body(InputType=1) | {"Card": {"CardDataInput": data}, "Text": text}).encode()


def with_card(**unknown: str) -> bytes:
    """Return a payment by card with unknown fields in JSON."""
    card = {"CardDataInput": {"PAN": PAN, "EXP": EXP}}
    body = json.dumps(a_body(InputType=1) | {"Card": card})
    return (body[:-1] + "".join(f',"{name}":{text}' for name, text in unknown.items()) + "}").encode()


UNPLEASANT: dict[str, Callable[[int], bytes]] = {
    "more card numbers in longer texts": lambda size: repeated(size, different=size // 60),
    "card numbers in long texts": lambda size: repeated(size, different=400),
    "almost card numbers": lambda size: b'{"x":"' + b"4242 4242 4242 " * (size // 15) + b'"}',
    "numbers with exponents beside a card": lambda size: with_card(x="[" + "1e99," * (size // 5) + "1]"),
    "digits beside a card": lambda size: with_card(x='"' + "4242" * (size // 4) + '"'),
    "a fraction beside a card": lambda size: with_card(x="0." + "1" * size),
    "empty lists": lambda size: b'{"BasicTran":[' + b"[]," * (size // 3) + b"[]]}",
    "objects": lambda size: b'{"BasicTran":[' + b'{"a":1},' * (size // 8) + b"{}]}",
    "deep lists": lambda size: b'{"x":[' + (b"[" * 60 + b"]" * 60 + b",") * (size // 121) + b"0]}",
    "a long number": lambda size: b'{"GMT":' + b"9" * size + b"}",
    "a long fraction": lambda size: b'{"BasicTran":{"Amount":0.' + b"9" * size + b"}}",
    "numbers": lambda size: b'{"BasicTran":{"Amount":[' + b"1.5," * (size // 4) + b"1]}}",
    "names": lambda size: b"{" + b",".join(b'"k%d":1' % number for number in range(size // 10)) + b"}",
    "halves of surrogate pairs": lambda size: b'{"Lang":"' + b"\\ud83d" * (size // 6) + b'"}',
    "wrong items": lambda size: (
        b'{"BasicTran":{"AuxDataInput":{"AuxData":{"Purchases":[' + b"1," * (size // 2) + b"1]}}}}"
    ),
    "wrong files": lambda size: b'{"Files":[' + b'{"FileType":"PHOTO"},' * (size // 21) + b"{}]}",
}
MODELS = {endpoint.body for endpoint in ENDPOINTS if endpoint.method == "POST" and endpoint.body}


def read(body: bytes) -> float:
    """Return the least processor time of two readings by every model, in seconds."""
    taken = []
    for _ in range(2):
        began = time.process_time()
        for model in MODELS:
            try:
                request = validated(model, exact_json.parse(body))
            except ServiceError:
                continue
            if isinstance(request, SubmitPayment | ReversePayment):
                with_card_number_in_card_only(request)
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.parametrize("kind", UNPLEASANT)
@pytest.mark.release
def test_eight_times_the_bytes_take_about_eight_times_the_time(kind: str) -> None:
    small, large = (read(UNPLEASANT[kind](size)) for size in (SMALL, SMALL * TIMES))

    assert large <= max(small, 0.005) * TIMES * MOST


@pytest.mark.release
def test_four_hundred_card_numbers_take_about_as_long_as_one() -> None:
    one, many = (read(repeated(64_000, different=different)) for different in (1, 400))

    assert many <= one * MOST


def test_unknown_fields_are_not_searched_for_card_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def mask_of(_: object) -> Callable[[str], str]:
        return lambda text: searched.append(text) or text  # type: ignore[func-returns-value]  # None

    monkeypatch.setattr(masking, "mask_of", mask_of)
    request = validated(SubmitPayment, exact_json.parse(with_card(x=f'"{PAN}"')))
    assert isinstance(request, SubmitPayment)

    with_card_number_in_card_only(request)

    assert "ZAR" in searched
    assert not [text for text in searched if PAN in text or text == "x"]


@pytest.mark.slow
def test_a_body_with_too_many_values_is_refused_at_once(stage: str) -> None:
    reply = http.post(stage, "/api/v1/payment/submit", UNPLEASANT["empty lists"](900_000))

    assert reply.error == (400, 201)


@pytest.mark.parametrize("endpoint", ["submit", "reverse", "reversecnp"])
def test_no_text_is_searched_for_card_numbers_before_the_caller_is_admitted(
    stage: str, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = a_shop(stage)
    agent = shop.agent(TerminalID=shop.terminal()["ID"])
    card = {"CardInputMode": 1, "CardDataInput": {"PAN": PAN, "EXP": EXP, "CVV2": "123"}}
    back = {"BasicReverseTran": {"TransactionID": a_guid(), "ReverseMode": 1, "ServiceID": PAN}, "Card": card}
    body = a_body(InputType=1, Description=PAN) | {"Card": card, "AcqTran": {}} if endpoint == "submit" else back
    searched: list[str] = []
    monkeypatch.setattr(card_schema, "numbers_in", searched.append)

    login = (agent["Email"], PASSWORD)
    assert http.get(stage, "/api/v1/user/me", login).status == 200  # API Gateway remembers the policy
    assert shop.post(f"{shop.path}/update", merchant_update(State=0), http.SYSTEM).status == 200
    refused = http.post(stage, f"/api/v1/payment/{endpoint}", body, login)

    assert refused.error == (401, 108)
    assert searched == []
