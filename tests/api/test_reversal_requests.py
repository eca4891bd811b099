"""The parts of a reversal's request beside its amount: the card, the wishes to the acquirer, the place."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, ReversalRequest
from chalicelib.gateways import acquirers
from chalicelib.services import payment_sweep
from chalicelib.store import transactions
from tests.support.cards import EXP, PAN, STEADY, TRACK2, a_card_body, chip_data
from tests.support.http import OTHER_TILL, OWNER, TILL, Reply, get, post
from tests.support.intercepted_calls import broken
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body, a_guid

SUBMIT = "/api/v1/payment/submit"
REVERSE, REVERSE_CNP = "/api/v1/payment/reverse", "/api/v1/payment/reversecnp"
CNP = (1, 5)
HERE, THERE = {"Latitude": -33.92, "Longitude": 18.42}, {"Latitude": 51.5, "Longitude": -0.12}


def data(**changes: Any) -> dict[str, Any]:
    return {"CardInputMode": 1, "CardDataInput": {"PAN": PAN, "EXP": EXP, "CVV2": "123", **changes}}


def read_by(input_type: int, pan: str = PAN) -> dict[str, Any]:
    """Return the Card of this card for a way to enter it."""
    if input_type == 1:
        return data(PAN=pan)
    return reader(TRACK2.replace(PAN, pan) if input_type == 2 else chip_data(pan))


def reader(text: str) -> dict[str, Any]:
    """Return the Card of a reader's data."""
    return {"CardInputMode": 1, "CardDataInput": {"ReaderType": "R", "ReaderData": text}}


def linked_id(stage: str) -> int:
    number: int = post(stage, "/api/v1/payment/GetLinkedCards", {}).body["LinkedCards"][0]["ID"]
    return number


def pay(stage: str, input_type: int = 1, **parts: Any) -> str:
    if input_type in (7, 8, 9, 10):
        body = a_body(InputType=input_type, Amount="12.00") | {"AcqTran": None, **parts}
    else:
        card = {"LinkedCardId": linked_id(stage)} if input_type == 5 else read_by(input_type)
        body = a_card_body("12.00", basic={"InputType": input_type}, Card=card, **parts)
    reply = post(stage, SUBMIT, body)
    assert reply.error == (200, 0), reply.text
    paid: str = reply.body["TransactionID"]
    return paid


def give_back(stage: str, paid: str, input_type: int = 1, *, key: str | None = None, **parts: Any) -> Reply:
    """Return all or a part of a payment at its endpoint; `basic` of the parts is added to BasicReverseTran."""
    cnp = input_type in CNP
    basic = {"TransactionID": paid, "ReverseMode": 5 if cnp else 2, **parts.pop("basic", {})}
    headers = {"Idempotency_Key": key} if key else {}
    login = parts.pop("login", TILL)
    return post(stage, REVERSE_CNP if cnp else REVERSE, {"BasicReverseTran": basic, **parts}, login, **headers)


@pytest.fixture
def requests() -> Any:
    """The reversals the acquirer is asked for."""
    seen: list[ReversalRequest] = []

    def reverse(request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        seen.append(request)
        return sandbox.reverse(request, within_s)

    sandbox = acquirers.named("SANDBOX")
    with broken(reverse=reverse):
        yield seen


@pytest.mark.parametrize("input_type", [1, 2, 3, 4])
def test_the_card_of_the_payment_goes_to_the_acquirer_and_stays_in_memory(
    stage: str, requests: list[ReversalRequest], input_type: int
) -> None:
    wishes = {"ExternalTerminalID": "E-7", "AdditionalAcquiringFields": "fields of the till", "AcquirerCode": "SANDBOX"}
    paid = pay(stage, input_type)
    reply = give_back(stage, paid, input_type, Card=read_by(input_type), AcqTran=wishes)

    (request,) = requests
    assert reply.error == (200, 0), reply.text
    assert request.card is not None
    assert request.card.pan.reveal() == PAN
    assert (request.external_terminal_id, request.additional_fields) == ("E-7", "fields of the till")
    stored = transactions.get(reply.body["TransactionReverseID"])
    shown = f"{request!r} {stored!r} {reply.text}"
    assert not any(text in shown for text in (PAN, TRACK2, chip_data(), "fields of the till"))


@pytest.mark.parametrize(
    ("input_type", "path"),
    [
        (1, "Card.CardDataInput.PAN"),
        (2, "Card.CardDataInput.ReaderData"),
        (3, "Card.CardDataInput.ReaderData"),
        (4, "Card.CardDataInput.ReaderData"),
    ],
)
def test_another_card_is_refused_and_nothing_is_given_back(
    stage: str, requests: list[ReversalRequest], input_type: int, path: str
) -> None:
    paid = pay(stage, input_type)
    reply = give_back(stage, paid, input_type, Card=read_by(input_type, STEADY))

    assert reply.error == (400, 202)
    assert reply.findings == [(path, 12)]
    assert STEADY not in reply.text
    assert requests == []
    kept = stored_transaction(paid)
    assert (kept.reversals.amount_minor, kept.reversals.requested_id) == (0, None)
    assert give_back(stage, paid, input_type, Card=read_by(input_type)).error == (200, 0)


@pytest.mark.parametrize(
    ("card", "found"),
    [
        (data(PAN="4111111111111112"), [("PAN", 8)]),
        (data(EXP="1330", CVV2="1"), [("EXP", 3), ("CVV2", 3)]),
        (data(PAN=STEADY, EXP="0120"), [("PAN", 12)]),
        (data(PAN=int(PAN)), [("PAN", 2)]),
    ],
)
def test_a_card_is_checked_as_in_a_payment(stage: str, card: Any, found: list[tuple[str, int]]) -> None:
    paid = pay(stage)
    reply = give_back(stage, paid, Card=card)

    assert reply.error == (400, 202)
    assert reply.findings == [(f"Card.CardDataInput.{name}", code) for name, code in found]
    assert PAN not in reply.text


@pytest.mark.parametrize("input_type", [1, 2, 3, 4])
@pytest.mark.parametrize("is_cancel", [True, False])
def test_the_card_of_the_payment_may_have_expired_since(
    stage: str, requests: list[ReversalRequest], input_type: int, *, is_cancel: bool
) -> None:
    expired = {1: data(EXP="0120"), 2: reader(TRACK2.replace("=3012", "=2001"))}
    card = expired.get(input_type) or reader(chip_data(exp="0120"))
    mode = {(True, True): 3, (True, False): 1, (False, True): 5}.get((is_cancel, input_type in CNP), 2)
    reply = give_back(stage, pay(stage, input_type), input_type, basic={"ReverseMode": mode}, Card=card)

    assert reply.error == (200, 0), reply.text
    assert requests[0].card is not None
    assert requests[0].card.details.exp == "0120"


def test_everything_that_is_wrong_is_listed(stage: str) -> None:
    paid = pay(stage)
    reply = give_back(
        stage,
        paid,
        Card=data(PAN=STEADY),
        AcqTran={"AcquirerCode": "CASH"},
        basic={"CurrencyID": "USD", "InputType": 2, "Amount": "1.001"},
    )

    assert sorted(reply.findings) == [
        ("AcqTran.AcquirerCode", 12),
        ("BasicReverseTran.Amount", 7),
        ("BasicReverseTran.CurrencyID", 12),
        ("BasicReverseTran.InputType", 12),
        ("Card.CardDataInput.PAN", 12),
    ]


def test_findings_come_before_the_state_of_the_payment_and_after_404(stage: str) -> None:
    paid = pay(stage)
    assert give_back(stage, paid).error == (200, 0)
    card = data(PAN=STEADY)

    assert give_back(stage, a_guid(), Card=card).error == (404, 568)
    assert give_back(stage, paid, Card=card, login=OTHER_TILL).error == (404, 568)
    assert give_back(stage, paid, Card=card).error == (400, 202)
    assert give_back(stage, paid, Card=data(), login=OWNER).error == (409, 305)
    other_mode = give_back(stage, pay(stage), Card=card, basic={"ReverseMode": 1})
    assert other_mode.findings == [("Card.CardDataInput.PAN", 12)]


def test_a_linked_card_is_named_by_its_id(stage: str) -> None:
    own = linked_id(stage)

    def reply(card: Any) -> Reply:
        return give_back(stage, pay(stage, 5), 5, Card=card)

    assert reply({"CardInputMode": 2, "LinkedCardId": own}).error == (200, 0)
    assert reply({"CardInputMode": 2, "LinkedCardID": own}).error == (200, 0)
    assert reply({"CardInputMode": 2, "LinkedCardId": own + 1}).findings == [("Card.LinkedCardId", 12)]
    assert reply({"CardInputMode": 1, "LinkedCardId": own}).findings == [("Card.CardInputMode", 12)]
    assert ("Card.LinkedCardId", 12) in reply(data()).findings
    paid = pay(stage)
    assert give_back(stage, paid, Card=data() | {"LinkedCardId": own}).findings == [("Card.LinkedCardId", 12)]


@pytest.mark.parametrize("input_type", [7, 8, 9, 10])
def test_a_payment_without_a_card_takes_none(stage: str, input_type: int) -> None:
    paid = pay(stage, input_type)

    assert give_back(stage, paid, input_type, Card=data()).findings == [("Card", 12)]
    assert give_back(stage, paid, input_type, Card={"LinkedCardId": 7}).findings == [("Card", 12)]
    assert give_back(stage, paid, input_type).error == (200, 0)


NOTHING: list[Any] = [
    None,
    {},
    {"CardInputMode": None, "CardDataInput": None, "LinkedCardId": None},
    {"CardInputMode": 0, "CardDataInput": {}, "LinkedCardId": 0},
    {"CardInputMode": 1, "CardDataInput": dict.fromkeys(("EXP", "CVV2", "PAN", "ReaderType", "ReaderData"), "")},
    {"CardInputMode": 0, "CardDataInput": dict.fromkeys(("EXP", "CVV2", "PAN", "ReaderType", "ReaderData"), 0)},
    {"CardDataInput": dict.fromkeys(("EXP", "CVV2", "PAN", "ReaderType", "ReaderData")), "LinkedCardID": 0},
    {"CardDataInput": {"PAN": "0", "EXP": "0000", "CVV2": "000"}},
]


@pytest.mark.slow
@pytest.mark.parametrize("card", NOTHING, ids=str)
@pytest.mark.parametrize("input_type", [1, 3, 5, 10])
def test_a_placeholder_for_a_card_refuses_nothing(stage: str, input_type: int, card: Any) -> None:
    wishes = dict.fromkeys(("AcquirerCode", "ExternalTerminalID", "AdditionalAcquiringFields"), "")
    reply = give_back(stage, pay(stage, input_type), input_type, Card=card, AcqTran=wishes, Location={})

    assert reply.error == (200, 0), reply.text
    assert reply.body["RequireSignature"] is False


@pytest.mark.parametrize(("input_type", "code"), [(1, "SANDBOX"), (5, "SANDBOX"), (8, "PREPAID"), (10, "CASH")])
def test_the_acquirer_is_the_payments(stage: str, input_type: int, code: str) -> None:
    paid = pay(stage, input_type)

    for other in {"CASH", "SANDBOX", "PREPAID", "NOBODY", code.lower()} - {code}:
        assert give_back(stage, paid, input_type, AcqTran={"AcquirerCode": other}).findings == [
            ("AcqTran.AcquirerCode", 12)
        ]
    assert give_back(stage, paid, input_type, AcqTran={"AcquirerCode": code}).error == (200, 0)


@pytest.mark.parametrize("way", [2, 3, 4])
@pytest.mark.parametrize("input_type", [2, 3, 4])
def test_any_reader_may_read_the_card_of_a_payment_that_a_reader_read(
    stage: str, requests: list[ReversalRequest], input_type: int, way: int
) -> None:
    paid, basic = pay(stage, input_type), {"InputType": way, "Amount": "1.00"}
    offered = get(stage, f"/api/v1/payment/{paid}").body["Transactions"][0]["ReverseCPInputTypes"]
    reply = give_back(stage, paid, input_type, basic=basic, Card=read_by(way))
    repeated = give_back(stage, paid, input_type, basic=basic, Card=read_by(way))
    other = give_back(stage, paid, input_type, key=a_guid(), basic=basic, Card=read_by(way, STEADY))

    (request,) = requests
    assert offered == [2, 3, 4]
    assert reply.error == (200, 0), reply.text
    assert (request.input_type, request.card and request.card.pan.reveal()) == (way, PAN)
    assert repeated.body["TransactionReverseID"] == reply.body["TransactionReverseID"]
    assert other.findings == [("Card.CardDataInput.ReaderData", 12)]


@pytest.mark.parametrize(("input_type", "way"), [(3, 1), (3, 10), (3, 7), (10, 3), (7, 10), (1, 3), (1, 5)])
def test_any_other_input_type_contradicts_the_payment(stage: str, input_type: int, way: int) -> None:
    reply = give_back(stage, pay(stage, input_type), input_type, basic={"InputType": way})

    assert reply.findings == [("BasicReverseTran.InputType", 12)]


@pytest.mark.parametrize("input_type", [7, 8, 9, 10])
def test_a_forced_signature_does_nothing_without_an_acquirer(stage: str, input_type: int) -> None:
    wishes = {"ForceSignatureRequirement": True}
    paid = post(stage, SUBMIT, a_body(InputType=input_type) | {"AcqTran": wishes}).body
    back = give_back(stage, paid["TransactionID"], input_type, AcqTran=wishes).body

    for answer in (paid, back):
        shown = answer["Transaction"]
        assert (answer["RequireSignature"], shown["SignatureRequired"], shown["IsNotFinished"]) == (False, False, False)


@pytest.mark.parametrize("input_type", [1, 3, 5])
def test_a_forced_signature_is_answered_and_holds_nothing_up(stage: str, input_type: int) -> None:
    paid, key = pay(stage, input_type), a_guid()
    wishes = {"ForceSignatureRequirement": True}
    first = give_back(stage, paid, input_type, key=key, AcqTran=wishes)
    again = give_back(stage, paid, input_type, key=key, AcqTran=wishes)

    assert (first.body["Transaction"]["State"], first.body["Transaction"]["Substate"]) == (500, 502)
    assert first.body["RequireSignature"] is again.body["RequireSignature"] is True
    assert again.headers["Idempotent-Replayed"] == "true"
    assert give_back(stage, pay(stage, input_type), input_type).body["RequireSignature"] is False


@pytest.mark.parametrize("input_type", [1, 10])
def test_the_place_is_the_reversals_own(stage: str, input_type: int) -> None:
    def places(reply: Reply) -> list[tuple[Any, Any]]:
        found = get(stage, f"/api/v1/payment/{reply.body['TransactionReverseID']}").body["Transactions"][0]
        return [(one["Latitude"], one["Longitude"]) for one in (reply.body["Transaction"], found)]

    paid, key = pay(stage, input_type, Location=HERE), a_guid()
    part = {"Amount": "1.00"}
    there = give_back(stage, paid, input_type, key=key, basic=part, Location=THERE)
    replayed = give_back(stage, paid, input_type, key=key, basic=part, Location=HERE)
    nowhere = give_back(stage, paid, input_type, key=a_guid(), basic=part)

    assert places(there) == places(replayed) == [(Decimal("51.5"), Decimal("-0.12"))] * 2
    assert places(nowhere) == [(None, None)] * 2


def test_the_acquirers_fields_are_answered_on_a_replay_too(stage: str) -> None:
    paid, key = pay(stage, 3), a_guid()
    first = give_back(stage, paid, 3, key=key, basic={"Amount": "5.00"}, Card=read_by(3)).body
    again = give_back(stage, paid, 3, key=key, basic={"Amount": "5.00"}).body
    without_card = give_back(stage, paid, 3, key=a_guid(), basic={"Amount": "5.00"}).body

    for name in ("AdditionalAcquiringFields", "AdditionalAcquiringFieldsTitle", "EMVOnlineProcessingResult"):
        assert first[name]
        assert first[name] == again[name]
    assert without_card["EMVOnlineProcessingResult"] is None
    assert without_card["AdditionalAcquiringFields"] != first["AdditionalAcquiringFields"]


def test_a_stored_reversal_is_replayed_with_whatever_card(stage: str) -> None:
    paid, key = pay(stage), a_guid()
    first = give_back(stage, paid, key=key, basic={"Amount": "5.00"}, Card=data())
    again = give_back(stage, paid, key=key, basic={"Amount": "5.00"}, Card=data(PAN=STEADY))
    without_key = give_back(stage, paid, basic={"Amount": "5.00"}, Card=data(PAN=STEADY))

    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.body["TransactionReverseID"] == first.body["TransactionReverseID"]
    assert without_key.findings == [("Card.CardDataInput.PAN", 12)]  # it is not taken for a repeated one
    assert give_back(stage, paid, basic={"Amount": "5.00"}).headers["Idempotent-Replayed"] == "true"


def test_what_the_sweep_repeats_has_no_card(stage: str) -> None:
    paid, seen = pay(stage), []

    def lose(request: ReversalRequest, _: float) -> AcquirerAnswer:
        seen.append(request)
        raise AnswerLostError

    with broken(reverse=lose):
        lost = give_back(stage, paid, Card=data(), AcqTran={"AdditionalAcquiringFields": "x"})
        payment_sweep.run(datetime.now(UTC) + timedelta(minutes=3))

    first, *repeated = [request for request in seen if request.reference == lost.body["TransactionReverseID"]]
    assert lost.error == (200, 310)
    assert first.card is not None
    assert [(request.card, request.additional_fields) for request in repeated] == [(None, None)]
    payment_sweep.run(datetime.now(UTC) + timedelta(minutes=30))
    assert get(stage, f"/api/v1/payment/{paid}").body["Transactions"][0]["Substate"] == 502
