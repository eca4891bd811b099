"""Answers: which one is the answer, and what each response code means (section 6 of the interface)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, ReversalKind, Reversed, UnusableAnswerError
from chalicelib.gateways.acquirers.iso8583 import answers
from chalicelib.gateways.acquirers.iso8583.codec import Codec, Content
from tests.gateways.iso8583.requests import ADVICE, APPROVAL, CODEC, PURCHASE, a_dialect, a_reversal, an_answer

SENT, SENT_ADVICE = CODEC.decode(PURCHASE), CODEC.decode(ADVICE)
AUTOMATIC = a_reversal(ReversalKind.AUTOMATIC)
CANCEL = a_reversal(ReversalKind.CANCEL)
USUAL = CODEC.dialect

Fields = Mapping[str, str | None]


def read(answer: Content, sent: Content = SENT, codec: Codec = CODEC) -> Content | None:
    return answers.read(codec.encode(answer), sent, codec)


def result(codec: Codec = CODEC, sent: Content = SENT, /, **changes: str | None) -> AcquirerAnswer:
    answer = read(an_answer(sent, **changes), sent, codec)
    assert answer is not None
    return answers.of_request(answer, sent, None, codec.dialect)


def test_the_approval_of_the_interface_is_the_answer_to_its_purchase() -> None:
    answer = answers.read(APPROVAL, SENT, CODEC)

    assert answer is not None
    assert answers.of_request(answer, SENT, None, USUAL) == AcquirerAnswer(
        0,
        "Approved",
        approval_code="333380",
        rrn="6JX2M0Q7TZ4A",
        acquirer_tran_id="HOST000000000001",
        emv_result="8A023030910A11223344556677883030",
    )


OTHERS = {
    "3": "200000", "7": "1121180004", "11": "000043", "12": "200003", "13": "1122", "32": "123457",
    "37": "6JX2M0Q7TZ4B", "41": "DEMO0002", "42": "BANK00000000002", "49": "840",
}  # fmt: skip


@pytest.mark.parametrize(("number", "value"), OTHERS.items())
def test_an_answer_to_another_request_is_passed_by(number: str, value: str) -> None:
    assert read(an_answer(**{f"f{number}": value})) is None


@pytest.mark.parametrize(("number", "value"), {**OTHERS, "90": "0" * 42}.items())
def test_an_acknowledgement_of_another_advice_is_passed_by(number: str, value: str) -> None:
    value = {"3": "200000", "11": "000044"}.get(number, value)

    assert read(an_answer(SENT_ADVICE, **{f"f{number}": value}), SENT_ADVICE) is None


@pytest.mark.parametrize("mti", ["0430", "0200", "0800", "0810", "9999"])
def test_a_message_of_another_type_is_passed_by(mti: str) -> None:
    assert read(replace(an_answer(), mti=mti)) is None


OF_BOTH = ("3", "4", "7", "11", "12", "13", "32", "37", "39", "41", "42", "49")
NEVER_IN_AN_ANSWER = {
    "2": "4111111111111111", "14": "3012", "18": "5411", "22": "052", "23": "001", "25": "00",
    "35": "4111111111111111=3012", "43": " " * 40, "56": "4000", "70": "301", "90": "0" * 42, "95": "0" * 42,
}  # fmt: skip
NEVER_IN_AN_ACKNOWLEDGEMENT = {
    "15": "1121", "44": "text", "48": "text", "55": "8A023030", "63": "text", "95": "0" * 42,
}  # fmt: skip
OTHER_AMOUNT = {"f4": "000000001229"}
UNUSABLE: list[tuple[str, Content, Fields]] = [
    *(("an approval lacks", SENT, {f"f{number}": None}) for number in (*OF_BOTH, "38", "63")),
    *(("an acknowledgement lacks", SENT_ADVICE, {f"f{number}": None}) for number in (*OF_BOTH, "90")),
    *(("an answer never has", SENT, {f"f{number}": value}) for number, value in NEVER_IN_AN_ANSWER.items()),
    *(
        ("an acknowledgement never has", SENT_ADVICE, {f"f{number}": value})
        for number, value in NEVER_IN_AN_ACKNOWLEDGEMENT.items()
    ),
    ("an approval of another amount", SENT, OTHER_AMOUNT),
    ("an approval with signature of another amount", SENT, {"f39": "08", **OTHER_AMOUNT}),
    ("an acknowledgement of another amount", SENT_ADVICE, OTHER_AMOUNT),
]


@pytest.mark.parametrize(("sent", "changes"), [row[1:] for row in UNUSABLE], ids=[row[0] for row in UNUSABLE])
def test_an_answer_whose_fields_are_not_those_of_its_request_cannot_be_used(sent: Content, changes: Fields) -> None:
    with pytest.raises(UnusableAnswerError):
        read(an_answer(sent, **changes), sent)


@pytest.mark.parametrize("changes", [{"f15": "1121"}, {"f44": "text"}, {"f48": "8701M"}, {"f55": "8A023030"}])
def test_what_is_optional_changes_nothing_of_an_approval(changes: Fields) -> None:
    assert result(**changes).is_approved


def test_the_approval_code_of_an_acknowledgement_is_optional() -> None:
    assert read(an_answer(SENT_ADVICE, f38="333380"), SENT_ADVICE) is not None


def test_a_decline_of_another_amount_is_another_requests() -> None:
    assert read(an_answer(f39="51", f4="000000001229")) is None


@pytest.mark.parametrize("amount", ["000000000615", "000000001230"])
def test_an_approval_for_less_is_code_10_and_says_no_amount(amount: str) -> None:
    answer = result(f39="10", f4=amount)

    assert (answer.code, answer.is_approved, answer.approval_code) == (10, False, None)


CODES = {
    "00": (0, False, None),
    "08": (0, True, None),
    **{
        code: (int(code), False, None)
        for code in ("05", "14", "51", "54", "82", "12", "13", "25", "30", "68", "91", "96")
    },
    "65": (65, False, 1),
    "70": (70, False, 1),
    "99": (99, False, None),
    "01": (1, False, None),
    "N7": (5, False, None),
    "Z3": (5, False, None),
    "1A": (5, False, None),
}


@pytest.mark.parametrize(("code", "expected"), CODES.items())
def test_each_response_code_has_its_meaning(code: str, expected: tuple[int, bool, int | None]) -> None:
    answer = result(f39=code)

    assert (answer.code, answer.signature_required, answer.pin_mode) == expected
    assert answer.rrn == "6JX2M0Q7TZ4A"
    assert (answer.approval_code, answer.acquirer_tran_id) == (
        ("333380", "HOST000000000001") if answer.is_approved else (None, None)
    )


def test_a_decline_needs_no_number_of_the_host() -> None:
    assert result(f39="51", f38=None, f63=None).code == 51


def test_a_request_that_was_used_before_leaves_the_outcome_open() -> None:
    with pytest.raises(UnusableAnswerError):
        result(f39="94")


@pytest.mark.parametrize(
    ("changes", "emv_result"),
    [
        ({"f55": "910A11223344556677883030"}, "910A11223344556677883030"),
        ({}, "8A023030"),
        ({"f39": "51"}, "8A023531"),
        ({"f39": "51", "f55": "8A0235317203112233"}, "8A0235317203112233"),
    ],
)
def test_what_the_issuer_says_to_the_chip_is_carried_on(changes: Fields, emv_result: str) -> None:
    assert result(**changes).emv_result == emv_result


def test_a_card_without_a_chip_is_told_nothing() -> None:
    keyed = replace(SENT, fields={number: value for number, value in SENT.fields.items() if number != "55"})

    assert result(CODEC, keyed).emv_result is None
    assert result(CODEC, keyed, f55="8A023030").emv_result is None


def of_advice(code: str, request: Any = AUTOMATIC, codec: Codec = CODEC) -> AcquirerAnswer:
    answer = read(an_answer(SENT_ADVICE, f39=code), SENT_ADVICE, codec)
    assert answer is not None
    return answers.of_advice(answer, SENT_ADVICE, request, codec.dialect)


@pytest.mark.parametrize("kind", [ReversalKind.CANCEL, ReversalKind.AUTOMATIC, ReversalKind.AUTOMATIC_OF_RETURN])
def test_an_acknowledgement_proves_what_was_reversed(kind: ReversalKind) -> None:
    request = a_reversal(kind)
    answer = of_advice("00", request)

    assert (answer.code, answer.reverses) == (0, Reversed(request.original, request.amount_minor))


@pytest.mark.parametrize("request_", [AUTOMATIC, CANCEL], ids=["automatic", "cancel"])
@pytest.mark.parametrize("code", ["91", "96", "08", "10"])
def test_an_advice_that_was_not_carried_out_is_repeated(request_: Any, code: str) -> None:
    with pytest.raises(AnswerLostError):
        of_advice(code, request_)


REFUSED = {"12": 12, "13": 13, "25": 25, "30": 30, "94": 94, "05": 5, "N7": 5, "99": 99}


@pytest.mark.parametrize(("code", "number"), REFUSED.items())
def test_a_cancel_may_be_declined(code: str, number: int) -> None:
    answer = of_advice(code, CANCEL)

    assert (answer.code, answer.is_approved) == (number, False)
    assert answer.reverses == Reversed(CANCEL.original, CANCEL.amount_minor)


@pytest.mark.parametrize("code", REFUSED)
def test_a_refused_automatic_reversal_stays_open_and_is_logged(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AnswerLostError):
        of_advice(code)

    assert json.loads(capsys.readouterr().out) == {
        "event": "refused_advice",
        "stage": "local",
        "mti": "0420",
        "code": code,
        "terminal": "DEMO0001",
        "processing": "000000",
        "stan": "000043",
        "rrn": "6JX2M0Q7TZ4A",
    }


@pytest.mark.parametrize("answered", [lambda: result(f39="30"), lambda: of_advice("30", CANCEL)])
def test_a_format_error_is_logged_because_it_is_ours(
    answered: Callable[[], AcquirerAnswer], capsys: pytest.CaptureFixture[str]
) -> None:
    assert answered().code == 30

    logged = json.loads(capsys.readouterr().out)
    assert (logged["event"], logged["code"]) == ("format_error", "30")


def test_an_ordinary_decline_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    result(f39="51")

    assert capsys.readouterr().out == ""


def test_a_second_host_may_have_codes_and_fields_of_its_own() -> None:
    document = {"codes": {"N7": "51", "85": "00"}, "fields": {"60": {"format": "n", "max": 2}, "63": None}}
    codec = Codec(a_dialect(**document))

    assert result(codec, f39="N7", f63=None, f60="07").code == 51
    assert result(codec, f39="85", f63=None).is_approved
    assert of_advice("85", codec=codec).is_approved


@given(at=st.integers(0, len(APPROVAL) - 1), octet=st.integers(0, 255), size=st.integers(1, len(APPROVAL)))
def test_a_damaged_approval_approves_nothing_but_its_own_request(at: int, octet: int, size: int) -> None:
    damaged = (APPROVAL[:at] + bytes([octet]) + APPROVAL[at + 1 :])[:size]
    try:
        answer = answers.read(damaged, SENT, CODEC)
    except UnusableAnswerError:
        return
    if answer is None or not answers.of_request(answer, SENT, None, USUAL).is_approved:
        return
    original = CODEC.decode(APPROVAL).fields
    assert {number for number in original if answer.fields.get(number) != original[number]} <= {
        "15",
        "38",
        "39",  # 08 is an approval, too
        "55",
        "63",
    }
    assert answer.fields["39"] in {"00", "08"}


def test_bytes_that_are_no_message_cannot_be_used() -> None:
    for data in (b"", b"garbage that is long enough", APPROVAL[:-1]):
        with pytest.raises(UnusableAnswerError) as raised:
            answers.read(data, SENT, CODEC)

        assert raised.value.__context__ is None
